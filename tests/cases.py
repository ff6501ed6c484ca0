"""A short way to write test cases by name in tests: they go through bytes before they run."""

from __future__ import annotations

from rondo.codec import Codec
from rondo.testcase import Call, Deviation, Event, Model, Operator, Step, TestCase
from rondo.vocabulary import Vocabulary


def call(batch: int = 2, **deviations: str) -> Call:
    """A call with deviations by dimension."""
    return Call(batch, tuple(Deviation(name, value) for name, value in deviations.items()))


def event(kind: str, value: str = "default", target: int = 0) -> Event:
    """An event."""
    return Event(kind, target, value)


def case(operators: str, *steps: Step, architecture: str = "nothing", **settings: str) -> TestCase:
    """A test case from operator names, steps and settings."""
    model = Model(architecture, operators=tuple(Operator(name) for name in operators.split()))
    return TestCase(model, tuple(settings.items()), steps)


def through_bytes(given: TestCase, vocabulary: Vocabulary) -> TestCase:
    """The same case, decoded from its bytes."""
    codec = Codec(vocabulary)
    return codec.decode(codec.encode(given))
