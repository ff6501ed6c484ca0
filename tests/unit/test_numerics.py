"""When two observations count as the same."""

from __future__ import annotations

import numpy as np
import pytest

from rondo.executor.protocol import Observation
from rondo.numerics import coarsest, difference, magnitude


def seen(values: object, dtype: str = "float32", note: str = "") -> Observation:
    """An observation of an array; bfloat16 travels as float32."""
    stored = "float32" if dtype == "bfloat16" else dtype
    array = np.asarray(values, dtype=stored)
    return Observation("output", "out", dtype, array.shape, array.dtype.str, array.tobytes(), note)


def said(text: str) -> Observation:
    """An observation that is no array."""
    return Observation("attribute", "k", "int", data=text.encode())


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "bool"])
def test_equal_values_are_the_same(dtype: str) -> None:
    assert difference(seen([0, 1, 1], dtype), seen([0, 1, 1], dtype)) == ""


@pytest.mark.parametrize(
    ("eager", "got", "words"),
    [
        (seen([1.0]), seen([1.0], "float64"), "type float64 instead of float32"),
        (seen([1.0]), seen([1.0, 2.0]), "shape (2,) instead of (1,)"),
        (seen([1.0]), seen([1.0], note="requires_grad"), "requires_grad instead of no flags"),
        (seen([1.0, 2.0]), seen([1.0, 2.5]), "2.5 instead of 2"),
        (seen([1.0]), seen([np.nan]), "nan instead of 1"),
        (seen([1, 2], "int64"), seen([1, 3], "int64"), "3 instead of 2 at flat index 1"),
        (said("2"), said("3"), "3 instead of 2"),
    ],
)
def test_what_a_user_sees_is_told(eager: Observation, got: Observation, words: str) -> None:
    assert difference(eager, got) == words


def test_rounding_is_not_a_difference_and_more_than_rounding_is() -> None:
    assert difference(seen([1.0, np.nan, np.inf]), seen([1.00005, np.nan, np.inf])) == ""
    assert difference(seen([1.0]), seen([1.001])) != ""
    assert difference(seen([1.0], "bfloat16"), seen([1.01], "bfloat16")) == ""
    assert difference(seen([1.0], "bfloat16"), seen([1.1], "bfloat16")) != ""


def test_being_as_close_to_the_reference_as_eager_is_no_difference() -> None:
    wide = seen([1000.0, 1.0], "float64")
    eager, got = seen([1000.0, 1.04]), seen([1000.0, 0.95])
    assert difference(eager, got) != ""
    assert difference(eager, got, wide) == ""
    assert difference(eager, seen([1000.0, 3.0]), wide) != ""


def test_a_reference_that_is_not_finite_proves_nothing() -> None:
    wide = seen([np.inf], "float64")
    assert difference(seen([1.0]), seen([2.0]), wide) != ""


def test_a_float32_value_made_of_bfloat16_ones_is_as_exact_as_these_are() -> None:
    eager, got = seen([1.42188]), seen([1.41992])
    assert difference(eager, got) != ""
    assert difference(eager, got, precision=coarsest(["float32", "bfloat16", "int32"])) == ""
    assert difference(eager, seen([1.3]), precision="bfloat16") != ""
    assert coarsest(["int32"]) == ""


def test_what_cancels_out_is_judged_by_how_far_eager_is_from_the_reference() -> None:
    wide, eager = seen([-1.4e-11, 1e-11], "float64"), seen([6.6e-5, -6.6e-5])
    assert difference(eager, seen([0.0, 0.0])) != ""
    assert difference(eager, seen([0.0, 0.0]), wide) == ""
    assert difference(eager, seen([4e-4, -4e-4]), wide) != ""


def test_what_cancelled_out_is_as_exact_as_what_it_is_made_of() -> None:
    wide, eager = seen([6e-15], "float64"), seen([-3.5e-6])
    assert difference(eager, seen([9.3e-5]), wide) != ""
    assert difference(eager, seen([9.3e-5]), wide, neighbours=128.0) == ""
    assert difference(eager, seen([9.3e-2]), wide, neighbours=128.0) != ""
    small = seen([1e-3], "float64")
    assert difference(seen([1e-3]), seen([1.2e-3]), small, neighbours=128.0) != ""
    assert magnitude(seen([3.0, -3.0, np.nan], "float64")) == 3.0
    assert magnitude(said("2")) == 0.0
