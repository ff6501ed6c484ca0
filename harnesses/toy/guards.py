"""Guards: what must still hold for a compiled entry to be used again.

A trace installs them while it runs (`harnesses.toy.tracing`); the dispatcher checks them in the
order in which they were installed and reports the kind of the first that fails.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from harnesses.toy.arrays import Array, Dice


@dataclass(frozen=True, slots=True)
class Frame:
    """One call: what is called, with which arguments."""

    target: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


Getter = Callable[[Frame], Any]
"""Finds a value again in a later call."""


@dataclass(frozen=True, slots=True)
class Guard:
    """`holds(frame)` must be true; `kind` is the word for what changed when it is not."""

    kind: str
    holds: Callable[[Frame], bool]


_GONE = (AttributeError, KeyError, IndexError, TypeError)


def failing(guards: list[Guard], frame: Frame) -> str | None:
    """The kind of the first guard that does not hold, or None."""
    for guard in guards:
        try:
            held = guard.holds(frame)
        except _GONE:  # the value is not where it was: that is a change like any other
            held = False
        if not held:
            return guard.kind
    return None


class Same:
    """Compares by identity."""

    __slots__ = ("thing",)

    def __init__(self, thing: object) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.thing is other.thing

    def __hash__(self) -> int:
        return 0


def snapshot(value: Any) -> Any:
    """A value that is equal to a later snapshot when nothing changed that a program can read.

    Plain data and functions by content; modules, arrays and whatever guards its own reads by
    identity; other objects by identity and the content of their `__dict__`.
    """
    return _snapshot(value, ())


def _snapshot(value: Any, inside: tuple[object, ...]) -> Any:
    if any(value is outer for outer in inside):
        return Same(value)
    inside = (*inside, value)
    for kinds, take in _TAKES:
        if isinstance(value, kinds):
            return take(value, inside)
    return _object(value, inside)


def _items(value: Any, inside: tuple[object, ...]) -> Any:
    return type(value), tuple(_snapshot(item, inside) for item in value)


def _fields(value: Mapping[str, Any], inside: tuple[object, ...]) -> Any:
    return tuple((key, _snapshot(item, inside)) for key, item in value.items())


def _plain(value: Any, inside: tuple[object, ...]) -> Any:
    return type(value), repr(value)


def _identity(value: Any, inside: tuple[object, ...]) -> Any:
    return Same(value)


def _object(value: Any, inside: tuple[object, ...]) -> Any:
    if getattr(type(value), "GUARDS_OWN_READS", False) or not hasattr(value, "__dict__"):
        return Same(value)
    return Same(value), _snapshot(type(value), inside), _fields(vars(value), inside)


def _class(value: type, inside: tuple[object, ...]) -> Any:
    if getattr(value, "GUARDS_OWN_READS", False) or issubclass(value, Enum):
        return Same(value)
    own = {k: v for k, v in vars(value).items() if not k.startswith("__")}
    return Same(value), _fields(own, inside)


def _method(value: types.MethodType, inside: tuple[object, ...]) -> Any:
    return Same(value.__self__), _snapshot(value.__func__, inside)


def _property(value: property, inside: tuple[object, ...]) -> Any:
    return _snapshot(value.fget, inside)


def _function(value: types.FunctionType, inside: tuple[object, ...]) -> Any:
    cells = tuple(_snapshot(content, inside) for content in closure_values(value))
    return (
        Same(function_code(value)),
        _snapshot(value.__defaults__, inside),
        _snapshot(value.__kwdefaults__, inside),
        cells,
        _fields(globals_read(value), inside),
    )


def function_code(function: types.FunctionType) -> types.CodeType:
    """What a function's body is, for its guard."""
    return function.__code__


def closure_values(function: types.FunctionType) -> list[Any]:
    """What a function's closure cells hold."""
    return [cell.cell_contents for cell in function.__closure__ or ()]


def globals_read(function: types.FunctionType) -> dict[str, Any]:
    """The globals that a function's code names, nested code included."""
    names: set[str] = set()
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    space = function.__globals__
    if space.get("__name__", "").startswith("harnesses."):
        return {}
    return {name: space[name] for name in sorted(names) if name in space}


_TAKES: tuple[tuple[Any, Callable[[Any, tuple[object, ...]], Any]], ...] = (
    (Enum, _identity),
    ((bool, int, float, str, type(None)), _plain),
    ((list, tuple), _items),
    (dict, lambda value, inside: (dict, _fields(value, inside))),
    (type, _class),
    (types.FunctionType, _function),
    (types.MethodType, _method),
    (property, _property),
    ((Array, Dice, types.ModuleType), _identity),
)
