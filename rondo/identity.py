"""The failure identity: what makes two findings the same.

It is read off a shrunk case: target, verdict, symptom, the layer that it needs, how the compiler
reacted at the exposing step, and what differs between the calls (events and dimensions, without
sizes and quantities). Families of operators stand in where nothing but repetition differs.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from rondo.models.grow import grow
from rondo.models.operators import FAMILY
from rondo.oracle import Verdict
from rondo.signature import changed_dimensions, reaction
from rondo.testcase import Call, Event, TestCase
from rondo.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Identity:
    """What a failure is; `changes` is what differs between setup and trigger."""

    target: str
    kind: str
    symptom: str
    error: str
    layer: str
    reaction: str
    changes: tuple[str, ...]
    families: tuple[str, ...]

    @property
    def name(self) -> str:
        """A readable directory name, unique to the identity."""
        digest = hashlib.sha256(repr(self).encode()).hexdigest()[:8]
        what = "-".join(self.changes) or "repetition"
        return f"{self.symptom}-{what}"[:70].replace("=", "-") + f"-{digest}"


def symptom_class(symptom: str) -> str:
    """Wrong values of any kind are one class: which place shows them first depends on the model."""
    return "wrong" if symptom.startswith("wrong_") else symptom


def identify(case: TestCase, verdict: Verdict, target: str, vocabulary: Vocabulary) -> Identity:
    """The identity of a failing case, which should be shrunk."""
    assert verdict.difference is not None
    exposing = verdict.difference.step
    done = dict(verdict.behaviour)
    changes = changes_of(case, vocabulary)
    role, _, path = verdict.difference.where.partition(":")
    error = path if role == "exception" else role if role == "rng" else ""
    return Identity(
        target,
        verdict.kind,
        verdict.symptom,
        error,
        case.setting(vocabulary.settings[0].name, vocabulary.settings[0].values[0]),
        reaction(done[exposing]) if exposing in done else "died",
        changes,
        () if tells(changes, vocabulary) else families_of(case),
    )


def tells(changes: tuple[str, ...], vocabulary: Vocabulary) -> bool:
    """Whether changes name a cause by themselves: an event, or a dimension of one argument. A
    batch size or a grad mode changes for many reasons; then the operators have to tell."""
    names = [change.partition("=")[0] for change in changes]
    arguments = {n for n, d in vocabulary.dimension.items() if d.needs.startswith("arg.")}
    return any(name in vocabulary.event or name in arguments for name in names)


def changes_of(case: TestCase, vocabulary: Vocabulary) -> tuple[str, ...]:
    """The events of a case and the dimensions in which its calls differ, by name."""
    found = set()
    before: Call | None = None
    for step in case.steps:
        if isinstance(step, Event):
            distinct = vocabulary.event[step.kind].mechanisms
            found.add(f"{step.kind}={step.value}" if distinct else step.kind)
            continue
        if before is not None:
            for name in changed_dimensions(before, step):
                found.add(_dimension_change(name, before, step, vocabulary))
        before = step
    return tuple(sorted(found))


def _dimension_change(name: str, before: Call, after: Call, vocabulary: Vocabulary) -> str:
    if name == "batch" or not vocabulary.dimension[name].mechanisms:
        return name
    plain = vocabulary.dimension[name].values[0].name
    value = after.get(name, plain)
    return f"{name}={value if value != plain else before.get(name, plain)}"


def families_of(case: TestCase) -> tuple[str, ...]:
    """The families of the operators that carry or depend on state."""
    nodes = grow(case.model).nodes
    return tuple(sorted({FAMILY[node.op] for node in nodes if node.op in FAMILY}))
