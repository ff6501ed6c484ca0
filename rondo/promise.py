"""Which operators' models have shown new behaviour lately: what was tried is weighed by it.

Beside `rondo.novelty`, for the choice among candidates. A new signature mostly comes from what a
model is made of: on PyTorch, of the cases that campaigns ran, the third with the operators that had
shown most before went on to show two to five times the new signatures, per second, of the third
with those that had shown least. What changes between calls, the settings and the layer predicted
little, so operators alone are counted here.

Each operator has an account of the new signatures of the cases that it was in and of those that
their work led to expect; what it showed long ago counts ever less, so an operator that has shown
all it has is not preferred any more. Work is counted as in `rondo.yields`, not timed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import exp, fsum, log

from rondo.testcase import TestCase

_DECAY, _SLOW_DECAY = 0.98, 0.99
_DOUBT = 2.0
"""So many expected signatures an operator is taken to be like the others for."""
_MOST = 4.0


@dataclass(slots=True)
class _Account:
    shown: float = 0.0
    expected: float = 0.0

    def ratio(self) -> float:
        return (self.shown + _DOUBT) / (self.expected + _DOUBT)


class Promise:
    """The accounts of one campaign."""

    def __init__(self) -> None:
        self._operators: defaultdict[str, _Account] = defaultdict(_Account)
        self._all: defaultdict[bool, _Account] = defaultdict(_Account)

    def learn(self, case: TestCase, new: int, work: float, costly: bool) -> None:
        """A case has run, which was so much work, and showed so many new signatures; cheap layers
        and costly ones have each a rate of their own."""
        total = self._all[costly]
        expected = work * total.shown / total.expected if total.expected else float(new)
        total.shown = _SLOW_DECAY * total.shown + new
        total.expected = _SLOW_DECAY * total.expected + work
        for name in case.model.parts:
            account = self._operators[name]
            account.shown = _DECAY * account.shown + new
            account.expected = _DECAY * account.expected + expected

    def factor(self, case: TestCase) -> float:
        """How many times the usual number of new signatures a case promises, 1 for the unknown:
        the geometric mean over its operators."""
        known = self._operators
        found = [log(known[n].ratio()) for n in sorted(case.model.parts) if n in known]
        mean = exp(fsum(found) / len(case.model.parts))
        return min(max(mean, 1 / _MOST), _MOST)
