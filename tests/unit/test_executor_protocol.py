"""Frames on the wire: what a child said survives its death at any byte."""

from __future__ import annotations

import msgspec
import pytest

from rondo.executor.protocol import (
    EAGER,
    LENGTH,
    RETAINED,
    Begun,
    Done,
    Finished,
    Job,
    Lines,
    Message,
    Observation,
    StepRecord,
    frame,
    outcome,
    unframe,
)

SEEN = Observation("output", "out", "float32", (2, 1), "<f4", b"\0" * 8, "requires_grad")
RECORD = StepRecord("retained", 0, (SEEN,), ("ValueError",), "no", ("compiled",), 0.25)
MESSAGES: tuple[Message, ...] = (
    Begun("eager", 0),
    Done(StepRecord("eager", 0, (SEEN,))),
    Begun("retained", 0),
    Done(RECORD),
    Lines((("torch/a.py", (1, 2)), ("torch/b.py", (7,)))),
    Begun("retained", 1),
    Finished("", 1.5),
)
FRAMES = [frame(message) for message in MESSAGES]
STREAM = b"".join(FRAMES)


def whole_frames(length: int) -> int:
    """How many frames end within the first `length` bytes of the stream."""
    ends = [sum(map(len, FRAMES[: i + 1])) for i in range(len(FRAMES))]
    return sum(end <= length for end in ends)


def test_a_frame_says_its_length() -> None:
    (size,) = LENGTH.unpack_from(FRAMES[0])
    assert len(FRAMES[0]) == LENGTH.size + size


def test_messages_come_back_as_they_were() -> None:
    assert tuple(unframe(STREAM)) == MESSAGES


def test_a_stream_cut_at_any_byte_gives_its_whole_frames() -> None:
    for length in range(len(STREAM) + 1):
        assert tuple(unframe(STREAM[:length])) == MESSAGES[: whole_frames(length)]


def test_a_death_at_any_byte_is_placed_at_the_last_step_begun() -> None:
    for length in range(len(STREAM) + 1):
        heard = MESSAGES[: whole_frames(length)]
        begun = [m for m in heard if isinstance(m, Begun)] or [Begun("", -1)]
        death = outcome(STREAM[:length], "crash", "SIGSEGV", 0.1).death
        assert death is not None
        assert (death.kind, death.detail) == ("crash", "SIGSEGV")
        assert (death.arm, death.step) == (begun[-1].arm, begun[-1].step)


def test_an_outcome_holds_every_step_of_every_arm() -> None:
    result = outcome(STREAM, "", "", 2.0)
    assert result.death is None
    assert result.seconds == 2.0
    assert result.arms == {"eager": [MESSAGES[1].record], "retained": [RECORD]}
    assert result.lines == {"torch/a.py": (1, 2), "torch/b.py": (7,)}
    assert result.trouble == ""


def test_an_arm_that_died_in_its_first_step_is_there_and_empty() -> None:
    result = outcome(frame(Begun("reset", 0)), "hang", "no end", 9.0)
    assert result.arms == {"reset": []}


def test_trouble_outside_the_steps_is_kept() -> None:
    assert outcome(frame(Finished("ImportError: x", 0.1)), "", "", 0.1).trouble == "ImportError: x"


def test_a_job_comes_back_as_it_was() -> None:
    job = Job("STEPS = []\n", (EAGER, RETAINED), seconds=3.0, megabytes=64)
    body = frame(job)[LENGTH.size :]
    assert msgspec.msgpack.decode(body, type=Job) == job


def test_a_frame_that_is_no_message_is_an_error() -> None:
    with pytest.raises(msgspec.DecodeError):
        list(unframe(LENGTH.pack(2) + b"\xc1\xc1"))
