"""The seed corpus is current, small, and means the same on every target."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from harnesses import base
from rondo.codec import Codec

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
def test_seeds_are_one_call_on_every_target(target: str) -> None:
    codec = Codec(base.load(target).vocabulary)
    for data in written().values():
        case = codec.decode(data)
        assert len(case.steps) == case.calls == 1
        assert codec.encode(case) == data
