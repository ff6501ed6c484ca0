"""Draw random test cases that are likely to mean something: small models with state, sequences
that set something up and come back to it.

Used for plain random sequences (`--mutator=random`) and as the source of fresh material for the
structured mutators.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from rondo.codec import Codec
from rondo.models.architectures import ARCHITECTURES
from rondo.models.grow import grow
from rondo.models.operators import EDITS, FAMILY, OPERATORS, SENSES
from rondo.testcase import (
    NOTHING,
    Call,
    Deviation,
    Event,
    Model,
    Operator,
    SourceTest,
    Step,
    TestCase,
)
from rondo.vocabulary import BATCH, BATCHES, Applying, Dimension, EventKind

_ARCHITECTURES = {
    name: 1 / len(make(0, 0).nodes) for name, make in ARCHITECTURES.items() if name != NOTHING
}
"""Architecture -> weight: compile time grows with the nodes, so that larger ones are rarer."""
_ORDINARY = tuple(name for name in OPERATORS if name not in FAMILY)
_ALL = tuple(OPERATORS)
_TENSOR_WEIGHT = 3
"""How much more often than other operators those are drawn that take a second tensor: aliasing,
batching and differentiating by one argument need it."""
_STATEFUL = tuple(
    name
    for name in FAMILY
    for _ in range(_TENSOR_WEIGHT if OPERATORS[name].argument == "tensor" else 1)
)
_ORDINARY_SHARE = 0.11
"""How many of the operators drawn carry no state, however many there are to choose from: they give
a sequence nothing to change."""
_EDITED_SHARE = 0.3
"""How many of the architectures drawn are changed inside."""
_TEST_SHARE = 0.04
"""How many of the models drawn are the framework's own tests: one operator has little state."""
_OWN_TRAIT_WEIGHT = 8
"""How much more often a step touches what this very model carries than what every model has."""
AT_ONCE_SHARE = 0.3
"""How often the search draws two events at once: what is kept after the compiler's state was
dropped goes wrong if something else has changed by then."""
_BATCH_WEIGHT = 4
"""How often a call walks along batch sizes, against one for a dimension."""


def random_operator(rng: random.Random) -> Operator:
    """An operator record; state-carrying operators more often than their number asks."""
    pool = _ORDINARY if rng.random() < _ORDINARY_SHARE else _STATEFUL
    return _record(rng, rng.choice(pool))


def any_operator(rng: random.Random) -> Operator:
    """An operator record, all kinds alike: two of three carry no state."""
    return _record(rng, rng.choice(_ALL))


def _record(rng: random.Random, kind: str) -> Operator:
    return Operator(kind, rng.randrange(256), rng.randrange(256), rng.randrange(256))


def random_model(rng: random.Random, tests: tuple[SourceTest, ...] = ()) -> Model:
    """A model: mostly one to six operators on the bare input, sometimes an architecture or one of
    the framework's own `tests`.

    Several operators in one small graph cost little more than one and carry more state to change.
    """
    if tests and rng.random() < _TEST_SHARE:
        count = rng.choice((0, 0, 1, 2))
        operators = tuple(random_operator(rng) for _ in range(count))
        return Model(operators=operators, test=rng.choice(tests))
    if rng.random() < 0.85:
        count = rng.choice((1, 2, 2, 3, 3, 4, 5, 6))
        return Model(seed=0, operators=tuple(random_operator(rng) for _ in range(count)))
    count = rng.choice((0, 0, 1, 2))
    operators = tuple(random_operator(rng) for _ in range(count))
    if rng.random() < _EDITED_SHARE:
        operators = (_record(rng, rng.choice(EDITS)), *operators)
    name = _weighted(rng, _ARCHITECTURES)
    return Model(name, rng.randrange(16), rng.randrange(16), rng.randrange(4), operators)


def random_settings(rng: random.Random, codec: Codec) -> tuple[tuple[str, str], ...]:
    """Settings with the target's own weights; often all plain but the backend."""
    picked = []
    for place, setting in enumerate(codec.vocabulary.settings):
        plain = place > 0 and rng.random() < 0.5
        value = setting.values[0] if plain else setting.pick(rng.randrange(256))
        if value != setting.values[0]:
            picked.append((setting.name, value))
    return tuple(picked)


def _weighted(rng: random.Random, weights: Mapping[str, float]) -> str:
    return rng.choices(list(weights), list(weights.values()))[0]


@dataclass(frozen=True, slots=True)
class _Tables:
    """What the steps of one model are drawn from: its traits, dimensions and events with their
    weights, events with the weights that they have on any model, and the weight of a walk along
    batch sizes."""

    traits: frozenset[str]
    applying: Applying
    dimensions: Mapping[str, int]
    events: Mapping[str, int]
    any_events: Mapping[str, int]
    batch_weight: int


