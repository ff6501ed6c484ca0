"""Mutators in turn: each gets a case that fits its model, and leaves one."""

from __future__ import annotations

import random
from itertools import product

from harnesses.toy import HARNESS
from rondo.codec import Codec
from rondo.generate import random_case
from rondo.mutate import MUTATORS, cross, mutate
from rondo.testcase import Call, Event
from tests.cases import call, case

CODEC = Codec(HARNESS.vocabulary)


def test_any_two_mutators_in_turn_leave_a_case_that_fits_its_model() -> None:
    rng = random.Random(3)
    changed = 0
    for names in product(MUTATORS, repeat=2):
        for _ in range(12):
            given = random_case(rng, CODEC)
            made = mutate(rng, CODEC, given, names)
            assert made == CODEC.normal(made), names
            changed += made != given
    assert changed > 0.9 * 12 * len(MUTATORS) ** 2


def test_crossing_leaves_a_case_that_fits_the_first_model() -> None:
    rng = random.Random(4)
    for _ in range(200):
        first, second = random_case(rng, CODEC), random_case(rng, CODEC)
        made = cross(rng, CODEC, first, second)
        assert made == CODEC.normal(made) and made.settings == first.settings


def test_no_sequence_is_drawn_that_ends_with_an_event() -> None:
    rng = random.Random(5)
    drawn = [random_case(rng, CODEC) for _ in range(400)]
    assert not any(isinstance(one.steps[-1], Event) for one in drawn)


def test_two_events_at_once_come_before_the_call_that_may_show_them() -> None:
    rng, given = random.Random(6), case("call_closure", call())
    made = [mutate(rng, CODEC, given, ("set_up_and_trigger",)) for _ in range(200)]
    added = [[type(step) for step in one.steps[1:]] for one in made]
    once, twice = added.count([Event, Call]), added.count([Event, Event, Call])
    assert once + twice == 200 and once > twice > 20
