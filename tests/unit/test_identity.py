"""Failure identities: stable where the cause is one, different where causes differ."""

from __future__ import annotations

from harnesses.torch_inductor import HARNESS
from rondo.compare import Difference
from rondo.identity import Identity, changes_of, identify
from rondo.known import explain, read
from rondo.oracle import Verdict
from rondo.testcase import TestCase
from rondo.triage import covers, subtract
from tests.cases import call, case, event, through_bytes

VOCABULARY = HARNESS.vocabulary


def identity(given: TestCase, reaction: str = "reused", detail: str = "1 instead of 2") -> Identity:
    """The identity of a case whose last step is wrong."""
    last = len(given.steps) - 1
    difference = Difference(last, "wrong_result", "output:out", detail)
    verdict = Verdict("stateful", difference, behaviour=((last, (reaction,)),))
    return identify(through_bytes(given, VOCABULARY), verdict, "torch_inductor", VOCABULARY)


def test_sizes_operators_and_values_do_not_matter_where_a_guard_is_missing() -> None:
    small = identity(case("branch_batch", call(2), call(3)))
    assert small == identity(case("size_arithmetic tanh", call(3), call(17)))
    assert small.changes == ("size",) and small.families == ()


def test_sizes_of_all_axes_are_one_change() -> None:
    batch = case("branch_batch", call(2), call(3), architecture="lstm")
    length = case("branch_batch", call(), call(length="5"), architecture="lstm")
    both = case("branch_batch", call(2), call(3, length="5"), architecture="lstm")
    assert identity(batch) == identity(length) == identity(both)
    left = subtract(through_bytes(both, VOCABULARY), identity(batch), VOCABULARY)
    assert changes_of(left, VOCABULARY) == ()


def test_families_tell_causes_apart_when_the_compiler_did_react() -> None:
    random = identity(case("noise", call(2), call(3)), "recompiled:size")
    counted = identity(case("count_calls", call(2), call(3)), "recompiled:size")
    assert random != counted


def test_promotion_is_another_cause_than_a_guard() -> None:
    two = identity(case("scale_scalar", call(), call(scalar="2.5")))
    three = identity(case("scale_scalar", call(), call(scalar="2.5"), call(scalar="3.5")))
    assert two.changes == ("scalar",) and three.changes == ("scalar x3",)


def test_mechanisms_tell_events_apart_and_quantities_do_not() -> None:
    def replaced(how: str) -> Identity:
        return identity(case("call_method", call(), event("replace_method", how), call()))

    def set_to(value: str) -> Identity:
        return identity(case("read_float", call(), event("set_float_attribute", value), call()))

    assert replaced("class") != replaced("code")
    assert set_to("2.5") == set_to("0.5")


def test_a_death_is_where_it_happened() -> None:
    shapes = case("relu", call(2), call(3))
    flags = case("relu", call(), call(mode="eval"))
    detail = "SIGSEGV in compile_frame < __call__"
    assert identity(shapes, detail=detail) == identity(flags, detail=detail)
    assert identity(shapes, detail=detail) != identity(shapes, detail="SIGSEGV in load < __call__")


def test_a_known_cause_is_covered_and_taken_out() -> None:
    hook = case("call_submodule", call(), event("add_forward_hook", "submodule"), call(3))
    known = identity(hook)
    assert covers(known, hook, VOCABULARY, "wrong_gradient")
    assert not covers(known, hook, VOCABULARY, "crash")
    assert not covers(known, case("relu", call(), call(3)), VOCABULARY)
    left = subtract(through_bytes(hook, VOCABULARY), known, VOCABULARY)
    assert changes_of(left, VOCABULARY) == ()


def test_only_the_value_that_a_known_cause_names_is_taken_out() -> None:
    on_class, code = event("replace_method", "class"), event("replace_method", "code")
    known = identity(case("call_method", call(), on_class, call()))
    both = through_bytes(case("call_method", call(), on_class, code, call()), VOCABULARY)
    left = subtract(both, known, VOCABULARY)
    assert changes_of(left, VOCABULARY) == ("replace_method=code",)
    overlap = identity(case("add_tensor", call(alias="overlapping"), call()))
    view = case("add_tensor", call(), call(alias="view"), call(alias="overlapping"))
    assert subtract(view, overlap, VOCABULARY).steps == (call(), call(alias="view"), call())


def test_known_entries_match_what_they_name_and_nothing_else() -> None:
    entries = read(HARNESS.folder / "known.toml")
    hook = identity(case("call_submodule", call(), event("add_forward_hook", "submodule"), call()))
    assert "documented limit" in explain(entries, hook, "")
    code = identity(case("call_method", call(), event("replace_method", "code"), call()))
    assert "197860" in explain(entries, code, "")
    on_class = identity(case("call_method", call(), event("replace_method", "class"), call()))
    assert explain(entries, on_class, "") == ""
