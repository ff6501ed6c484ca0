"""Plain random sequences find planted faults of the toy compiler, and none where there is none."""

from __future__ import annotations

import random

import pytest

from harnesses.toy import HARNESS
from rondo.codec import Codec
from rondo.executor.client import ForkServer
from rondo.generate import random_case
from rondo.oracle import Oracle
from rondo.shrink import Shrinker

CODEC = Codec(HARNESS.vocabulary)
MOST = 1500
SHORT = 5
FAULTS = ("size_guard", "third_float", "hook_guard", "closure_guard", "effects_on_hits")


@pytest.mark.parametrize("fault", FAULTS)
def test_random_sequences_find_the_fault_and_it_shrinks(fault: str) -> None:
    server = ForkServer("toy", (fault,))
    oracle = Oracle(HARNESS, server)
    draw = random.Random(1)
    try:
        for _ in range(MOST):
            found = random_case(draw, CODEC)
            verdict = oracle.judge(found)
            if verdict.kind == "stateful":
                break
        assert verdict.kind == "stateful", f"not found in {MOST} cases"
        shrunk = Shrinker(CODEC, oracle.recheck, found, verdict, 60).run()
        assert oracle.judge(shrunk.case).kind == "stateful"
        assert len(shrunk.case.steps) <= min(SHORT, len(found.steps))
    finally:
        server.close()


def test_a_clean_compiler_raises_no_alarm() -> None:
    server = ForkServer("toy")
    oracle = Oracle(HARNESS, server)
    draw = random.Random(2)
    try:
        kinds = [oracle.judge(random_case(draw, CODEC)).kind for _ in range(400)]
    finally:
        server.close()
    assert set(kinds) <= {"pass", "invalid"}
    assert kinds.count("pass") >= 0.9 * len(kinds)
