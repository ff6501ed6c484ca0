"""Known behaviour: data beside each harness (`known.toml`) that says what a finding may be.

A finding that an entry matches stays a finding; it is marked, and counted apart.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from rondo.errors import FormatError
from rondo.identity import Identity

REPETITION = "repetition"


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry; every field that is given must match, `changes` by at least one."""

    id: str
    url: str
    reason: str
    changes: tuple[str, ...]
    symptom: str = ""
    layer: str = ""
    message: str = ""
    families: tuple[str, ...] = ()

    def matches(self, identity: Identity, detail: str) -> bool:
        """Whether this entry explains a finding with this identity and detail."""
        changes = identity.changes or (REPETITION,)
        return (
            any(change in self.changes for change in changes)
            and self.symptom in ("", identity.symptom)
            and self.layer in ("", identity.layer)
            and self.message in detail
            and set(self.families) <= set(identity.families)
        )


def read(path: Path) -> tuple[Known, ...]:
    """The entries of a data file; none when there is no file.

    Raises FormatError for a file that is not of this form.
    """
    if not path.exists():
        return ()
    try:
        entries = tomllib.loads(path.read_text())["known"]
        return msgspec.convert(entries, tuple[Known, ...])
    except (tomllib.TOMLDecodeError, KeyError, msgspec.ValidationError) as error:
        raise FormatError(f"{path}: {error}", "see the comment at its top for the form") from error


def explain(entries: tuple[Known, ...], identity: Identity, detail: str) -> str:
    """What is known of a finding, or the empty string."""
    for entry in entries:
        if entry.matches(identity, detail):
            return f"{entry.reason}: {entry.id}, {entry.url}"
    return ""
