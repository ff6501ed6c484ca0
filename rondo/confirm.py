"""Run a repro in cold interpreters, and ask one what the environment is.

The driver imports no framework; whatever is to be known of it is asked here, of a process of its
own.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harnesses.base import Harness
from rondo.findings import write_atomically

THERE = "the bug is there"
"""What a repro says last where it exits with 1."""
COLD_RUNS = 3
COLD_SECONDS = 600
ENVIRONMENT_SECONDS = 120
_MOST_OUTPUT = 6000
_ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Cold:
    """How many cold interpreters showed the bug, and what one that did printed."""

    confirmed: int
    output: str


def cold(target: str, faults: tuple[str, ...], text: str, folder: Path) -> Cold:
    """Run a repro in `COLD_RUNS` interpreters; planted faults are installed in each first."""
    path = folder / f"{os.getpid()}-repro.py"
    write_atomically(path, text.encode())
    command = [sys.executable, "-m", "rondo.cold", target, str(path)]
    command += [part for fault in faults for part in ("--fault", fault)]
    try:
        with ThreadPoolExecutor(COLD_RUNS) as pool:
            runs = list(pool.map(_judged, [command] * COLD_RUNS))
    finally:
        path.unlink()
    showing = [output for code, output in runs if code == 1]
    said = showing[0].replace(str(path), "repro.py") if showing else ""
    return Cold(len(showing), said)


def run_repro(path: Path) -> int:
    """The exit code of a repro in a cold interpreter; 2 (cannot tell) when it does not end."""
    return _judged([sys.executable, str(path)])[0]


def _judged(command: list[str]) -> tuple[int, str]:
    """A repro's exit code and output; 2 where the code says that the bug is there and the repro
    does not: that is how Python ends on any error of the repro's own."""
    code, said = _run(command)
    return (code if code != 1 or THERE in said.splitlines() else 2), said


def _run(command: list[str], seconds: float = COLD_SECONDS) -> tuple[int, str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TORCHINDUCTOR")}
    paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            env=environment,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return 2, ""
    return done.returncode, done.stdout[-_MOST_OUTPUT:]


def environment(harness: Harness) -> str:
    """What the framework's own collector says of this environment; empty where it has none or it
    fails."""
    if not harness.issue.collector:
        return ""
    command = [sys.executable, "-W", "ignore", *harness.issue.collector]
    code, said = _run(command, ENVIRONMENT_SECONDS)
    return said.strip() if code == 0 else ""


def versions(harness: Harness) -> dict[str, str]:
    """The versions that a report names."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in (harness.package, "numpy"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
