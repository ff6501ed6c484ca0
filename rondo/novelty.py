"""What the campaign has tried: of several candidates, run the one that tries most that is rare.

A stateful bug needs a piece of state, a change of it, and a call that shows it. So a case is
described by its *situations*: each operator of its model together with each change between two of
its calls; the same change for the second time, since a value that was promoted to a dynamic one
goes wrong at the third; and two changes at once. What an operator has to do with a change (it reads
the attribute that an event sets, takes the argument whose value differs) counts fully, a change
that is about every model less, what meets by chance a tenth, and changes at once share what one
alone counts. Counting costs no run at all, and it spares the search the thousandth case of what is
drawn often, which independent draws spend most of their time on.

Among the candidates the one with the largest weighted sum of 1 / (1 + N) over its situations, for
what it costs, is run: the weights of the Metropolis-Hastings target, of inputs in place of
behaviour. The idea is that of adaptive random testing (Chen, Leung and Mak 2004), the situations
are those of pairwise testing (Cohen, Dalal, Fredman and Patton 1997).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from itertools import combinations
from math import fsum

from rondo.models.operators import OPERATORS, SENSES
from rondo.signature import changed_dimensions, value_of
from rondo.testcase import Call, Event, TestCase
from rondo.vocabulary import ARGUMENT, Dimension, EventKind, Vocabulary

CANDIDATES = 12
"""How many candidates a case is chosen from: each costs some 0.4 ms to draw and weigh."""
_NEAR, _ANY, _FAR = 1.0, 0.5, 0.1
"""What a situation counts whose parts have to do with each other, one whose change is about every
model alike (a hook, a dropped cache), and one whose parts just meet."""
_ON_LAYER = 0.3
"""What an operator, or what belongs together, counts for one layer of the compiler alone."""
_VARIED = 5.0
"""What an operator alone counts there for a case that is to be about operators. For every case it
would be at the cost of changes: the toy's `size_bound` took 77, 136, 167 cases for 0.3, 1, 5."""
_BASE_STEPS, _OPERATOR_STEPS = 10, 2
"""What a case costs beside its steps, and what each operator does, in steps: it makes compiles
longer, and it is more likely that the case ends early over something else."""
_REPEAT, _AGAIN = "repeat", "again"
Situation = tuple[str, ...]
Change = tuple[str, str]


def touches(vocabulary: Vocabulary, operator: str, name: str, value: str) -> bool:
    """Whether a dimension or an event at this value is about what an operator owns or reads."""
    if name in SENSES.get(operator, ()):
        return True
    entry: Dimension | EventKind | None = vocabulary.event.get(name)
    entry = entry or vocabulary.dimension.get(name)
    kind = OPERATORS.get(operator)
    if entry is None or kind is None:
        return False
    if operator in entry.operators:
        return True
    needs = {entry.needs, *(v.needs for v in entry.values if v.name == value)}
    return not needs.isdisjoint((*kind.carries, ARGUMENT + kind.argument))


class Tried:
    """How often the campaign has tried each situation."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.counts: Counter[Situation] = Counter()
        self._vocabulary = vocabulary
        self._touches = lru_cache(maxsize=None)(partial(touches, vocabulary))
        kinds = vocabulary.event.values()
        self._universal = {kind.name for kind in kinds if not (kind.needs or kind.operators)}

    def record(self, case: TestCase) -> None:
        """A case has run."""
        self.counts.update(self.situations(case).keys())

    def score(self, case: TestCase, varied: bool = False) -> float:
        """How much a case tries that is rare, for what it costs; `varied`: of operators rather."""
        found = self.situations(case, _VARIED if varied else _ON_LAYER).items()
        rare = fsum(weight / (1 + self.counts[situation]) for situation, weight in found)
        size = len(case.steps) + _OPERATOR_STEPS * len(case.model.operators)
        return rare / (_BASE_STEPS + size)

    def situations(self, case: TestCase, there: float = _ON_LAYER) -> Mapping[Situation, float]:
        """What a case tries, and what each counts: operators and changes alone, operators, settings
        and the architecture on this layer of the compiler, each operator with each change, by name
        and by value, first and again, what belongs together on this layer, each setting with each
        change, and changes at once; an operator on its layer counts `there`."""
        found: dict[Situation, float] = {}
        for situation, weight in self._tries(case, there):
            found[situation] = max(weight, found.get(situation, 0.0))
        return found

    def _tries(self, case: TestCase, there: float) -> Iterator[tuple[Situation, float]]:
        operators = {operator.kind for operator in case.model.operators}
        beside = {f"{name}={value}" for name, value in case.settings} | {case.model.architecture}
        layer = self._vocabulary.layer(case.settings)
        before: set[str] = set()
        yield from ((("operator", name), _NEAR) for name in operators)
        yield from (((layer, "operator", name), there) for name in operators)
        yield from (((layer, name), _NEAR) for name in beside)
        for changes in self._changes(case):
            share = 1 / len(changes)  # what one of several changes did wrong, the others may hide
            touched: set[Change] = set()
            for name, value in changes:
                to = value.rpartition(" ")[2]
                again = ((_AGAIN, name), (_AGAIN, name, to)) if name in before else ()
                for kinds in ((name,), (name, value), *again):
                    yield kinds, _NEAR * share
                    for operator in operators:
                        near = self._touches(operator, name, to)
                        weight = _NEAR if near else _ANY if name in self._universal else _FAR
                        yield (operator, *kinds), weight * share
                        if near:
                            touched.add((operator, name))
                            yield (layer, operator, *kinds), _ON_LAYER * share
                yield from (((other, name), _FAR * share) for other in beside)
            names = sorted({name for name, _ in changes})
            for pair in combinations(names, 2):
                yield pair, _FAR
                about = {operator for operator, name in touched if name in pair}
                yield from (((operator, *pair), _NEAR * share) for operator in about)
            before.update(names)

    def _changes(self, case: TestCase) -> Iterator[tuple[Change, ...]]:
        """(what changed, from what to what) before each call after the first, at once; a call like
        the one before it repeats, and an event that sets what holds already changes nothing."""
        before: Call | None = None
        between: list[Change] = []
        for index, step in enumerate(case.steps):
            if isinstance(step, Event):
                idle = self._vocabulary.idle(step, case.steps[:index])
                between += [] if idle else [(step.kind, step.value)]
                continue
            if before is not None:
                yield (*between, *_between(before, step)) or ((_REPEAT, ""),)
            before, between = step, []


def _between(before: Call, after: Call) -> Iterator[Change]:
    for name in changed_dimensions(before, after):
        yield name, f"{value_of(before, name, 'plain')} {value_of(after, name, 'plain')}"
