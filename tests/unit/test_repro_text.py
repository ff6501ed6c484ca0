"""Repros as text: short where the program fits into one function, whole otherwise."""

from __future__ import annotations

import ast

import pytest

from harnesses import jax_xla, torch_inductor
from harnesses.base import Shown, Wanted
from harnesses.flat import folded
from rondo.testcase import Step
from tests.cases import call, case, event, through_bytes

OUT = Shown("output", "out", True, "1 instead of 2")
MOST_LINES = 59


def short(operators: str, *steps: Step, shown: Shown = OUT, **settings: str) -> str:
    """The repro of a torch case at its last step."""
    harness = torch_inductor.HARNESS
    given = through_bytes(case(operators, *steps, **settings), harness.vocabulary)
    return harness.repro(given, Wanted(len(given.steps) - 1, "wrong_result", 300, shown))


@pytest.mark.parametrize(
    "text",
    [
        short("call_submodule", call(), event("add_forward_hook", "submodule"), call()),
        short("read_float", call(), event("set_float_attribute", "2.5"), call()),
        short("tanh", call(), call(3), call(5), backend="inductor"),
        short("scale_scalar", call(), call(scalar="2.5"), call(scalar="3.5"), backend="inductor"),
    ],
)
def test_typical_repros_are_under_60_lines(text: str) -> None:
    ast.parse(text)
    assert "STEPS" not in text and len(text.splitlines()) <= MOST_LINES, text


def test_what_does_not_fit_into_one_function_is_played_step_by_step() -> None:
    second = short("tanh", call(), call(callee="second"))
    raising = short("tanh", call(bad_call="bad_shape"), call())
    assert "for index, step in enumerate(STEPS[:2])" in second
    assert "def run(arm, backend=" in second and 'COMPILE["backend"] = backend' in second
    assert "STEPS[:2]" in raising


def test_only_the_steps_up_to_the_exposing_one_are_told() -> None:
    harness = torch_inductor.HARNESS
    given = through_bytes(case("tanh", call(), call(3), call(5)), harness.vocabulary)
    text = harness.repro(given, Wanted(1, "wrong_result", 300, OUT))
    assert "# 2. " in text and "# 3. " not in text


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (Shown("gradient", "x", True, "1 instead of 2"), "x.grad"),
        (Shown("gradient", "norm1.weight", True, ""), 'get_parameter("norm1.weight").grad'),
        (Shown("buffer", "mean1", True, "1 instead of 2"), 'model.get_buffer("mean1")'),
        (Shown("attribute", "calls1", False, "1 instead of 2"), "repr(model.calls1)"),
        (Shown("output", "out structure", False, "* instead of [*]"), "tree_flatten(out)"),
        (Shown("output", "out[0]['a']", True, "1 instead of 2"), 'value = out[0]["a"]'),
        (Shown("rng", "state", False, "a instead of b"), "torch.rand(1).item()"),
        (Shown("exception", "ValueError", False, "ValueError: no"), '"an exception"'),
        (Shown("exception", "B", False, "B instead of A"), "type(error).__name__"),
        (Shown("memory", "", False, "more than 8 MB"), "RLIMIT_DATA"),
        (Shown("output", "out", True, "the input itself instead of no flags"), "out is x"),
    ],
)
def test_a_short_repro_looks_at_the_place_where_the_finding_was_seen(
    shown: Shown, words: str
) -> None:
    text = short("tanh", call(), call(), shown=shown)
    ast.parse(text)
    assert words in text and "STEPS" not in text


def test_what_is_missing_on_one_side_is_looked_at_as_a_whole() -> None:
    text = short("tanh", call(), call(), shown=Shown("output", "out", True, "missing"))
    assert "STEPS" in text


def test_bounds_follow_the_element_type() -> None:
    assert "1e-4, 1e-5" in short("tanh", call(), call())
    assert "3e-2, 3e-2" in short("tanh", call(dtype="bfloat16"), call(dtype="bfloat16"))


def test_jax_steps_ahead_of_the_reset_arm_are_not_compiled() -> None:
    harness = jax_xla.HARNESS
    given = through_bytes(case("tanh", call(), call(3)), harness.vocabulary)
    text = harness.repro(given, Wanted(1, "wrong_result", 300, OUT))
    assert text.index('"jax_disable_jit", arm != "retained"') < text.index("# 1. ")
    assert text.index('"jax_disable_jit", arm == "eager"') < text.index("jax.clear_caches()")
    assert text.index("jax.clear_caches()") < text.index("# 2. ")


def test_a_call_is_folded_only_where_nothing_else_reads_its_input() -> None:
    assert folded(["x = a", "out = f(x)"], "out") == ["f(a)"]
    assert folded(["x = a", "out = f(x)", "return out"]) == ["out = f(a)", "return out"]
    assert folded(["x = a", "out = f(x)", "x.grad"]) == ["x = a", "out = f(x)", "x.grad"]


def test_a_function_that_one_step_stores_is_a_lambda_there() -> None:
    text = short("call_object", call(), event("replace_object_method", "class"), call())
    assert "Act1.apply = lambda self, h: h - 1" in text and "def other_" not in text
    assert len(text.splitlines()) <= MOST_LINES


def test_only_a_hang_is_waited_for() -> None:
    hang = short("tanh", call(), call(), shown=Shown("hang", "", False, "no end within 120 s"))
    assert "alarm(300)" in hang and "alarm" not in short("tanh", call(), call())


def test_only_the_streams_that_are_drawn_from_are_seeded_and_only_before_calls() -> None:
    steps = (call(), event("add_forward_hook", "submodule"), call())
    torch_alone = short("dropout", *steps)
    both = short("python_random dropout", *steps)
    assert "random.seed" not in torch_alone and torch_alone.count("manual_seed") == 3
    assert both.count("    random.seed(") == both.count("torch.manual_seed(") == 3
    assert len(torch_alone.splitlines()) <= MOST_LINES
