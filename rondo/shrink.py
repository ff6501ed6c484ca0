"""Make a failing case small: fewer steps, plainer calls, a smaller model, plainer settings.

Every candidate is judged in a fresh child and kept when it fails in the same way (verdict, symptom,
role, and whether the compiler reused what it had) and is plainer: fewer steps, then fewer
deviations, a smaller graph, fewer settings, and last the encoded bytes, which put plain values
first. The passes (`rondo.simpler`) run again until nothing helps or time is up.

Verdicts are kept in a `Journal`: no candidate is judged twice, and a search that was interrupted
goes on from the best case so far. A different failure that is met on the way is handed back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from rondo.codec import Codec
from rondo.errors import FormatError
from rondo.models.grow import grow
from rondo.oracle import Verdict
from rondo.signature import reaction
from rondo.simpler import PASSES, Candidates
from rondo.testcase import Call, TestCase

Judge = Callable[[TestCase], Verdict]
Size = tuple[int, int, int, int, bytes]
REPORTED = frozenset({"stateful", "reset_only"})
"""Verdicts that become findings."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The plainest case found with its verdict, how many cases were tried, whether the search came
    to its own end, and the plainest case of each different failure that was met."""

    case: TestCase
    verdict: Verdict
    tried: int
    complete: bool
    others: tuple[TestCase, ...] = ()


def same_failure(first: Verdict, second: Verdict) -> bool:
    """Whether two verdicts show the same failure, as far as one run can tell."""
    if first.kind != second.kind or first.difference is None or second.difference is None:
        return False
    return first.difference.kind == second.difference.kind and _stale(first) == _stale(second)


def _stale(verdict: Verdict) -> bool:
    """Whether the compiler did nothing new at the exposing step."""
    assert verdict.difference is not None
    done = dict(verdict.behaviour).get(verdict.difference.step)
    return done is not None and reaction(done) == "reused"


def deviations(case: TestCase) -> int:
    """In how many places the calls of a case, taken together, deviate from the plain call."""
    return sum(len(step.deviations) for step in case.steps if isinstance(step, Call))


def size(case: TestCase, data: bytes) -> Size:
    """The order in which cases are plainer, given the case's encoded bytes."""
    nodes = len(grow(case.model).nodes)
    return len(case.steps), deviations(case), nodes, len(case.settings), data


@dataclass(slots=True)
class Journal:
    """What is known of candidates: bytes -> whether they fail in the wanted way; a line of a file
    each where there is one."""

    path: Path | None = None
    seen: dict[bytes, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            for line in self.path.read_text().splitlines():
                self._read(line)

    def _read(self, line: str) -> None:
        data, _, fails = line.partition(" ")
        try:
            self.seen[bytes.fromhex(data)] = {"fails": True, "passes": False}[fails]
        except (ValueError, KeyError):
            return  # the last line of a search that was killed

    def note(self, data: bytes, fails: bool) -> None:
        """Keep a verdict."""
        self.seen[data] = fails
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(f"{data.hex()} {'fails' if fails else 'passes'}\n")

    def failing(self) -> Iterator[bytes]:
        """The candidates that fail in the wanted way."""
        return (data for data, fails in self.seen.items() if fails)


class Shrinker:
    """Shrinks one failing case; owns every judgement that it asks for."""

    def __init__(
        self,
        codec: Codec,
        judge: Judge,
        case: TestCase,
        verdict: Verdict,
        seconds: float,
        journal: Journal | None = None,
    ) -> None:
        self._codec = codec
        self._judge = judge
        self._case = case
        self._verdict = verdict
        self._wanted = verdict
        self._deadline = time.monotonic() + seconds
        self._journal = journal or Journal()
        self._journal.seen.setdefault(codec.encode(case), True)
        self._others: dict[tuple[str, str], TestCase] = {}
        self._tried = 0

    def run(self) -> Shrunk:
        """Shrink until nothing helps or time is up."""
        self._take_up()
        self._pass(self._up_to_the_exposing_step)
        complete = False
        while not complete and time.monotonic() < self._deadline:
            before = self._case
            for candidates in PASSES:
                self._pass(candidates)
            complete = self._case == before and time.monotonic() < self._deadline
        others = tuple(self._others.values())
        return Shrunk(self._case, self._verdict, self._tried, complete, others)

    def _take_up(self) -> None:
        """Go on from the plainest case that an earlier search came to, if it still fails."""
        known = sorted(self._journal.failing(), key=self._size_of)
        if known and self._size_of(known[0]) < self._size_of(self._codec.encode(self._case)):
            best = self._codec.decode(known[0])
            verdict = self._judge(best)
            self._tried += 1
            if same_failure(self._wanted, verdict):
                self._case, self._verdict = best, verdict

    def _size_of(self, data: bytes) -> Size:
        return size(self._codec.decode(data), data)

    def _up_to_the_exposing_step(self, case: TestCase, codec: Codec) -> Iterator[TestCase]:
        if self._verdict.difference is not None:
            yield case.with_steps(case.steps[: self._verdict.difference.step + 1])

    def _pass(self, candidates: Candidates) -> None:
        """Try a pass's candidates, starting anew from each success."""
        progress = True
        while progress:
            progress = False
            for candidate in candidates(self._case, self._codec):
                if time.monotonic() > self._deadline:
                    return
                if self._improves(candidate):
                    progress = True
                    break

    def _improves(self, candidate: TestCase) -> bool:
        try:
            fitted = self._codec.normal(candidate)
            data = self._codec.encode(fitted)
        except FormatError:
            return False
        plainer = size(fitted, data) < size(self._case, self._codec.encode(self._case))
        if not plainer or data in self._journal.seen:
            return False
        self._tried += 1
        verdict = self._judge(fitted)
        fails = same_failure(self._wanted, verdict)
        self._journal.note(data, fails)
        if fails:
            self._case, self._verdict = fitted, verdict
        elif verdict.kind in REPORTED and verdict.difference is not None:
            self._others.setdefault(verdict.difference.kind, fitted)
        return fails


class Effect(msgspec.Struct, frozen=True):
    """What shrinking came to: (before, after) of steps, deviations and program lines, the cases
    that were run, and whether the search came to its own end."""

    steps: tuple[int, int]
    deviations: tuple[int, int]
    lines: tuple[int, int]
    runs: int
    complete: bool


def effect(before: TestCase, shrunk: Shrunk, lines: Callable[[TestCase], int]) -> Effect:
    """How much plainer a shrunk case is; `lines` counts those of a case's program."""
    after = shrunk.case
    return Effect(
        (len(before.steps), len(after.steps)),
        (deviations(before), deviations(after)),
        (lines(before), lines(after)),
        shrunk.tried,
        shrunk.complete,
    )
