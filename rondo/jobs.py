"""`-jobs` and `-fork`: libFuzzer starts drivers of its own, and one process waits for all of them.

Between `rondo.fuzzer` and libFuzzer. While libFuzzer waits for its drivers it is in C++, where no
handler of Python's runs, and it ignores Ctrl-C. So it does that in a child, in a process group of
its own, and this process ends the drivers in order.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from rondo.errors import Interrupted

PATIENCE = 30.0
"""Seconds for the drivers to end in order: each writes down what it has learned."""
_POLL = 0.1


def apart(findings: Path, queued: bool) -> None:
    """Return in a child that libFuzzer may have; the calling process ends as that child does.
    `queued` says that libFuzzer would start the next driver in the place of one that ends.

    Raises Interrupted in the calling process at Ctrl-C, after the drivers have ended.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        return
    with suppress(OSError):  # the child may have done it, or be gone
        os.setpgid(child, child)
    try:
        _, status = os.waitpid(child, 0)
    except KeyboardInterrupt:
        _end(child, queued)
        raise Interrupted(
            "interrupted",
            f"findings are in {findings}: `rondo findings {findings}` lists them",
        ) from None
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _end(group: int, queued: bool) -> None:
    """End all processes of a group in order, and by force those that take too long."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if queued:
        os.kill(group, signal.SIGKILL)
    os.killpg(group, signal.SIGINT)
    deadline = time.monotonic() + PATIENCE
    while _running(group) and time.monotonic() < deadline:
        time.sleep(_POLL)
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _running(group: int) -> bool:
    """Whether a process of the group has not ended; one that nobody waits for stays in the table
    of processes, so being there is not enough."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, its_group = stat.read_text().rpartition(") ")[2].split()[:3]
            if int(its_group) == group and state != "Z":
                return True
    return False
