"""A framework's own tests of its operators as models: the data file of a target, read.

The file is written by one of the tools `tools/*_source_tests.py` and lists, for each test that can
be said as text, its input and the lines of its template. Emission takes the text from here, the
codec the names and shapes (`Vocabulary.tests`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from harnesses.emission import Template
from rondo.testcase import SourceTest


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One test: `lines` compute {y} from {h} with what `init` sets up on the model.

    `parameter` says where its first parameter sits below {n}; `random` that it draws numbers.
    """

    name: str
    shape: tuple[int | str, ...]
    lines: tuple[str, ...]
    init: tuple[str, ...] = ()
    carries: tuple[str, ...] = ()
    parameter: str = ""
    random: bool = False


@dataclass(frozen=True)
class SourceTests:
    """The tests of one target, in the order of the byte format."""

    entries: tuple[Entry, ...]

    @cached_property
    def tests(self) -> tuple[SourceTest, ...]:
        """What the core knows of them."""
        return tuple(SourceTest(e.name, e.shape, e.carries) for e in self.entries)

    @cached_property
    def templates(self) -> dict[str, Template]:
        """Test -> its text, which names the test."""
        return {e.name: Template((f"# {e.name}", *e.lines), e.init) for e in self.entries}

    @cached_property
    def parameters(self) -> dict[str, str]:
        """Test -> where its parameter sits below its stem."""
        return {e.name: e.parameter for e in self.entries if e.parameter}

    @cached_property
    def random(self) -> frozenset[str]:
        """The tests that draw random numbers."""
        return frozenset(e.name for e in self.entries if e.random)


def write(path: Path, entries: Iterable[Entry]) -> None:
    """Write a data file, an entry a line."""
    rows = ",\n".join(msgspec.json.encode(entry).decode() for entry in entries)
    path.write_text(f"[\n{rows}\n]\n")


def read(path: Path) -> SourceTests:
    """The tests of a data file."""
    return SourceTests(msgspec.json.decode(path.read_bytes(), type=tuple[Entry, ...]))
