"""The example of docs/adding_a_target.md is a target that works; `rondo/` knows nothing of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rondo.findings import Store

ROOT = Path(__file__).resolve().parents[2]
PLACES = {
    "tiny/__init__.py": "targets/tiny/__init__.py",
    "tiny/runtime.py": "targets/tiny/runtime.py",
    "tiny/compiler.py": "framework/tiny/compiler.py",
    "fuzz/tiny.py": "fuzz_tiny.py",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of the example, written where it says."""
    text = (ROOT / "docs" / "adding_a_target.md").read_text()
    blocks = re.findall(r"`([\w/]+\.py)`[^\n]*\n\n```python\n(.*?)```", text, re.DOTALL)
    assert {name for name, _ in blocks} == set(PLACES)
    for name, source in blocks:
        path = tmp_path / PLACES[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source.replace('"ROOT"', repr(str(ROOT))))
    (tmp_path / "corpus").mkdir()
    return tmp_path


def fuzz(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "RONDO_TARGETS": str(folder / "targets"),
        "PYTHONPATH": str(folder / "framework"),
    }
    command = [sys.executable, "fuzz_tiny.py", "corpus", "--findings=findings", *flags]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=200
    )


def test_a_third_target_needs_no_change_of_the_core(folder: Path) -> None:
    done = fuzz(folder, "-runs=60", "-seed=3")
    assert done.returncode == 0, done.stderr
    assert not list(Store(folder / "findings").findings())
    done = fuzz(folder, "-runs=2000", "-seed=3", "--fault=no_guard", "--stop-on-finding")
    assert done.returncode == 1, done.stderr
    (finding,) = Store(folder / "findings").findings()
    assert finding.target == "tiny"
    assert len(finding.sentences) == 3
