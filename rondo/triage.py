"""From an alarm to a finding: join it with a known one, or shrink, identify, confirm and write up.

Only a case that is confirmed twice becomes a finding: by the oracle (same program state, compiler
state kept against emptied) and by its `repro.py` in a cold interpreter, three times of three.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property, partial

from harnesses.base import Harness, Wanted
from rondo import known
from rondo.blame import Blame
from rondo.codec import Codec
from rondo.compare import Difference
from rondo.confirm import COLD_RUNS, Cold, environment, versions
from rondo.confirm import cold as run_cold
from rondo.findings import ArmRecord, Finding, Store, as_record, from_record
from rondo.identity import (
    SIZE,
    SIZES,
    Identity,
    changes_of,
    death_stack,
    event_change,
    families_of,
    identify,
    plain_name,
    symptom_class,
)
from rondo.jsonform import to_json
from rondo.models.operators import FAMILIES
from rondo.oracle import Oracle, Verdict
from rondo.report import report, title
from rondo.shrink import REPORTED, Shrinker, Shrunk
from rondo.testcase import Call, Event, TestCase
from rondo.vocabulary import Vocabulary

BLAME_SHARE = 0.5
"""How long a finding's steps and settings may be tried one by one, as a share of shrinking."""


@dataclass(frozen=True, slots=True)
class Triaged:
    """What became of an alarm: `new`, `joined` or `kept` (as an alarm), and under which name."""

    outcome: str
    name: str = ""


LEAST_SECONDS = 10.0
"""How long shrinking may take where the campaign is about to end."""
DOUBTS = 2
"""How often a failure of one identity is tried in cold interpreters without being confirmed."""
_ARM_SECONDS = 60
"""The least time for one arm in a cold interpreter, which first imports and compiles for long."""


class Triage:
    """Deals with the alarms of one campaign, which `ends` at a `time.monotonic()`: until then there
    is time to shrink, and after it what was met on the way is left to the next campaign.
    """

    def __init__(
        self,
        harness: Harness,
        oracle: Oracle,
        store: Store,
        faults: tuple[str, ...] = (),
        shrink_seconds: float = 60.0,
        child_seconds: float = 120.0,
        say: Callable[[str], None] = print,
        ends: float = math.inf,
    ) -> None:
        self._harness = harness
        self._oracle = oracle
        self._store = store
        self._faults = faults
        self._shrink_seconds = shrink_seconds
        self._arm_seconds = max(_ARM_SECONDS, round(child_seconds))
        self._say = say
        self._ends = ends
        self._codec = Codec(harness.vocabulary)
        self._known = [
            from_record(f.identity) for f in store.findings() if f.target == harness.name
        ]
        self._doubts: Counter[str] = Counter()
        self._entries = known.read(harness.folder / "known.toml")
        self._start = time.monotonic()

    def alarm(self, case: TestCase, verdict: Verdict, number: int) -> Triaged:
        """Deal with a verdict other than pass; `number` counts the campaign's cases."""
        if verdict.kind not in REPORTED:
            self._store.keep_alarm(verdict.kind, self._codec.encode(case))
            return Triaged("kept", verdict.kind)
        if verdict.known:
            return self._join(verdict.known)
        shrunk = self._shrink(case, verdict)
        settled = self._settle(case, shrunk, number)
        for other in shrunk.others:
            self._met_on_the_way(other, number)
        return settled

    def _met_on_the_way(self, case: TestCase, number: int) -> None:
        """Deal with a different failure that shrinking came across, unless it is a known one."""
        if time.monotonic() > self._ends:
            self._store.leave(self._codec.encode(case))
            return
        verdict = self._oracle.judge(case, lambda found: self.explains(case, found))
        if verdict.kind in REPORTED and not verdict.known:
            self._settle(case, self._shrink(case, verdict), number)

    def explains(self, case: TestCase, found: Difference) -> str:
        """The known finding without whose cause the case passes, or the empty string."""
        stack = death_stack(found.detail)
        for identity in self._known:
            if stack and (identity.symptom, identity.error) == (found.symptom, stack):
                return identity.name
            if not covers(identity, case, self._codec.vocabulary, found.symptom):
                continue
            without = self._codec.normal(subtract(case, identity, self._codec.vocabulary))
            if self._oracle.look(without).kind == "pass":
                return identity.name
        return ""

    def steered(self, case: TestCase, names: Collection[str] | None = None) -> TestCase:
        """The case without the causes of all known findings, or of those that are named."""
        for identity in self._known:
            wanted = names is None or identity.name in names
            if wanted and covers(identity, case, self._codec.vocabulary):
                case = self._codec.normal(subtract(case, identity, self._codec.vocabulary))
        return case

    def _join(self, name: str) -> Triaged:
        self._store.join(name)
        return Triaged("joined", name)

    def _shrink(self, case: TestCase, verdict: Verdict) -> Shrunk:
        judge = partial(self._oracle.recheck, patience=verdict.patience)
        shrunk = Shrinker(self._codec, judge, case, verdict, self._seconds).run()
        confirmed = self._oracle.judge(shrunk.case, patience=verdict.patience)
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
        doubted = self._doubts[identity.name] == DOUBTS
        repro, cold = ("", Cold(0, "")) if doubted else self._confirmed(shrunk)
        if cold.confirmed < COLD_RUNS:
            self._doubts[identity.name] += not doubted
            self._store.keep_alarm("unconfirmed", self._codec.encode(shrunk.case))
            return Triaged("kept", "unconfirmed")
        finding = self._written(identity, case, shrunk, number, cold.output)
        folder = self._store.write(finding, self._files(finding, case, shrunk.case, repro))
        self._known.append(identity)
        note = f" [{finding.known}]" if finding.known else ""
        self._say(f"finding: {finding.sentences[finding.exposing]}: {finding.detail}{note}")
        self._say(f"  {folder}")
        return Triaged("new", identity.name)

    def _confirmed(self, shrunk: Shrunk) -> tuple[str, Cold]:
        """The repro, the short one if every cold interpreter confirms it, and what they said."""
        found = shrunk.verdict.difference
        assert found is not None
        sentences = self._harness.emit(shrunk.case).sentences
        says = title(found.symptom, sentences, found.step)
        if self._faults:
            says += f"\nNot a bug of the framework's own: planted by {', '.join(self._faults)}."
            says += "\nOn its own this program finds it gone: the report tells how to plant it."
        arm_seconds = _ARM_SECONDS if shrunk.verdict.patience else self._arm_seconds
        running = self._store.folder / "running"
        text, cold = "", Cold(0, "")
        for shown in (found.shown, None):
            tried = text
            wanted = Wanted(found.step, says, arm_seconds, shown)
            text = self._harness.repro(shrunk.case, wanted)
            if text != tried:
                cold = run_cold(self._harness.server, self._faults, text, running)
            if cold.confirmed == COLD_RUNS:
                break
        return text, cold

    def _written(
        self, identity: Identity, case: TestCase, shrunk: Shrunk, number: int, output: str
    ) -> Finding:
        difference = shrunk.verdict.difference
        assert difference is not None
        exposing = difference.step
        behaviour = dict(shrunk.verdict.behaviour).get(exposing, ())
        seconds = self._seconds * BLAME_SHARE
        judge = partial(self._oracle.recheck, patience=shrunk.verdict.patience)
        blame = Blame(self._codec, judge, shrunk.case, shrunk.verdict, seconds)
        return Finding(
            identity.name,
            self._harness.name,
            shrunk.verdict.kind,
            shrunk.verdict.symptom,
            as_record(identity),
            exposing,
            difference.where,
            difference.detail,
            self._harness.emit(shrunk.case).sentences,
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
            known.explain(self._entries, identity, difference.detail, self._version),
            note=shrunk.verdict.note,
            blame=blame.steps(),
            ablation=blame.settings(),
            reference=difference.reference,
            output=output,
            environment=self._environment,
            faults=self._faults,
        )

    @property
    def _seconds(self) -> float:
        """How long a finding may be shrunk now."""
        return min(self._shrink_seconds, max(LEAST_SECONDS, self._ends - time.monotonic()))

    @cached_property
    def _version(self) -> str:
        return versions(self._harness).get(self._harness.package, "")

    @cached_property
    def _environment(self) -> str:
        return environment(self._harness)

    def _files(
        self, finding: Finding, case: TestCase, small: TestCase, repro: str
    ) -> dict[str, bytes]:
        return {
            "case.bin": self._codec.encode(small),
            "original.bin": self._codec.encode(case),
            "case.json": to_json(small).encode(),
            "repro.py": repro.encode(),
            "report.md": report(finding, self._harness.issue, repro).encode(),
        }


