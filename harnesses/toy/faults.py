"""Faults to plant in the toy compiler: each weakens one piece of its state handling.

A fault replaces one named seam of the compiler in place; the compiler knows nothing of faults.
`Fault.steps` is the length of the shortest sequence that shows it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

from harnesses.base import Fault
from harnesses.toy import backends, compiler, guards
from harnesses.toy.recording import Recording
from harnesses.toy.state_tracing import StateTrace

Seam = Callable[..., Any]

_FOR_EVER = 3600.0
_BLOCK = 64 << 20


def _nothing(*args: Any, **kwargs: Any) -> None:
    """Stands in for a guard that is not installed."""


def _replace(owner: Any, name: str, make: Callable[[Seam], Seam]) -> None:
    setattr(owner, name, make(getattr(owner, name)))


def _drop(name: str) -> Callable[[], None]:
    return lambda: setattr(StateTrace, name, _nothing)


def _weaken(owner: Any, name: str, make: Callable[[Seam], Seam]) -> Callable[[], None]:
    return lambda: _replace(owner, name, make)


def _unless(skip: Callable[..., bool]) -> Callable[[Seam], Seam]:
    """Keep a seam but for the calls that `skip` picks."""

    def make(real: Seam) -> Seam:
        def seam(*args: Any) -> Any:
            return None if skip(*args) else real(*args)

        return seam

    return make


def _automatic(trace: StateTrace) -> bool:
    return trace.profile.dynamic is None


def _bakes_floats(real: Seam) -> Seam:
    def promoted(trace: StateTrace, key: str, value: Any, get: guards.Getter) -> Any:
        if isinstance(value, float) and _automatic(trace):
            return value
        return real(trace, key, value, get)

    return promoted


def _ignores_training(real: Seam) -> Seam:
    def attribute_value(trace: StateTrace, key: str, value: Any, get: guards.Getter) -> Any:
        return value if key.endswith(".training") else real(trace, key, value, get)

    return attribute_value


def _serves_first(real: Seam) -> Seam:
    def over_limit(cache: compiler.FunctionCache, frame: guards.Frame) -> Any:
        if len(cache.entries) < 2:
            return real(cache, frame)
        return compiler.run_entry(cache.entries[0], frame)

    return over_limit


def _serves_third(real: Seam) -> Seam:
    def compile_call(cache: compiler.FunctionCache, frame: guards.Frame, options: Any) -> Any:
        if len(cache.entries) == 3:
            return compiler.run_entry(cache.entries[2], frame)
        return real(cache, frame, options)

    return compile_call


def _skips_effects(real: Seam) -> Seam:
    def run_hit(entry: compiler.Entry, frame: guards.Frame) -> Any:
        perform, backends.perform = backends.perform, _nothing
        try:
            return real(entry, frame)
        finally:
            backends.perform = perform

    return run_hit


def _first_compile_after_drop() -> bool:
    return not any(cache.entries for cache in compiler.CACHES.values())


def _ignores_constants(real: Seam) -> Seam:
    def disk_key(backend: str, recording: Recording) -> str:
        if _first_compile_after_drop():
            return backends.digest(backend, backends.without_constants(recording), recording)
        return str(real(backend, recording))

    return disk_key


def _crashes(real: Seam) -> Seam:
    def compile_call(cache: compiler.FunctionCache, frame: guards.Frame, options: Any) -> Any:
        if len(cache.entries) == 2:
            os.kill(os.getpid(), signal.SIGSEGV)
        return real(cache, frame, options)

    return compile_call


def _hangs(real: Seam) -> Seam:
    def run_hit(entry: compiler.Entry, frame: guards.Frame) -> Any:
        time.sleep(_FOR_EVER)
        return real(entry, frame)

    return run_hit


def _leaks(real: Seam) -> Seam:
    def over_limit(cache: compiler.FunctionCache, frame: guards.Frame) -> Any:
        kept = []
        while True:
            kept.append(b"\x01" * _BLOCK)

    return over_limit


def _list_of_functions(trace: StateTrace, content: list[Any], get: guards.Getter) -> bool:
    reached = get(trace.frame)
    return all(callable(item) for item in reached)


def _fault(name: str, steps: int, says: str, install: Callable[[], None]) -> Fault:
    return Fault(name, install, says, steps)


_TABLE = (
    _fault("dtype_guard", 2, "the element type is not guarded", _drop("guard_dtype")),
    _fault("size_guard", 2, "a static size is not guarded", _drop("guard_size")),
    _fault("alias_guard", 2, "two arguments being one is not guarded", _drop("guard_alias")),
    _fault("relation_guard", 2, "comparisons are not guarded", _drop("guard_relation")),
    _fault("layout_guard", 2, "memory layouts are not guarded", _drop("read_layout")),
    _fault("instance_guard", 2, "instances share entries", _drop("guard_target")),
    _fault(
        "grad_mode_guard",
        2,
        "gradient mode is not guarded",
        _weaken(StateTrace, "guard_mode", _unless(lambda trace, name, value: name == "grad")),
    ),
    _fault(
        "training_guard",
        2,
        "the training flag is not guarded",
        _weaken(StateTrace, "attribute_value", _ignores_training),
    ),
    _fault(
        "effects_on_hits",
        2,
        "a reused entry does not replay its effects on Python objects",
        _weaken(compiler, "run_hit", _skips_effects),
    ),
    _fault(
        "effects_when_dynamic",
        2,
        "an entry with promoted sizes loses its effects on Python objects",
        _weaken(StateTrace, "effect", _unless(lambda trace, effect: trace.profile.promoted)),
    ),
    _fault(
        "stale_random_stream",
        2,
        "tracing again leaves the random stream advanced",
        _weaken(StateTrace, "save_streams", _unless(lambda trace: trace.profile.promoted)),
    ),
    _fault(
        "size_bound",
        3,
        "an automatically promoted size may be 0 or 1",
        _weaken(StateTrace, "guard_bound", _unless(lambda trace, get: _automatic(trace))),
    ),
    _fault(
        "third_float",
        3,
        "the third value of a float runs the kernel of the second",
        _weaken(StateTrace, "promoted", _bakes_floats),
    ),
    _fault(
        "limit_serves_first",
        3,
        "over the limit, the first entry runs whatever its guards say",
        _weaken(compiler, "over_limit", _serves_first),
    ),
    _fault(
        "disk_ignores_constants",
        3,
        "after in-memory state is dropped, an artefact with other constants is found on disk",
        _weaken(backends, "disk_key", _ignores_constants),
    ),
    _fault(
        "default_dtype_guard",
        3,
        "the default dtype is not guarded",
        _weaken(
            StateTrace, "guard_mode", _unless(lambda trace, name, value: name == "default_dtype")
        ),
    ),
    _fault(
        "method_code_guard",
        3,
        "a function is known by its name alone",
        _weaken(guards, "function_code", lambda real: lambda function: type(function)),
    ),
    _fault(
        "closure_guard",
        3,
        "closure cells are not guarded",
        _weaken(guards, "closure_values", lambda real: lambda function: []),
    ),
    _fault(
        "hook_guard",
        3,
        "hooks are not guarded",
        _weaken(StateTrace, "guard_items", _unless(_list_of_functions)),
    ),
    _fault(
        "fourth_entry",
        4,
        "the fourth compile runs the third entry",
        _weaken(compiler, "compile_call", _serves_third),
    ),
    _fault("crash", 3, "the third compile crashes", _weaken(compiler, "compile_call", _crashes)),
    _fault("hang", 2, "a reused entry never ends", _weaken(compiler, "run_hit", _hangs)),
    _fault("memory", 2, "over the limit, memory grows", _weaken(compiler, "over_limit", _leaks)),
)

FAULTS: dict[str, Fault] = {fault.name: fault for fault in _TABLE}
"""Every fault by name."""
