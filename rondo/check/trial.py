"""What eager execution takes: every candidate change is tried in eager mode before it counts.

The candidates of an own model's vocabulary become plain cases, and these run like any other, but in
the eager arm alone: what raises there is left out and told. Calls run twice, so that what differs
from run to run is left out as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from harnesses.base import OwnModel
from rondo.check.facts import Axis, Facts
from rondo.compare import step_difference
from rondo.executor.protocol import EAGER, Executor, Job, Outcome, StepRecord
from rondo.oracle import Limits
from rondo.testcase import Call, Deviation, Event, Step, TestCase
from rondo.vocabulary import EventKind

MOST_SIZES = 10
"""How many sets of axes are varied; a vocabulary names a bounded number of dimensions."""
_UNSTABLE = "eager execution differs from run to run"


@dataclass(slots=True)
class Trial:
    """What came of it: `refused` maps `name=value` to why; `unusable` says why not even plain calls
    can be judged, if so."""

    refused: dict[str, str] = field(default_factory=dict)
    unusable: str = ""


class Trials:
    """Tries the candidates of one own model."""

    def __init__(self, own: OwnModel, facts: Facts, executor: Executor, limits: Limits) -> None:
        self._own = own
        self._facts = facts
        self._executor = executor
        self._limits = limits
        self._found = Trial()

    def run(self) -> Trial:
        """Try everything; each kind of event has children of its own."""
        self._deviations()
        if not self._found.unusable:
            for kind in self._own.vocabulary.event.values():
                self._event(kind)
        return self._found

    def _deviations(self) -> None:
        table = self._own.vocabulary.dimension.values()
        names = [(d.name, value) for d in table for value in d.deviations(())]
        calls = [Call(deviations=(Deviation(*pair),)) for pair in names]
        labels = ["", *(f"{name}={value}" for name, value in names)]
        self._judge([Call(), *calls], labels, runs=2)

    def _event(self, kind: EventKind) -> None:
        steps: list[Step] = []
        labels: list[str] = []
        for value in kind.options(()):
            steps += [Event(kind.name, 0, value), Call()]
            labels += [f"{kind.name}={value}"] * 2
        self._judge(steps, labels, runs=1)

    def _judge(self, steps: list[Step], labels: list[str], runs: int) -> None:
        """Play the steps; `labels[i]` is what step i tries, empty for the plain call."""
        left = list(range(len(steps)))
        while left and not self._found.unusable:
            program = self._own.emit(TestCase(steps=tuple(steps[i] for i in left)))
            raising = tuple(range(len(left)))
            limits = self._limits
            job = Job(program.text, (EAGER,), raising, limits.seconds, limits.megabytes)
            outcomes = [self._executor.run(job) for _ in range(runs)]
            names = [labels[i] for i in left]
            if not any(self._deaths(outcome, names) for outcome in outcomes):
                self._compare(_eager(outcomes[0]), _eager(outcomes[-1]), names)
                return
            left = [i for i in left if labels[i] not in self._found.refused]

    def _deaths(self, outcome: Outcome, labels: list[str]) -> bool:
        """Whether the child did not play all steps; says why."""
        death = outcome.death
        if outcome.trouble:
            self._found.unusable = f"a child fails: {outcome.trouble}"
        elif death is not None:
            label = labels[death.step] if death.step >= 0 else ""
            if label:
                self._found.refused[label] = f"eager execution: {death.kind} ({death.detail})"
            else:
                self._found.unusable = f"a plain eager call ends in {death.kind} ({death.detail})"
        return bool(outcome.trouble) or death is not None

    def _compare(
        self, first: list[StepRecord], second: list[StepRecord], labels: list[str]
    ) -> None:
        for one, two, label in zip(first, second, labels, strict=True):
            found = step_difference(self._own, one, two)
            if label and (one.error or found):
                why = f"eager raises {_words(one)}" if one.error else _UNSTABLE
                self._found.refused.setdefault(label, why)
            elif one.error:
                self._found.unusable = f"a plain eager call on copies raises {_words(one)}"
            elif found:
                detail = f"{found.where}: {found.detail}"
                self._found.unusable = f"two plain eager calls differ ({detail})"


def _eager(outcome: Outcome) -> list[StepRecord]:
    return outcome.arms.get(EAGER.name, [])


def _words(record: StepRecord) -> str:
    return f"{record.error[0]}: {' '.join(record.message.split())[:120]}"


def left_out(own: OwnModel, facts: Facts, trial: Trial) -> frozenset[str]:
    """What the vocabulary goes without: what eager execution refuses, sets of axes that say
    nothing new because each of theirs may change alone, and those over the limit."""
    refused = frozenset(trial.refused)
    tried = own.restricted(refused).vocabulary.dimension
    working = [axis for axis in facts.axes if tried[axis_dimension(axis)].deviations(())]
    alone = {axis.members[0] for axis in working if len(axis.members) == 1}
    telling = [a for a in working if len(a.members) == 1 or not set(a.members) <= alone]
    kept = {axis.name for axis in telling[:MOST_SIZES]}
    return refused | {axis_dimension(axis) for axis in facts.axes if axis.name not in kept}


def refusals(facts: Facts, trial: Trial, left: frozenset[str]) -> Iterator[tuple[str, str]]:
    """(what, why) of everything that eager execution refuses, for people: values that it refuses
    with one kind of error are told together, with the first one's message."""
    movable = {
        member for axis in facts.axes if axis_dimension(axis) not in left for member in axis.members
    }
    sizes = {axis_dimension(a): a for a in facts.axes}
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for label, why in trial.refused.items():
        name, _, value = label.partition("=")
        axis = sizes.get(name)
        if axis is not None:
            lonely = len(axis.members) == 1 and axis.members[0] not in movable
            if name in left and not lonely:
                continue
            name = axis_words(facts, axis)
        place, _, value = value.rpartition("=")
        key = f"{name} {place}".strip(), why.partition(":")[0]  # messages hold the very sizes
        found.setdefault(key, []).append((value, why))
    for (name, _), values in found.items():
        yield f"{name}: {', '.join(value for value, _ in values)}", values[0][1]


def axis_dimension(axis: Axis) -> str:
    """The dimension that varies an axis, or several together."""
    return f"size_{axis.name}"


def axis_words(facts: Facts, axis: Axis) -> str:
    """An axis, or several together, for people."""
    places = (f"{facts.leaves[i].name}.shape[{place}]" for i, place in axis.members)
    return " with ".join(places)
