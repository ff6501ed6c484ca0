"""A verdict in words: the steps of a case, what each arm did, and what differs."""

from __future__ import annotations

from harnesses.base import Program
from rondo.oracle import Verdict
from rondo.testcase import TestCase


def told(case: TestCase, program: Program, verdict: Verdict) -> list[str]:
    """The lines that a replay prints."""
    found = verdict.difference
    behaviour = dict(verdict.behaviour)
    settings = ", ".join(f"{name} {value}" for name, value in case.settings) or "plain settings"
    lines = [f"{case.model.start} model, {settings}"]
    for index, sentence in enumerate(program.sentences):
        wrong = found is not None and found.step == index
        did = ", ".join(behaviour.get(index, ()))
        mark = "!" if wrong else " "
        lines.append(f"{mark} {index + 1}. {sentence}{f' [{did}]' if did else ''}")
    lines.append(f"verdict: {verdict.kind} {verdict.symptom}".rstrip())
    if verdict.note:
        lines.append(f"note: {verdict.note}")
    if found is not None:
        lines.append(f"step {found.step + 1} {found.where}: {found.detail}")
        if verdict.reset_behaviour:
            lines.append(f"reset arm at that step: {', '.join(verdict.reset_behaviour)}")
    return lines
