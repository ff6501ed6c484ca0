"""What an operator's models have shown is expected of the next one with it, until it is spent."""

from __future__ import annotations

from rondo.promise import Promise
from rondo.testcase import Call, Model, Operator, TestCase

PLAIN = TestCase(Model("nothing"), (), (Call(),))


def having(*kinds: str) -> TestCase:
    return PLAIN.with_operators(tuple(Operator(kind) for kind in kinds))


def learned(rounds: int) -> Promise:
    """Cases with dropout show new signatures, those with relu do not."""
    promise = Promise()
    for _ in range(rounds):
        promise.learn(having("dropout"), 2, 5.0, False)
        promise.learn(having("relu"), 0, 5.0, False)
    return promise


def test_an_unknown_operator_promises_what_all_do() -> None:
    assert Promise().factor(having("relu")) == 1.0
    assert Promise().factor(PLAIN) == 1.0


def test_operators_that_showed_more_promise_more() -> None:
    promise = learned(20)
    assert promise.factor(having("dropout")) > 1.2 > 0.9 > promise.factor(having("relu"))
    both = promise.factor(having("dropout", "relu"))
    assert promise.factor(having("relu")) < both < promise.factor(having("dropout"))


def test_an_operator_that_has_shown_all_is_not_preferred() -> None:
    promise = learned(20)
    before = promise.factor(having("dropout"))
    for _ in range(100):
        promise.learn(having("dropout"), 0, 5.0, False)
        promise.learn(having("relu"), 1, 5.0, False)
    assert promise.factor(having("dropout")) < 1 < promise.factor(having("relu"))
    assert before > 1


def test_a_costly_layer_is_measured_by_its_own_rate() -> None:
    """The same signatures for twenty times the work on a costly layer are as expected there."""
    promise = Promise()
    for _ in range(40):
        promise.learn(having("dropout"), 1, 5.0, False)
        promise.learn(having("relu"), 1, 100.0, True)
    assert 0.9 < promise.factor(having("dropout")) < 1.1
    assert 0.9 < promise.factor(having("relu")) < 1.1
