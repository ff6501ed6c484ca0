"""The trace: runs a call once, writes it down, installs guards on all that it read, undoes it.

Tracing computes with the real values, so that control flow in Python just happens; afterwards
every write, attribute and random draw is undone, and the compiled program does the work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harnesses.toy.arrays import (
    PRIMITIVES,
    SESSION,
    STREAMS,
    WRITES,
    Array,
    Dice,
    GraphBreak,
)
from harnesses.toy.guards import Frame, Getter, Guard, snapshot
from harnesses.toy.recording import (
    Const,
    Effect,
    Instruction,
    Recording,
    Ref,
    Slot,
    Tree,
)
from harnesses.toy.symbols import COMPARE, Symbol, plain, symbol

RANDOM = "random"
"""The leaf of numbers that no guard can pin."""


class Profile:
    """What earlier traces of the same code saw: what differed once is dynamic from then on."""

    def __init__(self, dynamic: bool | None) -> None:
        self.dynamic = dynamic
        self.seen: dict[str, Any] = {}
        self.promoted: set[str] = set()

    def varies(self, key: str, value: Any) -> bool:
        """Whether to keep `value`, met at `key`, symbolic."""
        if self.dynamic is not None:
            return self.dynamic
        if self.seen.setdefault(key, value) != value:
            self.promoted.add(key)
        return key in self.promoted


class Trace:
    """One running trace; `guards` and `recording` are what remains of it."""

    def __init__(self, frame: Frame, profile: Profile) -> None:
        self.frame = frame
        self.profile = profile
        self.guards: list[Guard] = []
        self.body: list[Instruction | Effect] = []
        self.leaves: dict[int, Getter] = {}
        self._arrays: list[int] = []
        self._slots: dict[int, int] = {}
        self._alive: list[Any] = []
        self._sizes: dict[int, tuple[int, ...]] = {}
        self._symbols: dict[str, tuple[Getter, Any]] = {}
        self._bounded: set[str] = set()
        self._undo: list[Callable[[], None]] = []
        self._count = 0

    def run(self) -> Recording:
        """Trace the call.

        Raises GraphBreak where it cannot be recorded, and whatever the call itself raises.
        """
        target = self.frame.target
        self.guard_target(target)
        self.guard_structure()
        args = [
            self.argument(f"args[{i}]", value, item_of(lambda frame: frame.args, i))
            for i, value in enumerate(self.frame.args)
        ]
        kwargs = {
            name: self.argument(name, value, item_of(lambda frame: frame.kwargs, name))
            for name, value in self.frame.kwargs.items()
        }
        self.save_streams()
        SESSION.trace = self  # type: ignore[assignment]
        try:
            output = self.tree(target(*args, **kwargs))
        finally:
            SESSION.trace = None
            self.undo()
        others = tuple(slot for slot in self.leaves if slot not in self._arrays)
        return Recording(tuple(self._arrays), others, tuple(self.body), output)

    def undo(self) -> None:
        """Take back what the traced call changed, last change first."""
        for step in reversed(self._undo):
            step()

    def save_streams(self) -> None:
        """Have the random stream of arrays put back after tracing."""
        state = STREAMS.state()
        self._undo.append(lambda: STREAMS.restore(state))

    def guard(self, kind: str, holds: Callable[[Frame], bool]) -> None:
        """Install a guard."""
        self.guards.append(Guard(kind, holds))

    # --- arguments -----------------------------------------------------------------------

    def guard_target(self, target: Any) -> None:
        """Guard what is called: the module or bound object, or the function's content."""
        saved = snapshot(target)
        self.guard("target", lambda frame: snapshot(frame.target) == saved)

    def guard_structure(self) -> None:
        """Guard how many arguments there are, and their names."""
        count, names = len(self.frame.args), tuple(self.frame.kwargs)
        self.guard(
            "structure",
            lambda frame: len(frame.args) == count and tuple(frame.kwargs) == names,
        )

    def argument(self, key: str, value: Any, get: Getter) -> Any:
        """Guard an argument; the value to trace with."""
        if isinstance(value, Array):
            self.array_argument(key, value, get)
            return value
        if isinstance(value, list | tuple):
            return self.items_argument(key, value, get)
        return self.scalar("scalar", key, value, get)

    def items_argument(self, key: str, value: Any, get: Getter) -> Any:
        """Guard the length of a list or tuple and each of its items."""
        self.guard_length(type(value), len(value), get)
        return type(value)(
            self.argument(f"{key}[{i}]", item, item_of(get, i)) for i, item in enumerate(value)
        )

    def guard_length(self, kind: type, length: int, get: Getter) -> None:
        """Guard the type and the length of a list argument."""
        self.guard("length", lambda frame: type(get(frame)) is kind and len(get(frame)) == length)

    def array_argument(self, key: str, value: Array, get: Getter) -> None:
        """Guard an array; sizes that differed before become symbolic."""
        kind, rank = type(value), value.data.ndim
        self.guard("type", lambda frame: type(get(frame)) is kind)
        self.guard_dtype(value.dtype, get)
        self.guard("rank", lambda frame: get(frame).data.ndim == rank)
        if not self.leaf_array(value, get):
            return
        sizes = tuple(
            self.size(
                f"{key}/{rank}.{axis}", size, item_of(lambda frame: get(frame).data.shape, axis)
            )
            for axis, size in enumerate(value.data.shape)
        )
        self._sizes[id(value)] = sizes

    def guard_dtype(self, dtype: str, get: Getter) -> None:
        """Guard the element type of an argument."""
        self.guard("dtype", lambda frame: get(frame).dtype == dtype)

    def size(self, key: str, size: int, get: Getter) -> int:
        """One size of an argument: symbolic if it varies and is neither 0 nor 1."""
        if not self.profile.varies(key, size) or size < 2:
            self.guard_size(get, size)
            return size
        self.guard_bound(get)
        self._bounded.add(key)
        symbolic: int = self.leaf_number(key, size, get)
        return symbolic

    def guard_size(self, get: Getter, size: int) -> None:
        """Guard a static size."""
        self.guard("shape", lambda frame: get(frame) == size)

    def guard_bound(self, get: Getter) -> None:
        """A symbolic size is never 0 or 1: comparisons with these are decided while tracing."""
        self.guard("bound", lambda frame: get(frame) >= 2)

    def scalar(self, guard: str, key: str, value: Any, get: Getter) -> Any:
        """A Python value: numbers that differed before become symbolic, others are guarded."""
        kind = type(value)
        numeric = kind is float or (kind is int and value not in (0, 1))
        if not numeric or not self.profile.varies(f"{key}:{kind.__name__}", value):
            saved = snapshot(value)
            self.guard(guard, lambda frame: snapshot(get(frame)) == saved)
            return value
        self.guard(guard, lambda frame: type(get(frame)) is kind)
        if kind is int:
            self.guard(guard, lambda frame: get(frame) not in (0, 1))
        return self.promoted(key, value, get)

    def promoted(self, key: str, value: Any, get: Getter) -> Any:
        """A number that a compiled program takes as an input."""
        return self.leaf_number(key, value, get)

    # --- slots ---------------------------------------------------------------------------

    def fresh(self) -> int:
        self._count += 1
        return self._count - 1

    def leaf_array(self, value: Array, get: Getter) -> bool:
        """Give an array from outside a slot; False if it is one that has a slot already."""
        known = self._slots.get(id(value))
        if known is not None:
            self.guard_alias(self.leaves[known], get)
            return False
        slot = self.bind(value)
        self._arrays.append(slot)
        self.leaves[slot] = get
        return True

    def guard_alias(self, first: Getter, second: Getter) -> None:
        """Guard that two places hold the same array."""
        self.guard("alias", lambda frame: first(frame) is second(frame))

    def leaf_number(self, key: str, value: Any, get: Getter) -> Any:
        slot = self.fresh()
        self.leaves[slot] = get
        self._symbols[key] = (get, value)
        return symbol(value, self, slot, frozenset({key}))

    def bind(self, value: Any) -> int:
        """The slot of an object, which stays alive as long as the trace."""
        slot = self._slots[id(value)] = self.fresh()
        self._alive.append(value)
        return slot

    def outside(self, value: Any) -> int:
        """The slot of an object that is the same in every call."""
        if id(value) not in self._slots:
            slot = self.bind(value)
            self.leaves[slot] = lambda frame: value
            if isinstance(value, Array):
                self._arrays.append(slot)
        return self._slots[id(value)]

    def tree(self, value: Any) -> Ref:
        """The reference of whatever a program can build or pass on."""
        if isinstance(value, Symbol):
            return Slot(value.slot)
        if isinstance(value, Array):
            return Slot(self.outside(value))
        if isinstance(value, list | tuple):
            kind = "tuple" if isinstance(value, tuple) else "list"
            return Tree(kind, (), tuple(self.tree(item) for item in value))
        if isinstance(value, dict):
            return Tree("dict", tuple(value), tuple(self.tree(item) for item in value.values()))
        return Const(value)

    @property
    def dynamic_sizes(self) -> int:
        """How many sizes are symbolic."""
        return len(self._bounded)

    # --- what arrays and symbols ask for ---------------------------------------------------

    def record(self, op: str, args: tuple[Any, ...]) -> Any:
        """Compute a primitive and write it down."""
        args = tuple(_pinned_index(a) for a in args)
        refs = tuple(
            Slot(self.outside(a)) if isinstance(a, Array | Dice) else _number_ref(a) for a in args
        )
        values = [a.data if isinstance(a, Array) else plain(a) for a in args]
        if op in WRITES and isinstance(args[0], Array):
            self.save_content(args[0].data)
        try:
            result = PRIMITIVES[op](*values)
        except Exception:
            self.pin_all()  # whether it raises may depend on the sizes
            raise
        if op in WRITES:
            self.body.append(Instruction(op, refs, -1))
            return args[0]
        made = Array(np.asarray(result))
        self.body.append(Instruction(op, refs, self.bind(made)))
        return made

    def save_content(self, data: np.ndarray) -> None:
        """Have an array's content put back after tracing."""
        if not data.flags.writeable:
            return  # the write is about to fail
        copy = data.copy()
        self._undo.append(lambda: np.copyto(data, copy))

    def scalar_instruction(self, op: str, args: tuple[Any, ...], leaves: frozenset[str]) -> Any:
        refs = tuple(
            Slot(self.outside(a)) if isinstance(a, Array | Dice) else _number_ref(a) for a in args
        )
        try:
            value = PRIMITIVES[op](*(a.data if isinstance(a, Array) else plain(a) for a in args))
        except ArithmeticError:
            self.pin_all()
            raise
        slot = self.fresh()
        self.body.append(Instruction(op, refs, slot))
        return symbol(value, self, slot, leaves)

    def shape_of(self, array: Array) -> tuple[int, ...]:
        """The sizes of an array, symbolic where they follow from symbolic sizes."""
        if id(array) in self._sizes:
            return self._sizes[id(array)]
        shape = array.data.shape
        if not self._bounded or self._slots.get(id(array)) in self.leaves:
            return shape
        leaves = frozenset(self._symbols)
        axes = range(len(shape))
        return tuple(self.scalar_instruction("size", (array, axis), leaves) for axis in axes)

    def arithmetic(self, op: str, args: tuple[Any, ...]) -> Any:
        """Compute with symbolic numbers and write it down."""
        leaves = [a.leaves for a in args if isinstance(a, Symbol)]
        return self.scalar_instruction(op, args, frozenset().union(*leaves))

    def decide(self, op: str, left: Any, right: Any) -> bool:
        """The truth of a comparison, which becomes a guard."""
        result = COMPARE[op](plain(left), plain(right))
        only = len(left.leaves) == 1 and left.slot in self.leaves
        if not only or isinstance(right, Symbol):
            for side in (left, right):
                if isinstance(side, Symbol):
                    self.pin(side)
            return result
        key = next(iter(left.leaves))
        if key in self._bounded and right in (0, 1):
            return result  # decided for every size that the bound admits
        get = self._symbols[key][0]
        self.guard_relation(op, get, right, result)
        return result

    def guard_relation(self, op: str, get: Getter, right: Any, result: bool) -> None:
        """Guard the outcome of a comparison."""
        self.guard("relation", lambda frame: COMPARE[op](get(frame), right) is result)

    def pin(self, symbolic: Symbol) -> None:
        """Guard the values of the leaves that a symbol depends on."""
        for key in sorted(symbolic.leaves):
            if key == RANDOM:
                raise GraphBreak("the value of a random number")
            get, value = self._symbols[key]
            self.guard_value(get, value)

    def guard_value(self, get: Getter, value: Any) -> None:
        """Guard the value of a symbolic number."""
        self.guard("value", lambda frame: repr(get(frame)) == repr(value))

    def pin_all(self) -> None:
        """Guard every symbolic number by its value."""
        for get, value in self._symbols.values():
            self.guard_value(get, value)


def item_of(get: Getter, key: Any) -> Getter:
    """Finds an item of what `get` finds."""
    return lambda frame: get(frame)[key]


def _number_ref(value: Any) -> Ref:
    return Slot(value.slot) if isinstance(value, Symbol) else Const(value)


def _pinned_index(value: Any) -> Any:
    """Indices are constants: a symbol inside a tuple or slice is pinned."""
    if isinstance(value, tuple):
        return tuple(_pinned(item) for item in value)
    return _pinned(value) if isinstance(value, slice) else value


def _pinned(value: Any) -> Any:
    if isinstance(value, slice):
        return slice(_pinned(value.start), _pinned(value.stop), _pinned(value.step))
    return value.pinned() if isinstance(value, Symbol) else value
