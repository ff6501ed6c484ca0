"""The public bugs of torch get the verdict that is known for torch 2.13.0."""

from __future__ import annotations

import importlib.metadata

import pytest

from harnesses.torch_inductor import HARNESS
from rondo.oracle import Oracle
from tests.cases import through_bytes
from tests.frameworks.public_torch_bugs import PUBLIC_BUGS


@pytest.mark.framework
@pytest.mark.parametrize("name", PUBLIC_BUGS)
def test_public_bug_gets_its_verdict(name: str, oracle: Oracle) -> None:
    if importlib.metadata.version("torch").split("+")[0] != "2.13.0":
        pytest.skip("the table is for torch 2.13.0")
    expected, written = PUBLIC_BUGS[name]
    case = through_bytes(written, HARNESS.vocabulary)
    assert case == through_bytes(case, HARNESS.vocabulary)
    verdict = oracle.judge(case)
    assert verdict.kind == expected, verdict
    if expected == "stateful":
        assert verdict.difference is not None
        assert verdict.difference.step == len(case.steps) - 1


@pytest.mark.framework
def test_same_case_gives_the_same_verdict_and_behaviour(oracle: Oracle) -> None:
    names = ("pt_inputs_begin_to_overlap", "pt_param_requires_grad_toggled", "pt_module_int_attr")
    for name in names:
        case = through_bytes(PUBLIC_BUGS[name][1], HARNESS.vocabulary)
        first, second = oracle.judge(case), oracle.judge(case)
        assert first.behaviour == second.behaviour
        assert first.difference == second.difference
        assert first.kind == second.kind
