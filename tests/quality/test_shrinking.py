"""Failing sequences of many steps shrink to the known number of steps of their fault."""

from __future__ import annotations

import random

import pytest

from harnesses.toy import HARNESS
from rondo.executor.client import ForkServer
from rondo.oracle import Oracle
from rondo.shrink import Shrinker
from tests.toy.hidden import CODEC, hidden
from tests.toy.shortest import SHORTEST

FAULTS = ("size_guard", "third_float", "hook_guard", "disk_ignores_constants")
TRIES = 30
LEAST_STEPS = 12
MOST_RUNS = 120


@pytest.mark.parametrize("fault", FAULTS)
def test_long_sequences_shrink_to_the_known_number_of_steps(fault: str) -> None:
    server, rng = ForkServer("toy", (fault,)), random.Random(1)
    oracle = Oracle(HARNESS, server)
    try:
        for _ in range(TRIES):
            case = hidden(rng, SHORTEST[fault])
            verdict = oracle.judge(case)
            if verdict.kind == "stateful" and len(case.steps) >= LEAST_STEPS:
                break
        assert verdict.kind == "stateful", f"the fault did not show in {TRIES} cases"
        shrunk = Shrinker(CODEC, oracle.recheck, case, verdict, 120).run()
        assert oracle.judge(shrunk.case).kind == "stateful"
    finally:
        server.close()
    assert len(shrunk.case.steps) <= len(SHORTEST[fault].steps)
    assert shrunk.tried <= MOST_RUNS
