"""What makes un-jitted JAX cheap: each primitive's executable is kept on disk, ready to load.

Under `disable_jit` every operation is traced, lowered and compiled by itself; 15 of the 20 ms that
takes are not XLA's, so a store of what XLA builds does not help. Here an executable is addressed by
the primitive, its parameters, its arguments' types and *all* of JAX's flags, each at the value that
this thread sees, so that the eager arm leans on none of the trace keys that are under test. Only
the eager arm of `runtime` enters `kept_primitives`: what the compiled arms do is JAX's alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import jaxlib
import numpy as np
from jax._src import array, compiler, core, dispatch
from jax.experimental.serialize_executable import deserialize_and_load, serialize

from harnesses.jax_xla.speed import Compile, put, require_names

_UNNAMED = (" at 0x", "...", "<function", "lambda", "jaxpr")
"""What the text of the parameters must not hold, for it would not tell two of them apart."""
_LONGEST = 4000
_ELSEWHERE = ("jax_debug_nans", "jax_debug_infs", "jax_default_device")
"""Flags under which JAX's own call looks at the results, or runs on another device."""


class PrimitiveStore:
    """The executables of single primitives: in memory for this process, on disk for all."""

    def __init__(self, folder: Path, compile_anew: Compile) -> None:
        """Raises SetupError when this JAX runs primitives through other names."""
        require_names((dispatch, "xla_primitive_callable"), (compiler, "compile_or_get_cached"))
        self._folder = folder
        self._compile_anew = compile_anew
        self._sound = dispatch.xla_primitive_callable
        self._loaded: dict[str, Any] = {}

    @contextmanager
    def kept_primitives(self) -> Iterator[None]:
        """Run primitives from the store."""
        dispatch.xla_primitive_callable = self._callable
        try:
            yield
        finally:
            dispatch.xla_primitive_callable = self._sound

    def _callable(self, primitive: Any, **params: Any) -> Callable[..., Any]:
        jitted = self._sound(primitive, **params)

        def run(*args: Any) -> Any:
            text = _told(primitive, params, args)
            if not text:
                return jitted(*args)
            if text not in self._loaded:
                self._loaded[text] = self._found(text, jitted, args)
            return self._loaded[text](*args)

        return run

    def _found(self, text: str, jitted: Any, args: tuple[Any, ...]) -> Callable[..., Any]:
        """The executable from disk, or built and put there; `jitted` where it cannot be kept."""
        place = self._folder / f"primitive-{hashlib.sha256(text.encode()).hexdigest()}"
        with contextlib.suppress(OSError):
            return deserialize_and_load(
                *pickle.loads(place.read_bytes()), execution_devices=jax.devices()[:1]
            )
        built: list[Any] = []
        with self._anew(built):
            compiled = jitted.lower(*args).compile()
        if not built:
            return compiled
        try:
            put(place, pickle.dumps(serialize(compiled)))
        except (NotImplementedError, ValueError, pickle.PicklingError):
            return jitted
        return compiled

    @contextmanager
    def _anew(self, built: list[Any]) -> Iterator[None]:
        """Compile past every cache on disk; `built` gets what was: an executable that was loaded
        cannot be serialised."""
        sound = compiler.compile_or_get_cached

        def build(
            backend: Any,
            module: Any,
            _: Any,
            options: Any,
            callbacks: Any,
            devices: Any,
            *rest: Any,
        ) -> Any:
            built.append(self._compile_anew(backend, module, devices, options, callbacks))
            return built[0]

        compiler.compile_or_get_cached = build
        try:
            yield
        finally:
            compiler.compile_or_get_cached = sound


def _told(primitive: Any, params: dict[str, Any], args: tuple[Any, ...]) -> str:
    """All that an executable depends on, as text; empty where text cannot tell."""
    if not all(_plain(arg) for arg in args):
        return ""
    types = [str(core.typeof(arg)) + ("w" if _weak(arg) else "") for arg in args]
    flags = jax.config.values
    if any(flags[name] for name in _ELSEWHERE):
        return ""
    own = f"{jaxlib.__version__} {primitive} {sorted(params.items())} {types}"
    if len(own) > _LONGEST or any(mark in own for mark in _UNNAMED):
        return ""
    return f"{own} {flags}"


def _plain(arg: Any) -> bool:
    """Whether an argument is NumPy's, or an array that is bound to no device."""
    if isinstance(arg, array.ArrayImpl):
        return not arg.committed and arg.sharding.device_set == {jax.devices()[0]}
    return isinstance(arg, np.ndarray | np.generic)


def _weak(arg: Any) -> bool:
    return bool(getattr(arg, "weak_type", False))
