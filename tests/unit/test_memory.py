"""The counts of signatures on disk, and what a campaign meets in the place of its files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rondo.errors import FormatError, RondoError
from rondo.findings import Store
from rondo.memory import NAME, Memory


def test_counts_are_carried_on_and_targets_kept_apart(tmp_path: Path) -> None:
    first, other = Memory(tmp_path, "toy"), Memory(tmp_path, "other")
    assert not first.read() and not other.read()
    first.save(Counter(compiled=3))
    other.save(Counter(compiled=8))
    first.save(Counter(compiled=4, reused=1))
    assert Memory(tmp_path, "toy").read() == Counter(compiled=4, reused=1)
    assert Memory(tmp_path, "other").read() == Counter(compiled=8)


def test_two_drivers_add_up(tmp_path: Path) -> None:
    Memory(tmp_path, "toy").save(Counter(a=10))
    one, two = Memory(tmp_path, "toy"), Memory(tmp_path, "toy")
    seen_one, seen_two = one.read(), two.read()
    seen_one.update(a=1, b=1)
    seen_two.update(a=5)
    one.save(seen_one)
    two.save(seen_two)
    two.save(seen_two)
    assert Memory(tmp_path, "toy").read() == Counter(a=16, b=1)


def test_a_folder_in_its_place_is_to_be_moved_away(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    with pytest.raises(RondoError, match=f"cannot be read.*\n  move .*{NAME} away"):
        Memory(tmp_path, "toy").read()
    (tmp_path / "name" / "verdict.json").mkdir(parents=True)
    with pytest.raises(FormatError, match=r"cannot be read.*\n  move .*verdict.json away"):
        Store(tmp_path).known("name")


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b'{"toy": [1]}')
    with pytest.raises(FormatError, match="damaged"):
        Memory(tmp_path, "toy").read()
