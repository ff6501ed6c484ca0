"""What libFuzzer is told of a run: its features, once a second run has shown the new ones too.

Between the oracle and `rondo.feedback`. Two kinds of second runs are spent here, both only where
they can teach:

- a mutant that shows new behaviour runs again, up to the step that showed it, so that the corpus
  keeps no input for what happened once; what the second run does not repeat is not reported. While
  everything repeats, only a sample runs again (on PyTorch, second runs of all took 40 % of the time
  of a campaign's beginning, and every one repeated);
- compiler lines are traced on suspicion, in a run that is a second one at the same time. New lines
  of a case that nothing else lets in are traced once more.

Findings do not pass through here: nothing holds them back.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from rondo.feedback import Feedback, line_names
from rondo.oracle import SYMPTOM_OF_DEATH, Oracle, Verdict
from rondo.signature import features, shown_by
from rondo.testcase import TestCase

TRACED_SHARE = 64
"""Every suspicious run is traced, and one in so many of the others. A traced run costs two to three
plain ones, but what is suspicious becomes rare. A run that takes seconds is traced as much less
often, so that tracing keeps to its share of the time."""
TRUSTED = 40
"""After so many second runs in a row that repeated what the first showed, ..."""
SAMPLED = 8
"""... one in so many is made, until one does not repeat."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """How many new features of a case were reported, and the wall seconds that it took to tell."""

    features: int = 0
    traced: bool = False
    seconds: float = 0.0


@dataclass(slots=True)
class Stability:
    """How many cases ran again for what they showed, how many of them did not repeat it, and the
    wall seconds of these runs and of traced ones; `repeated` is how many in a row did."""

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
    def stable_share(self) -> float:
        """The share of checked cases that did the same again; 1 while there is none."""
        return 1 - self.unstable / self.checked if self.checked else 1.0


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
        self._suspicion = Suspicion()

    def report(self, case: TestCase, encoded: bytes, verdict: Verdict, mutant: bool) -> Admitted:
        """Report a run; `mutant` says that the case is not one of the corpus already."""
        before = time.monotonic()
        shown = list(features(case, verdict))
        names = shown if self._signature else []
        new = self._feedback.unseen(names)
        suspicious = self._suspicion.raised(case, shown)
        alive = verdict.kind != "invalid" and verdict.symptom not in SYMPTOM_OF_DEATH
        traced = self._coverage and alive and (self._always or due(encoded, verdict, suspicious))
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
        if mutant and not admitted and not self._always:
            lines = self._repeated(case, lines)
        admitted += self._feedback.unseen(lines)
        self._feedback.report(name for name in (*names, *lines) if name not in doubted)
        return Admitted(len(admitted), traced, time.monotonic() - before)

    def _repeated(self, case: TestCase, lines: list[str]) -> list[str]:
        """Lines without those that are new and that a second traced run does not show."""
        new = set(self._feedback.unseen(lines))
        if not new:
            return lines
        before = time.monotonic()
        lost = new - set(line_names(self._oracle.rerun(case, traced=True)[1]))
        self._count(True, bool(lost), True, time.monotonic() - before)
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


class Suspicion:
    """Whether a run may have gone through lines of the compiler that none has before: it showed a
    new signature or a new reaction to a change, or its model has an operator that none had. What is
    reported to libFuzzer makes no difference."""

    def __init__(self) -> None:
        self._met: set[str] = set()

    def raised(self, case: TestCase, shown: Iterable[str]) -> bool:
        """Whether a run that showed these features is suspicious; the next like it is not."""
        telling = {name for name in shown if name.startswith(("step ", "change "))}
        telling |= {operator.kind for operator in case.model.operators} | {case.model.architecture}
        new = telling - self._met
        self._met |= new
        return bool(new)


def due(encoded: bytes, verdict: Verdict, suspicious: bool) -> bool:
    """Whether a run is to be traced."""
    interval = (1 if suspicious else TRACED_SHARE) * max(1, round(verdict.seconds))
    return zlib.crc32(encoded) % interval == 0
