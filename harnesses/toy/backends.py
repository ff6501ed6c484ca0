"""From a recording to a program: one backend interprets it, one writes fused Python source.

Both keep what they make in `DISK`, which outlives the in-memory caches as a compiler's on-disk
cache outlives a process.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harnesses.toy.arrays import POINTWISE, PRIMITIVES, SCALARS, WRITES, Array
from harnesses.toy.recording import (
    Const,
    Effect,
    Instruction,
    Recording,
    Ref,
    Slot,
    rebuilt,
    slots_in,
)

Env = dict[int, Any]
Program = Callable[[Env], None]


@dataclass(frozen=True, slots=True)
class Artefact:
    """What is stored on disk: the steps, and their source where the backend writes one."""

    body: tuple[Instruction | Effect, ...]
    source: str = ""


DISK: dict[str, Artefact] = {}
"""The on-disk cache: artefacts by the hash of what they were made from."""

_NUMBERS = {"size", "draw", *SCALARS}


def disk_key(backend: str, recording: Recording) -> str:
    """What an artefact depends on: the backend, the graph, and the constants in it."""
    return digest(backend, recording.body, recording)


def digest(backend: str, body: tuple[Instruction | Effect, ...], recording: Recording) -> str:
    """The name on disk of a backend, a body and the rest of a recording."""
    text = repr((backend, recording.arrays, recording.others, body, recording.output))
    return hashlib.sha256(text.encode()).hexdigest()


def without_constants(recording: Recording) -> tuple[Instruction | Effect, ...]:
    """The graph alone, every captured number left out."""
    return tuple(
        replace(step, args=tuple(_blank(ref) for ref in step.args))
        if isinstance(step, Instruction)
        else step
        for step in recording.body
    )


def _blank(ref: Ref) -> Ref:
    number = isinstance(ref, Const) and type(ref.value) in (int, float)
    return Const(0) if number else ref


def lower(backend: str, recording: Recording, use_disk: bool) -> tuple[Program, bool]:
    """The program of a recording, and whether it came from disk."""
    build, load = BACKENDS[backend]
    key = disk_key(backend, recording)
    if use_disk and key in DISK:
        return load(DISK[key]), True
    artefact = build(recording)
    if use_disk:
        DISK[key] = artefact
    return load(artefact), False


def perform(effect: Effect, env: Env) -> None:
    """Replay a change of a Python object."""
    owner, value = env[effect.owner], rebuilt(effect.value, env)
    if effect.kind == "set":
        setattr(owner, effect.name, value)
    else:
        owner.append(value)


# --- interpret ------------------------------------------------------------------------------


def _instruction(step: Instruction, env: Env) -> None:
    values = [rebuilt(ref, env) for ref in step.args]
    result = PRIMITIVES[step.op](*(v.data if isinstance(v, Array) else v for v in values))
    if step.op in _NUMBERS:
        env[step.slot] = result
    elif step.op not in WRITES:
        env[step.slot] = Array(np.asarray(result))


def _interpreter(artefact: Artefact) -> Program:
    def program(env: Env) -> None:
        for step in artefact.body:
            if isinstance(step, Effect):
                perform(step, env)
            else:
                _instruction(step, env)

    return program


# --- fuse -----------------------------------------------------------------------------------


class Writer:
    """Writes the source of a recording: runs of element-wise operations become one expression."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.lines: list[str] = []
        self.expressions: dict[int, str] = {n: f"e[{n}].data" for n in recording.arrays}
        self.expressions |= {n: f"e[{n}]" for n in recording.others}
        self.uses = Counter(
            slot
            for step in recording.body
            if isinstance(step, Instruction)
            for ref in step.args
            for slot in slots_in(ref)
        )
        self.shown = set(slots_in(recording.output))
        for step in recording.body:
            if isinstance(step, Effect):
                self.shown.update(slots_in(step.value))
        self.pending: dict[int, str] = {}

    def source(self) -> str:
        """The whole kernel."""
        for place, step in enumerate(self.recording.body):
            if isinstance(step, Effect):
                self.flush()
                self.lines.append(f"perform({place}, e)")
            else:
                self.instruction(step)
        self.flush()
        body = "\n".join(f"    {line}" for line in self.lines) or "    pass"
        return f"def kernel(e, perform):\n{body}\n"

    def instruction(self, step: Instruction) -> None:
        """Write one instruction, or keep it for the expression of its only user."""
        if step.op not in POINTWISE:
            self.flush()
        call = f"{step.op}({', '.join(self.argument(ref) for ref in step.args)})"
        if step.op in WRITES:
            self.lines.append(call)
        elif step.op in _NUMBERS:
            self.lines.append(f"e[{step.slot}] = {call}")
            self.expressions[step.slot] = f"e[{step.slot}]"
        elif self.fusible(step):
            self.pending[step.slot] = call
        else:
            self.emit(step.slot, call)

    def fusible(self, step: Instruction) -> bool:
        """Whether a value is element-wise, used once and never seen."""
        return step.op in POINTWISE and self.uses[step.slot] == 1 and step.slot not in self.shown

    def argument(self, ref: Ref) -> str:
        if not isinstance(ref, Slot):
            return repr(ref.value) if isinstance(ref, Const) else "None"
        if ref.number in self.pending:
            return self.pending.pop(ref.number)
        return self.expressions[ref.number]

    def emit(self, slot: int, call: str) -> None:
        """Assign a value, wrapped once if anything outside can see it."""
        self.lines.append(f"v{slot} = asarray({call})")
        self.expressions[slot] = f"v{slot}"
        if slot in self.shown:
            self.lines.append(f"e[{slot}] = Array(v{slot})")

    def flush(self) -> None:
        """Compute what is still pending, in order, before something that has to come after."""
        for slot, call in list(self.pending.items()):
            self.emit(slot, call)
        self.pending.clear()


_NAMES: dict[str, Any] = {**PRIMITIVES, "asarray": np.asarray, "Array": Array}
_NAMES |= {"inf": float("inf"), "nan": float("nan")}


def _load_kernel(artefact: Artefact) -> Program:
    space: dict[str, Any] = {**_NAMES, "__name__": "harnesses.toy.kernel"}
    exec(compile(artefact.source, "<toy kernel>", "exec"), space)
    kernel = space["kernel"]

    def run_effect(place: int, env: Env) -> None:
        effect = artefact.body[place]
        assert isinstance(effect, Effect)
        perform(effect, env)

    return lambda env: kernel(env, run_effect)


BACKENDS: dict[str, tuple[Callable[[Recording], Artefact], Callable[[Artefact], Program]]] = {
    "interpret": (lambda recording: Artefact(recording.body), _interpreter),
    "fuse": (lambda recording: Artefact(recording.body, Writer(recording).source()), _load_kernel),
}
"""Backends by name: what makes an artefact of a recording, and a program of an artefact."""
