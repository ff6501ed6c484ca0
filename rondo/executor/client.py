"""The driver's end of the fork server: start it, send it jobs, start it again when it died."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

import msgspec

from rondo.errors import ServerError
from rondo.executor.protocol import LENGTH, Hello, Job, Outcome, Reply, frame, outcome

_ROOT = Path(__file__).resolve().parents[2]
_PINNED = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}
_RESTARTS = 3


class ForkServer:
    """An executor that plays each job in a child of a warmed server process."""

    def __init__(self, target: str, faults: tuple[str, ...] = ()) -> None:
        self._target = target
        self._faults = faults
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] = tempfile.TemporaryFile(prefix="rondo-server-")
        self.twin: ForkServer | None = None  # runs the second of two jobs at the same time
        self.start_seconds = 0.0
        self.starts = 0

    @property
    def pid(self) -> int:
        """The server's process id, 0 when none runs."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Start the server and wait until it is warm.

        Raises ServerError with the server's own words when it cannot start.
        """
        before = time.monotonic()
        command = [sys.executable, "-m", "rondo.executor.server", self._target]
        command += ["--parent", str(os.getpid())]
        for fault in self._faults:
            command += ["--fault", fault]
        path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH", ""))))
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **_PINNED, "PYTHONPATH": path},
            start_new_session=True,
        )
        self.starts += 1
        body = self._read()
        if body is None:
            raise ServerError(
                f"the fork server of {self._target} died while it started",
                f"its last words:\n{self._tail()}",
            )
        hello = msgspec.msgpack.decode(body, type=Hello)
        if not hello.ready:
            raise ServerError(hello.trouble, hello.advice)
        self.start_seconds = time.monotonic() - before

    def run(self, job: Job) -> Outcome:
        """Run a job in a fresh child; a server that died is started again, at most three times."""
        for _ in range(_RESTARTS):
            if self._process is None or self._process.poll() is not None:
                self.start()
            reply = self._ask(job)
            if reply is not None:
                return outcome(reply.frames, reply.death, reply.detail, reply.seconds)
            self.close()
        raise ServerError(
            f"the fork server of {self._target} died {_RESTARTS} times on one test case",
            f"its last words:\n{self._tail()}",
        )

    def run_both(self, first: Job, second: Job) -> tuple[Outcome, Outcome]:
        """Run two jobs at the same time, the second in a server of its own; one after the other
        where there is one processor."""
        if len(os.sched_getaffinity(0)) < 2:
            return self.run(first), self.run(second)
        if self.twin is None:
            self.twin = ForkServer(self._target, self._faults)
        twin = self.twin
        if twin._process is None or twin._process.poll() is not None:
            twin.start()
        sent = twin._send(second)
        ended = self.run(first)
        reply = twin._receive() if sent else None
        if reply is None:  # the twin died: ask it again, as `run` does
            twin.close()
            return ended, twin.run(second)
        return ended, outcome(reply.frames, reply.death, reply.detail, reply.seconds)

    def _ask(self, job: Job) -> Reply | None:
        return self._receive() if self._send(job) else None

    def _send(self, job: Job) -> bool:
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(frame(job))
            self._process.stdin.flush()
        except BrokenPipeError:
            return False
        return True

    def _receive(self) -> Reply | None:
        body = self._read()
        return None if body is None else msgspec.msgpack.decode(body, type=Reply)

    def _read(self) -> bytes | None:
        assert self._process is not None and self._process.stdout is not None
        head = self._process.stdout.read(LENGTH.size)
        if len(head) < LENGTH.size:
            return None
        size = LENGTH.unpack(head)[0]
        body = self._process.stdout.read(size)
        return body if len(body) == size else None

    def _tail(self) -> str:
        self._log.seek(0)
        return self._log.read()[-2000:].decode(errors="replace")

    def abandon(self) -> None:
        """Let the server see the end of its input, from a signal handler: no buffered file may be
        touched there, since the main program may be reading it."""
        if self._process is not None and self._process.stdin is not None:
            os.close(self._process.stdin.fileno())
            self._process = None
        if self.twin is not None:
            self.twin.abandon()

    def close(self) -> None:
        """End the server; it takes its child with it."""
        if self.twin is not None:
            self.twin.close()
        if self._process is None:
            return
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None
