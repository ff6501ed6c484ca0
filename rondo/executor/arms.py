"""Play the arms of a program, step by step, in this process: what a child does with its job.

Knows no framework: everything special goes through the harness's `Runtime`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rondo.executor.protocol import EAGER, NEVER, Arm, Begun, Done, Job, Lines, Message, StepRecord

if TYPE_CHECKING:
    from types import ModuleType

    from harnesses.base import Runtime
    from rondo.coverage import LineTracer

Send = Callable[[Message], None]
MESSAGE_LENGTH = 600


def play(runtime: Runtime, job: Job, send: Send, tracer: LineTracer | None = None) -> None:
    """Run every arm of a job in order, sending a message before and after each step."""
    for arm in job.arms:
        if arm.live_from != NEVER:
            runtime.reset()
        traced = tracer if arm.traced else None
        failed = False

        def report(message: Message, arm: Arm = arm) -> None:
            nonlocal failed
            send(message)
            if arm == EAGER and isinstance(message, Done) and message.record.error:
                failed = failed or message.record.step not in job.raising

        with runtime.ambient():
            _play_arm(runtime, job.text, arm, report, traced)
        if traced is not None:
            send(Lines(traced.taken()))
        if failed:
            return


def _play_arm(runtime: Runtime, text: str, arm: Arm, send: Send, tracer: LineTracer | None) -> None:
    module = runtime.load(text, "rondo_case")
    if not arm.wide:
        _play_steps(runtime, module, arm, send, tracer)
        return
    with runtime.widen(module):
        _play_steps(runtime, module, arm, send, tracer)


def _play_steps(
    runtime: Runtime, module: ModuleType, arm: Arm, send: Send, tracer: LineTracer | None
) -> None:
    module.reseed(0)
    state = module.State(arm.live_from == 0)
    if arm.wide:
        runtime.widen_state(state)
    for index, step in enumerate(module.STEPS):
        if 0 <= arm.stop_after < index:
            return
        if index == arm.reset_before:
            runtime.reset()
        state.live = index >= arm.live_from
        send(Begun(arm.name, index))
        module.reseed(index + 1)
        if tracer is not None:
            tracer.start()
        try:
            record = _play_step(runtime, arm.name, index, step, state)
        finally:
            if tracer is not None:
                tracer.stop()
        send(Done(record))


def _play_step(
    runtime: Runtime, arm: str, index: int, step: Callable[[Any], Any], state: Any
) -> StepRecord:
    error: tuple[str, ...] = ()
    message = ""
    returned = None
    before = time.perf_counter()
    with runtime.observe() as behaviour:
        try:
            with contextlib.nullcontext() if state.live else runtime.uncompiled():
                returned = step(state)
        except Exception as raised:  # what a step raises is an observation like any other
            error = tuple(kind.__name__ for kind in type(raised).__mro__[:-2])
            message = str(raised)[:MESSAGE_LENGTH]
    seconds = time.perf_counter() - before
    seen = tuple(runtime.observations(state, returned))
    return StepRecord(arm, index, seen, error, message, tuple(behaviour), seconds)
