"""What makes JAX cheap to run in many children, below all that a test case may reach.

Compiled executables are kept on disk for all children and campaigns: each is addressed by its whole
program, its options and its devices, so sharing it is safe and saves XLA's time. XLA generates code
in its quickest way: six times quicker than by default, and what it generates depends on nothing
that earlier calls left (`repro.py` runs with XLA's defaults). And one MLIR context serves a whole
child: making one takes 12 ms, half of what lowering one operation takes. JAX's own caches (of
traces, of lowerings, of executables, on disk) lie above all three.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jaxlib
from jax._src import cache_key, compilation_cache, compiler
from jax._src.interpreters import mlir

from rondo.errors import SetupError

_VERSION = f"jaxlib {jaxlib.__version__} quick".encode()
"""Changes when executables are built in another way."""
_QUICK = (
    ("xla_cpu_use_fusion_emitters", False),
    ("xla_backend_optimization_level", 0),
    ("xla_llvm_disable_expensive_passes", True),
)


def keep_context() -> None:
    """Make one MLIR context a process instead of one a lowering.

    Making the first loads the dialects, which children then need not.
    """
    make = mlir.make_ir_context
    kept: dict[int, Any] = {}

    def context() -> Any:
        pid = os.getpid()
        if pid not in kept:
            kept.clear()
            kept[pid] = make()
        return kept[pid]

    make()
    mlir.make_ir_context = context


def require_names(*names: tuple[ModuleType, str]) -> None:
    """Raises SetupError when one of these modules of JAX's own has no such name."""
    for module, name in names:
        if not hasattr(module, name):
            raise SetupError(
                f"this JAX has no {module.__name__}.{name}",
                "install the version in constraints.txt",
            )


Compile = Callable[[Any, Any, Any, Any, Any], Any]
"""From a client, a module, devices, options and callbacks to a loaded executable."""


def keep_executables(folder: Path) -> Compile:
    """Look up what XLA is asked to compile in `folder`, and put there what it compiles; the
    function that compiles without looking.

    An executable that was loaded cannot be serialised again: it has lost its code. So nothing is
    looked up while JAX may write what it gets to its own persistent cache.
    Raises SetupError when this JAX compiles through other names.
    """
    require_names((compiler, "backend_compile_and_load"), (cache_key, "_canonicalize_ir"))
    sound = compiler.backend_compile_and_load
    canonical = cache_key._canonicalize_ir

    def quick(backend: Any, module: Any, devices: Any, options: Any, callbacks: Any) -> Any:
        options.env_option_overrides = [*_QUICK, *options.env_option_overrides]
        return sound(backend, module, devices, options, callbacks)

    def stored(backend: Any, module: Any, devices: Any, options: Any, callbacks: Any) -> Any:
        if callbacks or compilation_cache.is_persistent_cache_enabled():
            return quick(backend, module, devices, options, callbacks)
        ids = repr([device.id for device in devices])
        digest = hashlib.sha256(canonical(module, cache_key.IgnoreCallbacks.NO))
        for part in (options.SerializeAsString(), ids.encode(), _VERSION):
            digest.update(part)
        place = folder / digest.hexdigest()
        with contextlib.suppress(OSError):
            return backend.deserialize_executable(
                place.read_bytes(), executable_devices=devices, compile_options=options
            )
        made = quick(backend, module, devices, options, callbacks)
        put(place, backend.serialize_executable(made))
        return made

    compiler.backend_compile_and_load = stored
    return quick


def put(place: Path, data: bytes) -> None:
    """Write atomically; a full disk costs speed, not the case."""
    part = place.with_name(f"{place.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        part.write_bytes(data)
        part.replace(place)
