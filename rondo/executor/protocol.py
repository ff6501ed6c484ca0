"""What the driver and the executing side say to each other, as msgpack records.

On a pipe each message is a frame: four bytes of length, little endian, then the record.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from typing import Protocol

import msgspec

LENGTH = struct.Struct("<I")


class Observation(msgspec.Struct, frozen=True, array_like=True):
    """One thing that a user can see after a step.

    `role` is output, gradient, parameter, buffer, input, attribute or rng; `path` says which one.
    `dtype` is the framework's name of the element type (or a Python type's), `data` holds the
    values of an array of `shape` as little-endian `kind` (a NumPy type string), or the text of
    anything that is not an array when `kind` is empty. `note` holds flags such as requires_grad.
    """

    role: str
    path: str
    dtype: str
    shape: tuple[int, ...] = ()
    kind: str = ""
    data: bytes = b""
    note: str = ""


class Arm(msgspec.Struct, frozen=True, array_like=True):
    """One execution of the whole sequence.

    Steps from `live_from` on go through the compiler, the others run eagerly; compiler state is
    emptied before step `reset_before` (-1: never). `stop_after` is the last step to run (-1: all).
    `wide` computes in float64, `traced` collects compiler lines.
    """

    name: str
    live_from: int
    reset_before: int = -1
    stop_after: int = -1
    wide: bool = False
    traced: bool = False


NEVER = 1 << 30
EAGER = Arm("eager", NEVER)
RETAINED = Arm("retained", 0)


class Job(msgspec.Struct, frozen=True, array_like=True):
    """Run the arms of one program in one fresh child, within `seconds` and `megabytes` above what
    the server itself takes. An exception of the eager arm in a step that is not in `raising` ends
    the job: the case is invalid and compiling it would teach nothing."""

    text: str
    arms: tuple[Arm, ...]
    raising: tuple[int, ...] = ()
    seconds: float = 120.0
    megabytes: int = 4096


class StepRecord(msgspec.Struct, frozen=True, array_like=True):
    """What one step of one arm did; `error` holds the exception's class names along its MRO."""

    arm: str
    step: int
    observations: tuple[Observation, ...] = ()
    error: tuple[str, ...] = ()
    message: str = ""
    behaviour: tuple[str, ...] = ()
    seconds: float = 0.0


class Begun(msgspec.Struct, frozen=True, array_like=True, tag="begun"):
    """Sent before a step runs, so that a death can be placed."""

    arm: str
    step: int


class Lines(msgspec.Struct, frozen=True, array_like=True, tag="lines"):
    """The compiler lines that an arm ran: file (relative to its source folder) and line."""

    lines: tuple[tuple[str, tuple[int, ...]], ...]


class Finished(msgspec.Struct, frozen=True, array_like=True, tag="finished"):
    """The child came to its end; `trouble` says what went wrong outside the steps."""

    trouble: str = ""
    seconds: float = 0.0


class Done(msgspec.Struct, frozen=True, array_like=True, tag="step"):
    """Sent after a step."""

    record: StepRecord


Message = Begun | Done | Lines | Finished


class Death(msgspec.Struct, frozen=True, array_like=True):
    """A child that did not come to its end: `kind` is crash, hang or memory; where it was."""

    kind: str
    detail: str
    arm: str = ""
    step: int = -1


class Outcome(msgspec.Struct, frozen=True):
    """What a job gave: per arm its step records in order, how the child died if it did, the
    compiler lines, wall seconds and what went wrong outside the steps."""

    arms: dict[str, list[StepRecord]]
    death: Death | None = None
    lines: dict[str, tuple[int, ...]] = {}
    seconds: float = 0.0
    trouble: str = ""


class Reply(msgspec.Struct, frozen=True, array_like=True):
    """The server's answer: the child's frames as they came, and how it ended."""

    frames: bytes
    death: str
    detail: str
    seconds: float


class Hello(msgspec.Struct, frozen=True, array_like=True):
    """The server's first word: ready, or why not."""

    ready: bool
    trouble: str = ""
    advice: str = ""
    seconds: float = 0.0


class Executor(Protocol):
    """Runs jobs; both variants hold this interface."""

    def run(self, job: Job) -> Outcome:
        """Run a job in fresh compiler state."""

    def run_both(self, first: Job, second: Job) -> tuple[Outcome, Outcome]:
        """Run two jobs, each in fresh compiler state, at the same time where that can be."""

    def close(self) -> None:
        """Release what it holds."""

    def abandon(self) -> None:
        """Release what it holds, safe in a signal handler."""


_encoder = msgspec.msgpack.Encoder()
_messages = msgspec.msgpack.Decoder(Message)


def frame(record: msgspec.Struct) -> bytes:
    """One record as a frame."""
    body = _encoder.encode(record)
    return LENGTH.pack(len(body)) + body


def _bodies(data: bytes | bytearray) -> Iterator[memoryview]:
    """The whole records in `data`, not decoded; a truncated tail (of a child that died writing) is
    left."""
    view = memoryview(data)
    at = 0
    while at + LENGTH.size <= len(data):
        (size,) = LENGTH.unpack_from(data, at)
        at += LENGTH.size
        if at + size > len(data):
            return
        yield view[at : at + size]
        at += size


def unframe(data: bytes) -> Iterator[Message]:
    """The whole messages in `data`."""
    return map(_messages.decode, _bodies(data))


def last_message(data: bytes | bytearray) -> Message | None:
    """The last whole message in `data`; the others are not decoded."""
    last = deque(_bodies(data), maxlen=1)
    return _messages.decode(last[0]) if last else None


def outcome(frames: bytes, death: str, detail: str, seconds: float) -> Outcome:
    """Assemble what a child said, and how it ended, into an outcome."""
    arms: dict[str, list[StepRecord]] = {}
    lines: dict[str, tuple[int, ...]] = {}
    last = Begun("", -1)
    trouble = ""
    for message in unframe(frames):
        if isinstance(message, Begun):
            last = message
            arms.setdefault(message.arm, [])
        elif isinstance(message, Done):
            arms.setdefault(message.record.arm, []).append(message.record)
        elif isinstance(message, Lines):
            lines = dict(message.lines)
        else:
            trouble = message.trouble
    died = Death(death, detail, last.arm, last.step) if death else None
    return Outcome(arms, died, lines, seconds, trouble)
