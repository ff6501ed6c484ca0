"""The findings store: one directory a failure identity, written atomically, safe against crashes.

    findings/<name>/case.bin case.json repro.py report.md verdict.json
    findings/running/<pid>.bin     the case that a driver is running now, or was left without time for
    findings/alarms/<kind>/<digest>.bin   what failed but is no confirmed finding

A case is on disk before it runs; what a dead driver left in `running` is picked up by the next.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rondo.codec import digest
from rondo.errors import FormatError, RondoError
from rondo.identity import Identity

MOST_ALARMS = 200


class ArmRecord(msgspec.Struct, frozen=True):
    """The compiler's behaviour at the exposing step in one compiled arm."""

    arm: str
    behaviour: tuple[str, ...]


class Trial(msgspec.Struct, frozen=True):
    """One change of a shrunk case: whether the difference is there or gone with it (or what else
    the verdict is), and what the compiler did at the exposing step."""

    change: str
    outcome: str
    behaviour: tuple[str, ...]


class Finding(msgspec.Struct, frozen=True):
    """A finding as `verdict.json` keeps it.

    `steps` counts the steps of the original and the shrunk case, `cold` the cold interpreters that
    showed it out of those tried, `seen` how many cases hit it; `note` holds what the oracle has to
    add. `blame` tries the case without one step or deviation, `ablation` in other configurations;
    `reference` is the float64 reference's value where the difference is, `output` what the repro
    printed, `environment` what the framework's own collector said. `faults` were planted in the compiler.
    """

    name: str
    target: str
    verdict: str
    symptom: str
    identity: dict[str, str | tuple[str, ...]]
    exposing: int
    where: str
    detail: str
    sentences: tuple[str, ...]
    arms: tuple[ArmRecord, ...]
    steps: tuple[int, int]
    tried: int
    cold: tuple[int, int]
    versions: dict[str, str]
    case_number: int
    seconds: float
    known: str = ""
    seen: int = 1
    note: str = ""
    blame: tuple[Trial, ...] = ()
    ablation: tuple[Trial, ...] = ()
    reference: str = ""
    output: str = ""
    environment: str = ""
    faults: tuple[str, ...] = ()

    @property
    def compiler(self) -> str:
        """The target without the model of the user's that it was checked on."""
        return self.target.partition(" ")[0]

    @property
    def own_model(self) -> str:
        """The model of the user's that `rondo check` found it on, or the empty string."""
        return self.target.partition(" ")[2]


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader or a crash sees the old one or the new one, whole.

    Raises RondoError when the disk does not take it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            new.write_bytes(data)
            os.replace(new, path)
        except BaseException:
            new.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise RondoError(
            f"cannot write {path}: {error.strerror}",
            "free some disk space, or choose another place; nothing written before is lost",
        ) from error


class Store:
    """The findings of one folder; with `alarms` it keeps cases that are none, too."""

    def __init__(self, folder: Path, alarms: bool = True) -> None:
        self.folder = folder
        self._alarms = alarms
        self._running = folder / "running" / f"{os.getpid()}.bin"

    def prepare(self) -> None:
        """See that the folder can be written, before time is spent on what is to go there.

        Raises RondoError where it cannot.
        """
        self.begin(b"")
        self.end()

    def begin(self, data: bytes) -> None:
        """Put down the case that is about to run."""
        write_atomically(self._running, data)

    def end(self) -> None:
        """The case that ran is dealt with."""
        self._running.unlink(missing_ok=True)

    def leave(self, data: bytes) -> None:
        """Put down a case that there is no time for: the next driver takes it up."""
        write_atomically(self._running.with_name(f"{os.getpid()}-{digest(data)}.bin"), data)

    def left_behind(self) -> Iterator[bytes]:
        """The cases that drivers which are gone were running, one at a time.

        Each is claimed under this process's own id first, and removed when the next is asked for,
        so that another end of the driver loses none and two drivers take none twice.
        """
        for path in sorted((self.folder / "running").glob("*")):
            pid = path.name.partition(".")[0].partition("-")[0]
            if not pid.isdigit() or _alive(int(pid)):
                continue
            if path.suffix != ".bin":
                path.unlink(missing_ok=True)
                continue
            claimed = path.with_name(f"{os.getpid()}-left-{path.name.partition('.')[0]}.bin")
            try:
                path.rename(claimed)
            except FileNotFoundError:
                continue  # another driver was quicker
            yield claimed.read_bytes()
            claimed.unlink(missing_ok=True)

    def keep_alarm(self, kind: str, data: bytes) -> None:
        """Keep a failing case that is no finding, for a later look; a bounded number a kind."""
        if not self._alarms:
            return
        folder = self.folder / "alarms" / kind
        if not folder.is_dir() or len(os.listdir(folder)) < MOST_ALARMS:
            write_atomically(folder / f"{digest(data)}.bin", data)

    def known(self, name: str) -> Finding | None:
        """The stored finding of a name."""
        path = self.folder / name / "verdict.json"
        return _read(path) if path.exists() else None

    def write(self, finding: Finding, files: dict[str, bytes]) -> Path:
        """Write a finding; `verdict.json` comes last and makes it whole."""
        folder = self.folder / finding.name
        for name, data in files.items():
            write_atomically(folder / name, data)
        encoded = msgspec.json.format(msgspec.json.encode(finding), indent=2)
        write_atomically(folder / "verdict.json", encoded)
        return folder

    def join(self, name: str) -> None:
        """Another case showed a known finding."""
        found = self.known(name)
        if found is not None:
            self.write(msgspec.structs.replace(found, seen=found.seen + 1), {})

    def findings(self, damaged: list[FormatError] | None = None) -> Iterator[Finding]:
        """Every whole finding, by name.

        Raises FormatError at a damaged one, unless there is a list to put that in.
        """
        for path in sorted(self.folder.glob("*/verdict.json")):
            try:
                yield _read(path)
            except FormatError as error:
                if damaged is None:
                    raise
                damaged.append(error)


def _read(path: Path) -> Finding:
    """A stored finding.

    Raises FormatError for a file that is none or cannot be read.
    """
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Finding)
        from_record(found.identity)
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror}", f"move {path} away") from error
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError) as error:
        raise FormatError(
            f"{path} is damaged: {error}",
            f"move {path} away; the case.bin beside it can be replayed and found again",
        ) from error
    return found


def as_record(identity: Identity) -> dict[str, str | tuple[str, ...]]:
    """An identity as `verdict.json` keeps it."""
    return {name: getattr(identity, name) for name in identity.__slots__}


def from_record(record: dict[str, str | tuple[str, ...]]) -> Identity:
    """The identity that `verdict.json` keeps."""
    return Identity(**{k: tuple(v) if isinstance(v, list) else v for k, v in record.items()})  # type: ignore[arg-type]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
