"""Plainer variants of a failing case, by what they change: the passes of the shrinker.

Each pass yields candidates, the boldest first. A candidate need not fail, nor even be plainer: the
shrinker (`rondo.shrink`) sees to both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations

from rondo.codec import Codec
from rondo.models.grow import grow
from rondo.models.operators import OPERATORS
from rondo.testcase import NOTHING, Call, Deviation, Event, Model, Operator, TestCase
from rondo.vocabulary import BATCHES

Candidates = Callable[[TestCase, Codec], Iterator[TestCase]]
FEW_STEPS = 8
"""Up to this many steps, every two that are not neighbours are left out together."""
ENOUGH = 4
"""With so few steps a case is short."""
PLAIN_OPERATORS = 4
"""How many of the first operators of the table are tried in the place of another."""


def _without_steps(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """Chunks of steps left out, large chunks first, from the end."""
    count = len(case.steps)
    size = count // 2
    while size:
        for start in range(count - size, -1, -size):
            yield case.with_steps(case.steps[:start] + case.steps[start + size :])
        size //= 2


def _without_pairs(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """Two steps left out that only make sense together, such as a change and its undoing."""
    if len(case.steps) > FEW_STEPS:
        return
    for first, second in combinations(range(len(case.steps)), 2):
        kept = (s for i, s in enumerate(case.steps) if i not in (first, second))
        yield case.with_steps(tuple(kept))


def _calls_swapped(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """The plainer of two calls first: a plain call, then the one that deviates."""
    calls = [i for i, step in enumerate(case.steps) if isinstance(step, Call)]
    for first, second in combinations(calls, 2):
        steps = list(case.steps)
        steps[first], steps[second] = steps[second], steps[first]
        yield case.with_steps(tuple(steps))


def _calls_first(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """A call moved ahead of the event before it: plain set-up, event, exposing call."""
    for index in range(len(case.steps) - 1):
        first, second = case.steps[index : index + 2]
        if isinstance(first, Event) and isinstance(second, Call):
            moved = (*case.steps[:index], second, first, *case.steps[index + 2 :])
            yield case.with_steps(moved)


def _plain_everywhere(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """One dimension, or the batch, made plain in all calls at once."""
    calls = [step for step in case.steps if isinstance(step, Call)]
    for name in sorted({d.dimension for step in calls for d in step.deviations}):
        yield case.with_steps(
            tuple(_without(s, name) if isinstance(s, Call) else s for s in case.steps)
        )
    yield case.with_steps(
        tuple(replace(s, batch=BATCHES[0]) if isinstance(s, Call) else s for s in case.steps)
    )


def _without(step: Call, name: str) -> Call:
    return Call(step.batch, tuple(d for d in step.deviations if d.dimension != name))


def _plainer_calls(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """One call made plain, or without one deviation, or at a plainer batch size."""
    for index, step in enumerate(case.steps):
        if not isinstance(step, Call):
            continue
        smaller = [Call(step.batch)] if len(step.deviations) > 1 else []
        smaller += [_without(step, d.dimension) for d in step.deviations]
        smaller += [Call(b, step.deviations) for b in BATCHES[: BATCHES.index(step.batch)]]
        for plainer in smaller:
            yield case.with_steps((*case.steps[:index], plainer, *case.steps[index + 1 :]))


def _simpler_values(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """Earlier values of events and deviations, first targets."""
    for index, step in enumerate(case.steps):
        for simpler in _simpler_step(step, codec):
            yield case.with_steps((*case.steps[:index], simpler, *case.steps[index + 1 :]))


def _simpler_step(step: Call | Event, codec: Codec) -> Iterator[Call | Event]:
    if isinstance(step, Event):
        names = [v.name for v in codec.vocabulary.event[step.kind].values]
        if step.target:
            yield replace(step, target=0)
        for value in names[: names.index(step.value)]:
            yield replace(step, value=value)
        return
    for place, deviation in enumerate(step.deviations):
        names = [v.name for v in codec.vocabulary.dimension[deviation.dimension].values]
        for value in names[1 : names.index(deviation.value)]:
            changed = list(step.deviations)
            changed[place] = replace(deviation, value=value)
            yield Call(step.batch, tuple(changed))


def _smaller_models(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """What the model starts from dropped, or one of its operators in its place; operators left out,
    knobs at zero."""
    model = case.model
    used = {node.op for node in grow(model).nodes}
    for kind in (name for name in OPERATORS if name in used):
        yield replace(case, model=Model(operators=(Operator(kind),)))
    if model.start != NOTHING:
        yield replace(case, model=Model(NOTHING, operators=model.operators))
    count = len(model.operators)
    size = max(count // 2, 1) if count else 0
    while size:
        for start in range(count - size, -1, -size):
            yield case.with_operators(model.operators[:start] + model.operators[start + size :])
        size //= 2
    plain = Model(model.architecture, operators=model.operators, test=model.test)
    if model != plain:
        yield replace(case, model=plain)
    for index, operator in enumerate(model.operators):
        bare = type(operator)(operator.kind)
        if operator != bare:
            operators = (*model.operators[:index], bare, *model.operators[index + 1 :])
            yield case.with_operators(operators)


def _plainer_operators(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """An operator of the first of the table in the place of another one."""
    operators = case.model.operators
    for index, operator in enumerate(operators):
        for kind in list(OPERATORS)[:PLAIN_OPERATORS]:
            if kind != operator.kind:
                plainer = (*operators[:index], Operator(kind), *operators[index + 1 :])
                yield case.with_operators(plainer)


def _plainer_settings(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """All settings plain, one plain, or at an earlier value."""
    if len(case.settings) > 1:
        yield replace(case, settings=())
    table = {setting.name: setting.values for setting in codec.vocabulary.settings}
    for name, value in case.settings:
        others = tuple(pair for pair in case.settings if pair[0] != name)
        yield replace(case, settings=others)
        for earlier in table[name][1 : table[name].index(value)]:
            changed = tuple((n, earlier if n == name else v) for n, v in case.settings)
            yield replace(case, settings=changed)


def _arguments_for_events(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """An event of many steps left out, and in the call behind it another value of an argument that
    the model takes: what counts may be that the compiler has to compile once more. Ahead of the
    passes that make the model so small that it takes none."""
    if len(case.steps) <= ENOUGH:
        return
    traits = grow(case.model).traits
    dimensions = codec.vocabulary.dimension.values()
    values = [Deviation(d.name, value) for d in dimensions for value in d.own(traits)]
    for index in range(len(case.steps) - 1):
        event, call = case.steps[index : index + 2]
        if isinstance(event, Event) and isinstance(call, Call):
            for value in values:
                others = (Call(call.batch, (value,)), *case.steps[index + 2 :])
                yield case.with_steps((*case.steps[:index], *others))


def _few_elsewhere(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """The last few of many steps under another setting: a lower limit is reached sooner."""
    if len(case.steps) <= ENOUGH:
        return
    for setting in codec.vocabulary.settings:
        others = tuple(pair for pair in case.settings if pair[0] != setting.name)
        for value in setting.values[1:]:
            if (setting.name, value) in case.settings:
                continue
            under = replace(case, settings=(*others, (setting.name, value)))
            for count in range(2, ENOUGH + 1):
                yield under.with_steps(case.steps[-count:])


PASSES: tuple[Candidates, ...] = (
    _without_steps,
    _plainer_settings,
    _arguments_for_events,
    _smaller_models,
    _plain_everywhere,
    _plainer_calls,
    _calls_first,
    _calls_swapped,
    _simpler_values,
    _without_pairs,
    _plainer_operators,
    _few_elsewhere,
)
"""In the order in which they are worth trying."""
