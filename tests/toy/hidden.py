"""Failing toy sequences that are much longer than they need to be."""

from __future__ import annotations

import random

from harnesses.toy import HARNESS
from rondo.codec import Codec
from rondo.generate import random_case, random_operator
from rondo.testcase import Call, Step, TestCase

CODEC = Codec(HARNESS.vocabulary)
STEPS = 15


def hidden(rng: random.Random, *shortest: TestCase, count: int = STEPS) -> TestCase:
    """Shortest sequences one after the other, among random steps that do not raise, on a model
    with the operators of all and up to three more; `count` steps before what does not fit the
    model is left out."""
    more = tuple(random_operator(rng) for _ in range(rng.randrange(1, 4)))
    operators = tuple(operator for case in shortest for operator in case.model.operators)
    settings = dict(pair for case in shortest for pair in case.settings)
    steps = [step for case in shortest for step in case.steps]
    while len(steps) < count:
        extra = [step for step in random_case(rng, CODEC).steps if not _raises(step)]
        at = rng.randrange(len(steps) + 1)
        steps[at:at] = extra[:1]
    given = TestCase(shortest[0].model, tuple(settings.items()), tuple(steps))
    return CODEC.normal(given.with_operators((*operators, *more)))


def _raises(step: Step) -> bool:
    return isinstance(step, Call) and step.get("bad_call", "no") != "no"
