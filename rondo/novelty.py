"""What the campaign has tried: of several candidates, run the one that tries most that is rare.

A stateful bug needs a piece of state, a change of something, and a call that shows it. So a case is
described by its *situations*: each operator of its model, and each of its settings, together with
each change between two of its calls; and two such changes at once. Counting them costs no run at
all, and it spares the search the thousandth case of what is drawn often, which independent draws
spend most of their time on. Among the candidates the one with the largest sum of 1 / (1 + N) over
its situations, for each step that it takes, is run: the weights of the Metropolis-Hastings target,
of inputs in place of behaviour. The idea is that of adaptive random testing (Chen, Leung and Mak
2004).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from math import fsum

from rondo.signature import changed_dimensions
from rondo.testcase import Call, Deviation, Event, TestCase

CANDIDATES = 12
"""How many candidates a case is chosen from: each costs half a millisecond to draw and weigh."""
_BASE_STEPS = 10
"""What a case costs beside its steps, in steps."""
Situation = tuple[str, ...]
Change = tuple[str, str]


def situations(case: TestCase) -> frozenset[Situation]:
    """What a case tries: (carrier, changed thing) and (carrier, changed thing, old and new value),
    the carrier being an operator or a setting; and (changed thing, changed thing) at once."""
    model = case.model
    carriers = {operator.kind for operator in model.operators} | {model.architecture}
    carriers |= {f"{name}={value}" for name, value in case.settings}
    found: set[Situation] = set()
    for changes in set(_changes(case)):
        found |= {(carrier, name) for name, _ in changes for carrier in carriers}
        found |= {(carrier, *change) for change in changes for carrier in carriers}
        found |= set(combinations(sorted({name for name, _ in changes}), 2))
    return frozenset(found)


def _changes(case: TestCase) -> Iterator[tuple[Change, ...]]:
    """(what changed, from what to what) before each call after the first, at once; a call like the
    one before it repeats."""
    before: Call | None = None
    between: list[Change] = []
    for step in case.steps:
        if isinstance(step, Event):
            between.append((step.kind, step.value))
            continue
        if before is not None:
            yield (*between, *_between(before, step)) or (("repeat", ""),)
        before, between = step, []


def _between(before: Call, after: Call) -> Iterator[Change]:
    old, new = _values(before.deviations), _values(after.deviations)
    for name in changed_dimensions(before, after):
        if name == "batch":
            yield name, f"{before.batch} {after.batch}"
        else:
            yield name, f"{old.get(name, 'plain')} {new.get(name, 'plain')}"


def _values(deviations: Iterable[Deviation]) -> dict[str, str]:
    return {d.dimension: d.value for d in deviations}


class Tried:
    """How often the campaign has tried each situation."""

    def __init__(self) -> None:
        self.counts: Counter[Situation] = Counter()

    def record(self, case: TestCase) -> None:
        """A case has run."""
        self.counts.update(situations(case))

    def score(self, case: TestCase) -> float:
        """How much a case tries that is rare, for each of its steps."""
        rare = fsum(1 / (1 + self.counts[situation]) for situation in situations(case))
        return rare / (_BASE_STEPS + len(case.steps))
