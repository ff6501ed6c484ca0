"""The report says what was measured, and nothing of what was not."""

from __future__ import annotations

from harnesses.base import Program
from rondo.findings import ArmRecord, Finding
from rondo.oracle import SURVIVES
from rondo.report import report

PROGRAM = Program("STEPS = (step_1, step_2)\n", ("Call", "Call again"), (0, 1), frozenset())


def finding(note: str = "", known: str = "") -> Finding:
    return Finding(
        "wrong_result-batch-1",
        "toy",
        "stateful",
        "wrong_result",
        {"target": "toy", "changes": ("batch",)},
        1,
        "output:out",
        "1 instead of 2",
        PROGRAM.sentences,
        (ArmRecord("retained", ("reused",)), ArmRecord("reset", ("compiled",))),
        (5, 2),
        17,
        (3, 3),
        {"toy": "1"},
        9,
        1.5,
        known,
        note=note,
    )


def test_the_report_names_the_step_and_what_the_compiler_did_there() -> None:
    text = report(finding(), PROGRAM)
    assert text.startswith("# wrong_result: Call again\n")
    assert "2. Call again (**this step is wrong**)" in text
    assert "- retained: reused\n- reset: compiled" in text
    assert "| reproduced | 3 of 3 cold interpreters |" in text
    assert PROGRAM.text in text
    assert "note" not in text and "known" not in text


def test_the_report_says_when_a_reset_does_not_help_and_what_is_known() -> None:
    text = report(finding(note=SURVIVES, known="open: #1, https://example.org/1"), PROGRAM)
    assert f"| note | {SURVIVES} |\n| known | open: #1, https://example.org/1 |" in text
