"""A case that hangs is waited for once: after that, as long as a fresh compile can take."""

from __future__ import annotations

import time

import pytest

from harnesses.toy import HARNESS
from rondo import oracle
from rondo.executor.client import ForkServer
from rondo.oracle import Limits, Oracle
from tests.toy.shortest import SHORTEST

SECONDS, LEAST = 6.0, 1.0


def test_a_hang_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "LEAST_PATIENCE", LEAST)
    server = ForkServer("toy", ("hang",))
    server.start()
    judging = Oracle(HARNESS, server, Limits(seconds=SECONDS))
    try:
        verdict = judging.judge(SHORTEST["hang"])
        before = time.monotonic()
        again = judging.recheck(SHORTEST["hang"], patience=verdict.patience)
        took = time.monotonic() - before
        passing = judging.judge(SHORTEST["hang"].with_steps(SHORTEST["hang"].steps[:1]))
    finally:
        server.close()
    assert (verdict.kind, verdict.symptom, verdict.runs) == ("stateful", "hang", 5)
    assert SECONDS < verdict.seconds < 2 * SECONDS and LEAST <= verdict.patience < SECONDS
    assert (again.kind, again.symptom) == ("stateful", "hang") and took < SECONDS
    assert passing.kind == "pass" and passing.patience == 0
