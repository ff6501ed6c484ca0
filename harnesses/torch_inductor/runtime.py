"""The executing side for torch.compile: the only module of this target that imports torch."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import shutil
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch
import torch._dynamo
import torch._dynamo.guards
import torch._functorch
import torch._inductor.compile_fx
import torch._inductor.config
from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCache
from torch._inductor.codecache import FxGraphCache
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_flatten_with_path

from harnesses.base import Fault, Runtime
from harnesses.folders import kernel_store, state_folder
from harnesses.torch_inductor.behaviour import observed
from harnesses.torch_inductor.faults import FAULTS
from rondo.errors import SetupError
from rondo.executor.protocol import Observation

_COMPILER_FOLDERS = ("_dynamo", "_inductor", "_functorch", "fx", "_subclasses")
_NUMPY_KIND = {torch.bfloat16: torch.float32}
_PLAIN = (bool, int, float, str, type(None))


class TorchRuntime(Runtime):
    """Plays programs on the installed torch."""

    def __init__(self) -> None:
        self._state = state_folder("torch")
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(kernel_store("torch", torch.__version__))
        _keep_state_in(self._state)
        _skip_guard_timing()
        torch.set_num_threads(1)
        warnings.filterwarnings("ignore")
        torch._logging.set_logs(all=50)
        self._ambient = _Ambient()

    def warm_up(self) -> None:
        """Compile a small module with every backend, forward only: autograd's threads would not
        survive a fork."""
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Dropout())
        x = torch.randn(2, 4)
        with torch.no_grad():
            for backend in ("eager", "aot_eager", "inductor"):
                torch.compile(model, backend=backend)(x)
                torch.compile(model, backend=backend, dynamic=True)(x)
                torch._dynamo.reset()
        grown = torch.compile(model, backend="aot_eager")
        grown(x)
        grown(torch.randn(3, 4))
        self.reset()

    def reset(self) -> None:
        torch.compiler.reset()
        torch._dynamo.reset()
        FakeTensorMode.cache_clear()
        for folder in self._state.iterdir():
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        shutil.rmtree(self._state, ignore_errors=True)

    def sources(self) -> tuple[Path, ...]:
        root = Path(torch.__file__).parent
        return tuple(root / name for name in _COMPILER_FOLDERS)

    def faults(self) -> Iterable[Fault]:
        return FAULTS

    def observe(self) -> contextlib.AbstractContextManager[list[str]]:
        return observed()

    @contextmanager
    def ambient(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._ambient.restore()

    @contextmanager
    def widen(self, module: ModuleType) -> Iterator[None]:
        made = module.tensor if hasattr(module, "tensor") else None

        def wide(*args: Any, **named: Any) -> Any:
            value = made(*args, **named)
            return value.double() if value.is_floating_point() else value

        if made is not None:
            module.__dict__["tensor"] = wide
        autocast = torch.autocast
        torch.autocast = _NoAutocast  # type: ignore[misc,assignment]
        try:
            yield
        finally:
            torch.autocast = autocast  # type: ignore[misc]

    def widen_state(self, state: Any) -> None:
        state.model.double()

    def observations(self, state: Any, returned: Mapping[str, Any] | None) -> list[Observation]:
        seen: list[Observation] = []
        with torch.no_grad():
            for name, value in (returned or {}).items():
                seen += _look(value, "output" if name == "out" else "input", name, returned)
            for name, parameter in state.model.named_parameters():
                seen += _look_tensor(parameter, "parameter", name)
                if parameter.grad is not None:
                    seen += _look_tensor(parameter.grad, "gradient", name)
            for name, buffer in state.model.named_buffers():
                seen += _look_tensor(buffer, "buffer", name)
        seen += _attributes(state.model)
        seen += [_random_state()]
        return seen


def _keep_state_in(folder: Path) -> None:
    """Put the caches that are compiler state into a folder of this process's own.

    Compiled kernels stay in the shared store: they are addressed by their whole source, so sharing
    them is safe and saves a second or more of the C++ compiler's time each.
    """
    for cache in (FxGraphCache, AOTAutogradCache):
        name = "fxgraph" if cache is FxGraphCache else "aotautograd"
        if not hasattr(cache, "_get_tmp_dir"):
            raise SetupError(f"torch {torch.__version__} keeps its {name} cache elsewhere")
        place = str(folder / name)
        cache._get_tmp_dir = staticmethod(lambda place=place: place)  # type: ignore[method-assign]


def _skip_guard_timing() -> None:
    """Leave out the timing of guards after each compile.

    Dynamo flushes the processor's caches and times the new guards once, for its metrics: about 40
    of the 150 ms that a small graph takes with backend "eager".
    """
    if hasattr(torch._dynamo.guards, "profile_guard_manager"):
        torch._dynamo.guards.profile_guard_manager = lambda *args: 0.0


class _NoAutocast(contextlib.AbstractContextManager[None]):
    """Stands in for `torch.autocast` in the float64 reference."""

    def __init__(self, *args: Any, **named: Any) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        return None


class _Ambient:
    """The framework's ambient modes as they were at the start."""

    def __init__(self) -> None:
        self._dynamo = torch._dynamo.config.get_config_copy()
        self._inductor = torch._inductor.config.get_config_copy()
        self._autocast = torch.get_autocast_dtype("cpu")
        self._precision = torch.get_float32_matmul_precision()

    def restore(self) -> None:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)
        torch.set_autocast_dtype("cpu", self._autocast)
        torch.set_grad_enabled(True)
        torch.use_deterministic_algorithms(False)
        torch.set_float32_matmul_precision(self._precision)
        torch.compiler.set_stance("default")
        for module, kept in (
            (torch._dynamo.config, self._dynamo),
            (torch._inductor.config, self._inductor),
        ):
            for name, value in kept.items():
                if getattr(module, name) is not value:
                    setattr(module, name, value)


