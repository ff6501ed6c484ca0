"""Check a user's own model: inspect it, try what eager execution takes, play sequences, sum up.

The oracle, triage, shrinking and the store are those of a campaign; what is special is where the
cases come from.
"""

from __future__ import annotations

import ast
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from harnesses import base
from rondo.check.facts import Facts
from rondo.check.plan import Sequence, drawn, planned
from rondo.check.source import Source
from rondo.check.trial import Trials, left_out, refusals
from rondo.codec import Codec
from rondo.errors import RondoError, SetupError
from rondo.executor.client import ForkServer
from rondo.executor.protocol import EAGER, Job, Outcome
from rondo.findings import Finding, Store
from rondo.oracle import Limits, Oracle, Verdict
from rondo.testcase import Call, TestCase
from rondo.triage import Triage

Say = Callable[[str], None]
_SHARES = (0.4, 0.7)
"""When to leave a layer's plan for the next layer's, as shares of the time."""
_LARGE = 5_000_000
_HOPELESS = 4
"""So many sequences that cannot be judged, and none that can, are the model's answer."""
_KINDS = {
    "nondeterministic": "not judgeable, since it differs from run to run",
    "stateless": "a fresh compile is wrong too",
    "reset_only": "a fresh compile alone is wrong",
    "documented": "a documented limit",
}
"""What verdicts that are no stateful findings mean to a user."""
_SLOW = "not judgeable, since it took too long but once: --timeout and --time allow more"
"""What a hang means that does not come back."""
_SEEDS = (
    "Python's, NumPy's and the framework's global generators are seeded before each step; seed any "
    "other one in the model's own code"
)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user asked for; empty `layers` are all of the target's.

    `seconds` is the budget from the start on, and `least` of it (half, if that is 0) is for playing
    sequences however long it took to get ready; `child_seconds` and `megabytes` limit one child.
    """

    target: str = "torch_inductor"
    layers: tuple[str, ...] = ()
    dynamic: str = ""
    fullgraph: bool = False
    seed: int = 0
    seconds: float = 120.0
    least: float = 0.0
    child_seconds: float = 60.0
    megabytes: int = 4096
    findings: Path = Path("findings")
    faults: tuple[str, ...] = ()


@dataclass(slots=True)
class Checked:
    """What a check came to.

    `verdicts` counts sequences, `covered` the sequences that varied something, by layer and name;
    `refused` is what eager execution does not take, with why; `others` holds failures that are not
    stateful, and what could not be judged, in words.
    """

    facts: Facts
    verdicts: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    covered: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    refused: list[tuple[str, str]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def played(self) -> str:
        """How much was played, in words."""
        return f"{counted(self.verdicts.total(), 'sequence')}, {counted(self.calls, 'call')}"

    @property
    def unconfirmed(self) -> int:
        """How many sequences differ by the compiler's state while there is no finding: its
        confirmation failed or was interrupted."""
        return 0 if self.findings else self.verdicts["stateful"]

    @property
    def judged(self) -> int:
        """How many sequences have a verdict on them."""
        unjudged = self.verdicts["invalid"] + self.verdicts["nondeterministic"]
        return self.verdicts.total() - unjudged


def counted(count: int, what: str) -> str:
    """A number of things in words."""
    return f"{count} {what}{'' if count == 1 else 's'}"


class OneServer(ForkServer):
    """A fork server that plays both of two jobs itself: eager calls of a small model are not worth
    a second server."""

    def run_both(self, first: Job, second: Job) -> tuple[Outcome, Outcome]:
        """Run the jobs one after the other; the second not at all where the first one died."""
        ended = self.run(first)
        failed = ended.death is not None or ended.trouble
        return ended, Outcome({}) if failed else self.run(second)


def check(source: Source, wishes: Wishes, say: Say, live: Say) -> Checked:
    """Check a model within its budget; `say` prints a line, `live` shows where it is.

    Raises RondoError when the model cannot be checked at all.
    """
    start = time.monotonic()
    harness = base.load(wishes.target)
    base.require(harness)
    _settings(harness, wishes)
    harness.probe(source)  # what is asked for in vain is told before anything is warmed
    server = OneServer(harness.server, wishes.faults)
    try:
        say(f"warming {harness.name} ...")
        server.start()
        return check_on(server, source, wishes, say, live, start)
    finally:
        server.close()


def check_on(
    server: OneServer, source: Source, wishes: Wishes, say: Say, live: Say, start: float = 0.0
) -> Checked:
    """As `check`, on a server that runs already; the budget began at `start`, if that is given."""
    start = start or time.monotonic()
    harness = base.load(wishes.target)
    settings = _settings(harness, wishes)
    facts = _facts(harness, source, server, wishes)
    checker = _Checker(harness, source, facts, server, wishes, say, live)
    least = wishes.least or wishes.seconds / 2
    checker.play(settings, max(start + wishes.seconds, time.monotonic() + least))
    checker.result.seconds = time.monotonic() - start
    return checker.result


def _settings(harness: base.Harness, wishes: Wishes) -> list[tuple[tuple[str, str], ...]]:
    """The compile configurations, cheapest layer first; plain values are left out."""
    for layer in wishes.layers:
        if layer not in harness.layers:
            raise SetupError(
                f"there is no backend {layer!r}", f"backends: {', '.join(harness.layers)}"
            )
    table = {setting.name: setting.values for setting in harness.vocabulary.settings}
    first = harness.vocabulary.settings[0].name
    asked = {"dynamic": wishes.dynamic, "fullgraph": "True" if wishes.fullgraph else ""}
    for name, value in asked.items():
        if value and value not in table.get(name, ()):
            raise SetupError(f"{harness.name} has no {name}={value}")
    layers = [layer for layer in harness.layers if layer in wishes.layers or not wishes.layers]
    pairs = [[(first, layer), *asked.items()] for layer in layers]
    return [tuple((n, v) for n, v in some if v and v != table[n][0]) for some in pairs]


def _facts(harness: base.Harness, source: Source, server: ForkServer, wishes: Wishes) -> Facts:
    """Inspect the model in a child.

    Raises SetupError when there is no model, or none that runs in eager mode.
    """
    program = harness.probe(source)
    job = Job(program.text, (EAGER,), (0,), wishes.child_seconds, wishes.megabytes)
    outcome = server.run(job)
    if outcome.death is not None:
        advice = {"memory": "--memory MB allows more", "hang": "--timeout S allows more"}
        raise SetupError(
            f"{source.label}: inspecting it ends in {outcome.death.kind}: {outcome.death.detail}",
            advice.get(outcome.death.kind, "a smaller configuration of the model may do"),
        )
    records = outcome.arms.get(EAGER.name, [])
    if outcome.trouble or not records or records[0].error:
        what = outcome.trouble or f"{records[0].error[0]}: {records[0].message}"
        raise SetupError(f"{source.label} cannot be inspected: {what}")
    texts = [o.data.decode() for o in records[0].observations if o.path == "out" and o.data]
    facts = msgspec.json.decode(ast.literal_eval(texts[0]), type=Facts)
    if facts.trouble:
        raise SetupError(f"{source.label}: {facts.trouble}", facts.trace.replace("\n", "\n  "))
    return facts


class _Checker:
    """Plays sequences around one inspected model and keeps count."""

    def __init__(
        self,
        harness: base.Harness,
        source: Source,
        facts: Facts,
        server: ForkServer,
        wishes: Wishes,
        say: Say,
        live: Say,
    ) -> None:
        self.result = Checked(facts)
        say(f"inspected {source.label}: {facts.name}, {facts.numbers:,} numbers in its state")
        if facts.numbers > _LARGE:
            say("that much is compared after every step: a smaller configuration is quicker")
        self._wishes = wishes
        self._say, self._live = say, live
        limits = Limits(wishes.child_seconds, wishes.megabytes)
        own = harness.own_model(source, facts)
        trial = Trials(own, facts, server, limits).run()
        if trial.unusable:
            raise RondoError(
                f"{source.label}: {trial.unusable}, so compiled calls cannot be judged", _SEEDS
            )
        left = left_out(own, facts, trial)
        self.result.refused = list(refusals(facts, trial, left))
        self._own = own.restricted(left)
        self._codec = Codec(self._own.vocabulary)
        self._oracle = Oracle(self._own, server, limits)
        self._store = Store(wishes.findings, alarms=False)  # no command could replay them
        self._store.prepare()
        self._triage = Triage(
            self._own,
            self._oracle,
            self._store,
            wishes.faults,
            min(30.0, wishes.seconds / 3),
            wishes.child_seconds,
            say,
        )

    def play(self, settings: list[tuple[tuple[str, str], ...]], deadline: float) -> None:
        """Play the plan of every layer, then random sequences, until the deadline or Ctrl-C."""
        began = time.monotonic()
        try:
            for sequence in self._sequences(settings, began, deadline):
                self._one(sequence)
                if self.result.judged == 0 and self.result.verdicts.total() >= _HOPELESS:
                    return
        except KeyboardInterrupt:
            self.result.interrupted = True

    def _sequences(
        self, settings: list[tuple[tuple[str, str], ...]], began: float, deadline: float
    ) -> Iterator[Sequence]:
        for place, chosen in enumerate(settings):
            share = 1.0 if place == len(settings) - 1 else _SHARES[min(place, 1)]
            end = began + (deadline - began) * share
            for sequence in planned(self._own.vocabulary, chosen):
                if time.monotonic() >= end:
                    self.result.left[self._layer(chosen)] += 1
                    continue
                yield sequence
        rng = random.Random(self._wishes.seed)
        streams = [drawn(rng, self._codec, chosen) for chosen in settings]
        while time.monotonic() < deadline:
            yield next(rng.choice(streams))

    def _one(self, sequence: Sequence) -> None:
        result = self.result
        told = {finding.name for finding in result.findings}  # a bug of an earlier check counts too
        case = self._triage.steered(self._codec.normal(sequence.case), told)
        if case.calls < 2:
            return
        verdict = self._oracle.judge(case, explains=partial(self._triage.explains, case))
        result.verdicts[verdict.kind] += 1
        result.calls += case.calls
        self._count(case, verdict)
        if verdict.kind not in ("pass", "invalid"):
            self._alarm(case, verdict)
        found = counted(len(result.findings), "finding")
        layer = self._layer(case.settings)
        self._live(f"{result.played}, {found} | {layer} | {sequence.about}")

    def _alarm(self, case: TestCase, verdict: Verdict) -> None:
        if verdict.difference is not None and verdict.kind != "stateful":
            says = self._own.emit(case).sentences[verdict.difference.step]
            detail = f"{verdict.difference.where}: {verdict.difference.detail}"
            slow = verdict.kind == "nondeterministic" and verdict.symptom == "hang"
            self.result.others[f"{_SLOW if slow else _KINDS[verdict.kind]}: {says}: {detail}"] += 1
        triaged = self._triage.alarm(case, verdict, self.result.verdicts.total())
        found = self._store.known(triaged.name) if triaged.outcome in ("new", "joined") else None
        if found is not None and found.name not in {f.name for f in self.result.findings}:
            self.result.findings.append(found)

    def _layer(self, settings: tuple[tuple[str, str], ...]) -> str:
        first = self._own.vocabulary.settings[0]
        return dict(settings).get(first.name, first.values[0])

    def _count(self, case: TestCase, verdict: Verdict) -> None:
        if verdict.kind in ("invalid", "nondeterministic"):
            return
        layer = self._layer(case.settings)
        for step in case.steps:
            pairs = (
                [(d.dimension, d.value) for d in step.deviations]
                if isinstance(step, Call)
                else [(step.kind, step.value)]
            )
            for name, value in pairs:
                self.result.covered.setdefault((layer, name), set()).add(value)
