"""Modules of the toy framework: the base class, and the layers that models are made of.

A running trace sees every attribute that a module reads or sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from harnesses.toy.arrays import SESSION, Array, Buffer, Parameter, apply


def filled(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Deterministic numbers in (-1, 1) that draw on no random stream."""
    count = math.prod(shape)
    spread = np.cos(np.arange(1, count + 1) * 1.7 + seed)
    rounded: np.ndarray = np.round(spread, 3).astype("float32").reshape(shape)
    return rounded


class Module:
    """A callable with parameters, buffers, hooks, a training flag and any other attributes."""

    GUARDS_OWN_READS = True

    def __init__(self) -> None:
        self.training = True
        self.pre_hooks: list[Callable[..., Any]] = []
        self.hooks: list[Callable[..., Any]] = []

    def __getattribute__(self, name: str) -> Any:
        if SESSION.trace is None or name.startswith("__"):
            return object.__getattribute__(self, name)
        return SESSION.trace.attribute(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if SESSION.trace is None:
            object.__setattr__(self, name, value)
        else:
            SESSION.trace.set_attribute(self, name, value)

    def forward(self, x: Any) -> Any:
        """What a call computes."""
        raise NotImplementedError

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for hook in self.pre_hooks:
            args = hook(self, args)
        out = self.forward(*args, **kwargs)
        for hook in self.hooks:
            out = hook(self, out)
        return out

    def train(self, mode: bool = True) -> Module:
        """Set the training flag here and in every sub-module."""
        for _, module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        """Clear the training flag here and in every sub-module."""
        return self.train(False)

    def modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and all inside it, with their paths."""
        yield prefix, self
        for name, value in vars(self).items():
            if isinstance(value, Module):
                yield from value.modules(f"{prefix}{name}.")

    def state(self) -> dict[str, Array]:
        """Parameters and buffers by path."""
        return {
            f"{prefix}{name}": value
            for prefix, module in self.modules()
            for name, value in vars(module).items()
            if isinstance(value, Parameter | Buffer)
        }

    def visible_state(self) -> dict[str, Any]:
        """Every attribute that is not a module, by path."""
        return {
            f"{prefix}{name}": value
            for prefix, module in self.modules()
            for name, value in vars(module).items()
            if not isinstance(value, Module)
        }

    def load_state(self, values: dict[str, Array]) -> None:
        """Copy values into parameters and buffers."""
        for path, array in self.state().items():
            array.assign_(values[path])


class Linear(Module):
    """x @ weight + bias."""

    def __init__(self, inside: int, outside: int, seed: int) -> None:
        super().__init__()
        self.weight = Parameter(filled((inside, outside), seed))
        self.bias = Parameter(filled((outside,), seed + 1))

    def forward(self, x: Any) -> Any:
        """One affine map of the last axis."""
        return matmul(x, self.weight) + self.bias


class LayerNorm(Module):
    """Normalise the last axis."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = Parameter(np.ones(features, "float32"))

    def forward(self, x: Any) -> Any:
        """Zero mean and unit variance, then a scale."""
        centred = x - x.mean(-1, keepdims=True)
        spread = (centred * centred).mean(-1, keepdims=True)
        return centred / apply("sqrt", spread + 1e-3) * self.weight


class BatchNorm(Module):
    """Normalise each channel (axis 1) over all others; keeps running means in training."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = Parameter(np.ones(channels, "float32"))
        self.running = Buffer(np.zeros(channels, "float32"))
        self.seen = 0

    def forward(self, x: Any) -> Any:
        """Subtract the batch's mean in training, the running mean otherwise."""
        inner = (1,) * (x.data.ndim - 2)
        if self.training:
            mean = x.mean(0)
            for _ in inner:
                mean = mean.mean(-1)
            self.running.multiply_(0.9)
            self.running.add_(mean * 0.1)
            self.seen = self.seen + 1
        else:
            mean = self.running
        channels = (-1, *inner)
        return (x - mean.reshape(*channels)) * self.weight.reshape(*channels)


class Dropout(Module):
    """Half of the values become zero in training."""

    def forward(self, x: Any) -> Any:
        """Keep a value when its random number is above one half."""
        if not self.training:
            return x
        return apply("where", rand_like(x) > 0.5, x * 2.0, x * 0.0)


class Activation(Module):
    """One element-wise function, the same for every input."""

    def forward(self, x: Any) -> Any:
        """The larger of x and its tenth."""
        return apply("maximum", x, x * 0.1)


class Embedding(Module):
    """Rows of a table."""

    def __init__(self, rows: int, outside: int, seed: int) -> None:
        super().__init__()
        self.table = Parameter(filled((rows, outside), seed))

    def forward(self, x: Any) -> Any:
        """The row of each token."""
        return apply("take", self.table, x)


class StandIn(Module):
    """What stands in for a layer that this framework does not have: one parameter."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.weight = Parameter(filled((1,), seed))

    def forward(self, kept: int, sizes: tuple[int, ...], *arrays: Any) -> Any:
        """A value of the given sizes behind the first `kept` axes, times the parameter."""
        return fitted(kept, sizes, *arrays) * self.weight


class SelfAttention(Module):
    """Single-head self-attention over the sequence."""

    def __init__(self, features: int, seed: int) -> None:
        super().__init__()
        self.query = Parameter(filled((features, features), seed))
        self.key = Parameter(filled((features, features), seed + 1))

    def forward(self, x: Any) -> Any:
        """Values weighted by the softmax of query times key."""
        scores = matmul(matmul(x, self.query), matmul(x, self.key).swapaxes(-2, -1))
        return matmul(softmax(scores), x)


class Recurrent(Module):
    """A recurrent layer that unrolls over the sequence, which pins the length."""

    def __init__(self, inside: int, outside: int, seed: int) -> None:
        super().__init__()
        self.weight = Parameter(filled((inside, outside), seed))
        self.again = Parameter(filled((outside, outside), seed + 1))

    def forward(self, x: Any) -> Any:
        """The states after each element of the sequence."""
        states = [apply("tanh", matmul(x[:, 0], self.weight))]
        for place in range(1, int(x.shape[1])):
            new = matmul(x[:, place], self.weight) + matmul(states[-1], self.again)
            states.append(apply("tanh", new))
        return apply("stack", 1, *states)


def matmul(a: Any, b: Any) -> Any:
    """Matrix product; under autocast in the narrow type, else in the ambient precision."""
    return apply("matmul", a, b, SESSION.mode("autocast"), SESSION.mode("matmul_precision"))


def rand_like(x: Any) -> Array:
    """Uniform random float32 numbers in [0, 1) in the shape of `x`."""
    return apply("rand_like", x)


def softmax(x: Any) -> Any:
    """Softmax of the last axis."""
    powers = apply("exp", x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def fitted(kept: int, sizes: tuple[int, ...], *arrays: Any) -> Any:
    """A value of the given sizes behind the first `kept` axes, from the means of the arrays."""
    return apply("fitted", kept, sizes, *arrays)
