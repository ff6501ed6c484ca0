"""What the executing side asks of the operating system about its processes (Linux)."""

from __future__ import annotations

import ctypes
import resource
import signal

_PR_SET_PDEATHSIG = 1
_PAGE = resource.getpagesize()


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def resident_bytes(pid: int) -> int:
    """Resident memory of a process, 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except (FileNotFoundError, ProcessLookupError):
        return 0
