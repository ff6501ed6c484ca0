"""What each deviation of a call does to its text, and the words for it."""

from __future__ import annotations

from collections.abc import Iterator

from harnesses.emission import (
    CallPlan,
    Effect,
    around,
    before,
    callee,
    context,
    inputs,
    put,
    wrapped,
)
from rondo.vocabulary import LENGTHS, Dimension, values

OWN_DIMENSIONS = (
    Dimension("numbers", values("two", "others", "three", "whole"), "arg.numbers", weight=2),
)
"""What the toy framework's calls can deviate in beside the shared dimensions."""

_PROFILES = ("zeros", "ones", "large", "tiny", "repeated")
_LAYOUTS = ("transposed", "sliced", "strided", "expanded", "channels_last")
_SCALARS = ("2.5", "3.5", "1.0", "1", "True", "2", "3", "0", "0.0", "7", "-1", "False")
_MODES = {
    "no_grad": ("in no-grad mode", "toy.no_grad()"),
    "float16": ("under float16 autocast", 'toy.autocast("float16")'),
    "disabled": ("with autocast switched off", "toy.autocast(None)"),
}


def _bad_shape(plan: CallPlan) -> None:
    """Sizes that no parameter fits."""
    plan.inputs.append("x = toy.sample((2, 3, 5, 7), seed=0)")


def _table() -> Iterator[tuple[str, str, Effect]]:
    for size in LENGTHS[1:]:
        yield "length", str(size), Effect(f"length {size}", put(length=str(size)))
    for dtype in ("float64", "float16", "int64"):
        yield "dtype", dtype, Effect(f"dtype {dtype}", put(dtype=dtype))
    for layout in _LAYOUTS:
        says = f"{layout.replace('_', ' ')} layout"
        yield "layout", layout, Effect(says, inputs(f'x = toy.arranged(x, "{layout}")'))
    for profile in _PROFILES:
        yield "profile", profile, Effect(f"{profile} values", put(profile=profile))
    for number in _SCALARS:
        yield "scalar", number, Effect(f"scalar {number}", put(scalar=number))
    for dimension, value in (
        ("grad_mode", "no_grad"),
        ("autocast", "float16"),
        ("autocast", "disabled"),
    ):
        says, expression = _MODES[value]
        yield dimension, value, Effect(says, context(expression))
    yield from _OTHERS


_OTHERS = (
    ("mode", "eval", Effect("in eval mode", around("s.model.eval()", "s.model.train()"))),
    ("alias", "same", Effect("other is x", put(other="x"))),
    (
        "alias",
        "overlapping",
        Effect("other overlaps x", put(other="x[:1]")),
    ),
    ("alias", "view", Effect("other is a view of x", put(other="x[...]"))),
    ("structure", "keyword", Effect("by keyword", put(structure="keyword"))),
    ("items", "one", Effect("one item", put(items="[a]"))),
    ("items", "three", Effect("three items", put(items="[a, b, a * 2]"))),
    ("items", "tuple", Effect("items in a tuple", put(items="(a, b)"))),
    ("items", "same_twice", Effect("the same item twice", put(items="[a, a]"))),
    (
        "items",
        "same_list",
        Effect("the list of items of earlier calls", put(items='s.part("items", lambda: [a, b])')),
    ),
    ("optional", "given", Effect("the optional argument given", put(optional="x * 2"))),
    ("optional", "is_input", Effect("the optional argument is x", put(optional="x"))),
    (
        "function",
        "other_default",
        Effect("a function with another default", put(function="scaled_more")),
    ),
    ("function", "other_code", Effect("another function", put(function="shifted"))),
    ("values", "first_step", Effect("the values of the first step", put(seed="1"))),
    (
        "values",
        "previous_tensors",
        Effect("the tensor of the call before, where it fits", inputs("x = s.previous(x)")),
    ),
    ("rng", "first_step_seed", Effect("the first step's seed", before("reseed(1)"))),
    (
        "rng",
        "python_advanced",
        Effect("Python's random stream advanced", before("toy.python_random.random()")),
    ),
    ("rng", "advanced", Effect("the random stream advanced", before("toy.rand(3)"))),
    (
        "callee",
        "again",
        Effect("the model compiled a second time", callee('s.compiled("again", s.model)')),
    ),
    (
        "callee",
        "again_dynamic",
        Effect(
            "the model compiled with dynamic=True",
            callee('s.compiled("dynamic", s.model, dynamic=True)'),
        ),
    ),
    (
        "callee",
        "copy",
        Effect(
            "a copy of the model",
            callee('s.compiled("copy", copied)', 'copied = s.part("copy", s.copy_model)'),
        ),
    ),
    (
        "callee",
        "second",
        Effect(
            "a second instance of the model",
            callee('s.compiled("second", second)', 'second = s.part("second", Model)'),
        ),
    ),
    (
        "callee",
        "method",
        Effect("the compiled bound method", callee('s.compiled("method", s.model.forward)')),
    ),
    ("callee", "eager", Effect("without the compiler", callee("s.model"))),
    ("thread", "other", Effect("in another thread", wrapped("s.in_thread(lambda: {call})"))),
    ("bad_call", "bad_shape", Effect("a shape that must fail", _bad_shape)),
    (
        "bad_call",
        "bad_type",
        Effect("a type that must fail", inputs("x = None")),
    ),
    ("numbers", "others", Effect("other numbers", put(numbers="[2.5, 3.5]"))),
    ("numbers", "three", Effect("three numbers", put(numbers="[1.5, 2.5, 3.5]"))),
    ("numbers", "whole", Effect("whole numbers", put(numbers="[2, 3]"))),
)

EFFECTS: dict[tuple[str, str], Effect] = {(name, value): e for name, value, e in _table()}
"""Effects by dimension and value."""
