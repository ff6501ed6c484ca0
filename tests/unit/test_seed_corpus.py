"""The seed corpus is current, small, and means the same on every target."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from harnesses import base
from rondo.codec import Codec
from rondo.models.architectures import ARCHITECTURES
from rondo.models.grow import grow
from rondo.models.operators import FAMILY, OPERATORS
from rondo.testcase import Call, Event
from rondo.vocabulary import SHARED_EVENTS, Vocabulary

ROOT = Path(__file__).resolve().parents[2]


def written() -> dict[str, bytes]:
    """The seeds as the tool writes them."""
    path = ROOT / "tools" / "seed_corpus.py"
    spec = importlib.util.spec_from_file_location("seed_corpus", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.seeds())


def test_the_seed_corpus_is_current() -> None:
    stored = {path.name: path.read_bytes() for path in (ROOT / "corpus").glob("seed-*")}
    assert stored == written()
    assert 0 < len(stored) <= 400


@pytest.mark.parametrize("target", base.available())
def test_seeds_are_cases_on_every_target(target: str) -> None:
    codec = Codec(base.load(target).vocabulary)
    for name, data in written().items():
        case = codec.decode(data)
        assert case.calls, name
        assert codec.canonical(codec.encode(case)) == codec.encode(case)


def test_seeds_hold_everything_once_and_no_state_changes_between_two_calls() -> None:
    shared = Codec(Vocabulary(base.load("toy").vocabulary.settings))
    cases = {name: shared.decode(data) for name, data in written().items()}
    assert {case.model.architecture for case in cases.values()} == set(ARCHITECTURES)
    grown = {node.op for case in cases.values() for node in grow(case.model).nodes}
    assert set(OPERATORS) - grown == set()
    steps = [step for case in cases.values() for step in case.steps]
    assert {kind.name for kind in SHARED_EVENTS} == {
        step.kind for step in steps if isinstance(step, Event)
    }
    for name, case in cases.items():
        if case.calls > 1:
            graph = grow(case.model)
            assert not {node.op for node in graph.nodes} & set(FAMILY), name
            assert not any(step.deviations for step in case.steps if isinstance(step, Call)), name
