"""The fork server: warm a framework once, then play every job in a child forked from here.

Started by `rondo.executor.client`. Reads job frames from standard input and answers each with one
reply frame on what was standard output. It ends, and takes its child with it, when the driver goes
away: at the end of its input, or by the kernel's parent-death signal.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import os
import re
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from harnesses import base
from rondo.coverage import LineTracer
from rondo.errors import RondoError
from rondo.executor.arms import play
from rondo.executor.processes import die_with_parent, resident_bytes
from rondo.executor.protocol import (
    LENGTH,
    Finished,
    Hello,
    Job,
    Message,
    Reply,
    frame,
    last_message,
)

_POLL_MILLISECONDS = 50
_FRAME = re.compile(r'File "([^"]*)", line \d+ in (\S+)')
_OWN_FILES = ("<rondo_case>", "executor/arms.py")
_STACK_DEPTH = 3
_STACK_SIGNAL = signal.SIGUSR1
_STACK_SECONDS = 0.1
_jobs = msgspec.msgpack.Decoder(Job)


@dataclass(slots=True)
class Watch:
    """What the server knows of its running child."""

    pid: int
    pipe: int
    stack: int
    deadline: float
    memory: int
    frames: bytearray = field(default_factory=bytearray)
    death: str = ""
    detail: str = ""

    def drain(self) -> None:
        """Take what the child has written so far."""
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self.pipe, 1 << 16):
                self.frames += chunk

    def over_limit(self, job: Job) -> bool:
        """Whether the child is past its time or memory; says so in `death`."""
        if time.monotonic() > self.deadline:
            self.death, self.detail = "hang", f"no end within {job.seconds:g} s"
        elif resident_bytes(self.pid) > self.memory:
            self.death, self.detail = "memory", f"more than {job.megabytes} MB"
        return bool(self.death)

    def last_stack(self) -> str:
        """The innermost Python functions of the framework when the child died, innermost first;
        up to the program's own, whose names hold step numbers."""
        os.lseek(self.stack, 0, os.SEEK_SET)
        text = os.read(self.stack, 1 << 16).decode(errors="replace")
        current = text.partition("most recent call first")[2]
        names = []
        for file, name in _FRAME.findall(current):
            if file.endswith(_OWN_FILES):
                break
            names.append(name)
        return " < ".join(names[:_STACK_DEPTH])


class DriverGone(Exception):
    """The driver closed its end; nobody waits for an answer any more."""


class Server:
    """Forks one child a job and watches it."""

    def __init__(self, runtime: base.Runtime, tracer: LineTracer, jobs: int, replies: int) -> None:
        self._runtime = runtime
        self._tracer = tracer
        self._jobs = jobs
        self._replies = replies

    def serve(self) -> None:
        """Answer jobs until the driver goes away."""
        while body := self._read_job():
            job = _jobs.decode(body)
            try:
                reply = self._run(job)
            except DriverGone:
                return
            _write_all(self._replies, frame(reply))

    def _read_job(self) -> bytes:
        head = _read_exactly(self._jobs, LENGTH.size)
        return _read_exactly(self._jobs, LENGTH.unpack(head)[0]) if head else b""

    def _run(self, job: Job) -> Reply:
        before = time.monotonic()
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        stack = os.memfd_create("stack")
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            self._child(job, writing, stack)
        os.close(writing)
        with contextlib.suppress(OSError):  # the child does the same; either may come first
            os.setpgid(pid, pid)
        memory = resident_bytes(os.getpid()) + job.megabytes * (1 << 20)
        watch = Watch(pid, reading, stack, before + job.seconds, memory)
        try:
            self._wait(job, watch)
        finally:
            _end_group(pid)
            status = os.waitpid(pid, 0)[1]
            watch.drain()
            _classify(watch, status)
            os.close(reading)
            os.close(stack)
        seconds = time.monotonic() - before
        return Reply(bytes(watch.frames), watch.death, watch.detail, seconds)

    def _wait(self, job: Job, watch: Watch) -> None:
        pidfd = os.pidfd_open(watch.pid)
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        poll.register(watch.pipe, select.POLLIN)
        poll.register(self._jobs, select.POLLHUP)
        try:
            while True:
                ready = {fd for fd, _ in poll.poll(_POLL_MILLISECONDS)}
                watch.drain()
                if self._jobs in ready:
                    raise DriverGone
                if pidfd in ready:
                    return
                if watch.over_limit(job):
                    _ask_for_stack(watch.pid)
                    return
                if watch.pipe in ready and pidfd not in ready:
                    _forget_closed_pipe(poll, watch)
        finally:
            os.close(pidfd)

    def _child(self, job: Job, pipe: int, stack: int) -> None:
        os.setpgid(0, 0)
        die_with_parent()
        faulthandler.enable(stack)
        faulthandler.register(_STACK_SIGNAL, stack)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        before = time.monotonic()

        def send(message: Message) -> None:
            _write_all(pipe, frame(message))

        trouble = ""
        try:
            play(self._runtime, job, send, self._tracer)
        except BaseException as error:  # nothing may leave a child but its exit
            trouble = f"{type(error).__name__}: {error}"[:500]
        try:
            send(Finished(trouble, time.monotonic() - before))
        finally:
            os._exit(0)


