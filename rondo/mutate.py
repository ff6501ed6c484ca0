"""Structure-aware mutation: small named changes of a test case, each valid for its model.

The table of mutators is data: one function each, from a case to a case. A mutator that does not
apply returns the case as it was and another is tried.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from rondo.codec import MAX_OPERATORS, MAX_STEPS, Codec
from rondo.generate import (
    AT_ONCE_SHARE,
    Draw,
    bounded,
    drawn_case,
    random_operator,
    random_settings,
    random_steps,
    with_deviation,
)
from rondo.testcase import Call, Event, Step, TestCase

Mutator = Callable[[random.Random, Codec, TestCase], TestCase]


def _inserted(case: TestCase, at: int, steps: Sequence[Step]) -> TestCase:
    return case.with_steps((*case.steps[:at], *steps, *case.steps[at:]))


def insert_call(rng: random.Random, codec: Codec, case: TestCase) -> TestCase:
    """Insert a random call."""
    at = rng.randint(0, len(case.steps))
    return _inserted(case, at, [Draw(rng, codec, case.model).call()])


def insert_event(rng: random.Random, codec: Codec, case: TestCase) -> TestCase:
    """Insert a random event."""
    at = rng.randint(0, len(case.steps))
    return _inserted(case, at, Draw(rng, codec, case.model).events(case.steps[:at]))


def delete_step(rng: random.Random, codec: Codec, case: TestCase) -> TestCase:
    """Delete a step."""
    if len(case.steps) < 2:
        return case
    at = rng.randrange(len(case.steps))
    return case.with_steps(case.steps[:at] + case.steps[at + 1 :])


def swap_steps(rng: random.Random, codec: Codec, case: TestCase) -> TestCase:
    """Swap two steps."""
    if len(case.steps) < 2:
        return case
    a, b = rng.sample(range(len(case.steps)), 2)
    steps = list(case.steps)
    steps[a], steps[b] = steps[b], steps[a]
    return case.with_steps(tuple(steps))


def _calls(case: TestCase) -> list[int]:
    return [i for i, step in enumerate(case.steps) if isinstance(step, Call)]


def replay(rng: random.Random, codec: Codec, case: TestCase) -> TestCase:
    """Repeat an earlier call at the end: A B A."""
    calls = _calls(case)
    return case.with_steps((*case.steps, case.steps[rng.choice(calls)])) if calls else case


def replay_changed(rng: random.Random, codec: Codec, case: TestCase) -> TestCase:
    """Repeat an earlier call at the end with one thing changed, and then as it was."""
    calls = _calls(case)
    if not calls:
        return case
    base = case.steps[rng.choice(calls)]
    assert isinstance(base, Call)
    changed = Draw(rng, codec, case.model).changed(base)
    return case.with_steps((*case.steps, changed, base))


def set_up_and_trigger(rng: random.Random, codec: Codec, case: TestCase) -> TestCase:
    """Append an event, or two at once, and a repetition of an earlier call."""
    calls = _calls(case)
    if not calls:
        return case
    events = Draw(rng, codec, case.model).events(case.steps, AT_ONCE_SHARE)
    return case.with_steps((*case.steps, *events, case.steps[rng.choice(calls)]))


def toggle_and_restore(rng: random.Random, codec: Codec, case: TestCase) -> TestCase:
    """Append an event, a call, the same event with another value, the call again."""
    calls = _calls(case)
    if not calls:
        return case
    base = case.steps[rng.choice(calls)]
    added: list[Step] = []
    for first in Draw(rng, codec, case.model).events(case.steps):
        options = codec.applying(case.model).options[first.kind]
        second = rng.choice([v for v in options if v != first.value] or options)
        added += [first, base, Event(first.kind, first.target, second), base]
    return case.with_steps((*case.steps, *added))


def change_call(rng: random.Random, codec: Codec, case: TestCase) -> TestCase:
    """Change one call in one dimension."""
    calls = _calls(case)
    if not calls:
        return case
    at = rng.choice(calls)
    step = case.steps[at]
    assert isinstance(step, Call)
    changed = Draw(rng, codec, case.model).changed(step)
    return case.with_steps((*case.steps[:at], changed, *case.steps[at + 1 :]))


def plain_call(rng: random.Random, codec: Codec, case: TestCase) -> TestCase:
    """Drop one deviation of a call."""
    calls = [i for i in _calls(case) if case.steps[i].deviations]  # type: ignore[union-attr]
    if not calls:
        return case
    at = rng.choice(calls)
    step = case.steps[at]
    assert isinstance(step, Call)
    drop = rng.randrange(len(step.deviations))
    kept = step.deviations[:drop] + step.deviations[drop + 1 :]
    return case.with_steps((*case.steps[:at], Call(step.batch, kept), *case.steps[at + 1 :]))


def common_deviation(rng: random.Random, codec: Codec, case: TestCase) -> TestCase:
    """Give every call the same deviation: the context of the whole sequence."""
    steps = case.steps
    for deviation in Draw(rng, codec, case.model).deviating(Call()).deviations:
        steps = tuple(
            with_deviation(s, deviation, codec) if isinstance(s, Call) else s for s in steps
        )
    return case.with_steps(steps)


def walk(rng: random.Random, codec: Codec, case: TestCase) -> TestCase:
    """Append a walk of one call along batch sizes or the values of another dimension."""
    calls = _calls(case)
    if not calls:
        return case
    base = case.steps[rng.choice(calls)]
    assert isinstance(base, Call)
    return case.with_steps((*case.steps, *Draw(rng, codec, case.model).walk(base)))


def grow_model(rng: random.Random, codec: Codec, case: TestCase) -> TestCase:
    """Insert an operator."""
    operators = case.model.operators
    at = rng.randint(0, len(operators))
    grown = (*operators[:at], random_operator(rng), *operators[at:])
    return case.with_operators(grown[:MAX_OPERATORS])


def shrink_model(rng: random.Random, codec: Codec, case: TestCase) -> TestCase:
    """Delete an operator."""
    operators = case.model.operators
    if not operators:
        return case
    at = rng.randrange(len(operators))
    return case.with_operators(operators[:at] + operators[at + 1 :])


def change_settings(rng: random.Random, codec: Codec, case: TestCase) -> TestCase:
    """Draw the compile configuration anew."""
    return replace(case, settings=random_settings(rng, codec))


def new_steps(rng: random.Random, codec: Codec, case: TestCase) -> TestCase:
    """Keep the model, draw the sequence anew."""
    return case.with_steps(random_steps(rng, codec, case.model, AT_ONCE_SHARE))


def new_case(rng: random.Random, codec: Codec, case: TestCase) -> TestCase:
    """Draw everything anew."""
    return drawn_case(rng, codec, AT_ONCE_SHARE)


NEW_CASE = "new_case"
MUTATORS: dict[str, tuple[Mutator, float]] = {
    "insert_call": (insert_call, 1),
    "insert_event": (insert_event, 1),
    "delete_step": (delete_step, 2),
    "swap_steps": (swap_steps, 0.5),
    "replay": (replay, 1),
    "replay_changed": (replay_changed, 2),
    "set_up_and_trigger": (set_up_and_trigger, 3),
    "toggle_and_restore": (toggle_and_restore, 1),
    "change_call": (change_call, 2),
    "plain_call": (plain_call, 1),
    "common_deviation": (common_deviation, 1),
    "walk": (walk, 2),
    "grow_model": (grow_model, 2),
    "shrink_model": (shrink_model, 1),
    "change_settings": (change_settings, 1),
    "new_steps": (new_steps, 3),
    NEW_CASE: (new_case, 40),
}
"""Every mutator by name, with its weight before the search learns what it yields."""


def mutate(rng: random.Random, codec: Codec, case: TestCase, names: tuple[str, ...]) -> TestCase:
    """The case after these mutators in turn, cut to what is worth its time."""
    for name in names:  # each relies on steps that fit the model
        case = codec.fitted(MUTATORS[name][0](rng, codec, case))
    return bounded(rng, codec, case)


def cross(rng: random.Random, codec: Codec, first: TestCase, second: TestCase) -> TestCase:
    """The first case's model with steps of both: a prefix of one, a suffix of the other."""
    head = first.steps[: rng.randint(0, len(first.steps))]
    tail = second.steps[rng.randint(0, len(second.steps)) :]
    joined = codec.fitted(first.with_steps((*head, *tail)[:MAX_STEPS]))
    return bounded(rng, codec, joined)
