"""Features and counters: what libFuzzer is told once, and what is counted."""

from __future__ import annotations

import pytest

from rondo import feedback
from rondo.feedback import Feedback


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Feedback:
    """Feedback with one counter for lines and many for behaviour."""
    monkeypatch.setattr(feedback, "LINE_COUNTERS", 1)
    monkeypatch.setattr(feedback, "BEHAVIOUR_COUNTERS", 1 << 10)
    return Feedback()


def test_features_that_share_a_counter_are_counted_and_new_once(few: Feedback) -> None:
    lines = ["line a.py:1", "line a.py:2", "line b.py:1"]
    assert few.unseen(lines) == lines
    for _ in range(2):
        few.report(lines)
    assert few.unseen(lines) == []
    assert few.lines == 3 and few.collided == set(lines[1:])


def test_lines_and_behaviour_are_counted_apart(few: Feedback) -> None:
    few.report(["line a.py:1", "step compiled", "pair compiled > reused"])
    few.report(["step compiled"])
    assert (few.lines, few.behaviours) == (1, 2)
    assert few.kinds == {"line": 1, "step": 1, "pair": 1} and not few.collided
