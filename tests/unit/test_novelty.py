"""What a case tries, and that what has been tried often is worth less."""

from __future__ import annotations

from harnesses.toy import HARNESS
from rondo.novelty import Tried, touches
from rondo.testcase import TestCase
from tests.cases import call, case, event

VOCABULARY = HARNESS.vocabulary


def situations(given: TestCase) -> dict[tuple[str, ...], float]:
    return dict(Tried(VOCABULARY).situations(given))


def test_situations_name_operators_changes_and_both() -> None:
    changed = (event("set_closure_cell", "10.0"), call(3, mode="eval"))
    found = situations(case("call_closure relu", call(), *changed, backend="fuse"))
    for operator in ("call_closure", "relu"):
        assert {(operator, "set_closure_cell"), (operator, "set_closure_cell", "10.0")} <= {*found}
        assert {(operator, "batch", "2 3"), (operator, "mode", "plain eval")} <= {*found}
        assert ("operator", operator) in found
    assert {("set_closure_cell",), ("nothing", "batch"), ("backend=fuse", "mode")} <= {*found}
    assert {("batch", "mode"), ("batch", "set_closure_cell"), ("mode", "set_closure_cell")} <= {
        *found
    }


def test_operators_and_settings_are_tried_on_each_layer() -> None:
    tried = Tried(VOCABULARY)
    layer = VOCABULARY.settings[0]
    plain, last = (
        case("relu", call(), **{layer.name: v}) for v in (layer.values[0], layer.values[-1])
    )
    before = tried.score(last)
    for _ in range(50):
        tried.record(plain)
    assert tried.score(last) > 4 * tried.score(plain) and tried.score(last) > before / 2


def test_a_case_about_operators_wants_those_that_its_layer_has_not_met() -> None:
    tried, setting = Tried(VOCABULARY), VOCABULARY.settings[0]
    on_layer = {setting.name: setting.values[0]}
    changing = case("call_closure", call(), event("set_closure_cell", "2.5"), call(), **on_layer)
    plain = case("call_closure relu", call(), **on_layer)
    for backend in setting.values[1:]:
        for _ in range(50):
            tried.record(case("call_closure relu", call(), **{setting.name: backend}))
    assert tried.score(plain) < tried.score(changing)
    assert tried.score(plain, varied=True) > tried.score(changing, varied=True)


def test_changes_at_once_count_for_an_operator_that_one_of_them_is_about() -> None:
    drop, change = event("drop_compiler_state", "in_memory"), event("set_closure_cell", "2.5")
    pair = ("drop_compiler_state", "set_closure_cell")
    found = situations(case("call_closure relu", call(), drop, change, call()))
    assert found["call_closure", *pair] > found[pair] and ("relu", *pair) not in found
    apart = situations(case("call_closure relu", call(), drop, call(), change, call()))
    assert ("call_closure", *pair) not in apart


def test_what_has_to_do_with_each_other_counts_more() -> None:
    found = situations(case("call_closure relu", call(), event("set_closure_cell", "2.5"), call()))
    assert found["call_closure", "set_closure_cell"] > found["relu", "set_closure_cell"]


def test_a_change_that_is_about_every_model_counts_more_than_one_that_meets_by_chance() -> None:
    hook, other = event("add_forward_hook", "root"), event("set_closure_cell", "2.5")
    found = situations(case("relu call_closure", call(), hook, call(), other, call()))
    by_chance, any_model = found["relu", "set_closure_cell"], found["relu", "add_forward_hook"]
    assert by_chance < any_model < found["call_closure", "set_closure_cell"]


def test_an_operator_is_touched_by_what_it_owns_takes_and_senses() -> None:
    assert touches(VOCABULARY, "call_closure", "set_closure_cell", "2.5")
    assert touches(VOCABULARY, "scale_scalar", "scalar", "2.5")
    assert touches(VOCABULARY, "branch_single", "batch", "1")
    assert touches(VOCABULARY, "literal_tensor", "set_default_dtype", "float64")
    for operator, name in (("relu", "set_closure_cell"), ("relu", "batch"), ("relu", "no such")):
        assert not touches(VOCABULARY, operator, name, "2.5")
    assert not touches(VOCABULARY, "no such", "set_closure_cell", "2.5")


def test_what_changes_for_the_second_time_is_another_situation() -> None:
    once = situations(case("branch_single", call(), call(3)))
    twice = situations(case("branch_single", call(), call(3), call(1)))
    again = {("again", "batch"), ("branch_single", "again", "batch", "1")}
    assert again <= {*twice} and not again & {*once}


def test_a_repetition_is_tried_and_what_stands_at_the_ends_is_not() -> None:
    ends = event("collect_garbage", "dropped")
    found = situations(case("relu", ends, call(), call(), ends))
    assert ("repeat",) in found and not any("collect_garbage" in parts for parts in found)
    alone = {("operator", "relu"), ("interpret", "operator", "relu"), ("interpret", "nothing")}
    assert {*situations(case("relu", call()))} == alone


def test_what_holds_already_is_no_change() -> None:
    idle, acts = event("set_default_dtype", "float32"), event("set_default_dtype", "float64")
    for steps in ((idle,), (idle, idle)):
        assert ("repeat",) in situations(case("relu", call(), *steps, call()))
    for steps in ((acts,), (acts, acts)):
        found = situations(case("relu", call(), *steps, call()))
        assert ("set_default_dtype", "float64") in found
    back = situations(case("relu", call(), acts, call(), idle, call()))
    assert ("again", "set_default_dtype", "float32") in back


def test_what_has_been_tried_is_worth_less() -> None:
    tried = Tried(VOCABULARY)
    old = case("relu", call(), call(3), call())
    new = case("relu", call(), call(4), call())
    assert tried.score(old) == tried.score(new)
    tried.record(old)
    after = tried.score(old)
    assert after < tried.score(new)
    tried.record(old)
    assert 0 < tried.score(old) < after


def test_longer_cases_are_not_worth_more_for_their_length() -> None:
    tried = Tried(VOCABULARY)
    short = case("relu", call(), call(3))
    assert tried.score(case("relu", call(), call(3), *[call(3)] * 8)) < 2 * tried.score(short)


def test_changes_at_once_share_what_one_alone_counts() -> None:
    alone = situations(case("branch_training", call(), call(mode="eval")))
    both = situations(case("branch_training", call(), call(3, mode="eval")))
    pair = ("branch_training", "mode")
    assert both[pair] == alone[pair] / 2
    apart = situations(case("branch_training", call(), call(3, mode="eval"), call(3)))
    assert apart[pair] == alone[pair]


def test_larger_models_are_worth_less_for_the_same_changes() -> None:
    tried = Tried(VOCABULARY)
    small = case("call_closure", call(), event("set_closure_cell", "2.5"), call())
    large = case(f"call_closure{6 * ' relu'}", *small.steps)
    assert tried.score(large) < tried.score(small)


def test_what_belongs_together_is_tried_on_each_layer() -> None:
    tried = Tried(VOCABULARY)
    steps = (call(), event("set_closure_cell", "2.5"), call())
    cheap, whole = case("call_closure", *steps), case("call_closure", *steps, backend="fuse")
    tried.record(cheap)
    new = tried.situations(whole).keys() - tried.counts.keys()
    assert ("fuse", "call_closure", "set_closure_cell") in new
    assert ("call_closure", "set_closure_cell") in tried.counts
