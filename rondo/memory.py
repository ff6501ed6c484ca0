"""N(s) on disk: how often each signature has been seen, in `behaviour.json` of the findings folder.

`rondo.chains` starts from these counts and adds to them, so that a campaign which is carried on
knows what is rare. Drivers that share a folder add what is theirs, one after the other. The file
lies with the findings, not in the corpus, where libFuzzer would take it for an input.
"""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from rondo.errors import FormatError, RondoError
from rondo.findings import write_atomically

NAME = "behaviour.json"
_Table = dict[str, dict[str, int]]


class Memory:
    """The counts of one target in a findings folder."""

    def __init__(self, folder: Path, target: str) -> None:
        self._path = folder / NAME
        self._target = target
        self._saved: Counter[str] = Counter()

    def read(self) -> Counter[str]:
        """The counts so far; what is counted from now on is added to them by `save`.

        Raises RondoError for a file that cannot be read or holds something else.
        """
        self._saved = Counter(self._table().get(self._target, {}))
        return Counter(self._saved)

    def save(self, seen: Counter[str]) -> None:
        """Add to the file what has been counted since the last time.

        Raises RondoError when the disk does not take it.
        """
        with _alone(self._path.parent):
            table = self._table()
            total = Counter(table.get(self._target, {}))
            total.update(seen - self._saved)
            table[self._target] = dict(total)
            write_atomically(self._path, msgspec.json.encode(table))
        self._saved = Counter(seen)

    def _table(self) -> _Table:
        if not self._path.exists():
            return {}
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Table)
        except OSError as error:
            raise RondoError(
                f"{self._path} cannot be read: {error.strerror}", f"move {self._path} away"
            ) from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise FormatError(
                f"{self._path} is damaged: {error}",
                "remove it: the search then counts behaviour anew, and nothing else is lost",
            ) from error


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """No other driver is in here with the same folder."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)
