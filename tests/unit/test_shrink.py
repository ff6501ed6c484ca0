"""The shrinker finds the smallest failing case, keeps the failure, and never grows it."""

from __future__ import annotations

from harnesses.torch_inductor import HARNESS
from rondo.codec import Codec
from rondo.oracle import Difference, Verdict
from rondo.shrink import Shrinker
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
    assert all((len(data), data) < (len(first), first) for data in seen)


def test_another_failure_is_not_followed() -> None:
    other = Verdict("stateful", Difference(0, "exception", "exception:ValueError", "ValueError"))
    shrunk = Shrinker(CODEC, lambda _: other, large(), FAILING, 60).run()
    assert shrunk.case == large() and shrunk.verdict is FAILING


def test_it_stops_when_time_is_up() -> None:
    shrunk = Shrinker(CODEC, stale_hook, large(), FAILING, 0).run()
    assert not shrunk.complete and shrunk.case == large() and shrunk.tried == 0