def _look(
    value: Any, role: str, name: str, returned: Mapping[str, Any] | None
) -> list[Observation]:
    """The leaves of a value, with its structure first."""
    leaves, spec = tree_flatten_with_path(value)
    seen = [Observation(role, f"{name} structure", "structure", data=str(spec).encode())]
    given = (returned or {}).get("x") if role == "output" else None
    for path, leaf in leaves:
        where = name + "".join(str(key) for key in path)
        if isinstance(leaf, torch.Tensor):
            note = "the input itself" if leaf is given else ""
            seen += _look_tensor(leaf, role, where, note)
            if role == "input" and leaf.is_leaf and leaf.grad is not None:
                seen += _look_tensor(leaf.grad, "gradient", where)
        else:
            seen.append(_look_plain(leaf, role, where))
    return seen


def _look_plain(value: Any, role: str, where: str) -> Observation:
    text = repr(value) if isinstance(value, _PLAIN) else ""
    return Observation(role, where, type(value).__name__, data=text.encode())


def _look_tensor(value: torch.Tensor, role: str, where: str, note: str = "") -> list[Observation]:
    plain = value.detach().to(_NUMPY_KIND.get(value.dtype, value.dtype))
    array = plain.contiguous().numpy()
    notes = [note] if note else []
    if value.requires_grad:
        notes.append("requires_grad")
    return [
        Observation(
            role,
            where,
            str(value.dtype).removeprefix("torch."),
            tuple(value.shape),
            array.dtype.str,
            array.tobytes(),
            " ".join(notes),
        )
    ]


def _attributes(model: torch.nn.Module) -> list[Observation]:
    """Python attributes of the model that forward may have written."""
    seen: list[Observation] = []
    for name, value in sorted(vars(model).items()):
        if name.startswith("_") or name == "training":
            continue
        if isinstance(value, torch.Tensor):
            seen += _look_tensor(value, "attribute", name)
        elif isinstance(value, _PLAIN):
            seen.append(_look_plain(value, "attribute", name))
        elif isinstance(value, (list, dict)):
            seen += _look(value, "attribute", name, None)
    return seen


def _random_state() -> Observation:
    """Digest of the random streams: how much randomness was consumed."""
    digest = hashlib.sha256(torch.get_rng_state().numpy().tobytes())
    digest.update(repr(random.getstate()).encode())
    return Observation("rng", "state", "digest", data=digest.hexdigest()[:16].encode())
