"""Which steps a shrunk case needs, and in which configurations it fails: trials by leaving out.

Each trial changes one thing of the case and plays the three arms again. A step without which the
failure is gone establishes the state that the exposing step meets.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rondo.codec import Codec
from rondo.findings import Trial
from rondo.oracle import Verdict
from rondo.shrink import same_failure
from rondo.signature import describe
from rondo.testcase import Call, TestCase
from rondo.vocabulary import BATCHES

THERE = "there"
GONE = "gone"
MOST_VALUES = 3
"""Settings with more values than this are on-off switches of unrelated things: only leaving one out
is tried."""


@dataclass(frozen=True, slots=True)
class _Change:
    says: str
    case: TestCase
    exposing: int


class Blame:
    """Tries changes of one failing case, as long as there is time."""

    def __init__(
        self,
        codec: Codec,
        judge: Callable[[TestCase], Verdict],
        case: TestCase,
        verdict: Verdict,
        seconds: float,
    ) -> None:
        self._codec = codec
        self._judge = judge
        self._case = case
        self._wanted = verdict
        self._deadline = time.monotonic() + seconds

    def steps(self) -> tuple[Trial, ...]:
        """Each step left out, and each deviation of a call made plain."""
        return tuple(self._tried(_step_changes(self._case, self._exposing)))

    def settings(self) -> tuple[Trial, ...]:
        """The case as it is, then each setting at its other values."""
        first = self._trial(f"as shrunk: {_settings(self._case)}", self._wanted, self._exposing)
        return (first, *self._tried(_setting_changes(self._case, self._codec, self._exposing)))

    @property
    def _exposing(self) -> int:
        assert self._wanted.difference is not None
        return self._wanted.difference.step

    def _tried(self, changes: Iterator[_Change]) -> Iterator[Trial]:
        for change in changes:
            if time.monotonic() > self._deadline:
                return
            fitted = self._codec.normal(change.case)
            if fitted.calls and fitted != self._case:
                yield self._trial(change.says, self._judge(fitted), change.exposing)

    def _trial(self, says: str, verdict: Verdict, exposing: int) -> Trial:
        if verdict.kind == "pass":
            outcome = GONE
        elif same_failure(self._wanted, verdict):
            outcome = THERE
        else:
            outcome = f"{verdict.kind} {verdict.symptom}".strip()
        return Trial(says, outcome, dict(verdict.behaviour).get(exposing, ()))


def needed(trials: tuple[Trial, ...]) -> tuple[int, ...]:
    """The steps (0-based) without which the failure is gone: they establish the state."""
    left_out = (trial for trial in trials if trial.change.startswith(_WITHOUT))
    return tuple(
        int(trial.change.removeprefix(_WITHOUT).split()[0].rstrip(":")) - 1
        for trial in left_out
        if trial.outcome == GONE
    )


_WITHOUT = "without step "


def _step_changes(case: TestCase, exposing: int) -> Iterator[_Change]:
    for k, step in enumerate(case.steps[: exposing + 1]):
        rest = case.steps[:k] + case.steps[k + 1 : exposing + 1]
        if k != exposing:
            says = f"{_WITHOUT}{k + 1}: {describe(step)}"
            yield _Change(says, case.with_steps(rest), exposing - 1)
        if not isinstance(step, Call):
            continue
        for deviation in step.deviations:
            kept = tuple(d for d in step.deviations if d != deviation)
            says = f"step {k + 1} without {deviation.dimension}={deviation.value}"
            yield _with_step(case, k, Call(step.batch, kept), says, exposing)
        if step.batch != BATCHES[0]:
            says = f"step {k + 1} with a batch of {BATCHES[0]}"
            yield _with_step(case, k, Call(BATCHES[0], step.deviations), says, exposing)


def _with_step(case: TestCase, k: int, step: Call, says: str, exposing: int) -> _Change:
    steps = (*case.steps[:k], step, *case.steps[k + 1 : exposing + 1])
    return _Change(says, case.with_steps(steps), exposing)


def _setting_changes(case: TestCase, codec: Codec, exposing: int) -> Iterator[_Change]:
    for setting in codec.vocabulary.settings:
        now = case.setting(setting.name, setting.values[0])
        few = len(setting.values) <= MOST_VALUES
        for value in setting.values if few else setting.values[:1]:
            if value == now:
                continue
            others = dict(case.settings) | {setting.name: value}
            ordered = [(s.name, others.get(s.name, "")) for s in codec.vocabulary.settings]
            plain = {s.name: s.values[0] for s in codec.vocabulary.settings}
            kept = tuple((n, v) for n, v in ordered if v and v != plain[n])
            yield _Change(f"{setting.name}={value}", replace(case, settings=kept), exposing)


def _settings(case: TestCase) -> str:
    return ", ".join(f"{name}={value}" for name, value in case.settings) or "plain settings"
