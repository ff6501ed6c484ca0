"""The toy harness over random bytes: decode, emit, play; eager and retained always agree."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from harnesses.base import Program, Shown, Wanted
from harnesses.toy import HARNESS
from harnesses.toy.dimensions import EFFECTS
from harnesses.toy.events import HAPPENINGS
from harnesses.toy.faults import FAULTS
from harnesses.toy.templates import TEMPLATES
from rondo.codec import FORMAT, Codec
from rondo.executor.inprocess import InProcess
from rondo.executor.protocol import EAGER, RETAINED, Job
from rondo.models.architectures import ARCHITECTURES
from rondo.models.operators import OPERATORS
from rondo.testcase import TestCase
from tests.cases import call, case
from tests.toy.shortest import SHORTEST

ROOT = Path(__file__).resolve().parents[2]
CASES = 500
CODEC = Codec(HARNESS.vocabulary)


def random_bytes(seed: int) -> bytes:
    """A header, one to six operators and two to eleven steps, with many plain bytes."""
    draw = random.Random(seed)
    head = bytes([FORMAT, draw.choice([0, 0, draw.randrange(256)])]) + draw.randbytes(6)
    operators = draw.randrange(1, 7)
    steps = [
        bytes(
            0 if place in (2, 4, 6) and draw.random() < 0.5 else draw.randrange(256)
            for place in range(8)
        )
        for _ in range(draw.randrange(2, 12))
    ]
    return head + bytes([operators]) + draw.randbytes(4 * operators) + b"".join(steps)


@cache
def cases() -> tuple[TestCase, ...]:
    """Test cases of random bytes."""
    return tuple(CODEC.decode(random_bytes(seed)) for seed in range(CASES))


def test_eager_and_retained_agree_and_cases_are_valid() -> None:
    executor, valid = InProcess(HARNESS), 0
    for number, given in enumerate(cases()):
        program = HARNESS.emit(given)
        raising = tuple(sorted(program.raising))
        outcome = executor.run(Job(program.text, (EAGER, RETAINED), raising))
        assert not outcome.trouble, f"case {number}: {outcome.trouble}\n{program.text}"
        if "retained" not in outcome.arms:
            continue
        valid += 1
        for a, b in zip(outcome.arms["eager"], outcome.arms["retained"], strict=True):
            same = (a.observations, a.error) == (b.observations, b.error)
            assert same, f"case {number}, step {a.step + 1}:\n{program.text}"
    assert valid >= 0.9 * CASES


def test_emission_is_deterministic() -> None:
    assert [HARNESS.emit(c) for c in cases()[:50]] == [HARNESS.emit(c) for c in cases()[:50]]


def test_emitted_programs_are_formatted(tmp_path: Path) -> None:
    texts = [HARNESS.emit(c).text for c in cases()[:120]]
    texts += [HARNESS.emit(case(name, call())).text for name in OPERATORS]
    texts += [HARNESS.emit(TestCase(c.model, c.settings, c.steps)).text for c in SHORTEST.values()]
    texts += [HARNESS.repro(c, Wanted(0, "A title.")) for c in cases()[:20]]
    for number, text in enumerate(texts):
        (tmp_path / f"case_{number}.py").write_text(text)
    command = [sys.executable, "-m", "ruff", "format", "--check", "--diff"]
    command += ["--line-length", "100", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-3000:]


def test_program_describes_its_steps() -> None:
    program: Program = HARNESS.emit(
        case("relu", call(3, dtype="float64"), call(bad_call="bad_type"))
    )
    assert program.sentences[0] == "Call the model with 3 rows, dtype float64."
    assert (program.calls, program.raising) == ((0, 1), frozenset({1}))


def test_tables_are_complete() -> None:
    nodes = {n.op for make in ARCHITECTURES.values() for w in range(3) for n in make(w, w).nodes}
    assert not (set(OPERATORS) | nodes) - set(TEMPLATES)
    vocabulary = HARNESS.vocabulary
    wanted = {(d.name, v.name) for d in vocabulary.dimension.values() for v in d.values[1:]}
    assert wanted == set(EFFECTS)
    for event in vocabulary.event.values():
        for value in event.values:
            assert HAPPENINGS.text(event.name, value.name).lines


def test_importing_the_harness_imports_no_compiler() -> None:
    code = "import sys, harnesses.toy; print('harnesses.toy.compiler' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


@pytest.mark.parametrize("short", [True, False], ids=["short", "whole"])
@pytest.mark.parametrize(
    ("fault", "status"), [(None, 0), ("third_float", 1), ("disk_ignores_constants", 1)]
)
def test_repro_tells_whether_the_bug_is_there(
    fault: str | None, status: int, short: bool, tmp_path: Path
) -> None:
    given = SHORTEST[fault or "third_float"]
    shown = Shown("output", "out", True, "1 instead of 2") if short else None
    text = HARNESS.repro(given, Wanted(len(given.steps) - 1, "A wrong result.", shown=shown))
    assert ("STEPS" in text) != short
    if fault:
        assert fault in FAULTS
        plant = f"from harnesses.toy import faults\n\nfaults.FAULTS[{fault!r}].install()\n"
        text = re.sub(r"\nimport sys\n", f"\nimport sys\n\n{plant}", text, count=1)
    script = tmp_path / "repro.py"
    script.write_text(text)
    done = subprocess.run(
        [sys.executable, str(script)],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert done.stdout.endswith("the bug is there\n" if fault else "the bug is gone\n")
