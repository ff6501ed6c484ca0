"""What makes JAX cheap to run in many children, below all that a test case may reach.

Compiled executables are kept on disk for all children and campaigns: each is addressed by its whole
program, its options and its devices, so sharing it is safe and saves XLA's time. And one MLIR
context serves a whole child: making one takes 12 ms, half of what lowering one operation takes.
JAX's own caches (of traces, of lowerings, of executables, on disk) lie above both.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any

import jaxlib
from jax._src import cache_key, compiler
from jax._src.interpreters import mlir

from rondo.errors import SetupError


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


def keep_executables(folder: Path) -> None:
    """Look up what XLA is asked to compile in `folder`, and put there what it compiles.

    Raises SetupError when this JAX compiles through other names.
    """
    for module, name in ((compiler, "backend_compile_and_load"), (cache_key, "_canonicalize_ir")):
        if not hasattr(module, name):
            raise SetupError(
                f"this JAX has no {module.__name__}.{name}",
                "install the version in constraints.txt",
            )
    sound = compiler.backend_compile_and_load
    canonical = cache_key._canonicalize_ir

    def compile_and_load(
        backend: Any, module: Any, devices: Any, options: Any, callbacks: Any
    ) -> Any:
        if callbacks:
            return sound(backend, module, devices, options, callbacks)
        ids = repr([device.id for device in devices])
        digest = hashlib.sha256(canonical(module, cache_key.IgnoreCallbacks.NO))
        for part in (options.SerializeAsString(), ids.encode(), jaxlib.__version__.encode()):
            digest.update(part)
        place = folder / digest.hexdigest()
        with contextlib.suppress(OSError):
            return backend.deserialize_executable(
                place.read_bytes(), executable_devices=devices, compile_options=options
            )
        made = sound(backend, module, devices, options, callbacks)
        _put(place, backend.serialize_executable(made))
        return made

    compiler.backend_compile_and_load = compile_and_load


def _put(place: Path, data: bytes) -> None:
    """Write atomically; a full disk costs speed, not the case."""
    part = place.with_name(f"{place.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        part.write_bytes(data)
        part.replace(place)
