"""Known behaviour: data beside each harness (`known.toml`) that says what a finding may be.

A finding that an entry matches stays a finding; it is marked, and counted apart. `tally` counts
what the entries of a target explain in a findings folder.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from rondo.errors import FormatError
from rondo.findings import Finding
from rondo.identity import Identity

REPETITION = "repetition"


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry; every field that is given must match, `changes` by at least one.

    `versions` is the range of the framework's versions that it holds for (">=2.6,<2.14"; all when
    empty), `seen` the newest version that is known to show it.
    """

    id: str
    url: str
    reason: str
    changes: tuple[str, ...]
    symptom: str = ""
    layer: str = ""
    message: str = ""
    families: tuple[str, ...] = ()
    versions: str = ""
    seen: str = ""

    def __post_init__(self) -> None:
        try:
            SpecifierSet(self.versions)
            Version(self.seen or "0")
        except (InvalidSpecifier, InvalidVersion) as error:
            raise ValueError(f"{self.id}: {error}") from None

    def matches(self, identity: Identity, detail: str, version: str = "") -> bool:
        """Whether this entry explains a finding with this identity and detail, on this version."""
        changes = identity.changes or (REPETITION,)
        return (
            any(change in self.changes for change in changes)
            and self.symptom in ("", identity.symptom)
            and self.layer in ("", identity.layer)
            and self.message in detail
            and set(self.families) <= set(identity.families)
            and (not version or SpecifierSet(self.versions).contains(version, prereleases=True))
        )

    @property
    def text(self) -> str:
        """How a finding is marked."""
        return f"{self.reason}: {self.id}, {self.url}"


class Tally(msgspec.Struct, frozen=True):
    """An entry with the findings of a folder that it explains, the cases that hit them, and what
    follows from that."""

    entry: Known
    findings: tuple[str, ...]
    cases: int
    status: str


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


def explain(entries: tuple[Known, ...], identity: Identity, detail: str, version: str = "") -> str:
    """What is known of a finding, or the empty string."""
    return next((e.text for e in entries if e.matches(identity, detail, version)), "")


def tally(entries: tuple[Known, ...], found: Iterable[Finding], package: str) -> tuple[Tally, ...]:
    """How often each entry was met in a findings folder."""
    findings = tuple(found)
    versions = [f.versions[package] for f in findings if package in f.versions]
    newest = max(versions, key=_ordered, default="")
    return tuple(_tally(entry, findings, newest) for entry in entries)


def _tally(entry: Known, findings: tuple[Finding, ...], newest: str) -> Tally:
    hit = [finding for finding in findings if finding.known == entry.text]
    names = tuple(finding.name for finding in hit)
    return Tally(entry, names, sum(f.seen for f in hit), _status(entry, bool(hit), newest))


def _status(entry: Known, met: bool, newest: str) -> str:
    if met:
        return "met"
    if newest and entry.seen and _ordered(newest) > _ordered(entry.seen):
        return f"possibly fixed: not met with {newest}, last seen with {entry.seen}"
    return "not met"


def _ordered(version: str) -> tuple[int, ...]:
    """A version without what its build adds."""
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0]))