@lru_cache(maxsize=256)
def _tables(codec: Codec, model: Model) -> _Tables:
    """Mutation draws for one model many times."""
    graph, vocabulary, applying = grow(model), codec.vocabulary, codec.applying(model)
    operators = {node.op for node in graph.nodes}
    sensed = {name for op in operators for name in SENSES.get(op, ())}

    def weight(entry: Dimension | EventKind, own: bool) -> int:
        touched = own or entry.name in sensed or not operators.isdisjoint(entry.operators)
        return entry.weight * (_OWN_TRAIT_WEIGHT if touched else 1)

    dimensions = [vocabulary.dimension[name] for name in applying.deviations]
    events = [vocabulary.event[name] for name in applying.options]
    return _Tables(
        graph.traits,
        applying,
        {d.name: weight(d, bool(d.own(graph.traits))) for d in dimensions},
        {e.name: weight(e, bool(e.needs or _own(e, graph.traits))) for e in events},
        {e.name: e.weight for e in events},
        _BATCH_WEIGHT * (_OWN_TRAIT_WEIGHT if BATCH in sensed else 1),
    )


def _own(kind: EventKind, traits: frozenset[str]) -> list[str]:
    """The values of an event that touch what a model of these traits carries."""
    return [value.name for value in kind.values if value.needs in traits]


class Draw:
    """Draws steps that fit one model."""

    def __init__(self, rng: random.Random, codec: Codec, model: Model) -> None:
        self._rng = rng
        self._codec = codec
        self._model = model
        self._tables = _tables(codec, model)
        self._traits = self._tables.traits
        self._dimensions = self._tables.dimensions

    def batch(self) -> int:
        """A batch size, the plain one half of the time."""
        return BATCHES[0] if self._rng.random() < 0.5 else self._rng.choice(BATCHES)

    def deviating(self, step: Call) -> Call:
        """The call with one deviation that the model carries, or another batch where there is no
        dimension."""
        if not self._dimensions:
            return Call(self._rng.choice(BATCHES), step.deviations)
        return with_deviation(step, self._deviation(), self._codec)

    def _deviation(self) -> Deviation:
        return self._value_of(_weighted(self._rng, self._dimensions))

    def _value_of(self, name: str) -> Deviation:
        """A value of a dimension; half of the time one that the model's own arguments give it."""
        dimension = self._codec.vocabulary.dimension[name]
        own = dimension.own(self._traits)
        if own and self._rng.random() < 0.5:
            return Deviation(name, self._rng.choice(own))
        return Deviation(name, self._rng.choice(self._tables.applying.deviations[name]))

    def base(self) -> Call:
        """The call that a sequence comes back to: often training, with one or two deviations."""
        step = self.call()
        for name, options in self._tables.applying.deviations.items():
            context = self._codec.vocabulary.dimension[name].context
            if context and self._rng.random() < _CONTEXT_SHARE:
                step = with_deviation(step, Deviation(name, options[0]), self._codec)
        return step

    def call(self) -> Call:
        """A call, plain or with one or two deviations."""
        step = Call(self.batch())
        for _ in range(self._rng.choice((0, 0, 0, 1, 1, 2))):
            step = self.deviating(step)
        return step

    def events(self, before: Sequence[Step] = (), at_once: float = 0.0) -> list[Event]:
        """One event that the model carries, which changes something after the steps before it; so
        often another `at_once`, which is about every model as often as about what this one carries;
        none where there is no kind of event for it."""
        if not self._tables.events:
            return []
        found = [self._event(before, self._tables.events)]
        if at_once and self._rng.random() < at_once:
            found.append(self._event([*before, *found], self._tables.any_events))
        return found

    def _event(self, before: Sequence[Step], weights: Mapping[str, int]) -> Event:
        name = _weighted(self._rng, weights)
        kind = self._codec.vocabulary.event[name]
        target = self._rng.randrange(self._codec.targets(self._model, name))
        values = _own(kind, self._traits) or self._tables.applying.options[name]
        events = [Event(name, target, value) for value in values]
        acting = [e for e in events if not self._codec.vocabulary.idle(e, before)]
        return self._rng.choice(acting or events)

    def walk(self, step: Call) -> list[Call]:
        """The call at three values of its batch or of one dimension: promotion to a dynamic value
        shows at the second, what went wrong in it at the third."""
        name = _weighted(self._rng, {BATCH: self._tables.batch_weight, **self._dimensions})
        if name == BATCH:
            return [Call(size, step.deviations) for size in self._rng.sample(BATCHES, 3)]
        options = self._tables.applying.deviations[name]
        walked = self._rng.sample(options, min(len(options), 3))
        return [with_deviation(step, Deviation(name, value), self._codec) for value in walked]

    def changed(self, step: Call) -> Call:
        """The call with one thing changed: its batch, one deviation set, dropped or given another
        value, or a twin of its own: equal but of another type, or about another argument."""
        twins = self._twins(step)
        if twins and self._rng.random() < _TWIN_SHARE:
            return with_deviation(step, self._rng.choice(twins), self._codec)
        choice = self._rng.random()
        if choice < 0.25:
            return Call(self._rng.choice(BATCHES), step.deviations)
        if choice < 0.35 and step.deviations:
            dropped = self._rng.choice(step.deviations)
            return Call(step.batch, tuple(d for d in step.deviations if d != dropped))
        if choice < 0.55 and step.deviations:
            kept = self._rng.choice(step.deviations).dimension
            return with_deviation(step, self._value_of(kept), self._codec)
        return self.deviating(step)

    def _twins(self, step: Call) -> list[Deviation]:
        table = self._codec.vocabulary.dimension
        return [
            Deviation(d.dimension, value)
            for d in step.deviations
            for value in table[d.dimension].twins(d.value, self._traits)
        ]


