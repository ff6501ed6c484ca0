"""Run the real `fuzz/toy.py` in a process of its own, as a user does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "fuzz" / "toy.py"


def command(*arguments: str | Path) -> list[str]:
    """The command line of the toy target."""
    return [sys.executable, str(SCRIPT), *map(str, arguments)]


def fuzz(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a toy campaign in a folder to its end."""
    return subprocess.run(
        command(*arguments), cwd=folder, capture_output=True, text=True, timeout=240
    )


def corpus(folder: Path, name: str = "corpus") -> Path:
    """A new empty corpus folder."""
    made = folder / name
    made.mkdir()
    return made
