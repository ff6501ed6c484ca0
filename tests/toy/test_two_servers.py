"""Both arms at the same time: two servers that live on, and what happens when the second dies."""

from __future__ import annotations

import os
import signal
import time

import pytest

from harnesses.toy import HARNESS
from rondo.executor.client import ForkServer
from rondo.executor.protocol import EAGER, RETAINED, Job
from tests.cases import call, case, through_bytes

PROGRAM = HARNESS.emit(through_bytes(case("linear", call(2), call(3)), HARNESS.vocabulary))
JOBS = Job(PROGRAM.text, (EAGER,)), Job(PROGRAM.text, (RETAINED,))

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")


def test_both_servers_live_on() -> None:
    server = ForkServer("toy")
    try:
        for _ in range(3):
            eager, retained = server.run_both(*JOBS)
            assert [len(eager.arms["eager"]), len(retained.arms["retained"])] == [2, 2]
            time.sleep(0.05)
        assert server.starts == 1
        assert server.twin is not None and server.twin.starts == 1
    finally:
        server.close()
    assert server.twin is not None and server.twin.pid == 0


def test_a_second_server_that_died_is_started_again() -> None:
    server = ForkServer("toy")
    try:
        server.run_both(*JOBS)
        assert server.twin is not None
        os.kill(server.twin.pid, signal.SIGKILL)
        time.sleep(0.2)
        _, retained = server.run_both(*JOBS)
        assert len(retained.arms["retained"]) == 2
        assert (server.starts, server.twin.starts) == (1, 2)
    finally:
        server.close()
