"""What libFuzzer is told of a run: its features, once a second run has shown the new ones too.

Between the oracle and `rondo.feedback`. Two kinds of second runs are spent here, both only where
they can teach:

- a mutant that shows new behaviour runs again, up to the step that showed it, so that the corpus
  keeps no input for what happened once; what the second run does not repeat is not reported. While
  everything repeats, only a sample runs again (on PyTorch, second runs of all took 40 % of the time
  of a campaign's beginning, and every one repeated);
- compiler lines are traced on suspicion, and as long as runs like the one at hand show new ones, in
  a run that is a second one at the same time. New lines of a case that nothing else lets in are
  traced once more.

Findings do not pass through here: nothing holds them back.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import ceil

from rondo.feedback import Feedback, line_names
from rondo.oracle import SYMPTOM_OF_DEATH, Oracle, Verdict
from rondo.signature import features, shown_by
from rondo.testcase import TestCase

WORTH, LEAST_SHARE, TRACED_SHARE = 1.5e-3, 16, 64
"""A traced run costs one to three plain ones. Every run is traced while runs like it show so large
a part of the known lines anew; fewer the less they show, and one in sixteen at least of suspicious
ones, one in 64 of others. On PyTorch the first 200 cases show 36,000 lines; of the next 200 the C++
layer's show 155 each, the others' three."""
_LATELY, _PLENTY, _SOME = 0.1, 1e-2, 2e-3
"""How much of what traced runs show on average is the last one's, the most that one counts, which
is what suspicious runs are thought to show before one was traced, and what others are."""
LONG = 3.0
"""Of runs that took longer, in seconds, fewer are traced. What is below is alike: on PyTorch a
traced run through the C++ layer takes a second, though the run before it, which built the kernels,
took twice as long as one through other layers, of which a traced one takes as long."""
FIRST_TRACED, MOST_TRACED = 200, 0.2
"""So many runs are traced as long as they are worth it, and then what takes so large a part of the
time of plain runs at most: after 500 PyTorch cases a third still have an operator that is new to
their layer, and tracing all of these took half as long as the plain runs did."""
TRUSTED = 40
"""After so many second runs in a row that repeated what the first showed, ..."""
SAMPLED = 16
"""... one in so many is made, until one does not repeat."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """How many new features of a case were reported, and the wall seconds that it took to tell. New
    lines count as one together: they come by the hundred, and would drown what behaviour tells."""

    features: int = 0
    traced: bool = False
    seconds: float = 0.0


@dataclass(slots=True)
class Stability:
    """How many cases ran again for what they showed, how many of them did not repeat it, how many
    were traced, and the wall seconds of these runs; `repeated` is how many in a row did."""

    checked: int = 0
    unstable: int = 0
    check_seconds: float = 0.0
    traced: int = 0
    traced_seconds: float = 0.0
    repeated: int = 0

    def doubts(self, encoded: bytes) -> bool:
        """Whether a case that shows something new is to run again."""
        return self.repeated < TRUSTED or zlib.adler32(encoded) % SAMPLED == 0

    def check(self, repeats: bool) -> None:
        """A case has run again."""
        self.checked += 1
        self.unstable += not repeats
        self.repeated = self.repeated + 1 if repeats else 0

    @property
    def stable_share(self) -> float | None:
        """The share of checked cases that did the same again; None while there is none."""
        return 1 - self.unstable / self.checked if self.checked else None


class Admission:
    """Reports the features of runs.

    `signature` and `coverage` say which kinds; with `always`, every run is traced and believed: a
    merge must see the same features whatever ran before.
    """

    def __init__(
        self,
        feedback: Feedback,
        oracle: Oracle,
        stability: Stability,
        signature: bool = True,
        coverage: bool = True,
        always: bool = False,
    ) -> None:
        self._feedback = feedback
        self._oracle = oracle
        self._signature = signature
        self._coverage = coverage
        self._always = always
        self._stability = stability
        self._suspicion = Suspicion(oracle.layer)

    def report(self, case: TestCase, encoded: bytes, verdict: Verdict, mutant: bool) -> Admitted:
        """Report a run; `mutant` says that the case is not one of the corpus already."""
        before = time.monotonic()
        shown = list(features(case, verdict))
        names = shown if self._signature else []
        new = self._feedback.unseen(names)
        suspect = self._suspicion.suspect(case, shown)
        due = self._suspicion.due(encoded, suspect, verdict.seconds)
        alive = verdict.kind != "invalid" and verdict.symptom not in SYMPTOM_OF_DEATH
        traced = self._coverage and alive and (self._always or due)
        doubts = mutant and alive and not self._always and self._stability.doubts(encoded)
        doubted = set(new) if doubts else set()
        lines: list[str] = []
        if traced or doubted:
            stop = -1 if traced else shown_by(case, verdict, new)
            behaviour, ran = self._oracle.rerun(case, stop, traced)
            doubted -= set(features(case, replace(verdict, behaviour=behaviour)))
            lines = line_names(ran)
            self._count(bool(new) and doubts, bool(doubted), traced, time.monotonic() - before)
        admitted = [name for name in new if name not in doubted]
        if doubts and not admitted:
            lines = self._repeated(case, lines)
        taught = self._feedback.unseen(lines)
        if traced:
            seconds = time.monotonic() - before
            self._suspicion.learn(case, suspect, len(taught), self._feedback.lines, seconds)
        self._feedback.report(name for name in (*names, *lines) if name not in doubted)
        return Admitted(len(admitted) + bool(taught), traced, time.monotonic() - before)

    def _repeated(self, case: TestCase, lines: list[str]) -> list[str]:
        """Lines without those that are new and that a second traced run does not show."""
        new = set(self._feedback.unseen(lines))
        if not new:
            return lines
        before = time.monotonic()
        lost = new - set(line_names(self._oracle.rerun(case, traced=True)[1]))
        self._stability.check(not lost)
        self._stability.traced_seconds += time.monotonic() - before
        return [line for line in lines if line not in lost]

    def _count(self, checked: bool, unstable: bool, traced: bool, seconds: float) -> None:
        found = self._stability
        if checked:
            found.check(not unstable)
        found.traced += traced
        if traced:
            found.traced_seconds += seconds
        else:
            found.check_seconds += seconds


@dataclass(frozen=True, slots=True)
class Suspect:
    """A run before it is decided whether to trace it: the layer of the compiler, whether it has an
    operator that no traced run had there, and whether its behaviour is new."""

    layer: str
    operator: bool
    behaviour: bool

    @property
    def suspicious(self) -> bool:
        """Whether anything about it is new."""
        return self.operator or self.behaviour


class Suspicion:
    """Whether a run may have gone through lines of the compiler that no traced one has. A run is
    suspicious if its model has an operator that none of these had on this layer, or if it showed a
    signature or a reaction to a change that no run has. What is reported to libFuzzer makes no
    difference.

    What tracing shows is learned for each `layer` of the compiler that a case goes through, and of
    each kind of suspicion apart: the lines of the first layer are soon known, even those of its
    operators, whereas through PyTorch's last one an operator that is new there still shows 75 lines
    after 500 cases. While all new operators were traced alike, those of the first layers took the
    time: replayed, a campaign of 957 cases missed 3.7 % of its corpus' lines; so it misses 2.0 %.
    """

    def __init__(self, layer: Callable[[TestCase], str]) -> None:
        self._layer = layer
        self._traced: set[tuple[str, str]] = set()  # layer and operator
        self._shown: set[str] = set()
        self._rates: dict[Suspect, float] = {}
        self._plain_seconds = 0.0
        self._traced_seconds = 0.0  # of the runs after the first ones
        self._runs = 0

    def suspect(self, case: TestCase, shown: Iterable[str]) -> Suspect:
        """What is suspicious about a run that showed these features; the next that shows the same
        behaviour is not suspicious for it."""
        behaviour = {name for name in shown if name.startswith(("step ", "change "))}
        behaviour -= self._shown
        self._shown |= behaviour
        layer = self._layer(case)
        there = all((layer, part) in self._traced for part in case.model.parts)
        return Suspect(layer, not there, bool(behaviour))

    def due(self, encoded: bytes, suspect: Suspect, seconds: float) -> bool:
        """Whether a run that took so many seconds is to be traced."""
        self._plain_seconds += seconds
        within = self._traced_seconds <= MOST_TRACED * self._plain_seconds
        return within and zlib.crc32(encoded) % self.interval(suspect, seconds) == 0

    def interval(self, suspect: Suspect, seconds: float) -> int:
        """One in so many runs like one that took so many seconds is to be traced."""
        cost = max(1.0, seconds / LONG)
        return ceil(WORTH * cost / self._rate(suspect))

    def _rate(self, suspect: Suspect) -> float:
        return self._rates.get(suspect, _PLENTY if suspect.suspicious else _SOME)

    def learn(self, case: TestCase, suspect: Suspect, new: int, known: int, seconds: float) -> None:
        """A run was traced, which took so many seconds, and so many of its lines were new to the
        campaign that knew so many."""
        self._runs += 1
        self._traced_seconds += seconds if self._runs > FIRST_TRACED else 0.0
        self._traced.update((suspect.layer, part) for part in case.model.parts)
        rate = self._rate(suspect)
        rate += _LATELY * (min(new / max(known, 1), _PLENTY) - rate)
        least = WORTH / (LEAST_SHARE if suspect.suspicious else TRACED_SHARE)
        self._rates[suspect] = max(rate, least)
