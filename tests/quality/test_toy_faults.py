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
FAULTS = {
    "size_guard": 2,
    "third_float": 3,
    "hook_guard": 3,
    "closure_guard": 3,
    "effects_on_hits": 2,
}


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
        assert len(shrunk.case.steps) == FAULTS[fault]
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
