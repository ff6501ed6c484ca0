"""Faults of this harness's own: each weakens one piece of JAX's handling of state.

`jit` keeps what it traced in a cache whose key is the function, its options, the static arguments,
the structure and types of the others and the tracing context. Most faults leave one part out of
that key; JAX's own jitted functions keep the sound cache, so that only the program's are wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from harnesses.base import Fault, allocate, segfault, sleep


@dataclass(frozen=True, slots=True)
class _Key:
    """What jit's cache of traces is looked up by."""

    function: Any
    info: Any
    static: tuple[Any, ...]
    names: tuple[Any, ...]
    trees: tuple[Any, ...]
    types: tuple[Any, ...]
    context: tuple[Any, ...]
    mesh: Any


class _WeakCache:
    """Stands in for jit's cache of traces with a weaker key, for the program's own functions."""

    def __init__(self, sound: Any, weaken: Callable[[_Key], Any], most: int) -> None:
        self._sound, self._weaken, self._most = sound, weaken, most
        self._entries: dict[Any, Any] = {}

    def __call__(self, function: Any, info: Any, signature: Any, types: Any, mesh: Any) -> Any:
        from jax._src import config, pjit

        if str(getattr(function, "__module__", "")).split(".")[0] == "jax":
            return self._sound(function, info, signature, types, mesh)
        static = tuple((type(value), value) for value in signature.static_args)
        names = (tuple(signature.static_arg_names), tuple(signature.dynamic_arg_names))
        trees = tuple(signature.dynamic_arg_treedefs)
        context = tuple(config.trace_context())
        full = _Key(function, info, static, names, trees, tuple(types), context, mesh)
        key = self._weaken(full)
        if key not in self._entries:
            same = [k for k in self._entries if _function_of(k) is function]
            if len(same) >= self._most:
                return self._entries[same[0]]
            self._entries[key] = pjit.InferParamsCacheEntry()
        return self._entries[key]

    def cache_clear(self) -> None:
        """Forget everything, as `jax.clear_caches` asks."""
        self._entries.clear()
        self._sound.cache_clear()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sound, name)


def _function_of(key: Any) -> Any:
    return key.function if isinstance(key, _Key) else None


def _trace_cache(weaken: Callable[[_Key], Any], most: int = 1 << 30) -> Callable[[], None]:
    def install() -> None:
        from jax._src import pjit

        pjit._infer_params_cached = _WeakCache(pjit._infer_params_cached, weaken, most)

    return install


def _without_context(*flags: str) -> Callable[[], None]:
    """Leave flags out of the tracing context."""

    def weaken(key: _Key) -> _Key:
        from jax._src import config

        names = list(config.trace_context_names())
        left_out = {names.index(flag) for flag in flags}
        kept = [None if i in left_out else value for i, value in enumerate(key.context)]
        return replace(key, context=tuple(kept))

    return _trace_cache(weaken)


def _without_sizes(key: _Key) -> _Key:
    types = tuple((len(t.shape), str(t.dtype), t.weak_type) for t in key.types)
    return replace(key, types=types)


def _without_dtypes(key: _Key) -> _Key:
    return replace(key, types=tuple(t.shape for t in key.types))


def _without_static_types(key: _Key) -> _Key:
    return replace(key, static=tuple(value for _, value in key.static))


def _without_static_flags(key: _Key) -> _Key:
    kept = tuple(None if isinstance(value, bool) else value for _, value in key.static)
    return replace(key, static=kept)


def _without_keywords(key: _Key) -> _Key:
    leaves = sum(tree.num_leaves for tree in key.trees)
    return replace(key, names=(), trees=(leaves,))


def _by_name(key: _Key) -> tuple[Any, ...]:
    name = getattr(key.function, "__name__", "")
    return (name, key.static, key.names, key.trees, key.types, key.context)


def _memo(path: str, name: str, key: Callable[..., Any]) -> Callable[[], None]:
    """Put a cache with a weaker key in front of a cached function of a program's jaxpr."""

    def install() -> None:
        import importlib

        module = importlib.import_module(path)
        sound, kept = getattr(module, name), {}

        def looked_up(jaxpr: Any, *args: Any) -> Any:
            if "/jax/_src/" in str(jaxpr.jaxpr.debug_info.func_src_info):
                return sound(jaxpr, *args)
            found = (id(jaxpr), key(*args))
            if found not in kept:
                kept[found] = (jaxpr, sound(jaxpr, *args))
            return kept[found][1]

        setattr(module, name, looked_up)

    return install


def _disk_key_by_shape() -> None:
    """The persistent cache's key leaves out the numbers in a program."""
    import re

    from jax._src import cache_key

    def hash_computation(digest: Any, module: Any, ignored: Any) -> None:
        text = re.sub(r"dense<[^>]*>", "dense", str(module))
        digest.update(re.sub(r"jit_\w+", "", text).encode())

    cache_key._hash_computation = hash_computation


_PROGRAMS = ("rondo_case", "__main__")
"""What the module of a case is called, in a child and as a repro."""


def _on_retrace(act: Callable[[], None]) -> Callable[[], None]:
    """A fault that acts when a function of the program is traced a second time."""

    def install() -> None:
        from jax._src import pjit

        trace, seen = pjit._trace_for_jit, set()

        def patched(function: Any, *args: Any, **named: Any) -> Any:
            if getattr(function, "__module__", "") in _PROGRAMS:
                if function in seen:
                    act()
                seen.add(function)
            return trace(function, *args, **named)

        pjit._trace_for_jit = patched

    return install


FAULTS = (
    Fault("sizes", _trace_cache(_without_sizes), "jit ignores the sizes of arrays", 2),
    Fault("dtypes", _trace_cache(_without_dtypes), "jit ignores the types of arrays", 2),
    Fault("static_types", _trace_cache(_without_static_types), "1, 1.0 and True share a trace", 2),
    Fault("static_flags", _trace_cache(_without_static_flags), "jit ignores static booleans", 2),
    Fault("keywords", _trace_cache(_without_keywords), "jit ignores which leaf is whose", 2),
    Fault("by_name", _trace_cache(_by_name), "functions of one name share traces", 2),
    Fault("limit", _trace_cache(lambda key: key, most=3), "a full cache serves its first entry", 4),
    Fault(
        "partitionable",
        _without_context("jax_threefry_partitionable"),
        "jit ignores jax_threefry_partitionable",
        2,
    ),
    Fault(
        "strictness",
        _without_context("jax_numpy_dtype_promotion", "jax_numpy_rank_promotion"),
        "jit ignores strict promotion",
        2,
    ),
    Fault(
        "batch_axes",
        _memo("jax._src.interpreters.batching", "_batch_jaxpr2", lambda data, axes: data.size),
        "the cache of batched functions ignores which arguments are mapped",
        2,
    ),
    Fault("disk_constants", _disk_key_by_shape, "the persistent cache ignores constants", 2),
    Fault("crash_on_retrace", _on_retrace(segfault), "a second trace segfaults", 2),
    Fault("hang_on_retrace", _on_retrace(sleep), "a second trace never ends", 2),
    Fault("memory_on_retrace", _on_retrace(allocate), "a second trace eats memory", 2),
)
"""Faults of the jax_xla target, beside any given as path.py:name."""
