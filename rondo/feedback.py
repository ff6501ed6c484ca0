"""Features to libFuzzer counters, through two private names of Atheris.

A feature is a name (a compiler line, a behaviour); its counter is a hash of the name, so it is the
same in every run and on every machine. The private names live here alone and are checked at start.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from rondo.errors import SetupError

LINE_COUNTERS = 1 << 16
BEHAVIOUR_COUNTERS = 1 << 15


class Feedback:
    """Reserves the counters and reports features to libFuzzer.

    Raises SetupError when this Atheris does not have the names that Rondo needs.
    """

    def __init__(self) -> None:
        import atheris

        for name in ("_reserve_counter", "_trace_branch"):
            if not hasattr(atheris, name):
                raise SetupError(
                    f"this Atheris has no {name}", "install the version in constraints.txt"
                )
        self._atheris = atheris
        total = LINE_COUNTERS + BEHAVIOUR_COUNTERS
        self._counters = [atheris._reserve_counter() for _ in range(total)]
        self._names: dict[int, str] = {}
        self.collisions = 0
        self.lines = 0
        self.behaviours = 0

    def behaviour(self, names: Iterable[str]) -> bool:
        """Report behaviour features; whether a single step's signature is new in this process."""
        new = False
        for name in names:
            fresh = self._report(LINE_COUNTERS + _hash(name) % BEHAVIOUR_COUNTERS, name)
            self.behaviours += fresh
            new = new or (fresh and name.startswith("step "))
        return new

    def compiler_lines(self, lines: dict[str, tuple[int, ...]]) -> bool:
        """Report compiler lines; whether one of them is new in this process."""
        new = False
        for file, numbers in lines.items():
            for number in numbers:
                name = f"{file}:{number}"
                fresh = self._report(_hash(name) % LINE_COUNTERS, name)
                self.lines += fresh
                new = new or fresh
        return new

    def _report(self, place: int, name: str) -> bool:
        # Looked up at each call: `atheris.Setup` puts another function in this name's place.
        self._atheris._trace_branch(self._counters[place])
        known = self._names.setdefault(place, name)
        if known is name:
            return True
        self.collisions += known != name
        return False


def _hash(name: str) -> int:
    return zlib.crc32(name.encode())
