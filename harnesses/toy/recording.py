"""What a trace writes down, as plain data: the input of the backends.

Slots are numbered values of one call. Nothing here refers to a live object, so that a recording
can be stored on disk and found again by its text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Slot:
    """The value in slot `number`."""

    number: int


@dataclass(frozen=True, slots=True)
class Const:
    """A constant that tracing captured."""

    value: Any


@dataclass(frozen=True, slots=True)
class Tree:
    """A tuple, list or dict (with `keys`) that the program builds."""

    kind: str
    keys: tuple[Any, ...]
    items: tuple[Ref, ...]


Ref = Slot | Const | Tree


@dataclass(frozen=True, slots=True)
class Instruction:
    """`slot = op(*args)`; a write in place has no slot of its own (-1)."""

    op: str
    args: tuple[Ref, ...]
    slot: int


@dataclass(frozen=True, slots=True)
class Effect:
    """A change of a Python object in slot `owner`: set attribute `name`, or append to a list."""

    kind: str
    owner: int
    name: str
    value: Ref


@dataclass(frozen=True, slots=True)
class Recording:
    """A traced call: the slots that it is given, what it does in order, what it returns."""

    arrays: tuple[int, ...]
    others: tuple[int, ...]
    body: tuple[Instruction | Effect, ...]
    output: Ref


def slots_in(ref: Ref) -> Iterator[int]:
    """The slots that a reference reads."""
    if isinstance(ref, Slot):
        yield ref.number
    elif isinstance(ref, Tree):
        for item in ref.items:
            yield from slots_in(item)


def rebuilt(ref: Ref, env: dict[int, Any]) -> Any:
    """The Python value of a reference."""
    if isinstance(ref, Slot):
        return env[ref.number]
    if isinstance(ref, Const):
        return ref.value
    return _BUILD[ref.kind](ref.keys, [rebuilt(item, env) for item in ref.items])


_BUILD: dict[str, Any] = {
    "tuple": lambda keys, items: tuple(items),
    "list": lambda keys, items: items,
    "dict": lambda keys, items: dict(zip(keys, items, strict=True)),
}
