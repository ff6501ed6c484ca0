"""Python numbers that a trace keeps symbolic: dynamic sizes, promoted scalars, random draws.

Arithmetic on them is recorded; a comparison becomes a guard; anything else pins their value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Protocol

from harnesses.toy.arrays import Array


class Decider(Protocol):
    """What a symbol needs of its trace."""

    def arithmetic(self, op: str, args: tuple[Any, ...]) -> Any: ...
    def decide(self, op: str, left: Any, right: Any) -> bool: ...
    def pin(self, symbol: Symbol) -> None: ...


class Symbol:
    """What both kinds share: the trace, the slot, and the leaves that the value depends on."""

    trace: Decider
    slot: int
    leaves: frozenset[str]
    plain: Any

    def pinned(self) -> Any:
        """The value as an ordinary number; the entry then holds for this value alone."""
        self.trace.pin(self)
        return self.plain

    def __bool__(self) -> bool:
        return self.trace.decide("ne", self, 0)

    def __hash__(self) -> int:
        return hash(self.pinned())

    def __repr__(self) -> str:
        return repr(self.pinned())

    def __float__(self) -> float:
        return float(self.pinned())

    def __int__(self) -> int:
        return int(self.pinned())

    def __reduce__(self) -> Any:
        return type(self.plain), (self.pinned(),)


class SymbolicInt(Symbol, int):
    """An int that may differ from call to call; programs say `int(n)` before `range` uses it."""

    def __index__(self) -> int:
        return int(self.pinned())


class SymbolicFloat(Symbol, float):
    """A float that may differ from call to call."""


def symbol(value: int | float, trace: Decider, slot: int, leaves: frozenset[str]) -> Any:
    """A symbolic number that now is `value`."""
    made: Any = SymbolicInt(value) if isinstance(value, int) else SymbolicFloat(value)
    made.trace, made.slot, made.leaves, made.plain = trace, slot, leaves, value
    return made


def plain(value: Any) -> Any:
    """The number behind a symbol, without pinning it."""
    return value.plain if isinstance(value, Symbol) else value


def _arithmetic(op: str, reflected: bool) -> Callable[..., Any]:
    def method(self: Symbol, other: Any) -> Any:
        if isinstance(other, Array) or not isinstance(plain(other), int | float):
            return NotImplemented
        pair = (other, self) if reflected else (self, other)
        return self.trace.arithmetic(f"scalar_{op}", pair)

    return method


def _comparison(op: str) -> Callable[..., Any]:
    def method(self: Symbol, other: Any) -> Any:
        if isinstance(other, Array) or not isinstance(plain(other), int | float):
            return NotImplemented
        return self.trace.decide(op, self, other)

    return method


def _negated(self: Symbol) -> Any:
    return self.trace.arithmetic("scalar_neg", (self,))


for _kind in (SymbolicInt, SymbolicFloat):
    for _op in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
        setattr(_kind, f"__{_op}__", _arithmetic(_op, reflected=False))
        setattr(_kind, f"__r{_op}__", _arithmetic(_op, reflected=True))
    for _op in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(_kind, f"__{_op}__", _comparison(_op))
    setattr(_kind, "__neg__", _negated)  # noqa: B010  (mypy rejects assigning to a method)

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
"""Comparisons by name, for guards that repeat one."""
