"""Arrays of the toy framework: NumPy arrays whose operations can be recorded.

Every operation goes through `apply`. Without a trace it computes at once; with one, the trace
computes it and writes it down. `PRIMITIVES` is shared by eager execution and by both backends, so
that a compiled call is bitwise equal to an eager one unless the compiler's *state* is wrong.
"""

from __future__ import annotations

import math
import operator
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

# Infinities and NaNs are ordinary values to a fuzzer. Other threads start with NumPy's defaults.
np.seterr(all="ignore")
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"harnesses\.toy\.")


class GraphBreak(Exception):
    """Tracing met something that it cannot record; the call runs eagerly."""


class Recorder(Protocol):
    """What arrays, modules and random streams need of a running trace."""

    def record(self, op: str, args: tuple[Any, ...]) -> Any: ...
    def shape_of(self, array: Array) -> tuple[int, ...]: ...
    def read_layout(self) -> None: ...
    def read_ambient(self, name: str) -> None: ...
    def draw(self, dice: Dice) -> float: ...
    def attribute(self, module: Any, name: str) -> Any: ...
    def set_attribute(self, module: Any, name: str, value: Any) -> None: ...


class Session:
    """The one running trace, if any, and the ambient modes."""

    def __init__(self) -> None:
        self.trace: Recorder | None = None
        self.ambient: dict[str, Any] = {}
        self.plain_modes()

    def plain_modes(self) -> None:
        """Set every ambient mode to its plain value."""
        self.ambient.update(
            grad=True, default_dtype="float32", matmul_precision="highest", autocast=None
        )

    def mode(self, name: str) -> Any:
        """Read an ambient mode; a trace guards on what is read."""
        if self.trace is not None:
            self.trace.read_ambient(name)
        return self.ambient[name]

    @contextmanager
    def switched(self, name: str, value: Any) -> Iterator[None]:
        """Give an ambient mode another value for a while."""
        before = self.mode(name)
        self.ambient[name] = value
        try:
            yield
        finally:
            self.ambient[name] = before


SESSION = Session()


class Dice:
    """A Python-level random object, such as a model may own."""

    def __init__(self, seed: int) -> None:
        self.stream = random.Random(seed)

    def random(self) -> float:
        """The next number in [0, 1)."""
        trace = SESSION.trace
        return self.stream.random() if trace is None else trace.draw(self)


@lru_cache(maxsize=256)
def _start(seed: int) -> Any:
    return np.random.PCG64(seed).state


class Streams:
    """The two global random streams: of arrays, and of Python numbers."""

    def __init__(self) -> None:
        self.arrays = np.random.Generator(np.random.PCG64(0))
        self.python = Dice(0)

    def seed(self, seed: int) -> None:
        """Start both streams again."""
        self.arrays.bit_generator.state = _start(seed)
        self.python.stream.seed(seed)

    def state(self) -> Any:
        """Where the array stream stands."""
        return self.arrays.bit_generator.state

    def restore(self, state: Any) -> None:
        """Put the array stream back to a `state`."""
        self.arrays.bit_generator.state = state


STREAMS = Streams()


def _matmul(a: np.ndarray, b: np.ndarray, dtype: str | None, precision: str) -> Any:
    if dtype is not None:
        return np.matmul(a.astype(dtype), b.astype(dtype))
    if precision != "highest":
        wide = np.result_type(a, b)
        return np.matmul(a.astype("float16"), b.astype("float16")).astype(wide)
    return np.matmul(a, b)


def _total(a: np.ndarray, axis: Any, keepdims: bool) -> Any:
    return np.sum(a, axis=axis, keepdims=keepdims, dtype=a.dtype if a.dtype != bool else None)


def _largest(a: np.ndarray, axis: Any, keepdims: bool) -> Any:
    return np.max(a, axis=axis, keepdims=keepdims)


def _rand_like(a: np.ndarray) -> Any:
    return STREAMS.arrays.random(a.shape, dtype=np.float32)


def _fitted(kept: int, sizes: tuple[int, ...], *arrays: np.ndarray) -> Any:
    """The means of the arrays behind their first `kept` axes, spread over `sizes`; an array whose
    axes are all kept stays as it is."""
    if not sizes:
        return arrays[0]
    means = [np.mean(a, axis=tuple(range(kept, a.ndim))) for a in arrays]
    spread = np.cos(np.arange(math.prod(sizes))).reshape(sizes)
    rows = np.sum(means, axis=0)
    return (rows.reshape(rows.shape + (1,) * len(sizes)) * spread).astype(arrays[0].dtype)


def _write(ufunc: Callable[..., Any]) -> Callable[[np.ndarray, Any], None]:
    def write(a: np.ndarray, b: Any) -> None:
        ufunc(a, b, out=a, casting="unsafe")

    return write


def _assign(a: np.ndarray, b: Any) -> None:
    a[...] = b


