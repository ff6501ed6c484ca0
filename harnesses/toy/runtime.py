"""The executing side of the toy target: what the compiler did, and what a user can see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from harnesses.base import Fault, Runtime
from harnesses.toy import compiler, faults
from harnesses.toy.arrays import SESSION, STREAMS, Array, Buffer, Dice, Parameter
from rondo.executor.protocol import Observation

_ROLE = {Parameter: "parameter", Buffer: "buffer", Array: "attribute"}


class ToyRuntime(Runtime):
    """The toy framework in this process."""

    def warm_up(self) -> None:
        """Nothing is lazy here."""
        compiler.reset()

    def reset(self) -> None:
        """Empty the caches, on disk too."""
        compiler.reset()

    def sources(self) -> tuple[Path, ...]:
        """This package is the compiler."""
        return (Path(__file__).parent,)

    @contextmanager
    def observe(self) -> Iterator[list[str]]:
        """Collect the compiler's log of one step."""
        compiler.LOG.clear()
        seen: list[str] = []
        try:
            yield seen
        finally:
            seen += compiler.LOG
            compiler.LOG.clear()

    @contextmanager
    def ambient(self) -> Iterator[None]:
        """Plain modes before and after an arm."""
        SESSION.plain_modes()
        try:
            yield
        finally:
            SESSION.plain_modes()
            SESSION.trace = None

    def observations(self, state: Any, returned: Mapping[str, Any] | None) -> list[Observation]:
        """Outputs and arguments, the state of every model of the program, the random streams."""
        seen: list[Observation] = []
        for name, value in (returned or {}).items():
            seen += observed("output" if name == "out" else "input", name, value)
        models = {"model": state.model, **getattr(state, "parts", {})}
        for name, model in models.items():
            if isinstance(model, compiler.Module):
                for prefix, module in model.modules(f"{name}."):
                    seen += _module(prefix, module)
        seen.append(_text("rng", "arrays", "str", repr(STREAMS.state()["state"])))
        seen.append(_text("rng", "python", "str", _position(STREAMS.python)))
        return seen

    def faults(self) -> Iterable[Fault]:
        """The faults that can be planted in this compiler."""
        return faults.FAULTS.values()


def _module(prefix: str, module: Any) -> Iterator[Observation]:
    for name, value in vars(module).items():
        if isinstance(value, compiler.Module) or name in ("hooks", "pre_hooks"):
            continue
        yield from observed(_ROLE.get(type(value), "attribute"), f"{prefix}{name}", value)


def observed(role: str, path: str, value: Any) -> Iterator[Observation]:
    """What a user can see of a value: arrays by content, containers item by item."""
    if isinstance(value, Array):
        yield _array(role, path, value)
    elif isinstance(value, list | tuple):
        yield _text(role, path, type(value).__name__, str(len(value)))
        for index, item in enumerate(value):
            yield from observed(role, f"{path}[{index}]", item)
    elif isinstance(value, dict):
        yield _text(role, path, "dict", repr(list(value)))
        for key, item in value.items():
            yield from observed(role, f"{path}[{key!r}]", item)
    else:
        yield _text(role, path, type(value).__name__, _words(value))


def _array(role: str, path: str, value: Array) -> Observation:
    data = np.ascontiguousarray(value.data)
    return Observation(
        role,
        path,
        value.dtype,
        value.data.shape,
        data.dtype.newbyteorder("<").str,
        data.astype(data.dtype.newbyteorder("<")).tobytes(),
        f"{type(value).__name__}, strides {value.data.strides}",
    )


def _text(role: str, path: str, kind: str, text: str) -> Observation:
    return Observation(role, path, kind, data=text.encode())


def _words(value: Any) -> str:
    if isinstance(value, Dice):
        return _position(value)
    if isinstance(value, bool | int | float | str | type(None)):
        return repr(value)
    return repr(vars(value)) if type(value).__name__ == "Knobs" else getattr(value, "name", "")


def _position(dice: Dice) -> str:
    """Where a random stream stands, as the number that it would give next."""
    state = dice.stream.getstate()
    following = repr(dice.stream.random())
    dice.stream.setstate(state)
    return following
