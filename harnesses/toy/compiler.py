"""The toy framework as programs import it: arrays, modules, and a lazy compiler with a cache.

`compile` traces a call on its first run (`state_tracing`), installs guards (`guards`), lowers the
recording (`backends`) and keeps the entry with the code object. A later call runs the first entry
whose guards hold; otherwise it compiles again, with what changed made dynamic, up to a limit and
then runs eagerly.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

from harnesses.toy.arrays import (
    SESSION,
    STREAMS,
    Array,
    Buffer,
    Dice,
    GraphBreak,
    Parameter,
    apply,
)
from harnesses.toy.backends import DISK, Program, lower
from harnesses.toy.guards import Frame, Getter, Guard, failing, function_code
from harnesses.toy.layers import (
    Activation,
    BatchNorm,
    Dropout,
    Embedding,
    LayerNorm,
    Linear,
    Module,
    Recurrent,
    SelfAttention,
    StandIn,
    filled,
    fitted,
    matmul,
    rand_like,
    softmax,
)
from harnesses.toy.recording import Ref, rebuilt
from harnesses.toy.state_tracing import StateTrace
from harnesses.toy.tracing import Profile

__all__ = [
    "Activation",
    "Array",
    "BatchNorm",
    "Buffer",
    "Dice",
    "Dropout",
    "Embedding",
    "LayerNorm",
    "Linear",
    "Module",
    "Parameter",
    "Recurrent",
    "SelfAttention",
    "StandIn",
    "apply",
    "filled",
    "fitted",
    "matmul",
    "rand_like",
    "softmax",
]


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile: the backend, whether sizes are symbolic (None: once they differ), how many
    entries a function may have, and whether artefacts are kept on disk."""

    backend: str = "interpret"
    dynamic: bool | None = None
    limit: int = 8
    disk: bool = True


@dataclass(frozen=True, slots=True)
class Entry:
    """One compiled version of a function; without a program, the call runs eagerly."""

    guards: list[Guard]
    leaves: dict[int, Getter]
    program: Program | None
    output: Ref | None


class FunctionCache:
    """The entries of one function, and what its traces have seen."""

    def __init__(self, dynamic: bool | None) -> None:
        self.entries: list[Entry] = []
        self.profile = Profile(dynamic)

    def lookup(self, frame: Frame) -> tuple[Entry | None, str]:
        """The first entry whose guards hold, or what the newest entry's guards say changed."""
        reason = ""
        for entry in self.entries:
            changed = failing(entry.guards, frame)
            if changed is None:
                return entry, ""
            reason = changed
        return None, reason


CACHES: dict[tuple[CodeType, Options], FunctionCache] = {}
"""The in-memory compiler state."""

LOG: list[str] = []
"""What the compiler did since the log was last emptied."""


def cache_key(target: Any, options: Options) -> tuple[CodeType, Options]:
    """A function's entries belong to its code, whoever calls it."""
    function: Any = target.forward if isinstance(target, Module) else target
    code: CodeType = function_code(getattr(function, "__func__", function))
    return code, options


class Compiled:
    """A compiled function or module."""

    def __init__(self, target: Any, options: Options) -> None:
        self.target = target
        self.options = options

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        frame = Frame(self.target, args, kwargs)
        if SESSION.trace is not None:
            return eager(frame)
        key = cache_key(self.target, self.options)
        cache = CACHES.setdefault(key, FunctionCache(self.options.dynamic))
        entry, reason = cache.lookup(frame)
        if entry is not None:
            LOG.append("reused")
            return run_hit(entry, frame)
        if len(cache.entries) >= self.options.limit:
            return over_limit(cache, frame)
        LOG.append(f"recompiled:{reason}" if cache.entries else "compiled")
        return compile_call(cache, frame, self.options)


def compile(
    target: Module | Callable[..., Any],
    backend: str = "interpret",
    dynamic: bool | None = None,
    limit: int = 8,
    disk: bool = True,
) -> Compiled:
    """Compile a module or function lazily; see `Options`."""
    return Compiled(target, Options(backend, dynamic, limit, disk))


def compile_call(cache: FunctionCache, frame: Frame, options: Options) -> Any:
    """Trace a call, keep the entry, and run it; a call that raises is left to eager execution."""
    trace = StateTrace(frame, cache.profile)
    try:
        recording = trace.run()
    except GraphBreak:
        LOG.append("fallback:break")
        cache.entries.append(Entry(trace.guards, {}, None, None))
        return eager(frame)
    except Exception:
        LOG.append("fallback:raise")
        return eager(frame)
    program, found = lower(options.backend, recording, options.disk)
    if found:
        LOG.append("disk_hit")
    if trace.dynamic_sizes:
        LOG.append(f"dynamic:{trace.dynamic_sizes}")
    entry = Entry(trace.guards, trace.leaves, program, recording.output)
    cache.entries.append(entry)
    return run_entry(entry, frame)


