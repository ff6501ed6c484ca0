"""Compiler line coverage through the `coverage` package's own collector, kept in memory.

The collector is made once, in the fork server, and started around the steps that are traced;
reading its line sets in memory costs under a millisecond, where the SQLite data of
`Coverage.get_data` costs 60 and more.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import coverage as coverage_package


class LineTracer:
    """Collects the lines run in some source folders."""

    def __init__(self, sources: Sequence[Path]) -> None:
        self._roots = [str(path) for path in sources]
        self._coverage = coverage_package.Coverage(
            data_file=None, include=[f"{root}/*" for root in self._roots], config_file=False
        )
        self._coverage.set_option("run:core", None)
        self._coverage.start()
        self._coverage.stop()
        collector = self._coverage._collector
        if collector is None or not hasattr(collector, "data"):
            raise RuntimeError(
                f"coverage {coverage_package.__version__} keeps its data elsewhere than Rondo "
                "expects; install the version in constraints.txt"
            )
        self._collector = collector
        self._collector.data.clear()

    def start(self) -> None:
        """Start collecting in this thread and those it starts."""
        self._collector.start()

    def stop(self) -> None:
        """Stop collecting; the lines stay until `taken`."""
        self._collector.stop()

    def taken(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The lines collected so far, by file relative to the parent of its source folder."""
        found: list[tuple[str, tuple[int, ...]]] = []
        data = cast("dict[str, set[int]]", self._collector.data)
        for filename, lines in data.items():
            for root in self._roots:
                if filename.startswith(root):
                    name = os.path.relpath(filename, os.path.dirname(root))
                    found.append((name, tuple(sorted(lines))))
                    break
        self._collector.data.clear()
        return tuple(sorted(found))