_EVENT_SHARE, _WALK_SHARE, _CONTEXT_SHARE, _REVERSED_SHARE = 0.5, 0.15, 0.3, 0.4
_TWIN_SHARE = 0.4


def with_deviation(step: Call, deviation: Deviation, codec: Codec) -> Call:
    """The call with a deviation set, at most three, in the format's order."""
    kept = [d for d in step.deviations if d.dimension != deviation.dimension][:2]
    order = codec.vocabulary.order
    found = sorted([*kept, deviation], key=lambda d: order[d.dimension])
    return Call(step.batch, tuple(found))


def random_steps(
    rng: random.Random, codec: Codec, model: Model, at_once: float = 0.0
) -> tuple[Step, ...]:
    """A base call, then rounds of an event or a changed call, each followed by a call that may
    show what it left behind; so large a part of the events is followed by another `at_once`. A call
    that reuses what is compiled costs next to nothing, so several rounds are cheaper than several
    cases."""
    draw = Draw(rng, codec, model)
    base = draw.base()
    # What compiles first decides what is there to be reused wrongly: not always the plainer call.
    steps: list[Step] = [draw.changed(base), base] if rng.random() < _REVERSED_SHARE else [base]
    for _ in range(rng.choice((2, 3, 4, 5, 6))):
        choice = rng.random()
        if choice < _EVENT_SHARE:
            steps += [*draw.events(steps, at_once), _again(rng, draw, base)]
        elif choice < _EVENT_SHARE + _WALK_SHARE:
            steps += draw.walk(base)
        else:
            steps.append(draw.changed(base))
            if rng.random() < 0.5:
                steps.append(_again(rng, draw, base))
    return tuple(steps)


def _again(rng: random.Random, draw: Draw, base: Call) -> Call:
    return base if rng.random() < 0.8 else draw.changed(base)


LONGEST, COSTLY_LONGEST = 14, 4
"""Sequences are cut to this many steps, shorter where each compile costs seconds."""
MOST_COSTLY_OPERATORS, MOST_COSTLY_NODES = 2, 7


def drawn_case(rng: random.Random, codec: Codec, at_once: float = 0.0) -> TestCase:
    """A whole random test case, of any length and cost."""
    model = random_model(rng, codec.vocabulary.tests)
    settings = random_settings(rng, codec)
    return TestCase(model, settings, random_steps(rng, codec, model, at_once))


def random_case(rng: random.Random, codec: Codec) -> TestCase:
    """A whole random test case that is worth its time."""
    return codec.normal(bounded(rng, codec, drawn_case(rng, codec)))


def bounded(rng: random.Random, codec: Codec, case: TestCase) -> TestCase:
    """A case that fits its model, cut to what is worth its time: a window of its steps up to a
    call, since no step shows what an event behind the last one did, and a small model where each
    compile costs seconds; a transformer through a C++ compiler takes more than a minute."""
    costly = codec.vocabulary.costly(case.settings)
    most = COSTLY_LONGEST if costly else LONGEST
    if costly:
        case = case.with_operators(case.model.operators[:MOST_COSTLY_OPERATORS])
        if len(grow(case.model).nodes) > MOST_COSTLY_NODES:
            case = replace(case, model=replace(case.model, architecture=NOTHING))
    start = rng.randint(0, max(0, len(case.steps) - most))
    steps = case.steps[start : start + most]
    calls = [index for index, step in enumerate(steps) if isinstance(step, Call)]
    cut = case.with_steps(steps[: calls[-1] + 1] if calls else steps)
    return codec.fitted(cut) if costly else cut  # a smaller model carries less
