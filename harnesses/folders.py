"""Folders that runtimes use: kernels that outlive a process, state that must not."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from rondo.errors import SetupError

STORE_BYTES = 2 << 30


def kernel_store(package: str, version: str, most: int = STORE_BYTES) -> Path:
    """A folder that outlives the process for what is addressed by its whole content, such as
    compiled kernels: below RONDO_CACHE, or the user's cache folder.

    When it holds more than `most` bytes, what was read or written least recently goes until half
    is left.
    """
    root = os.environ.get("RONDO_CACHE") or Path.home() / ".cache" / "rondo"
    folder = Path(root) / f"{package}-{version}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(
            f"cannot write the kernel store {folder}: {error.strerror}",
            "set RONDO_CACHE to a folder that can be written",
        ) from error
    _trim(folder, most)
    return folder


def _trim(folder: Path, most: int) -> None:
    aged = []
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            with suppress(OSError):
                facts = path.stat()
                aged.append((max(facts.st_atime, facts.st_mtime), facts.st_size, path))
    total = sum(size for _, size, _ in aged)
    if total <= most:
        return
    for _, size, path in sorted(aged):
        path.unlink(missing_ok=True)
        total -= size
        if total <= most // 2:
            return


def state_folder(package: str) -> Path:
    """A temporary folder of this process's own; removes those of processes that are gone."""
    stem = f"rondo-{package}-"
    for left in Path(tempfile.gettempdir()).glob(f"{stem}*"):
        pid = left.name.removeprefix(stem).partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{stem}{os.getpid()}-"))
