"""Which sequences to play around a user's model, in which order: the likely ones first, then random
ones while time lasts.

Every sequence comes back to the plain call, so that what a change leaves behind can show.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rondo.codec import Codec
from rondo.generate import random_steps
from rondo.testcase import Call, Deviation, Event, Model, Step, TestCase
from rondo.vocabulary import Vocabulary

_PLAIN = Call()
_PER_SEQUENCE = 5
"""Changes in one sequence: less than Dynamo's limit of recompilations, beyond which it gives up."""
_WALKED = ("size_", "scalar")
"""Dimensions whose values are walked without coming back in between: promotion to a dynamic value
shows at the second other value, what went wrong in it at the third."""
_OF_TRAINING = frozenset({"freeze_parameter", "optimizer_step", "clear_gradients", "load_state"})
"""Events whose traces show in gradients."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """One planned case; `about` says in a word what it varies."""

    about: str
    case: TestCase


def planned(vocabulary: Vocabulary, settings: tuple[tuple[str, str], ...]) -> Iterator[Sequence]:
    """The sequences for one configuration, those first that most often tell."""
    for about, steps in _sequences(vocabulary):
        yield Sequence(about, TestCase(settings=settings, steps=tuple(steps)))


def drawn(
    rng: random.Random, codec: Codec, settings: tuple[tuple[str, str], ...]
) -> Iterator[Sequence]:
    """Random sequences without end."""
    while True:
        steps = random_steps(rng, codec, Model())
        plain = tuple(replace(s, batch=_PLAIN.batch) if isinstance(s, Call) else s for s in steps)
        yield Sequence("random", codec.normal(TestCase(settings=settings, steps=plain)))


def _sequences(vocabulary: Vocabulary) -> Iterator[tuple[str, list[Step]]]:
    walked = [n for n in vocabulary.dimension if n.startswith(_WALKED)]
    for name in walked:
        yield from _walks(vocabulary, name, _PLAIN)
    training = _training(vocabulary)
    if training is not None:
        yield "training", _trained(vocabulary, training)
        for name in walked:
            yield from _walks(vocabulary, name, training)
    yield from _attributes(vocabulary)
    others = [d for d in vocabulary.dimension.values() if d.name not in walked]
    for dimension in sorted(others, key=lambda d: -d.weight):
        yield from _visits(vocabulary, dimension.name)
    for name in vocabulary.event:
        if name != "set_attribute":
            base = training if training and name in _OF_TRAINING else _PLAIN
            yield from _changes(vocabulary, name, base)


def _deviating(base: Call, name: str, value: str) -> Call:
    return Call(base.batch, (*base.deviations, Deviation(name, value)))


def _walks(vocabulary: Vocabulary, name: str, base: Call) -> Iterator[tuple[str, list[Step]]]:
    """Plain, then one value after the other, and back; scalars one at a time."""
    by_place: dict[str, list[str]] = {}
    for value in vocabulary.dimension[name].deviations(()):
        by_place.setdefault(value.rpartition("=")[0], []).append(value)
    for found in by_place.values():
        steps: list[Step] = [_deviating(base, name, value) for value in found]
        yield name, [base, *steps, base]
        if len(found) > 1:
            yield name, [steps[-1], base, steps[0]]


def _training(vocabulary: Vocabulary) -> Call | None:
    """A call with backward; of the inputs where there are no parameters."""
    wanted = {"backward": "sum"}
    if not _options(vocabulary, "optimizer_step"):
        wanted = {"requires_grad": "yes", **wanted}
    call = _PLAIN
    for name, value in wanted.items():
        known = vocabulary.dimension.get(name)
        if known is None or value not in known.deviations(()):
            return None
        call = _deviating(call, name, value)
    return call


def _trained(vocabulary: Vocabulary, training: Call) -> list[Step]:
    """Two steps of training, a validation call, and training again."""
    step, evaluate, train = (
        [Event(name, 0, value)] if value in _options(vocabulary, name) else []
        for name, value in (("optimizer_step", "sgd"), ("set_mode", "eval"), ("set_mode", "train"))
    )
    return [training, *step, training, *step, *evaluate, _PLAIN, *train, training, *step, _PLAIN]


def _options(vocabulary: Vocabulary, name: str) -> tuple[str, ...]:
    kind = vocabulary.event.get(name)
    return kind.options(()) if kind else ()


def _attributes(vocabulary: Vocabulary) -> Iterator[tuple[str, list[Step]]]:
    """One attribute a sequence: set to each value in turn, its own last."""
    by_place: dict[str, list[str]] = {}
    for value in _options(vocabulary, "set_attribute"):
        by_place.setdefault(value.partition("=")[0], []).append(value)
    for place, found in by_place.items():
        steps = [s for v in found for s in (Event("set_attribute", 0, v), _PLAIN)]
        yield f"attribute {place}", [_PLAIN, *steps]


def _visits(vocabulary: Vocabulary, name: str) -> Iterator[tuple[str, list[Step]]]:
    """Plain and deviating calls in turn; then the deviating call first."""
    values = vocabulary.dimension[name].deviations(())
    calls = [_deviating(_PLAIN, name, value) for value in values]
    for start in range(0, len(calls), _PER_SEQUENCE):
        part = calls[start : start + _PER_SEQUENCE]
        yield name, [_PLAIN, *(step for call in part for step in (call, _PLAIN))]
    if calls:
        yield name, [calls[0], _PLAIN, calls[0]]


def _changes(vocabulary: Vocabulary, name: str, base: Call) -> Iterator[tuple[str, list[Step]]]:
    """A call, then each value of an event with a call after it."""
    values = _options(vocabulary, name)
    for start in range(0, len(values), _PER_SEQUENCE):
        part = values[start : start + _PER_SEQUENCE]
        steps = [step for v in part for step in (Event(name, 0, v), base)]
        yield name, [base, *steps]
