"""The failure identity: what makes two findings the same.

It is read off a shrunk case: target, verdict, symptom, the layer that it needs, how the compiler
reacted at the exposing step, and what differs between the calls (events and dimensions, without
sizes and quantities). Families of operators stand in where nothing but repetition differs.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from itertools import pairwise

from rondo.models.grow import grow
from rondo.models.operators import FAMILY
from rondo.oracle import Verdict
from rondo.signature import changed_dimensions, reaction, value_of
from rondo.testcase import Call, Event, TestCase
from rondo.vocabulary import BATCH, Vocabulary

MANY = "x3"
SIZE, SIZES = "size", frozenset({BATCH, "length"})
"""The sizes of an input's axes are one change: a compiler guards shapes, whichever axis it is."""
_DEATH = re.compile(r"(?:SIG\w+|exit code \d+|no end within [\d.e+]+ s|more than \d+ MB) in (.+)")


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
        what = "-".join(self.changes) or self.error.partition(" ")[0] or "repetition"
        return f"{self.symptom}-{what}"[:70].replace("=", "-").replace(" ", "-") + f"-{digest}"


def symptom_class(symptom: str) -> str:
    """Wrong values of any kind are one class: which place shows them first depends on the model."""
    return "wrong" if symptom.startswith("wrong_") else symptom


def identify(case: TestCase, verdict: Verdict, target: str, vocabulary: Vocabulary) -> Identity:
    """The identity of a failing case, which should be shrunk.

    Operators' families tell causes apart only where the change does not: nothing changed at all,
    or the compiler did react to the change and went wrong on the way. An entry that is reused in
    spite of a change lacks a guard on just that change, whichever operator shows it.
    """
    assert verdict.difference is not None
    exposing = verdict.difference.step
    done = dict(verdict.behaviour)
    role, _, path = verdict.difference.where.partition(":")
    found = changes_of(case, vocabulary)
    changes = tuple(change for change in found if f"{change} {MANY}" not in found)
    layer = vocabulary.layer(case.settings)
    if stack := death_stack(verdict.difference.detail):
        return Identity(target, verdict.kind, verdict.symptom, stack, layer, "died", (), ())
    reacted = reaction(done[exposing]) if exposing in done else "died"
    stale = bool(changes) and reacted == "reused"
    return Identity(
        target,
        verdict.kind,
        verdict.symptom,
        path if role == "exception" else role if role == "rng" else "",
        layer,
        reacted,
        changes,
        () if stale or _tell(changes, vocabulary) else families_of(case),
    )


def death_stack(detail: str) -> str:
    """Where a child died: its innermost functions, which identify a death better than what led to
    it; the empty string for other failures and for deaths in no Python code."""
    found = _DEATH.fullmatch(detail)
    return found[1] if found else ""


def _tell(changes: tuple[str, ...], vocabulary: Vocabulary) -> bool:
    """Whether an event is among the changes: events act on what they name."""
    return any(plain_name(change) in vocabulary.event for change in changes)


def plain_name(change: str) -> str:
    """The event or dimension that a change is about."""
    return change.partition("=")[0].removesuffix(f" {MANY}")


def changes_of(case: TestCase, vocabulary: Vocabulary) -> tuple[str, ...]:
    """The events of a case and the dimensions in which its calls differ, by name.

    A dimension that takes three values or more is there a second time as `name x3`: promotion to a
    dynamic value is another mechanism than a guard.
    """
    calls = [step for step in case.steps if isinstance(step, Call)]
    found = {event_change(s, vocabulary) for s in case.steps if isinstance(s, Event)}
    for before, after in pairwise(calls):
        for name in changed_dimensions(before, after):
            found.add(_dimension_change(name, before, after, vocabulary))
            if len({value_of(step, name) for step in calls}) > 2:
                found.add(f"{SIZE if name in SIZES else name} {MANY}")
    return tuple(sorted(found))


def event_change(step: Event, vocabulary: Vocabulary) -> str:
    """An event as a change: with its value where values work through different mechanisms."""
    return f"{step.kind}={step.value}" if vocabulary.event[step.kind].mechanisms else step.kind


def _dimension_change(name: str, before: Call, after: Call, vocabulary: Vocabulary) -> str:
    if name in SIZES:
        return SIZE
    if not vocabulary.dimension[name].mechanisms:
        return name
    value = after.get(name, "") or before.get(name, "")
    return f"{name}={value}"


def families_of(case: TestCase) -> tuple[str, ...]:
    """The families of the operators that carry or depend on state."""
    nodes = grow(case.model).nodes
    return tuple(sorted({FAMILY[node.op] for node in nodes if node.op in FAMILY}))
