"""Deaths of a torch child are verdicts, and the server lives on; nothing outlives a driver."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from harnesses.torch_inductor import HARNESS
from rondo.oracle import Limits
from tests.cases import call, case, through_bytes
from tests.frameworks.conftest import judging

ROOT = Path(__file__).resolve().parents[2]
SHAPES_DIFFER = through_bytes(case("branch_batch", call(2), call(3)), HARNESS.vocabulary)
SHAPES_ALIKE = through_bytes(case("branch_batch", call(2), call(2)), HARNESS.vocabulary)


@pytest.mark.framework
@pytest.mark.parametrize(
    ("fault", "symptom"),
    [
        ("crash_on_recompile", "crash"),
        ("hang_on_recompile", "hang"),
        ("memory_on_recompile", "memory"),
    ],
)
def test_a_dying_child_is_a_stateful_verdict(fault: str, symptom: str) -> None:
    limits = Limits(seconds=8, megabytes=600)
    with judging("torch_inductor", fault, limits=limits) as oracle:
        verdict = oracle.judge(SHAPES_DIFFER)
        assert (verdict.kind, verdict.symptom) == ("stateful", symptom), verdict
        assert verdict.difference is not None and verdict.difference.step == 1
        assert oracle.judge(SHAPES_ALIKE).kind == "pass"


@pytest.mark.framework
def test_nothing_outlives_a_killed_driver(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    command = [sys.executable, str(ROOT / "fuzz" / "torch_inductor.py"), str(corpus)]
    driver = subprocess.Popen(
        [*command, f"--findings={tmp_path / 'findings'}"], stderr=subprocess.DEVNULL
    )
    try:
        children = _wait_for_grandchild(driver.pid)
    finally:
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait()
    gone, alive = psutil.wait_procs(children, timeout=5)
    assert not alive
    assert len(gone) >= 2


def _wait_for_grandchild(pid: int) -> list[psutil.Process]:
    """The driver's server and its running child, once both are there."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        children = psutil.Process(pid).children(recursive=True)
        if len(children) >= 2:
            return children
        time.sleep(0.05)
    raise AssertionError("the driver never ran a case")
