"""Every architecture runs eagerly in each framework, has as many numbers as its graph says, and
one of each family passes the three arms."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from harnesses import jax_xla, torch_inductor
from harnesses.base import Harness
from rondo.models.architectures import ARCHITECTURES
from rondo.models.grow import grow
from rondo.models.parameters import numbers
from rondo.oracle import Oracle
from rondo.testcase import Model, TestCase
from tests.cases import call, case, event, through_bytes

FEW = ("lenet", "gpt_decoder")
"""The architectures that are compiled here; `tools/architectures.py` compiles all."""


def loaded(harness: Harness, given: TestCase) -> tuple[ModuleType, Any]:
    """The program of a case as a module, and its uncompiled state."""
    module = ModuleType("program")
    exec(compile(harness.emit(given).text, "<program>", "exec"), module.__dict__)
    return module, module.State(False)


@pytest.mark.framework
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_torch_builds_and_runs_it(name: str) -> None:
    torch = pytest.importorskip("torch")
    model = Model(name, 1, 1)
    given = TestCase(model, (), (call(2), call(3, mode="eval"), call(2, backward="sum")))
    module, state = loaded(torch_inductor.HARNESS, given)
    module.reseed(0)
    outs = [step(state)["out"] for step in module.STEPS]
    assert all(isinstance(out, torch.Tensor) and out.isfinite().all() for out in outs)
    assert [len(out) for out in outs] == [2, 3, 2]
    owned = sum(parameter.numel() for parameter in state.model.parameters())
    assert owned == numbers(grow(model))


@pytest.mark.framework
@pytest.mark.parametrize("name", FEW)
def test_torch_compiles_it(name: str, oracle: Oracle) -> None:
    change = event("change_parameter", "mutate")
    given = case("", call(2), call(3), change, call(2), architecture=name, backend="aot_eager")
    assert oracle.judge(through_bytes(given, torch_inductor.HARNESS.vocabulary)).kind == "pass"


@pytest.mark.framework
@pytest.mark.parametrize("name", FEW)
def test_jax_compiles_it(name: str, jax_oracle: Oracle) -> None:
    change = event("change_parameter", "mutate")
    given = case("", call(2), call(3), change, call(2), architecture=name)
    assert jax_oracle.judge(through_bytes(given, jax_xla.HARNESS.vocabulary)).kind == "pass"
