"""The executing side for jax.jit: with `behaviour` and `speed` the only modules that import JAX."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.experimental.compilation_cache.compilation_cache as persistent
import jax.numpy as jnp
import numpy as np

from harnesses.base import Fault, Runtime
from harnesses.folders import kernel_store, state_folder
from harnesses.jax_xla.behaviour import listen, observed
from harnesses.jax_xla.faults import FAULTS
from harnesses.jax_xla.primitives import PrimitiveStore
from harnesses.jax_xla.speed import keep_context, keep_executables
from rondo.executor.protocol import Observation


class JaxRuntime(Runtime):
    """Plays programs on the installed JAX.

    No backend is initialised here: XLA's threads would not survive a fork, so each child makes its
    own client.
    """

    def __init__(self) -> None:
        self._state = state_folder("jax")
        tempfile.tempdir = str(self._state)
        jax.config.update("jax_num_cpu_devices", 2)
        store = kernel_store("jax", jax.__version__)
        self._primitives = PrimitiveStore(store, keep_executables(store))
        keep_context()
        listen()
        warnings.filterwarnings("ignore")
        self._plain = dict(jax.config.values)

    def warm_up(self) -> None:
        """Trace what every child traces; that needs no backend."""

        def model(x: Any, k: Any, key: Any) -> Any:
            h = jax.nn.softmax(jnp.where(x > 0, x, -x) * k, -1) @ jnp.ones((4, 4), x.dtype)
            return jax.nn.gelu(h) + jax.random.uniform(key, h.shape)

        x = jax.ShapeDtypeStruct((2, 4), "float32")
        key = jax.eval_shape(lambda: jax.random.key(0))
        jax.eval_shape(jax.jit(model), x, 1.5, key)
        jax.eval_shape(jax.grad(lambda x, key: jax.jit(model)(x, 1.5, key).sum()), x, key)
        jax.clear_caches()

    def reset(self) -> None:
        jax.clear_caches()
        persistent.reset_cache()
        for folder in self._state.iterdir():
            for left in folder.iterdir():
                left.unlink(missing_ok=True)

    def close(self) -> None:
        shutil.rmtree(self._state, ignore_errors=True)

    def sources(self) -> tuple[Path, ...]:
        return (Path(jax.__file__).parent / "_src",)

    def faults(self) -> Iterable[Fault]:
        return FAULTS

    def observe(self) -> AbstractContextManager[list[str]]:
        return observed()

    @contextmanager
    def ambient(self) -> Iterator[None]:
        try:
            yield
        finally:
            for name, value in self._plain.items():
                if jax.config.values.get(name) != value:
                    jax.config.update(name, value)

    @contextmanager
    def uncompiled(self) -> Iterator[None]:
        """Plain Python, operation by operation."""
        with jax.disable_jit(), self._primitives.kept_primitives():
            yield

    @contextmanager
    def widen(self, module: ModuleType) -> Iterator[None]:
        for name in ("array", "numpy_array", "normal"):
            if made := module.__dict__.get(name):
                module.__dict__[name] = _wide(made)
        with jax.enable_x64(True):
            yield

    def widen_state(self, state: Any) -> None:
        state.params, state.state = jax.tree.map(_double, (state.params, state.state))

    def observations(self, state: Any, returned: Mapping[str, Any] | None) -> list[Observation]:
        seen: list[Observation] = []
        for name, value in (returned or {}).items():
            seen += _look(value, "output" if name == "out" else "input", name)
        seen += _look(state.params, "parameter", "params")
        return seen + _look(state.state, "buffer", "state")


def _wide(made: Any) -> Any:
    return lambda *args, **named: _double(made(*args, **named))


def _double(value: Any) -> Any:
    floating = hasattr(value, "dtype") and jnp.issubdtype(value.dtype, jnp.floating)
    return value.astype("float64") if floating else value


def _look(value: Any, role: str, name: str) -> list[Observation]:
    """The leaves of a value, with its structure first; a Python number counts as the array that a
    compiled function makes of it."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(value)
    seen = [Observation(role, f"{name} structure", "structure", data=str(structure).encode())]
    for path, leaf in leaves:
        where = name + jax.tree_util.keystr(path)
        if isinstance(leaf, jax.Array | np.ndarray | np.generic):
            seen.append(_look_array(leaf, role, where))
        elif isinstance(leaf, bool | int | float):
            seen.append(_look_array(jnp.asarray(leaf), role, where))
        else:
            seen.append(Observation(role, where, type(leaf).__name__))
    return seen


def _look_array(value: Any, role: str, where: str) -> Observation:
    dtype = str(value.dtype)
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    array = np.asarray(value)
    if dtype in ("bfloat16", "float0"):
        array = array.astype("float32")
    array = np.ascontiguousarray(array)
    note = "weak type" if getattr(value, "weak_type", False) else ""
    return Observation(
        role, where, dtype, tuple(value.shape), array.dtype.str, array.tobytes(), note
    )
