"""The standalone program of a toy finding: the test case's own text with a small main."""

from __future__ import annotations

from harnesses.base import Program
from harnesses.standalone import Parts, standalone

_LOOK = '''
def look(value):
    """The leaves of a value: arrays by type, sizes, strides and numbers."""
    if isinstance(value, dict):
        return [leaf for key, entry in value.items() for leaf in [key, *look(entry)]]
    if isinstance(value, (list, tuple)):
        return [len(value), *(leaf for entry in value for leaf in look(entry))]
    if isinstance(value, toy.Array):
        return [(value.dtype, value.data.shape, value.data.strides, value.data.astype("float64"))]
    return [repr(value) if isinstance(value, (bool, int, float, str)) else type(value).__name__]


def seen(s, result):
    """What a user can see: results, inputs, program state, randomness."""
    parts = [s.model, *(p for p in getattr(s, "parts", {}).values() if hasattr(p, "modules"))]
    leaves = look([result, *(part.visible_state() for part in parts)])
    return [*leaves, *look(toy.rand(1)), toy.python_random.random()]
'''

_PARTS = Parts(
    look=_LOOK,
    versions='"toy"',
    setup="toy.reset()",
    third_party=("import numpy as np", "from harnesses.toy import compiler as toy"),
    note="The toy framework is `harnesses.toy`: have Rondo installed, or its root on PYTHONPATH.",
)


def repro(program: Program, exposing: int, title: str, seconds: int) -> str:
    """The standalone text of a program whose step `exposing` shows a bug."""
    return standalone(program, _PARTS, exposing, title, seconds)