POINTWISE: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.true_divide,
    "negative": np.negative,
    "absolute": np.absolute,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "greater": np.greater,
    "where": np.where,
    "tanh": np.tanh,
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "sqrt": np.sqrt,
}
"""Pure element-wise primitives, which the fusing backend merges."""

WRITES: dict[str, Callable[..., None]] = {
    "add_": _write(np.add),
    "multiply_": _write(np.multiply),
    "assign_": _assign,
}
"""Primitives that change their first operand in place."""

SCALARS: dict[str, Callable[..., Any]] = {
    f"scalar_{name}": getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "neg")
}
"""Arithmetic of Python numbers that a trace keeps symbolic."""

PRIMITIVES: dict[str, Callable[..., Any]] = {
    **POINTWISE,
    **WRITES,
    **SCALARS,
    "matmul": _matmul,
    "sum": _total,
    "max": _largest,
    "cumsum": lambda a: np.cumsum(a, axis=-1, dtype=a.dtype),
    "flip": lambda a: np.flip(a, -1),
    "roll": lambda a: np.roll(a, 1, -1),
    "concatenate": lambda axis, *arrays: np.concatenate(arrays, axis),
    "stack": lambda axis, *arrays: np.stack(arrays, axis),
    "reshape": lambda a, *sizes: np.reshape(a, sizes),
    "flatten": lambda a: np.reshape(a, (a.shape[0], math.prod(a.shape[1:]))),
    "swapaxes": np.swapaxes,
    "getitem": lambda a, index: a[index],
    "take": lambda table, rows: np.take(table, rows, axis=0, mode="wrap"),
    "fitted": _fitted,
    "size": lambda a, axis: a.shape[axis],
    "rand_like": _rand_like,
    "draw": lambda dice: dice.stream.random(),
    "full": lambda dtype, value, *sizes: np.full(sizes, value, dtype),
    "eye": lambda size, dtype: np.eye(size, dtype=dtype),
    "pack": lambda dtype, *numbers: np.array(numbers, dtype),
}
"""Every operation by name, on NumPy arrays and Python numbers."""


def apply(op: str, *args: Any) -> Array:
    """Run a primitive, through the running trace if there is one."""
    if SESSION.trace is not None:
        recorded: Array = SESSION.trace.record(op, args)
        return recorded
    values = [a.data if isinstance(a, Array) else a for a in args]
    if op in WRITES:
        WRITES[op](*values)
        written: Array = args[0]
        return written
    return Array(np.asarray(PRIMITIVES[op](*values)))


def _binary(op: str) -> tuple[Callable[..., Array], Callable[..., Array]]:
    def forward(self: Array, other: Any) -> Array:
        return apply(op, self, other)

    def reflected(self: Array, other: Any) -> Array:
        return apply(op, other, self)

    return forward, reflected


class Array:
    """A NumPy array as the toy framework shows it; `data` never changes its identity."""

    def __init__(self, data: np.ndarray) -> None:
        self.data = data

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes; while tracing, those that may differ from call to call are symbolic."""
        return self.data.shape if SESSION.trace is None else SESSION.trace.shape_of(self)

    @property
    def dtype(self) -> str:
        """The element type's name."""
        return self.data.dtype.name

    def is_contiguous(self) -> bool:
        """Whether rows follow one another in memory."""
        if SESSION.trace is not None:
            SESSION.trace.read_layout()
        return bool(self.data.flags.c_contiguous)

    def item(self) -> Any:
        """The only element as a Python number."""
        if SESSION.trace is not None:
            raise GraphBreak("the value of an array")
        return self.data.item()

    def sum(self, axis: Any = None, keepdims: bool = False) -> Array:
        return apply("sum", self, axis, keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Array:
        return apply("max", self, axis, keepdims)

    def mean(self, axis: int, keepdims: bool = False) -> Array:
        return apply("sum", self, axis, keepdims) / self.shape[axis]

    def reshape(self, *sizes: int) -> Array:
        return apply("reshape", self, *sizes)

    def swapaxes(self, first: int, second: int) -> Array:
        return apply("swapaxes", self, first, second)

    def add_(self, other: Any) -> Array:
        return apply("add_", self, other)

    def multiply_(self, other: Any) -> Array:
        return apply("multiply_", self, other)

    def assign_(self, other: Any) -> Array:
        return apply("assign_", self, other)

    def __getitem__(self, index: Any) -> Array:
        return apply("getitem", self, index)

    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("subtract")
    __mul__, __rmul__ = _binary("multiply")
    __truediv__, __rtruediv__ = _binary("divide")

    def __neg__(self) -> Array:
        return apply("negative", self)

    def __abs__(self) -> Array:
        return apply("absolute", self)

    def __gt__(self, other: Any) -> Array:
        return apply("greater", self, other)

    def __bool__(self) -> bool:
        return bool(self.item())


class Parameter(Array):
    """An array that training changes."""


class Buffer(Array):
    """An array that belongs to a module's state and that training leaves alone."""
