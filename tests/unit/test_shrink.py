"""The shrinker finds the smallest failing case, keeps the failure, and never grows it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harnesses.torch_inductor import HARNESS
from rondo.codec import Codec
from rondo.compare import Difference
from rondo.oracle import Verdict
from rondo.shrink import Journal, Shrinker, same_failure, size
from rondo.testcase import Call, Event, TestCase
from tests.cases import call, case, event, through_bytes

CODEC = Codec(HARNESS.vocabulary)
FAILING = Verdict("stateful", Difference(2, "wrong_result", "output:out", "1 instead of 2"))
PASSING = Verdict("pass")


def stale_hook(given: TestCase) -> Verdict:
    """Fails when a hook is added between two calls of a model with a sub-module."""
    kinds = [step.kind if isinstance(step, Event) else "call" for step in given.steps]
    if "add_forward_hook" not in kinds or "call_submodule" not in str(given.model):
        return PASSING
    at = kinds.index("add_forward_hook")
    return FAILING if "call" in kinds[:at] and "call" in kinds[at:] else PASSING


def large() -> TestCase:
    """A long way to say it."""
    return through_bytes(
        case(
            "tanh read_float call_submodule count_calls",
            call(17, mode="eval", dtype="float64"),
            event("set_float_attribute", "3.5"),
            call(3, backward="sum"),
            event("add_forward_hook", "submodule"),
            call(33, grad_mode="no_grad"),
            call(4),
            architecture="mlp",
            backend="inductor",
            dynamic="True",
        ),
        HARNESS.vocabulary,
    )


def test_it_ends_at_the_smallest_case() -> None:
    shrunk = Shrinker(CODEC, stale_hook, large(), FAILING, 60).run()
    assert shrunk.complete
    assert shrunk.case.steps == (Call(), Event("add_forward_hook", 0, "root"), Call())
    assert [op.kind for op in shrunk.case.model.operators] == ["call_submodule"]
    assert shrunk.case.model.architecture == "nothing" and shrunk.case.settings == ()
    assert shrunk.tried < 120


def test_no_candidate_is_judged_twice_and_none_is_larger() -> None:
    seen: list[bytes] = []
    first = CODEC.encode(large())

    def judge(candidate: TestCase) -> Verdict:
        seen.append(CODEC.encode(candidate))
        return stale_hook(candidate)

    Shrinker(CODEC, judge, large(), FAILING, 60).run()
    assert len(seen) == len(set(seen))
    sizes = [size(CODEC.decode(data), data) for data in (first, *seen)]
    assert all(sizes[0] > one for one in sizes[1:])


def test_another_failure_is_not_followed() -> None:
    other = Verdict("stateful", Difference(0, "exception", "exception:ValueError", "ValueError"))
    shrunk = Shrinker(CODEC, lambda _: other, large(), FAILING, 60).run()
    assert shrunk.case == large() and shrunk.verdict is FAILING


def test_it_stops_when_time_is_up() -> None:
    shrunk = Shrinker(CODEC, stale_hook, large(), FAILING, 0).run()
    assert not shrunk.complete and shrunk.case == large() and shrunk.tried == 0


def test_an_interrupted_search_goes_on_from_the_best_case_so_far(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    judged: list[bytes] = []

    def judge(candidate: TestCase) -> Verdict:
        judged.append(CODEC.encode(candidate))
        if len(judged) == 12:
            raise KeyboardInterrupt
        return stale_hook(candidate)

    try:
        Shrinker(CODEC, judge, large(), FAILING, 60, Journal(path)).run()
    except KeyboardInterrupt:
        path.write_text(path.read_text() + "0102 fai")
    known = Journal(path)
    assert set(judged[:11]) <= set(known.seen) and judged[11] not in known.seen
    before, again = len(judged), set(judged[:11])
    shrunk = Shrinker(CODEC, judge, large(), FAILING, 60, known).run()
    assert shrunk.complete and len(shrunk.case.steps) == 3
    assert not again & set(judged[before + 1 :]), "only the best case so far is judged again"


def test_a_different_failure_on_the_way_is_handed_back() -> None:
    other = Verdict("stateful", Difference(1, "exception", "exception:ValueError", "ValueError"))

    def judge(candidate: TestCase) -> Verdict:
        found = stale_hook(candidate)
        return other if found.kind == "pass" and candidate.calls > 1 else found

    shrunk = Shrinker(CODEC, judge, large(), FAILING, 60).run()
    assert len(shrunk.others) == 1 and judge(shrunk.others[0]) is other


def test_an_architecture_gives_way_to_one_of_its_operators() -> None:
    given = through_bytes(case("", call(), call(3), architecture="mlp"), HARNESS.vocabulary)

    def judge(candidate: TestCase) -> Verdict:
        made = candidate.model.architecture + str(candidate.model.operators)
        fails = candidate.calls == 2 and ("mlp" in made or "linear" in made)
        return replace(FAILING, difference=FAILING.difference) if fails else PASSING

    shrunk = Shrinker(CODEC, judge, given, FAILING, 60).run()
    assert shrunk.case.model.architecture == "nothing"
    assert [op.kind for op in shrunk.case.model.operators] == ["linear"]


def test_a_failure_of_a_new_artifact_is_another_than_that_of_a_stale_one() -> None:
    stale = replace(FAILING, behaviour=((2, ("reused",)),))
    fresh = replace(FAILING, behaviour=((2, ("compiled",)),))
    again = replace(FAILING, behaviour=((2, ("recompiled guard",)),))
    assert not same_failure(stale, fresh) and same_failure(fresh, again)


def full_cache(given: TestCase) -> Verdict:
    """Fails when more sizes are called than the cache has entries: two with the lowered limit."""
    sizes = {step.batch for step in given.steps if isinstance(step, Call)}
    return FAILING if len(sizes) > (2 if given.setting("option", "") else 8) else PASSING


def test_many_steps_become_few_where_a_setting_lowers_the_limit() -> None:
    sizes = (0, 1, 2, 3, 4, 5, 7, 8, 16)
    found = through_bytes(case("relu", *map(call, sizes)), HARNESS.vocabulary)
    shrunk = Shrinker(CODEC, full_cache, found, FAILING, 60).run()
    assert shrunk.complete and len(shrunk.case.steps) == 3
    assert [name for name, _ in shrunk.case.settings] == ["option"]


def test_an_event_that_only_made_it_compile_again_gives_way_to_an_argument() -> None:
    steps = (call(2), call(3), call(4), event("add_forward_hook", "submodule"), call(2))
    given = through_bytes(case("call_submodule scale_scalar", *steps), HARNESS.vocabulary)

    def judge(candidate: TestCase) -> Verdict:
        """Fails from the fourth compilation on: of other arguments, or behind another event."""
        made, events = set(), 0
        for step in candidate.steps:
            events += isinstance(step, Event)
            if isinstance(step, Call):
                made.add((step, events))
        return FAILING if len(made) >= 4 else PASSING

    shrunk = Shrinker(CODEC, judge, given, FAILING, 60).run()
    assert len(shrunk.case.steps) == 4 and shrunk.case.calls == 4
