"""What a campaign did, once a minute and at its end: lines of `stats.jsonl` in its findings folder.

Every driver appends whole lines of its own, told apart by `run`, so that a campaign that is carried
on, and the jobs of `-jobs` and `-fork`, end up in one file. `rondo stats` reads it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rondo.admission import Stability
from rondo.campaign import Progress
from rondo.errors import FormatError, RondoError
from rondo.feedback import Feedback
from rondo.search import Search
from rondo.yields import Yield

NAME = "stats.jsonl"
INTERVAL = 60.0
"""Seconds between two lines of one driver."""


class Signatures(msgspec.Struct, frozen=True):
    """How many distinct signatures the campaign has counted, whatever it reports to libFuzzer, how
    many of them once, and how often the commonest."""

    distinct: int = 0
    once: int = 0
    commonest: int = 0


class Snapshot(msgspec.Struct, frozen=True):
    """One line of `stats.jsonl`: sums since the start of the driver, times in seconds.

    `flags` are those of its command. `seconds` is wall time, `case_seconds` that of cases without
    triage, of which `child_seconds` were spent in children; `arm_seconds` is what the programs'
    steps took. `findings` counts new findings by verdict. `features` counts by kind: step
    (signatures), pair, change, verdict, line; `collisions` are features whose counter another one
    had. `checked` cases ran a second time for the new features that they showed, and `unstable`
    ones did not show them again.
    """

    run: str
    target: str
    seconds: float
    cases: int
    cases_per_second: float
    corpus: int | None
    case_seconds: float
    child_seconds: float
    arm_seconds: dict[str, float]
    verdicts: dict[str, int]
    findings: dict[str, int]
    joined: int
    features: dict[str, int]
    collisions: int
    signatures: Signatures
    traced: int
    traced_share: float
    traced_seconds: float
    checked: int
    unstable: int
    check_seconds: float
    proposed: int
    accepted: int
    restarts: int
    mutators: dict[str, Yield]
    flags: tuple[str, ...] = ()


class Statistics:
    """Writes the lines of one driver."""

    def __init__(self, folder: Path, target: str, flags: tuple[str, ...] = ()) -> None:
        self._flags = flags
        self._path = folder / NAME
        self._target = target
        self._run = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}-{os.getpid()}"
        self._written = time.monotonic()

    @property
    def due(self) -> bool:
        """Whether a minute has gone by since the last line."""
        return time.monotonic() - self._written >= INTERVAL

    def write(
        self,
        progress: Progress,
        feedback: Feedback,
        stability: Stability,
        search: Search,
    ) -> None:
        """Append a line.

        Raises RondoError when the disk does not take it.
        """
        self._written = time.monotonic()
        moves = search.chains.moves
        snapshot = Snapshot(
            run=self._run,
            target=self._target,
            seconds=progress.seconds,
            cases=progress.cases,
            cases_per_second=_share(progress.cases, progress.seconds),
            corpus=progress.corpus_size(),
            case_seconds=progress.wall_seconds,
            child_seconds=progress.child_seconds,
            arm_seconds=dict(progress.arm_seconds),
            verdicts=dict(progress.verdicts),
            findings=dict(progress.found),
            joined=progress.findings["joined"],
            features=dict(feedback.kinds),
            collisions=len(feedback.collided),
            signatures=_signatures(search.chains.counts.seen),
            traced=stability.traced,
            traced_share=_share(stability.traced, progress.cases),
            traced_seconds=stability.traced_seconds,
            checked=stability.checked,
            unstable=stability.unstable,
            check_seconds=stability.check_seconds,
            proposed=moves.proposed,
            accepted=moves.accepted,
            restarts=moves.restarts,
            mutators=search.yields.report(),
            flags=self._flags,
        )
        try:
            with self._path.open("a+b") as file:
                # A line of its own even where a driver died while it wrote the one before.
                if file.seek(0, os.SEEK_END):
                    file.seek(-1, os.SEEK_END)
                start = b"\n" if file.read(1) not in (b"", b"\n") else b""
                file.write(start + msgspec.json.encode(snapshot) + b"\n")
        except OSError as error:
            raise RondoError(
                f"cannot write {self._path}: {error.strerror}",
                "free some disk space, or move away what stands in its place",
            ) from error


def _signatures(seen: Mapping[str, int]) -> Signatures:
    once = sum(count == 1 for count in seen.values())
    return Signatures(len(seen), once, max(seen.values(), default=0))


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def read(folder: Path, left_out: list[FormatError] | None = None) -> dict[str, list[Snapshot]]:
    """The lines of every driver of a findings folder, by run, oldest first.

    A line that cannot be read, since a driver was killed or has another version, is left out and
    told in `left_out`. Raises RondoError where there is no such file, FormatError where no line can
    be read.
    """
    path = folder / NAME
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise RondoError(
            f"{path} cannot be read: {error.strerror}",
            "give the --findings folder of a campaign; its first line comes after a minute",
        ) from error
    runs: dict[str, list[Snapshot]] = {}
    wrong: list[FormatError] = []
    for number, line in enumerate(lines, 1):
        try:
            snapshot = msgspec.json.decode(line, type=Snapshot)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            what = f"line {number} of {path} is no statistics of this version: {error}"
            wrong.append(FormatError(what, "move the file away; campaigns start a new one"))
            continue
        runs.setdefault(snapshot.run, []).append(snapshot)
    if left_out is not None:
        left_out += wrong
    if not runs:
        raise (
            wrong[0]
            if wrong
            else FormatError(
                f"{path} holds no statistics", "a campaign writes a line a minute and at its end"
            )
        )
    return runs
