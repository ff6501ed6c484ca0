"""The executor for places where children are forbidden: plays jobs in the driver's own process.

Compiler state is emptied through the framework's API before each arm. A crash ends the driver and
a hang is left to libFuzzer's `-timeout`, which is what a fuzzing service expects.
"""

from __future__ import annotations

import time

from harnesses import base
from rondo.coverage import LineTracer
from rondo.executor.arms import play
from rondo.executor.protocol import Finished, Job, Message, Outcome, frame, outcome


class InProcess:
    """An executor without children."""

    def __init__(self, harness: base.Harness, faults: tuple[str, ...] = ()) -> None:
        base.require(harness)
        self._runtime = harness.runtime()
        self._runtime.warm_up()
        for fault in faults:
            self._runtime.install_fault(fault)
        self._tracer = LineTracer(self._runtime.sources())

    def run(self, job: Job) -> Outcome:
        """Play a job here."""
        frames = bytearray()

        def send(message: Message) -> None:
            frames.extend(frame(message))

        before = time.monotonic()
        trouble = ""
        try:
            play(self._runtime, job, send, self._tracer)
        except Exception as error:
            trouble = f"{type(error).__name__}: {error}"[:500]
        seconds = time.monotonic() - before
        send(Finished(trouble, seconds))
        return outcome(bytes(frames), "", "", seconds)

    def run_both(self, first: Job, second: Job) -> tuple[Outcome, Outcome]:
        """Play two jobs one after the other."""
        return self.run(first), self.run(second)

    def abandon(self) -> None:
        """End from a signal handler."""
        self.close()

    def close(self) -> None:
        """Remove what the runtime keeps on disk."""
        self._runtime.close()
