"""Typed errors that carry advice; every command turns them into one message and its exit code."""

from __future__ import annotations

import sys
from typing import ClassVar


class RondoError(Exception):
    """Something the user can act on: `what` happened and `advice` on what to do about it."""

    exit_code: ClassVar[int] = 2

    def __init__(self, what: str, advice: str = "") -> None:
        super().__init__(f"{what}\n  {advice}" if advice else what)
        self.what = what
        self.advice = advice


class FormatError(RondoError):
    """A file is not a test case of this version of the format."""


class SetupError(RondoError):
    """The environment lacks something that the target needs."""


class ServerError(RondoError):
    """The fork server did not start or went away."""


class Interrupted(RondoError):
    """Ctrl-C, with what is kept."""

    exit_code = 130


def say(error: RondoError | OSError) -> int:
    """Tell the user what cannot be done and what to do; the exit code. An error of the operating
    system is mostly over a path or a full disk."""
    if isinstance(error, OSError):
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        error = RondoError(what, "give a path that can be written to, or free some disk space")
    print(f"error: {error}", file=sys.stderr)
    return error.exit_code
