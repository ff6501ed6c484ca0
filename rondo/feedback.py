"""Features to libFuzzer counters, through two private names of Atheris.

A feature is a name (a compiler line, a behaviour); its counter is a hash of the name, so it is the
same in every run and on every machine. The private names live here alone and are checked at start.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable

from rondo.errors import SetupError

LINE_COUNTERS = 1 << 18
BEHAVIOUR_COUNTERS = 1 << 15
"""Ten times what campaigns have shown: of 26,000 compiler lines, one in twenty shares its counter.
libFuzzer looks at all of them after each run, which takes 0.5 ms."""
LINE = "line"
"""The first word of a compiler line's feature; those of behaviour begin with another."""


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
        self.kinds: Counter[str] = Counter()
        self.collided: set[str] = set()

    @property
    def lines(self) -> int:
        """How many compiler lines have been reported."""
        return self.kinds[LINE]

    @property
    def behaviours(self) -> int:
        """How many features of behaviour have been reported."""
        return self.kinds.total() - self.lines

    def unseen(self, names: Iterable[str]) -> list[str]:
        """The names among these that libFuzzer has not seen in this process, each once."""
        return [name for name in dict.fromkeys(names) if _place(name) not in self._names]

    def report(self, names: Iterable[str]) -> None:
        """Report the features of one run: each once, since libFuzzer would take a repeated one for
        something new."""
        for name in dict.fromkeys(names):
            place = _place(name)
            # Looked up at each call: `atheris.Setup` puts another function in this name's place.
            self._atheris._trace_branch(self._counters[place])
            if place not in self._names:
                self._names[place] = name
                self.kinds[name.partition(" ")[0]] += 1
            elif self._names[place] != name and name not in self.collided:
                self.collided.add(name)
                self.kinds[name.partition(" ")[0]] += 1


def line_names(lines: dict[str, tuple[int, ...]]) -> list[str]:
    """The names of compiler lines, given by file."""
    return [f"{LINE} {file}:{number}" for file, numbers in lines.items() for number in numbers]


def _place(name: str) -> int:
    """The counter of a feature."""
    number = zlib.crc32(name.encode())
    if name.startswith(LINE):
        return number % LINE_COUNTERS
    return LINE_COUNTERS + number % BEHAVIOUR_COUNTERS
