"""How a step is compared: what a narrow type has rounded stays so, an exception says why."""

from __future__ import annotations

import numpy as np
import pytest

from harnesses import toy
from rondo.compare import step_difference
from rondo.executor.protocol import Observation, StepRecord


def record(arm: str, step: int, role: str, value: float, dtype: str = "float32") -> StepRecord:
    """A step that shows one number."""
    array = np.asarray([value], "float32")
    seen = Observation(role, "w", dtype, array.shape, array.dtype.str, array.tobytes())
    return StepRecord(arm, step, (seen,))


NARROW = record("eager", 0, "output", 1.0, "bfloat16")
PLAIN = record("eager", 0, "output", 1.0)
KEPT = ("gradient", "parameter", "buffer", "attribute")


@pytest.mark.parametrize("role", KEPT)
def test_state_after_a_step_in_a_narrow_type_may_differ_by_its_rounding(role: str) -> None:
    eager, got = record("eager", 1, role, -12.0587), record("retained", 1, role, -12.0569)
    assert step_difference(toy.HARNESS, eager, got, None, (NARROW,)) is None
    assert step_difference(toy.HARNESS, eager, got, None, (PLAIN,)) is not None


def test_what_a_later_step_returns_has_its_own_precision() -> None:
    eager, got = record("eager", 1, "output", 1.0), record("retained", 1, "output", 1.002)
    found = step_difference(toy.HARNESS, eager, got, None, (NARROW,))
    assert found is not None and found.symptom == "wrong_result"


def test_more_than_the_rounding_is_a_difference_all_the_same() -> None:
    eager, got = record("eager", 1, "gradient", 1.0), record("retained", 1, "gradient", 2.0)
    found = step_difference(toy.HARNESS, eager, got, None, (NARROW,))
    assert found is not None and found.symptom == "wrong_gradient"


def gradients(arm: str, first: float, second: float, dtype: str = "float32") -> StepRecord:
    """A step with two gradients."""
    seen = []
    for path, value in (("bias", first), ("weight", second)):
        array = np.asarray([value], dtype)
        seen.append(
            Observation("gradient", path, dtype, array.shape, array.dtype.str, array.tobytes())
        )
    return StepRecord(arm, 0, tuple(seen))


def test_a_gradient_that_cancels_out_is_as_exact_as_the_largest_one() -> None:
    eager, got = gradients("eager", -3.5e-6, 128.0), gradients("retained", 9.3e-5, 128.0)
    wide = gradients("float64", 6e-15, 128.0, "float64")
    alone = gradients("float64", 6e-15, 6e-15, "float64")
    assert step_difference(toy.HARNESS, eager, got) is not None
    assert step_difference(toy.HARNESS, eager, got, wide) is None
    assert step_difference(toy.HARNESS, eager, got, alone) is not None


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("", "E: "),
        ("one\ntwo", "E: one"),
        ("backend='inductor' raised:\nRuntimeError: why\nmore", "raised: RuntimeError: why"),
    ],
)
def test_an_exception_is_told_by_what_it_says(message: str, said: str) -> None:
    got = StepRecord("retained", 0, (), ("E",), message)
    found = step_difference(toy.HARNESS, StepRecord("eager", 0), got)
    assert found is not None and found.detail.endswith(said)
