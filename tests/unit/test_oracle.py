"""What the oracle makes of arms, given what each showed."""

from __future__ import annotations

import numpy as np
import pytest

from harnesses.toy import HARNESS
from rondo.executor.protocol import Executor, Job, Observation, Outcome, StepRecord
from rondo.oracle import ROUNDED, SURVIVES, Oracle
from tests.cases import call, case, through_bytes

TWO_CALLS = through_bytes(case("running_mean", call(), call()), HARNESS.vocabulary)
RIGHT, WRONG = 2.0, 3.0


def number(role: str, path: str, value: float) -> Observation:
    """An array of one float32."""
    array = np.float32([value])
    return Observation(role, path, "float32", array.shape, array.dtype.str, array.tobytes())


class Arms(Executor):
    """Gives two steps of any arm: the state that the first one leaves, and the second's output.

    Those of `wrong` give the wrong output, or raise where they are `raising`; the retained arm's
    state is `state`, that of others 1.
    """

    def __init__(self, state: float, wrong: tuple[str, ...], raising: bool = False) -> None:
        self.state, self.wrong, self.raising = state, wrong, raising

    def run(self, job: Job) -> Outcome:
        return Outcome({arm.name: self._steps(arm.name) for arm in job.arms})

    def run_both(self, first: Job, second: Job) -> tuple[Outcome, Outcome]:
        return self.run(first), self.run(second)

    def _steps(self, arm: str) -> list[StepRecord]:
        state = self.state if arm == "retained" else 1.0
        output = WRONG if arm in self.wrong else RIGHT
        left, given = number("buffer", "mean", state), number("output", "out", output)
        raised = ("ValueError",) if self.raising and arm in self.wrong else ()
        return [StepRecord(arm, 0, (left,)), StepRecord(arm, 1, (given,), raised, "no")]

    def close(self) -> None: ...

    def abandon(self) -> None: ...


@pytest.mark.parametrize(
    ("state", "wrong", "kind", "note"),
    [
        (1.0, ("retained",), "stateful", ""),
        (1.0, ("retained", "rewound"), "stateful", SURVIVES),
        (1.000001, ("retained",), "stateful", ""),
        (1.000001, ("retained", "rewound"), "pass", ROUNDED),
        (1.0, ("retained", "reset"), "stateless", "the reset arm is wrong too"),
        (1.0, (), "pass", ""),
    ],
)
def test_what_follows_from_rounding_is_no_matter_of_the_compilers_state(
    state: float, wrong: tuple[str, ...], kind: str, note: str
) -> None:
    verdict = Oracle(HARNESS, Arms(state, wrong)).judge(TWO_CALLS)
    assert (verdict.kind, verdict.note) == (kind, note)


def test_rounding_does_not_explain_an_exception() -> None:
    arms = Arms(1.000001, ("retained", "rewound"), raising=True)
    verdict = Oracle(HARNESS, arms).judge(TWO_CALLS)
    assert (verdict.kind, verdict.symptom, verdict.note) == ("stateful", "exception", SURVIVES)
