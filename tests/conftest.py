"""What tests of several kinds share: a small vocabulary, its codec, and a harness without a
framework."""

from __future__ import annotations

import pytest

from harnesses.base import Harness, Program, Runtime, Wanted
from rondo.codec import Codec
from rondo.testcase import Call, TestCase
from rondo.vocabulary import Dimension, EventKind, Setting, Vocabulary, values

SMALL = Vocabulary(
    settings=(
        Setting("backend", ("plain", "whole"), (200, 56)),
        Setting("dynamic", ("none", "yes", "no"), (200, 28, 28)),
        Setting("strict", ("no", "yes"), (200, 56)),
        Setting("toggle", ("none",), (256,)),
    ),
    dimensions=(Dimension("colour", values("red", "green", "blue")),),
    events=(EventKind("paint", values("once", "twice")),),
    unsupported=frozenset({"thread", "autocast=float16", "tie_parameters"}),
)


class StubHarness(Harness):
    """A target that says what it emits, and runs nothing."""

    name = "stub"
    package = ""
    modules = ()
    vocabulary = SMALL
    layers = ("plain", "whole")

    def emit(self, case: TestCase) -> Program:
        sentences = tuple(f"[{type(step).__name__.lower()}] {step}" for step in case.steps)
        calls = tuple(i for i, step in enumerate(case.steps) if isinstance(step, Call))
        return Program("STEPS = []\n", sentences, calls, frozenset())

    def repro(self, case: TestCase, wanted: Wanted) -> str:
        raise NotImplementedError

    def runtime(self) -> Runtime:
        raise NotImplementedError


@pytest.fixture(scope="session")
def codec() -> Codec:
    """The byte format with the small vocabulary."""
    return Codec(SMALL)


@pytest.fixture
def stub() -> StubHarness:
    """A harness without a framework."""
    return StubHarness()
