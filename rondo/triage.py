"""From an alarm to a finding: join it with a known one, or shrink, identify, confirm and write up.

Only a case that is confirmed twice becomes a finding: by the oracle (same program state, compiler
state kept against emptied) and by its `repro.py` in a cold interpreter, three times of three.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from harnesses.base import Harness
from rondo import known
from rondo.codec import Codec
from rondo.findings import (
    ArmRecord,
    Finding,
    Store,
    as_record,
    from_record,
    write_atomically,
)
from rondo.identity import (
    Identity,
    changes_of,
    death_stack,
    families_of,
    identify,
    plain_name,
    symptom_class,
)
from rondo.jsonform import to_json
from rondo.models.operators import FAMILIES
from rondo.oracle import Difference, Oracle, Verdict
from rondo.report import report
from rondo.shrink import Shrinker, Shrunk
from rondo.testcase import Call, Event, TestCase
from rondo.vocabulary import Vocabulary

COLD_RUNS = 3
COLD_SECONDS = 600
REPORTED = frozenset({"stateful", "reset_only"})


@dataclass(frozen=True, slots=True)
class Triaged:
    """What became of an alarm: `new`, `joined` or `kept` (as an alarm), and under which name."""

    outcome: str
    name: str = ""


_ARM_SECONDS = 60
"""The least time for one arm in a cold interpreter, which first imports and compiles for long."""


class Triage:
    """Deals with the alarms of one campaign."""

    def __init__(
        self,
        harness: Harness,
        oracle: Oracle,
        store: Store,
        faults: tuple[str, ...] = (),
        shrink_seconds: float = 60.0,
        child_seconds: float = 120.0,
        say: Callable[[str], None] = print,
    ) -> None:
        self._harness = harness
        self._oracle = oracle
        self._store = store
        self._faults = faults
        self._shrink_seconds = shrink_seconds
        self._arm_seconds = max(_ARM_SECONDS, round(child_seconds))
        self._say = say
        self._codec = Codec(harness.vocabulary)
        self._known = [
            from_record(f.identity) for f in store.findings() if f.target == harness.name
        ]
        self._entries = known.read(harness.folder / "known.toml")
        self._start = time.monotonic()

    def alarm(self, case: TestCase, verdict: Verdict, number: int) -> Triaged:
        """Deal with a verdict other than pass; `number` counts the campaign's cases."""
        if verdict.kind not in REPORTED:
            self._store.keep_alarm(verdict.kind, self._codec.encode(case))
            return Triaged("kept", verdict.kind)
        if verdict.known:
            return self._join(verdict.known)
        return self._settle(case, self._shrink(case, verdict), number)

    def explains(self, case: TestCase, found: Difference) -> str:
        """The known finding without whose cause the case passes, or the empty string."""
        stack = death_stack(found.detail)
        for identity in self._known:
            if stack and (identity.symptom, identity.error) == (found.symptom, stack):
                return identity.name
            if not covers(identity, case, self._codec.vocabulary, found.symptom):
                continue
            without = self._codec.normal(subtract(case, identity))
            if self._oracle.look(without).kind == "pass":
                return identity.name
        return ""

    def steered(self, case: TestCase, names: Collection[str] | None = None) -> TestCase:
        """The case without the causes of all known findings, or of those that are named."""
        for identity in self._known:
            wanted = names is None or identity.name in names
            if wanted and covers(identity, case, self._codec.vocabulary):
                case = self._codec.normal(subtract(case, identity))
        return case

    def _join(self, name: str) -> Triaged:
        self._store.join(name)
        return Triaged("joined", name)

    def _shrink(self, case: TestCase, verdict: Verdict) -> Shrunk:
        seconds = self._shrink_seconds
        shrunk = Shrinker(self._codec, self._oracle.recheck, case, verdict, seconds).run()
        confirmed = self._oracle.judge(shrunk.case)
        if confirmed.kind == verdict.kind:
            return replace(shrunk, verdict=confirmed)
        return Shrunk(case, verdict, shrunk.tried, False)

    def _settle(self, case: TestCase, shrunk: Shrunk, number: int) -> Triaged:
        name, vocabulary = self._harness.name, self._harness.vocabulary
        if shrunk.verdict.difference is None:
            self._store.keep_alarm("unstable", self._codec.encode(case))
            return Triaged("kept", "unstable")
        identity = identify(shrunk.case, shrunk.verdict, name, vocabulary)
        if self._store.known(identity.name) is not None:
            return self._join(identity.name)
        finding, files = self._written(identity, case, shrunk, number)
        cold = self._cold(files["repro.py"].decode())
        if cold < COLD_RUNS:
            self._store.keep_alarm("unconfirmed", files["case.bin"])
            return Triaged("kept", "unconfirmed")
        folder = self._store.write(finding, files)
        self._known.append(identity)
        note = f" [{finding.known}]" if finding.known else ""
        self._say(f"finding: {finding.sentences[finding.exposing]}: {finding.detail}{note}")
        self._say(f"  {folder}")
        return Triaged("new", identity.name)

    def _cold(self, text: str) -> int:
        """How many cold interpreters of `COLD_RUNS` show the bug; planted faults of the campaign
        are installed in each first."""
        path = self._store.folder / "running" / f"{os.getpid()}-repro.py"
        write_atomically(path, text.encode())
        command = [sys.executable, "-m", "rondo.cold", self._harness.server, str(path)]
        command += [part for fault in self._faults for part in ("--fault", fault)]
        try:
            with ThreadPoolExecutor(COLD_RUNS) as pool:
                codes = list(pool.map(_exit_code, [command] * COLD_RUNS))
        finally:
            path.unlink()
        return codes.count(1)

    def _written(
        self, identity: Identity, case: TestCase, shrunk: Shrunk, number: int
    ) -> tuple[Finding, dict[str, bytes]]:
        difference = shrunk.verdict.difference
        assert difference is not None
        program = self._harness.emit(shrunk.case)
        exposing = difference.step
        behaviour = dict(shrunk.verdict.behaviour).get(exposing, ())
        finding = Finding(
            identity.name,
            self._harness.name,
            shrunk.verdict.kind,
            difference.symptom,
            as_record(identity),
            exposing,
            difference.where,
            difference.detail,
            program.sentences,
            (
                ArmRecord("retained", behaviour),
                ArmRecord("reset", shrunk.verdict.reset_behaviour),
            ),
            (len(case.steps), len(shrunk.case.steps)),
            shrunk.tried,
            (COLD_RUNS, COLD_RUNS),
            versions(self._harness),
            number,
            time.monotonic() - self._start,
            known.explain(self._entries, identity, difference.detail),
            note=shrunk.verdict.note,
        )
        title = f"{difference.symptom}: {program.sentences[exposing]}"
        files = {
            "case.bin": self._codec.encode(shrunk.case),
            "original.bin": self._codec.encode(case),
            "case.json": to_json(shrunk.case).encode(),
            "repro.py": self._harness.repro(
                shrunk.case, exposing, title, self._arm_seconds
            ).encode(),
            "report.md": report(finding, program).encode(),
        }
        return finding, files