def run_entry(entry: Entry, frame: Frame) -> Any:
    """Run a compiled entry: fill its inputs, run the program, build what it returns."""
    if entry.program is None or entry.output is None:
        return eager(frame)
    env = {slot: get(frame) for slot, get in entry.leaves.items()}
    entry.program(env)
    return rebuilt(entry.output, env)


def run_hit(entry: Entry, frame: Frame) -> Any:
    """Run an entry that an earlier call compiled."""
    return run_entry(entry, frame)


def over_limit(cache: FunctionCache, frame: Frame) -> Any:
    """A function with too many entries runs eagerly when none of them fits."""
    LOG.append("fallback:limit")
    return eager(frame)


def eager(frame: Frame) -> Any:
    """The call without the compiler."""
    return frame.target(*frame.args, **frame.kwargs)


def drop_memory() -> None:
    """Forget the entries; what is on disk stays."""
    CACHES.clear()


def reset() -> None:
    """Forget everything, on disk too."""
    drop_memory()
    DISK.clear()


def plain_modes() -> None:
    """Set every ambient mode to its plain value."""
    SESSION.plain_modes()


# --- what programs use beside modules -----------------------------------------------------------

python_random = STREAMS.python
"""The global stream of Python random numbers."""


def manual_seed(seed: int) -> None:
    """Start the global random streams again."""
    STREAMS.seed(seed)


def rand(size: int) -> Array:
    """Random numbers from the global stream."""
    return rand_like(Array(np.zeros(size, "float32")))


def sample(
    shape: tuple[int, ...], seed: int, profile: str = "normal", dtype: str = "float32"
) -> Array:
    """An input array that depends on nothing but its arguments."""
    return Array(PROFILES[profile](shape, seed).astype(dtype))


def tokens(shape: tuple[int, ...], seed: int, rows: int = 16) -> Array:
    """Token numbers below `rows`."""
    return Array((np.arange(int(np.prod(shape))) * 5 + seed).reshape(shape) % rows)


PROFILES: dict[str, Callable[[tuple[int, ...], int], np.ndarray]] = {
    "normal": lambda shape, seed: filled(shape, seed) * 3,
    "zeros": lambda shape, seed: np.zeros(shape),
    "ones": lambda shape, seed: np.ones(shape),
    "large": lambda shape, seed: filled(shape, seed) * 300,
    "tiny": lambda shape, seed: filled(shape, seed) * 1e-4,
    "repeated": lambda shape, seed: np.full(shape, 1 + seed % 3),
}
"""How an input's values are chosen."""

LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "transposed": lambda a: np.asfortranarray(a),
    "sliced": lambda a: np.concatenate([a, a], axis=-1)[..., : a.shape[-1]],
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "expanded": lambda a: np.broadcast_to(a[:1], a.shape),
    "channels_last": lambda a: np.moveaxis(np.moveaxis(a, 1, -1).copy(), -1, 1),
}
"""Memory layouts by name."""


def arranged(array: Array, layout: str) -> Array:
    """The same values in another memory layout."""
    return Array(LAYOUTS[layout](array.data))


def array(numbers: list[float]) -> Array:
    """A new array of numbers in the default element type."""
    return apply("pack", SESSION.mode("default_dtype"), *numbers)


def full(value: float, *sizes: int) -> Array:
    """A new array in the default element type."""
    return apply("full", SESSION.mode("default_dtype"), value, *sizes)


def eye(size: int) -> Array:
    """The identity matrix in the default element type."""
    return apply("eye", size, SESSION.mode("default_dtype"))


def where(condition: Array, then: Any, otherwise: Any) -> Array:
    """Element-wise choice."""
    return apply("where", condition, then, otherwise)


def concatenate(arrays: list[Array], axis: int) -> Array:
    """Arrays one after the other."""
    return apply("concatenate", axis, *arrays)


def graph_break() -> None:
    """Stop a trace: the call runs eagerly from then on."""
    if SESSION.trace is not None:
        raise GraphBreak("asked for")


def is_grad_enabled() -> bool:
    """Whether gradients would be recorded."""
    return bool(SESSION.mode("grad"))


def no_grad() -> AbstractContextManager[None]:
    """Switch gradient mode off for a while."""
    return SESSION.switched("grad", False)


def autocast(dtype: str | None) -> AbstractContextManager[None]:
    """Compute matrix products in a narrow type for a while; None switches it off."""
    return SESSION.switched("autocast", dtype)


def set_default_dtype(dtype: str) -> None:
    """The element type of new arrays."""
    SESSION.ambient["default_dtype"] = dtype


def set_matmul_precision(precision: str) -> None:
    """How matrix products round: highest, high or medium."""
    SESSION.ambient["matmul_precision"] = precision
