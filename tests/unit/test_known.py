"""Known issues: version ranges, hits in a findings folder, and what may be fixed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from rondo.errors import FormatError
from rondo.identity import Identity
from rondo.known import Known, explain, read, tally
from tests.unit.test_report import FINDING

IDENTITY = Identity("t", "stateful", "wrong_result", "", "eager", "reused", ("batch",), ())
ENTRY = Known("#1", "https://example.org/1", "fixed in 2.14", ("batch",), versions="<2.14")


def test_an_entry_holds_for_its_versions_only() -> None:
    assert explain((ENTRY,), IDENTITY, "", "2.13.0+cpu") == ENTRY.text
    assert explain((ENTRY,), IDENTITY, "", "2.14.0") == ""
    assert explain((ENTRY,), IDENTITY, "") == ENTRY.text


@pytest.mark.parametrize(
    ("seen", "version", "marked", "status"),
    [
        ("2.13.0", "2.13.0+cpu", True, "met"),
        ("2.13.0", "2.13.0+cpu", False, "not met"),
        ("", "2.15.0", False, "not met"),
        ("2.9.1", "2.13.0", False, "possibly fixed: not met with 2.13.0, last seen with 2.9.1"),
    ],
)
def test_what_no_longer_matches_on_a_newer_version_may_be_fixed(
    seen: str, version: str, marked: bool, status: str
) -> None:
    entry = msgspec.structs.replace(ENTRY, seen=seen)
    found = msgspec.structs.replace(
        FINDING, versions={"torch": version}, known=entry.text if marked else "", seen=7
    )
    (counted,) = tally((entry,), (found,), "torch")
    assert counted.status == status
    assert (counted.cases, len(counted.findings)) == ((7, 1) if marked else (0, 0))


@pytest.mark.parametrize("line", ['versions = "newer"', 'seen = "soon"', "reasons = 1"])
def test_a_damaged_entry_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(f'[[known]]\nid = "1"\nurl = ""\nreason = ""\nchanges = []\n{line}\n')
    with pytest.raises(FormatError, match=r"known\.toml"):
        read(path)
