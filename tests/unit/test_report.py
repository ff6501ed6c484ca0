"""The report says what was measured, in the fields of the framework's own issue template."""

from __future__ import annotations

import msgspec
import pytest

from harnesses import jax_xla, torch_inductor
from harnesses.base import Issue
from rondo.blame import needed
from rondo.findings import ArmRecord, Finding, Trial
from rondo.oracle import SURVIVES
from rondo.report import report, title

FINDING = Finding(
    "wrong_result-batch-1",
    "toy",
    "stateful",
    "wrong_result",
    {"target": "toy", "changes": ("batch",)},
    1,
    "output:out",
    "1 instead of 2",
    ("Call", "Call again"),
    (ArmRecord("retained", ("reused",)), ArmRecord("reset", ("compiled",))),
    (5, 2),
    17,
    (3, 3),
    {"toy": "1"},
    9,
    1.5,
)
TRIALS = (
    Trial("without step 1: call(2)", "gone", ("compiled",)),
    Trial("step 2 with a batch of 2", "there", ("reused",)),
)


def reported(**more: object) -> str:
    """The report of the finding with some fields changed."""
    return report(msgspec.structs.replace(FINDING, **more), Issue("toy.compile"), "print(1)\n")


def test_the_report_names_the_step_and_what_the_compiler_did_there() -> None:
    text = reported()
    assert text.startswith("# toy.compile: wrong result: Call again, after: Call\n")
    assert "2. Call again (**this step is wrong**)" in text
    assert "- retained: reused\n- reset: compiled" in text
    assert "Reproduced in 3 of 3 cold interpreters" in text
    assert "```python\nprint(1)\n```" in text
    assert "because of what the compiler kept" in text


def test_what_was_not_measured_is_not_said() -> None:
    text = reported()
    for word in ("float64", "Known", "Without step", "configuration", "Output of"):
        assert word not in text


def test_the_report_says_when_a_reset_does_not_help_and_what_is_known() -> None:
    text = reported(note=SURVIVES, known="open: #1, https://example.org/1", reference="2.01")
    assert f"- {SURVIVES}.\n- Known: open: #1, https://example.org/1." in text
    assert "float64 reference of the step gives 2.01" in text


def test_blame_and_ablation_are_tables_of_runs() -> None:
    text = reported(blame=TRIALS, ablation=(TRIALS[1], Trial("backend=b", "there", ())))
    assert "Without step 1 the difference is gone; step 2 exposes it." in text
    assert "| without step 1: call(2) | gone | compiled |" in text
    assert "It shows with the shrunk configuration and backend=b." in text
    assert "| backend=b | there | - |" in text


def test_a_case_that_only_a_fresh_compile_gets_wrong_is_told_so() -> None:
    assert "when it is compiled from empty state" in reported(verdict="reset_only")


def test_the_establishing_steps_are_those_without_which_it_is_gone() -> None:
    trials = (
        *TRIALS,
        Trial("without step 12: x", "gone", ()),
        Trial("without step 3: y", "there", ()),
    )
    assert needed(trials) == (0, 11)


def test_a_title_is_one_line_of_bounded_length() -> None:
    assert title("hang", ("Call",), 0) == "hang: Call"
    assert title("hang", ("Call", "Call"), 1) == "hang: Call, again"
    assert len(title("hang", ("a" * 90, "b" * 90), 1)) <= 92


@pytest.mark.parametrize(
    ("issue", "headings"),
    [
        (torch_inductor.HARNESS.issue, ("🐛 Describe the bug", "Error logs", "Versions")),
        (
            jax_xla.HARNESS.issue,
            (
                "Description",
                "What jax/jaxlib version are you using?",
                "Which accelerator(s) are you using?",
                "Additional System Info",
            ),
        ),
    ],
)
def test_every_field_of_the_trackers_form_is_there_and_filled(
    issue: Issue, headings: tuple[str, ...]
) -> None:
    found = msgspec.structs.replace(FINDING, environment="ENVIRONMENT", output="OUTPUT")
    text = report(found, issue, "print(1)\n")
    sections = text.split("\n## ")[1:]
    assert tuple(section.partition("\n")[0] for section in sections) == headings
    assert all(section.partition("\n")[2].strip() for section in sections)
    for word in ("ENVIRONMENT", "OUTPUT", "print(1)", issue.compiler):
        assert word in text