def covers(identity: Identity, case: TestCase, vocabulary: Vocabulary, symptom: str = "") -> bool:
    """Whether a known finding could be what a case shows, given its symptom if it is known."""
    return (
        identity.reaction != "died"
        and (not symptom or symptom_class(symptom) == symptom_class(identity.symptom))
        and set(identity.changes) <= set(changes_of(case, vocabulary))
        and set(identity.families) <= set(families_of(case))
    )


def subtract(case: TestCase, identity: Identity) -> TestCase:
    """The case without what causes a known finding: its events left out, its dimensions held at
    the first call's value; where nothing but repetition causes it, its operators left out."""
    names = {plain_name(change) for change in identity.changes}
    if not names:
        ops = {op for family in identity.families for op in FAMILIES[family]}
        kept = tuple(op for op in case.model.operators if op.kind not in ops)
        return case.with_operators(kept)
    first = next((step for step in case.steps if isinstance(step, Call)), Call())
    steps = [
        step if isinstance(step, Event) else _held(step, first, names)
        for step in case.steps
        if not (isinstance(step, Event) and step.kind in names)
    ]
    return case.with_steps(tuple(steps))


def _held(step: Call, first: Call, names: set[str]) -> Call:
    batch = first.batch if "batch" in names else step.batch
    kept = [d for d in step.deviations if d.dimension not in names]
    kept += [d for d in first.deviations if d.dimension in names]
    return Call(batch, tuple(kept[:3]))


def run_repro(path: Path) -> int:
    """The exit code of a repro in a cold interpreter; 2 (cannot tell) when it does not end."""
    return _exit_code([sys.executable, str(path)])


def _exit_code(command: list[str]) -> int:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TORCHINDUCTOR")}
    root = str(Path(__file__).resolve().parents[1])
    environment["PYTHONPATH"] = root
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=COLD_SECONDS,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return 2
    return done.returncode


def versions(harness: Harness) -> dict[str, str]:
    """The versions that a report names."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in (harness.package, "numpy"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
