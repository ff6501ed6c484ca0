"""The standalone program of a toy finding: the test case's own text with a small main."""

from __future__ import annotations

import re

from harnesses.base import Program, Shown, Wanted
from harnesses.flat import Flat, compiled_in
from harnesses.standalone import Look, Parts, standalone

_LOOK_ALL = '''
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

_READABLE = re.compile(r"\w+(\[(\d+|'\w+')\]|\.\w+)*")


def look(shown: Shown) -> Look | None:
    """How to see one place of a toy program after the exposing step."""
    if not _READABLE.fullmatch(shown.path) or not shown.there or shown.role == "rng":
        return None
    place = shown.path.replace("'", '"')
    if not shown.array:
        return Look(f"[type({place}).__name__, repr({place})]")
    numbers = f'{place}.data.astype("float64")'
    return Look(f"[{place}.dtype, {place}.data.shape, {place}.data.strides, {numbers}]", True)


def _flat(program: Program) -> Flat:
    options = re.search(r"options = \{(.*)\} \| options", program.text)
    named = re.sub(r'"(\w+)": ', r"\1=", options[1]) if options else ""
    compiled = f"toy.compile({', '.join(filter(None, ('model', named)))})"
    return Flat(
        callee='s.compiled("model", s.model)',
        start=compiled_in("retained", compiled, "model"),
        fresh=compiled_in("reset", compiled, "f"),
    )


def repro(program: Program, wanted: Wanted) -> str:
    """The standalone text of a program that shows a bug."""
    parts = Parts(
        look=look,
        look_all=_LOOK_ALL,
        flat=_flat(program),
        versions='"toy"',
        begin=("toy.reset()",),
        imports=("from harnesses.toy import compiler as toy",),
        note="Needs Rondo on PYTHONPATH.",
    )
    return standalone(program, parts, wanted)
