"""The part of a trace that watches program state: attributes, lists, modes, layouts, streams.

`StateTrace` is the trace that the compiler runs; arrays, modules and dice call it through
`harnesses.toy.arrays.SESSION`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from harnesses.toy.arrays import SESSION, Array, Dice
from harnesses.toy.guards import Frame, Getter, Guard, snapshot
from harnesses.toy.recording import Effect, Instruction, Slot
from harnesses.toy.symbols import symbol
from harnesses.toy.tracing import RANDOM, Profile, Trace, item_of

_MISSING = object()


class TracedList(list[Any]):
    """A list attribute while tracing: appending is an effect, reading guards the content."""

    def __init__(self, trace: StateTrace, content: list[Any], get: Getter, slot: int) -> None:
        super().__init__(content)
        self.trace, self.original, self.get = trace, list(content), get
        self.slot, self.known = slot, False

    def append(self, value: Any) -> None:
        self.trace.append(self.slot, value)
        super().append(value)

    def read(self) -> None:
        """Guard the content that the list had before the call."""
        if not self.known:
            self.known = True
            self.trace.guard_items(self.original, self.get)

    def __iter__(self) -> Iterator[Any]:
        self.read()
        return super().__iter__()

    def __len__(self) -> int:
        self.read()
        return super().__len__()

    def __getitem__(self, index: Any) -> Any:
        self.read()
        return super().__getitem__(index)


class StateTrace(Trace):
    """A trace that also records what a call reads and writes of program state."""

    def __init__(self, frame: Frame, profile: Profile) -> None:
        super().__init__(frame, profile)
        self._reads: dict[tuple[int, str], Any] = {}
        self._written: set[tuple[int, str]] = set()
        self._modes: set[str] = set()

    # --- attributes ----------------------------------------------------------------------

    def attribute(self, module: Any, name: str) -> Any:
        """Read an attribute of a module and guard it."""
        key = (id(module), name)
        if key in self._written:
            return object.__getattribute__(module, name)
        if key not in self._reads:
            self.outside(module)
            own = object.__getattribute__(module, "__dict__")
            if name not in own:
                return self.class_attribute(module, own, name)
            self._reads[key] = self.own_attribute(type(module).__name__, own, name)
        return self._reads[key]

    def class_attribute(self, module: Any, own: dict[str, Any], name: str) -> Any:
        """Guard what the class provides; a property runs, and its reads are traced."""
        kind = type(module)
        saved = snapshot(inspect.getattr_static(kind, name))
        self.guard_class(kind, own, name, saved)
        return object.__getattribute__(module, name)

    def guard_class(self, kind: type, own: dict[str, Any], name: str, saved: Any) -> None:
        """Guard that the class still provides the same, and the instance does not hide it."""
        self.guard(
            "method",
            lambda frame: name not in own and snapshot(inspect.getattr_static(kind, name)) == saved,
        )

    def own_attribute(self, owner: str, own: dict[str, Any], name: str) -> Any:
        """Guard an instance attribute; the value to trace with."""
        value = own[name]

        def get(frame: Frame) -> Any:
            return own[name]

        if isinstance(value, Array):
            self.attribute_array(value, get)
            return value
        if type(value) is list:
            slot = self.fresh()
            self.leaves[slot] = get
            self.guard("attribute", lambda frame: type(get(frame)) is list)
            return TracedList(self, value, get, slot)
        return self.attribute_value(f"{owner}.{name}", value, get)

    def attribute_value(self, key: str, value: Any, get: Getter) -> Any:
        """Guard an attribute that is a Python value."""
        return self.scalar("attribute", key, value, get)

    def attribute_array(self, value: Array, get: Getter) -> None:
        """Guard what an array attribute looks like; its content is an input."""
        saved = (type(value), value.dtype, value.data.shape)
        self.guard(
            "tensor",
            lambda frame: (type(get(frame)), get(frame).dtype, get(frame).data.shape) == saved,
        )
        self.leaf_array(value, get)

    def set_attribute(self, module: Any, name: str, value: Any) -> None:
        """Set an attribute for the rest of the trace, and have the program set it."""
        static = inspect.getattr_static(type(module), name, None)
        if hasattr(static, "__set__"):
            object.__setattr__(module, name, value)  # its setter's own writes are recorded
            return
        own = object.__getattribute__(module, "__dict__")
        before = own.get(name, _MISSING)
        self._undo.append(lambda: _put_back(own, name, before))
        self.effect(Effect("set", self.outside(module), name, self.tree(value)))
        self._written.add((id(module), name))
        object.__setattr__(module, name, value)

    # --- lists ---------------------------------------------------------------------------

    def append(self, slot: int, value: Any) -> None:
        """Have the program append to the list in a slot."""
        self.effect(Effect("append", slot, "", self.tree(value)))

    def effect(self, effect: Effect) -> None:
        """Write down a change of a Python object, in program order."""
        self.body.append(effect)

    def guard_items(self, content: list[Any], get: Getter) -> None:
        """Guard the length and the items of a list attribute."""
        count = len(content)
        self.guard("attribute", lambda frame: len(get(frame)) == count)
        for index, item in enumerate(content):
            at = item_of(get, index)
            if isinstance(item, Array):
                self.attribute_array(item, at)
            else:
                self.guard_item(snapshot(item), at)

    def guard_item(self, saved: Any, get: Getter) -> None:
        """Guard a plain item of a list attribute."""
        self.guard("attribute", lambda frame: snapshot(get(frame)) == saved)

    # --- modes, layouts, random numbers -----------------------------------------------------

    def read_ambient(self, name: str) -> None:
        """Guard an ambient mode at its first read; later changes are the program's own."""
        if name not in self._modes:
            self._modes.add(name)
            self.guard_mode(name, SESSION.ambient[name])

    def guard_mode(self, name: str, value: Any) -> None:
        """Guard an ambient mode."""
        self.guard(name, lambda frame: SESSION.ambient[name] == value)

    def read_layout(self) -> None:
        """Guard the memory layout of every array from outside."""
        for slot in self._arrays:
            self.guards += self.layout_guards(self.leaves[slot])

    def layout_guards(self, get: Getter) -> list[Guard]:
        """The guards on the memory layout of an array."""
        data: np.ndarray = get(self.frame).data
        saved = (data.strides, data.flags.c_contiguous)

        def holds(frame: Frame) -> bool:
            now = get(frame).data
            return (now.strides, now.flags.c_contiguous) == saved

        return [Guard("layout", holds)]

    def draw(self, dice: Dice) -> float:
        """Draw a number that the program draws again in each call."""
        state = dice.stream.getstate()
        self._undo.append(lambda: dice.stream.setstate(state))
        slot = self.fresh()
        self.body.append(Instruction("draw", (Slot(self.outside(dice)),), slot))
        drawn: float = symbol(dice.stream.random(), self, slot, frozenset({RANDOM}))
        return drawn


def _put_back(own: dict[str, Any], name: str, before: Any) -> None:
    if before is _MISSING:
        own.pop(name, None)
    else:
        own[name] = before
