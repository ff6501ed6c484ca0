"""Learned weights of mutators: what pays is drawn more, nothing dies, a seed decides."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from rondo.yields import CEILING, FLOOR, Yields, work


def learned() -> Yields:
    """Three mutators of one weight: one that pays, one that pays little, one not used yet."""
    yields = Yields({"rich": 2.0, "poor": 2.0, "new": 2.0})
    for _ in range(400):
        yields.observe(("rich",), 5, 2.0, 0.1)
        yields.observe(("poor",), 0, 2.0, 0.1)
    return yields


def test_what_pays_is_drawn_more_and_nothing_dies() -> None:
    names = ("rich", "poor", "new")
    shares = dict(zip(names, learned().weighted(names).shares(), strict=True))
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["rich"] > shares["new"] > shares["poor"]
    assert shares["poor"] / shares["new"] == pytest.approx(FLOOR, rel=0.01)
    assert shares["rich"] / shares["new"] < CEILING


def test_drawing_follows_the_shares_and_the_seed() -> None:
    weighted = learned().weighted(("rich", "poor"))
    first, again = random.Random(3), random.Random(3)
    drawn = [weighted.drawn(first) for _ in range(2000)]
    assert drawn == [weighted.drawn(again) for _ in range(2000)]
    assert Counter(drawn)["rich"] / 2000 == pytest.approx(weighted.shares()[0], abs=0.05)


def test_a_mutator_that_runs_dry_loses_what_it_had() -> None:
    yields = learned()
    before = yields.weighted(("rich", "poor")).shares()[0]
    for _ in range(1500):
        yields.observe(("rich",), 0, 2.0, 0.1)
        yields.observe(("poor",), 1, 2.0, 0.1)
    assert yields.weighted(("rich", "poor")).shares()[0] < 0.5 < before


def test_mutators_share_the_case_that_they_made_together() -> None:
    yields = Yields({"a": 1.0, "b": 1.0, "idle": 1.0})
    yields.observe(("a", "b"), 3, 2.0, 4.0)
    report = yields.report()
    assert set(report) == {"a", "b"}
    assert (report["a"].features, report["a"].seconds, report["a"].cases) == (1.5, 2.0, 1)


def test_a_compile_is_work_and_costs_more_on_the_whole_compiler() -> None:
    behaviour = ((0, ("compiled",)), (1, ("reused",)), (2, ("recompiled:shape",)))
    assert work((), False) == 1
    assert work(behaviour, False) == 3
    assert work(behaviour, True) > 10
