"""The frameworks' own tests as models: they run eagerly as written down, and some pass the arms."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from harnesses import jax_xla, torch_inductor
from harnesses.base import Harness
from rondo.oracle import Oracle
from rondo.testcase import Call, Deviation, Model, Operator, SourceTest, TestCase
from tests.cases import through_bytes
from tests.frameworks.test_architectures import loaded

TORCH, JAX = torch_inductor.HARNESS, jax_xla.HARNESS
EVERY, JAX_EVERY = 12, 40
"""JAX compiles each operation of each shape."""
STEPS = (Call(2), Call(3), Call(2, (Deviation("layout", "sliced"),)), Call(2))


def outs(harness: Harness, test: SourceTest) -> list[Any]:
    """What each step gives without a compiler."""
    module, state = loaded(harness, TestCase(Model(test=test), (), STEPS))
    module.reseed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [step(state)["out"] for step in module.STEPS]


@pytest.mark.framework
def test_torchs_tests_run_eagerly() -> None:
    torch = pytest.importorskip("torch")
    leaves = torch.utils._pytree.tree_leaves
    for test in TORCH.vocabulary.tests[::EVERY]:
        for out in outs(TORCH, test):
            found = leaves(out)
            assert found and all(leaf.isfinite().all() for leaf in found), test


@pytest.mark.framework
def test_jaxs_tests_run_without_jit() -> None:
    jax = pytest.importorskip("jax")
    for test in JAX.vocabulary.tests[::JAX_EVERY]:
        for out in outs(JAX, test):
            leaves = jax.tree.leaves(out)
            assert leaves and all(jax.numpy.isfinite(leaf).all() for leaf in leaves), test


def _after_state(harness: Harness, part: str) -> TestCase:
    """The first test of a name after an operator that reads an attribute."""
    test = next(t for t in harness.vocabulary.tests if part in t.name)
    model = Model(operators=(Operator("read_float"),), test=test)
    return through_bytes(TestCase(model, (), STEPS), harness.vocabulary)


@pytest.mark.framework
@pytest.mark.parametrize("name", ["nn.functional.gelu", "cumsum", "ModuleInfo nn.GRUCell"])
def test_torchs_tests_pass_the_arms(name: str, oracle: Oracle) -> None:
    assert oracle.judge(_after_state(TORCH, name)).kind == "pass"


@pytest.mark.framework
@pytest.mark.parametrize("name", ["cumsum", "dot_general"])
def test_jaxs_tests_pass_the_arms(name: str, jax_oracle: Oracle) -> None:
    assert jax_oracle.judge(_after_state(JAX, name)).kind == "pass"
