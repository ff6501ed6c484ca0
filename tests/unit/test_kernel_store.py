"""The store of compiled kernels: made where it is missing, never larger than it may be for long."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harnesses.folders import kernel_store
from rondo.errors import SetupError


def test_what_was_used_least_recently_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RONDO_CACHE", str(tmp_path))
    folder = kernel_store("toy", "1")
    for age in range(4):
        path = folder / f"kernel{age}"
        path.write_bytes(bytes(100))
        os.utime(path, (1000 - age, 1000 - age))
    assert len(list(kernel_store("toy", "1", most=400).iterdir())) == 4
    kept = {path.name for path in kernel_store("toy", "1", most=399).iterdir()}
    assert kept == {"kernel0"}


def test_a_folder_that_cannot_be_made_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RONDO_CACHE", str(tmp_path / "file"))
    with pytest.raises(SetupError, match="RONDO_CACHE"):
        kernel_store("toy", "1")