def _forget_closed_pipe(poll: select.poll, watch: Watch) -> None:
    """A pipe at its end stays readable for ever: stop polling it, the pidfd tells the rest."""
    try:
        chunk = os.read(watch.pipe, 1 << 16)
    except BlockingIOError:
        return
    if chunk:
        watch.frames += chunk
    else:
        poll.unregister(watch.pipe)


def _end_group(pid: int) -> None:
    """Kill a child's process group: the child if it still runs, and compilers it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _ask_for_stack(pid: int) -> None:
    """Let a child that is past a limit write down where it is."""
    os.kill(pid, _STACK_SIGNAL)
    time.sleep(_STACK_SECONDS)


def _classify(watch: Watch, status: int) -> None:
    """How the child died, if it did, and where."""
    if not watch.death:
        _classify_exit(watch, status)
    stack = watch.last_stack() if watch.death else ""
    if stack:
        watch.detail += f" in {stack}"


def _classify_exit(watch: Watch, status: int) -> None:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        own_end = number == signal.SIGKILL and isinstance(last_message(watch.frames), Finished)
        if not own_end:
            watch.death, watch.detail = "crash", signal.Signals(number).name
    elif os.WEXITSTATUS(status) != 0 or not isinstance(last_message(watch.frames), Finished):
        watch.death, watch.detail = "crash", f"exit code {os.WEXITSTATUS(status)}"


def _read_exactly(fd: int, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        chunk = os.read(fd, count - len(parts))
        if not chunk:
            return b""
        parts += chunk
    return bytes(parts)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _prepare(target: str, faults: list[str]) -> tuple[base.Runtime, LineTracer]:
    harness = base.load(target)
    base.require(harness)
    runtime = harness.runtime()
    runtime.warm_up()
    for fault in faults:
        runtime.install_fault(fault)
    tracer = LineTracer(runtime.sources())
    gc.collect()
    gc.freeze()
    return runtime, tracer


def _own_pipes() -> tuple[int, int]:
    """Standard input and output for the protocol alone; programs get /dev/null and the log."""
    jobs, replies = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    return jobs, replies


def main(start: Callable[[str, list[str]], tuple[base.Runtime, LineTracer]] = _prepare) -> None:
    """Warm the target named on the command line and serve it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--fault", action="append", default=[])
    options = parser.parse_args()
    die_with_parent()
    if os.getppid() != options.parent:
        sys.exit(0)
    jobs, replies = _own_pipes()
    before = time.monotonic()
    try:
        runtime, tracer = start(options.target, options.fault)
    except RondoError as error:
        _write_all(replies, frame(Hello(False, error.what, error.advice)))
        sys.exit(2)
    _write_all(replies, frame(Hello(True, seconds=time.monotonic() - before)))
    try:
        Server(runtime, tracer, jobs, replies).serve()
    finally:
        runtime.close()


if __name__ == "__main__":
    main()