def covers(identity: Identity, case: TestCase, vocabulary: Vocabulary, symptom: str = "") -> bool:
    """Whether a known finding could be what a case shows, given its symptom if it is known."""
    return (
        identity.reaction != "died"
        and (not symptom or symptom_class(symptom) == symptom_class(identity.symptom))
        and set(identity.changes) <= set(changes_of(case, vocabulary))
        and set(identity.families) <= set(families_of(case))
    )


def subtract(case: TestCase, identity: Identity, vocabulary: Vocabulary) -> TestCase:
    """The case without what causes a known finding: its events left out, its dimensions held at
    the first call's value; where nothing but repetition causes it, its operators left out.

    A change that names a value (`replace_method=class`) leaves the other values alone.
    """
    if not identity.changes:
        ops = {op for family in identity.families for op in FAMILIES[family]}
        kept = tuple(op for op in case.model.operators if op.kind not in ops)
        return case.with_operators(kept)
    first = next((step for step in case.steps if isinstance(step, Call)), Call())
    steps = [
        step if isinstance(step, Event) else _held(step, first, identity.changes)
        for step in case.steps
        if not (isinstance(step, Event) and event_change(step, vocabulary) in identity.changes)
    ]
    return case.with_steps(tuple(steps))


def _held(step: Call, first: Call, changes: tuple[str, ...]) -> Call:
    sizes = SIZES if SIZE in {plain_name(change) for change in changes} else frozenset()
    batch = first.batch if sizes else step.batch
    kept = {d.dimension: d for d in step.deviations}
    start = {d.dimension: d for d in first.deviations}
    for change in (*changes, *sizes):
        name, value = plain_name(change), change.partition("=")[2]
        own = kept.get(name)
        if value and own is not None and own.value != value:
            continue
        kept.pop(name, None)
        if name in start:
            kept[name] = start[name]
    return Call(batch, tuple(kept.values())[:3])
