"""When do two observations count as the same: exact where exactness is promised, else within the
element type's tolerance or as close to the float64 reference as eager execution is.

The rule follows the idea of `torch._dynamo.utils.same` (PyTorch): a compiled result may be no
further from the float64 reference than a small multiple of eager's own distance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rondo.executor.protocol import Observation


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Relative and absolute bound, and how many times eager's own error is allowed."""

    relative: float
    absolute: float
    factor: float


_TOLERANCES = {
    "float64": Tolerance(1e-7, 1e-8, 3.0),
    "float32": Tolerance(1e-4, 1e-5, 3.0),
    "float16": Tolerance(4e-3, 4e-3, 8.0),
    "bfloat16": Tolerance(3e-2, 3e-2, 8.0),
}
REFERENCE_TRUST = {"float64": 1e-6, "float32": 1e-2, "float16": 0.1, "bfloat16": 0.3}
"""How far, relative to its magnitude, eager execution may be from the reference for the reference
to be one: where random numbers depend on the element type, it is another computation."""
_LEAST_MAGNITUDE = 0.01
"""Of a reference, for that question: where all but nothing is left of a difference, eager execution
is far from it in proportion."""
_CANCELLED = 1e-9
"""A reference this small beside its neighbours is zero but for rounding: a sum whose terms cancel
out, such as the gradient of a bias ahead of a batch norm. What is left in float32 is rounding of
the terms, which are as large as the neighbours are."""
_REFERENCE_FLOOR = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}


def coarsest(dtypes: Iterable[str]) -> str:
    """The least precise floating type among some types, or the empty string."""
    floating = [dtype for dtype in dtypes if dtype in _TOLERANCES]
    return max(floating, key=lambda dtype: _TOLERANCES[dtype].relative, default="")


def magnitude(seen: Observation) -> float:
    """The root mean square of a float64 reference's finite entries; 0 for what is no array."""
    if seen.kind != "<f8" or not seen.data:
        return 0.0
    values = np.asarray(_array(seen), dtype=np.float64)
    return _rms(values[np.isfinite(values)])


def _rms(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0


def difference(
    eager: Observation,
    got: Observation,
    wide: Observation | None = None,
    precision: str = "",
    neighbours: float = 0.0,
) -> str:
    """What differs between two observations of the same thing, or the empty string.

    `wide` is the same thing in the float64 reference, when there is one. `precision` is the least
    precise type that the step computed with: a float32 value made of bfloat16 ones is as exact as
    these are, and a compiler may keep what is between them in float32 where eager rounds.
    `neighbours` is the magnitude of the largest value that may have cancelled out in this one.
    """
    if eager.dtype != got.dtype:
        return f"type {got.dtype} instead of {eager.dtype}"
    if eager.shape != got.shape:
        return f"shape {got.shape} instead of {eager.shape}"
    if eager.note != got.note:
        return f"{got.note or 'no flags'} instead of {eager.note or 'no flags'}"
    if eager.data == got.data:
        return ""
    if not eager.kind:
        return f"{_text(got)} instead of {_text(eager)}"
    if eager.dtype not in _TOLERANCES:
        return _worst(_array(eager), _array(got))
    precision = coarsest((eager.dtype, precision))
    return _float_difference(eager, got, wide, precision, neighbours)


def reference_at(eager: Observation, got: Observation, wide: Observation | None) -> str:
    """What the float64 reference has where two arrays of floats differ most, or the empty string
    where there is none to compare with."""
    usable = wide is not None and wide.kind == "<f8" and wide.shape == eager.shape == got.shape
    if wide is None or not usable or eager.dtype not in _TOLERANCES or got.dtype != eager.dtype:
        return ""
    tolerance = _TOLERANCES[eager.dtype]
    expected, actual = _array(eager).astype(np.float64), _array(got).astype(np.float64)
    place = int(np.argmin(_close(actual, expected, tolerance).ravel()))
    return f"{_array(wide).ravel()[place]:.6g}"


def _close(
    actual: NDArray[np.float64], expected: NDArray[np.float64], tolerance: Tolerance
) -> NDArray[np.bool_]:
    return np.isclose(
        actual, expected, rtol=tolerance.relative, atol=tolerance.absolute, equal_nan=True
    )


def _text(value: Observation) -> str:
    return value.data.decode(errors="replace")[:80]


def _array(value: Observation) -> NDArray[np.generic]:
    return np.frombuffer(value.data, dtype=value.kind).reshape(value.shape)


def _worst(eager: NDArray[np.generic], got: NDArray[np.generic]) -> str:
    place = int(np.argmax(eager.ravel() != got.ravel()))
    return f"{got.ravel()[place]} instead of {eager.ravel()[place]} at flat index {place}"


def _float_difference(
    eager: Observation,
    got: Observation,
    wide: Observation | None,
    precision: str,
    neighbours: float,
) -> str:
    tolerance = _TOLERANCES[precision]
    expected = _array(eager).astype(np.float64)
    actual = _array(got).astype(np.float64)
    close = _close(actual, expected, tolerance)
    if close.all() or _near_reference(expected, actual, wide, precision, neighbours):
        return ""
    place = int(np.argmin(close.ravel()))
    return f"{actual.ravel()[place]:.6g} instead of {expected.ravel()[place]:.6g}"


def _near_reference(
    expected: NDArray[np.float64],
    actual: NDArray[np.float64],
    wide: Observation | None,
    precision: str,
    neighbours: float,
) -> bool:
    """Whether the compiled values are about as close to the reference as eager's are.

    Root mean square errors relative to the reference's magnitude, or to that of its neighbours
    where it cancelled out, over finite entries.
    """
    if wide is None or wide.kind != "<f8" or wide.shape != expected.shape:
        return False
    reference = np.asarray(_array(wide), dtype=np.float64)
    if not (np.isfinite(reference) & np.isfinite(actual) & np.isfinite(expected)).all():
        return False
    scale = _rms(reference)
    scale = neighbours if scale < _CANCELLED * neighbours else scale or 1.0
    eager_error = _rms(expected - reference)
    error = _rms(actual - reference)
    floor = _REFERENCE_FLOOR[precision] * scale
    if eager_error > REFERENCE_TRUST[precision] * max(scale, _LEAST_MAGNITUDE):
        return False
    return error <= _TOLERANCES[precision].factor * eager_error + floor
