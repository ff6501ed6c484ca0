"""Behaviour signatures: what the compiler did, as features by name.

A step's signature is the set of its normalised events; features are the single signatures, the
pairs of neighbouring calls, and what a change between two calls made the compiler do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import pairwise

from rondo.oracle import Verdict
from rondo.testcase import Call, Event, Step, TestCase
from rondo.vocabulary import BATCH


def signatures(verdict: Verdict) -> tuple[str, ...]:
    """The signature of each call of the retained arm, in order."""
    return tuple("+".join(sorted(set(events))) or "none" for _, events in verdict.behaviour)


_OF_VALUES = ("resume compiled", "resume recompiled:value")


def reaction(events: tuple[str, ...]) -> str:
    """The coarse reaction of one step: failed, recompiled, compiled or reused.

    A resumed part that is compiled for the first time, or for another value, is no reaction: what
    was computed before a graph break took another branch, or is a constant after it, and the frame
    itself was reused.
    """
    told = [e.removeprefix("resume ") for e in events if not e.startswith(_OF_VALUES)]
    for name in ("failed", "recompiled", "compiled", "backward"):
        if any(event.startswith(name) for event in told):
            return name
    return "reused"


def features(case: TestCase, verdict: Verdict) -> Iterator[str]:
    """The names of all features that a run showed."""
    found = signatures(verdict)
    for signature in found:
        yield f"step {signature}"
    for before, after in pairwise(found):
        yield f"pair {before} > {after}"
    for change, events in _changes(case, verdict):
        yield f"change {change} > {reaction(events)}"
    yield f"verdict {verdict.kind} {verdict.symptom}"


def shown_by(case: TestCase, verdict: Verdict, names: Collection[str]) -> int:
    """The first step by which a run had shown all these features of its behaviour."""
    for count in range(1, len(verdict.behaviour)):
        so_far = replace(verdict, behaviour=verdict.behaviour[:count])
        if set(names) <= set(features(case, so_far)):
            return verdict.behaviour[count - 1][0]
    return verdict.behaviour[-1][0] if verdict.behaviour else -1


def _changes(case: TestCase, verdict: Verdict) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(what differed from the call before, what the compiler did) for each call after the first."""
    before: Call | None = None
    between: list[str] = []
    done = dict(verdict.behaviour)
    for index, step in enumerate(case.steps):
        if isinstance(step, Event):
            between.append(step.kind)
            continue
        if before is not None and index in done:
            for change in [*between, *changed_dimensions(before, step)]:
                yield change, done[index]
        before, between = step, []


def changed_dimensions(before: Call, after: Call) -> list[str]:
    """The dimensions in which two calls differ."""
    old = {d.dimension: d.value for d in before.deviations}
    new = {d.dimension: d.value for d in after.deviations}
    found = [name for name in sorted(old | new) if old.get(name) != new.get(name)]
    return [*([BATCH] if before.batch != after.batch else []), *found]


def value_of(step: Call, name: str, plain: str = "") -> str:
    """A call's batch, or its value in a dimension."""
    return str(step.batch) if name == BATCH else step.get(name, plain)


def describe(step: Step) -> str:
    """A step in one short phrase."""
    if isinstance(step, Event):
        return f"{step.kind}={step.value}"
    said = ", ".join(f"{d.dimension}={d.value}" for d in step.deviations)
    return f"call({step.batch}{', ' + said if said else ''})"
