"""What a case tries, and that what has been tried often is worth less."""

from __future__ import annotations

from rondo.novelty import Tried, situations
from tests.cases import call, case, event


def test_situations_name_carriers_and_changes() -> None:
    given = case("relu", call(), event("paint", "once"), call(3, colour="green"), backend="whole")
    found = situations(given)
    for carrier in ("relu", "nothing", "backend=whole"):
        assert {(carrier, "paint"), (carrier, "paint", "once"), (carrier, "batch", "2 3")} <= found
        assert (carrier, "colour", "plain green") in found
    assert {("batch", "colour"), ("batch", "paint"), ("colour", "paint")} <= found


def test_a_repetition_is_tried_and_what_stands_at_the_ends_is_not() -> None:
    found = situations(case("relu", event("paint"), call(), call(), event("paint")))
    assert {name for _, name, *_ in found} == {"repeat"}
    assert situations(case("relu", call())) == frozenset()


def test_what_has_been_tried_is_worth_less() -> None:
    tried = Tried()
    old = case("relu", call(), call(3), call())
    new = case("relu", call(), call(colour="red"), call())
    assert tried.score(old) == tried.score(new)
    tried.record(old)
    after = tried.score(old)
    assert after < tried.score(new)
    tried.record(old)
    assert 0 < tried.score(old) < after


def test_longer_cases_are_not_worth_more_for_their_length() -> None:
    tried = Tried()
    short = case("relu", call(), call(3))
    assert tried.score(case("relu", call(), call(3), *[call(3)] * 8)) < 2 * tried.score(short)
