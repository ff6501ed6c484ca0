"""What a campaign counts, and how it tells: the live line, the log of cases, the summary."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import IO

import msgspec
from tqdm import tqdm

from rondo.errors import RondoError
from rondo.oracle import Verdict

_PLAIN_EVERY = 10.0
_LIVE_EVERY = 0.5


class CaseRecord(msgspec.Struct, frozen=True):
    """One line of `--log`: `mutators` made the case (none where it is the corpus's), `features` is
    how many new ones it showed."""

    number: int
    digest: str
    verdict: str
    symptom: str
    seconds: float
    child_seconds: float
    arms: dict[str, float]
    runs: int
    traced: bool
    outcome: str
    finding: str
    mutators: tuple[str, ...] = ()
    features: int = 0


class Progress:
    """Counts cases and shows a live line on a terminal, a plain line now and then elsewhere."""

    def __init__(self, corpus: Path | None, log: Path | None) -> None:
        self.cases = 0
        self.verdicts: Counter[str] = Counter()
        self.findings: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        self.arm_seconds: dict[str, float] = {}
        self.child_seconds = 0.0
        self.wall_seconds = 0.0
        self._corpus = corpus
        self._log: IO[bytes] | None = log.open("ab") if log else None
        self._start = time.monotonic()
        self._shown = 0.0
        self._live = sys.stderr.isatty()
        self._bar = tqdm(bar_format="{desc}", disable=not self._live, file=sys.stderr)

    @property
    def seconds(self) -> float:
        """Wall seconds since the first case."""
        return time.monotonic() - self._start

    def count(self, verdict: Verdict, record: CaseRecord) -> None:
        """Count a case that is dealt with."""
        self.cases += 1
        self.verdicts[verdict.kind] += 1
        self.child_seconds += record.child_seconds
        self.wall_seconds += record.seconds
        for arm, seconds in record.arms.items():
            self.arm_seconds[arm] = self.arm_seconds.get(arm, 0.0) + seconds
        if record.outcome in ("new", "joined"):
            self.findings[record.outcome] += 1
        if record.outcome == "new":
            self.found[record.verdict] += 1
        if self._log is not None:
            self._write(self._log, msgspec.json.encode(record) + b"\n")

    def _write(self, log: IO[bytes], line: bytes) -> None:
        try:
            log.write(line)
            log.flush()
        except OSError as error:
            raise RondoError(
                f"cannot write {log.name}: {error.strerror}",
                "free some disk space, or give --log another place",
            ) from error

    def show(self, features: str, force: bool = False) -> None:
        """Show the live line when it is due."""
        now = time.monotonic()
        if not force and now - self._shown < (_LIVE_EVERY if self._live else _PLAIN_EVERY):
            return
        self._shown = now
        text = self.line(features)
        if self._live:
            self._bar.set_description_str(text)
        else:
            print(text, file=sys.stderr, flush=True)

    def line(self, features: str) -> str:
        """Cases, speed, corpus, features, findings and the share of valid cases."""
        rate = self.cases / self.seconds if self.seconds else 0.0
        valid = f"{1 - self.verdicts['invalid'] / self.cases:.0%}" if self.cases else "-"
        alarms = ", ".join(
            f"{count} {kind}"
            for kind, count in sorted(self.verdicts.items())
            if kind not in ("pass", "invalid", "stateful")
        )
        parts = [
            f"{self.seconds:.0f} s",
            f"{self.cases} cases",
            f"{rate:.2f} cases/s",
            f"corpus {'-' if self._corpus is None else self.corpus_size()}",
            f"features {features}",
            f"findings {self.findings['new']} new, {self.findings['joined']} joined",
            f"valid {valid}",
        ]
        return " | ".join([*parts, alarms] if alarms else parts)

    def say(self, text: str) -> None:
        """Print a line of its own."""
        tqdm.write(text, file=sys.stderr)

    def summary(self, features: str, folder: Path) -> str:
        """What the campaign came to."""
        own = self.wall_seconds - self.child_seconds
        share = own / self.wall_seconds if self.wall_seconds else 0.0
        return (
            f"{self.line(features)}\n"
            f"{self.child_seconds:.0f} s in child processes; "
            f"Rondo itself took {share:.1%} of the cases' time\n"
            f"findings are in {folder}: `rondo findings {folder}` lists them"
        )

    def corpus_size(self) -> int | None:
        """How many files the corpus has, None where there is no corpus folder."""
        return None if self._corpus is None else len(os.listdir(self._corpus))
