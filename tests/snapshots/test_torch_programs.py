"""Emitted torch programs and repros, as text: stable, formatted, complete.

`RONDO_UPDATE_SNAPSHOTS=1 pytest tests/snapshots` writes them anew; read the diff before committing.
"""

from __future__ import annotations

import ast
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from harnesses.torch_inductor import HARNESS
from harnesses.torch_inductor.dimensions import EFFECTS
from harnesses.torch_inductor.events import event_text
from harnesses.torch_inductor.templates import TEMPLATES
from rondo.codec import Codec
from rondo.generate import random_case
from rondo.models.architectures import ARCHITECTURES
from rondo.models.grow import grow
from rondo.models.operators import OPERATORS
from rondo.testcase import Model, TestCase
from tests.cases import call, case, event, through_bytes

FOLDER = Path(__file__).parent / "torch"
CODEC = Codec(HARNESS.vocabulary)
CASES: dict[str, TestCase] = {
    "hook": case("call_submodule", call(), event("add_forward_hook", "submodule"), call()),
    "overlap": case(
        "mutate_input add_tensor", call(4), call(4, alias="overlapping"), backend="aot_eager"
    ),
    "three_scalars": case(
        "scale_scalar clamp_scalar",
        call(profile="large"),
        call(profile="large", scalar="2.5"),
        call(profile="large", scalar="3.5"),
        backend="inductor",
        dynamic="True",
        option="specialize_int",
    ),
    "transformer": case(
        "",
        call(length="7", requires_grad="yes", backward="sum"),
        event("freeze_parameter", "toggle"),
        call(grad_mode="no_grad", thread="other", callee="copy"),
        architecture="transformer",
    ),
    "state": case(
        "read_enum read_property call_closure call_method random_object add_optional sum_items",
        call(items="tuple"),
        event("set_enum_attribute", "B"),
        event("set_closure_cell", "10.0"),
        call(values="previous_tensors", optional="given"),
        call(structure="keyword", wrapper="export"),
        call(bad_call="bad_shape"),
    ),
}


def compared(path: Path, text: str) -> None:
    """Compare a text with its snapshot, or write it when asked to."""
    if os.environ.get("RONDO_UPDATE_SNAPSHOTS"):
        path.write_text(text)
    assert path.read_text() == text, f"{path.name} changed"


@pytest.mark.parametrize("name", CASES)
def test_programs_are_stable(name: str) -> None:
    given = through_bytes(CASES[name], HARNESS.vocabulary)
    program = HARNESS.emit(given)
    assert program == HARNESS.emit(given)
    compared(FOLDER / f"{name}.txt", program.text)


def test_the_repro_is_stable_and_needs_the_framework_alone() -> None:
    given = through_bytes(CASES["hook"], HARNESS.vocabulary)
    text = HARNESS.repro(given, 2, "wrong_result: a hook is not seen")
    compared(FOLDER / "hook_repro.txt", text)
    imported = {
        name.name.partition(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import)
        for name in node.names
    }
    assert imported <= set(sys.stdlib_module_names) | {"torch", "numpy"}


def test_random_programs_parse_and_are_formatted(tmp_path: Path) -> None:
    draw = random.Random(7)
    for number in range(150):
        given = (
            random_case(draw, CODEC) if number % 2 else CODEC.decode(draw.randbytes(20 + number))
        )
        (tmp_path / f"program_{number}.py").write_text(HARNESS.emit(given).text)
    command = [sys.executable, "-m", "ruff", "format", "--check", "--isolated"]
    done = subprocess.run(
        [*command, "--line-length=100", str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[:2000]


def test_every_operator_and_architecture_node_has_a_template() -> None:
    nodes = {node.op for name in ARCHITECTURES for node in grow(Model(name, 15, 15)).nodes}
    assert (set(OPERATORS) | nodes) - set(TEMPLATES) == set()


def test_every_deviation_has_an_effect_and_every_event_a_text() -> None:
    wanted = {
        (name, value.name)
        for name, dimension in HARNESS.vocabulary.dimension.items()
        for value in dimension.values[1:]
    }
    assert wanted == set(EFFECTS)
    for kind in HARNESS.vocabulary.event.values():
        for value in kind.values:
            assert event_text(kind.name, value.name).lines
