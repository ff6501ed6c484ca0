"""Emitted programs and repros, as text: stable, formatted, complete.

`RONDO_UPDATE_SNAPSHOTS=1 pytest tests/snapshots` writes them anew; read the diff before committing.
"""

from __future__ import annotations

import ast
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from harnesses import jax_xla, torch_inductor
from harnesses.base import Harness, Shown, Wanted
from harnesses.emission import Effect, Template
from harnesses.event_text import EventTable
from rondo.codec import Codec
from rondo.generate import random_case
from rondo.models.architectures import ARCHITECTURES
from rondo.models.grow import grow
from rondo.models.operators import OPERATORS, RECORDS
from rondo.testcase import Call, Model, Operator, TestCase
from rondo.vocabulary import Vocabulary
from tests.cases import through_bytes
from tests.snapshots import programs_jax, programs_torch

FOLDER = Path(__file__).parent


@dataclass(frozen=True, repr=False)
class Target:
    """A target's harness, its tables of text and the cases kept as snapshots."""

    harness: Harness
    effects: Mapping[tuple[str, str], Effect]
    events: EventTable
    templates: Mapping[str, Template]
    cases: Mapping[str, TestCase]

    @property
    def folder(self) -> Path:
        """Where its snapshots are."""
        return FOLDER / self.harness.package

    @property
    def vocabulary(self) -> Vocabulary:
        """Its whole vocabulary."""
        return self.harness.vocabulary.with_undocumented()


TORCH = Target(
    torch_inductor.HARNESS,
    torch_inductor.dimensions.EFFECTS,
    torch_inductor.events.EVENT_TEXT,
    torch_inductor.templates.TEMPLATES,
    programs_torch.CASES,
)
JAX = Target(
    jax_xla.HARNESS,
    jax_xla.dimensions.EFFECTS,
    jax_xla.events.EVENT_TEXT,
    jax_xla.templates.TEMPLATES,
    programs_jax.CASES,
)
TARGETS = pytest.mark.parametrize("target", (TORCH, JAX), ids=lambda t: t.harness.name)
SNAPSHOTS = [(t, name) for t in (TORCH, JAX) for name in t.cases]


def compared(path: Path, text: str) -> None:
    """Compare a text with its snapshot, or write it when asked to."""
    if os.environ.get("RONDO_UPDATE_SNAPSHOTS"):
        path.write_text(text)
    assert path.read_text() == text, f"{path.name} changed"


@pytest.mark.parametrize(
    ("target", "name"), SNAPSHOTS, ids=[f"{t.harness.name}-{name}" for t, name in SNAPSHOTS]
)
def test_programs_are_stable(target: Target, name: str) -> None:
    given = through_bytes(target.cases[name], target.vocabulary)
    program = target.harness.emit(given)
    assert program == target.harness.emit(given)
    compared(target.folder / f"{name}.txt", program.text)


PLACES = {"hook_repro": Shown("output", "out", True, "1 instead of 2"), "hook_repro_whole": None}


@pytest.mark.parametrize("name", PLACES)
@TARGETS
def test_the_repro_is_stable_and_needs_the_framework_alone(target: Target, name: str) -> None:
    given = through_bytes(target.cases["hook"], target.vocabulary)
    text = target.harness.repro(given, Wanted(2, "wrong_result: a change is not seen", shown=PLACES[name]))
    compared(target.folder / f"{name}.txt", text)
    imported = {
        name.name.partition(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import)
        for name in node.names
    }
    assert imported <= set(sys.stdlib_module_names) | {target.harness.package, "numpy"}


@TARGETS
def test_random_programs_are_formatted_and_name_nothing_undefined(target: Target, tmp_path: Path) -> None:
    draw, codec = random.Random(7), Codec(target.vocabulary)
    for number in range(150):
        given = (
            random_case(draw, codec) if number % 2 else codec.decode(draw.randbytes(20 + number))
        )
        program = target.harness.emit(given)
        (tmp_path / f"program_{number}.py").write_text(program.text)
        for name, shown in PLACES.items() if program.calls else ():
            repro = target.harness.repro(given, Wanted(program.calls[-1], "any", shown=shown))
            (tmp_path / f"{name}_{number}.py").write_text(repro)
    check_with_ruff(tmp_path)


@TARGETS
def test_every_operator_and_architecture_is_a_program(target: Target, tmp_path: Path) -> None:
    codec, shared = Codec(target.vocabulary), 255
    models = {
        f"{op}-{start}": Model(start, operators=(Operator(op, 1, 0, 0), Operator(op, 1, 255, shared)))
        for op in RECORDS
        for start in ("nothing", "transformer", "small_cnn")
    }
    models |= {f"{name}-{n}": Model(name, n, n) for name in ARCHITECTURES for n in range(4)}
    for name, model in models.items():
        given = TestCase(model, (), (Call(), Call(3)))
        assert codec.decode(codec.encode(given)) == given
        text = target.harness.emit(given).text
        compile(text, name, "exec")
        (tmp_path / f"{name}.py").write_text(text)
    check_with_ruff(tmp_path)


def check_with_ruff(folder: Path) -> None:
    """Whether the programs in a folder are formatted and name nothing undefined."""
    for command in (["format", "--check", "--line-length=100"], ["check", "--select=F821,F823"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--isolated", str(folder)],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout[:2000]


@TARGETS
def test_every_operator_and_architecture_node_has_a_template(target: Target) -> None:
    nodes = {node.op for name in ARCHITECTURES for node in grow(Model(name, 15, 15)).nodes}
    assert (set(OPERATORS) | nodes) - set(target.templates) == set()


@TARGETS
def test_every_deviation_has_an_effect_and_every_event_a_text(target: Target) -> None:
    wanted = {
        (name, value.name)
        for name, dimension in target.vocabulary.dimension.items()
        for value in dimension.values[1:]
    }
    assert wanted == set(target.effects)
    for kind in target.vocabulary.event.values():
        for value in kind.values:
            assert target.events.text(kind.name, value.name).lines
