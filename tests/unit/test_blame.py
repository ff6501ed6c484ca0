"""Blame tries each step and setting by itself and says what became of the failure."""

from __future__ import annotations

from harnesses.torch_inductor import HARNESS
from rondo.blame import GONE, THERE, Blame, needed
from rondo.codec import Codec
from rondo.compare import Difference
from rondo.oracle import Verdict
from rondo.testcase import Event, TestCase
from tests.cases import call, case, event, through_bytes

CODEC = Codec(HARNESS.vocabulary)
CASE = through_bytes(
    case("read_float", call(3), event("set_float_attribute", "3.5"), call(mode="eval")),
    HARNESS.vocabulary,
)
VERDICT = Verdict(
    "stateful",
    Difference(2, "wrong_result", "output:out", "1 instead of 2"),
    behaviour=((0, ("compiled",)), (2, ("reused",))),
)


def stale_attribute(given: TestCase) -> Verdict:
    """Fails when an event stands between two calls, on every backend but inductor."""
    kinds = [isinstance(step, Event) for step in given.steps]
    fails = kinds == [False, True, False] and given.setting("backend", "") != "inductor"
    return VERDICT if fails else Verdict("pass", behaviour=((len(kinds) - 1, ("compiled",)),))


def blame(seconds: float = 60) -> Blame:
    """The blame of the case above."""
    return Blame(CODEC, stale_attribute, CASE, VERDICT, seconds)


def test_steps_without_which_it_is_gone_establish_the_state() -> None:
    trials = blame().steps()
    assert {t.change: t.outcome for t in trials} == {
        "without step 1: call(3)": GONE,
        "step 1 with a batch of 2": THERE,
        "without step 2: set_float_attribute=3.5": GONE,
        "step 3 without mode=eval": THERE,
    }
    assert needed(trials) == (0, 1)
    assert trials[0].behaviour == ("compiled",) and trials[1].behaviour == ("reused",)


def test_settings_are_tried_at_their_other_values() -> None:
    trials = blame().settings()
    outcomes = {t.change: t.outcome for t in trials}
    assert outcomes["as shrunk: plain settings"] == outcomes["backend=aot_eager"] == THERE
    assert outcomes["backend=inductor"] == GONE
    assert not any(change.startswith("option=") for change in outcomes)


def test_it_ends_when_time_is_up() -> None:
    assert blame(0).steps() == () and len(blame(0).settings()) == 1
