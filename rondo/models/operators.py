"""The table of neutral operators that a model grows by: names, shape rules and what they carry.

An operator record never fails: one that does not fit the current value is passed on to the next
operator of the table that does. Features that carry state between calls (an attribute that
`forward` reads, a counter that it writes) are operators like any other, so that events have
something to act on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rondo.models.graph import Shape
from rondo.testcase import Operator

ShapeRule = Callable[[Shape, Operator], Shape | None]

FEATURES = (4, 8, 3, 6)
"""Output widths that a record can choose."""


def same(shape: Shape, record: Operator) -> Shape:
    """Element-wise: the shape stays."""
    return shape


def _last(shape: Shape) -> int | None:
    return shape[-1] if len(shape) > 1 and isinstance(shape[-1], int) else None


def with_features(shape: Shape, record: Operator) -> Shape | None:
    """The last axis, of known size, stays."""
    return shape if _last(shape) else None


def projected(shape: Shape, record: Operator) -> Shape | None:
    """The last axis gets another size, chosen by the record."""
    return (*shape[:-1], FEATURES[record.a % len(FEATURES)]) if _last(shape) else None


def doubled(shape: Shape, record: Operator) -> Shape | None:
    """The last axis twice as long, up to 16."""
    last = _last(shape)
    return (*shape[:-1], last * 2) if last and last <= 8 else None


def halved(shape: Shape, record: Operator) -> Shape | None:
    """The first half of the last axis."""
    last = _last(shape)
    return (*shape[:-1], last // 2) if last and last > 1 else None


def kept_one(shape: Shape, record: Operator) -> Shape | None:
    """The last axis reduced, kept with size one."""
    return (*shape[:-1], 1) if _last(shape) else None


def two_axes(shape: Shape, record: Operator) -> Shape | None:
    """Rank two with features: batch statistics make sense."""
    return shape if len(shape) == 2 and _last(shape) else None


def inner_swapped(shape: Shape, record: Operator) -> Shape | None:
    """The two inner axes, both of known size, change places."""
    if len(shape) < 3 or not isinstance(shape[-2], int) or not _last(shape):
        return None
    return (*shape[:-2], shape[-1], shape[-2])


def flattened(shape: Shape, record: Operator) -> Shape | None:
    """All axes after the batch, of known sizes, become one of at most 64."""
    total = 1
    for size in shape[1:]:
        if not isinstance(size, int):
            return None
        total *= size
    return (shape[0], total) if len(shape) > 2 and total <= 64 else None


@dataclass(frozen=True, slots=True)
class OperatorKind:
    """One neutral operator.

    `carries` are the traits that events act on, `argument` the forward argument it adds, `stem`
    the name of what it owns, `whole` that it works on integers too, `needs` a trait of the input.
    """

    name: str
    rule: ShapeRule = same
    carries: tuple[str, ...] = ()
    argument: str = ""
    stem: str = ""
    whole: bool = True
    needs: str = ""


def _floats(*names: str, rule: ShapeRule = same) -> tuple[OperatorKind, ...]:
    return tuple(OperatorKind(name, rule, whole=False) for name in names)


def _whole(*names: str, rule: ShapeRule = same) -> tuple[OperatorKind, ...]:
    return tuple(OperatorKind(name, rule) for name in names)


_ORDINARY = (
    *_whole("relu", "absolute", "negate", "square", "add_one", "double", "clamp", "cube_small"),
    *_floats("tanh", "sigmoid", "gelu", "sine", "exponential", "root", "reciprocal", "normalised"),
    *_floats("softmax", "log_softmax", rule=with_features),
    *_whole("cumulative_sum", "flip", "roll", rule=with_features),
    *_whole("where_positive", "add_input", "masked_fill"),
    *_whole("concatenate", rule=doubled),
    *_whole("slice_half", rule=halved),
    *_whole("sum_last", "maximum_last", rule=kept_one),
    *_floats("mean_last", rule=kept_one),
    *_whole("swap_inner", rule=inner_swapped),
    *_whole("flatten", rule=flattened),
    OperatorKind("linear", projected, ("parameter", "submodule"), stem="linear", whole=False),
    OperatorKind("matmul_weight", projected, ("parameter",), stem="weight", whole=False),
    OperatorKind("scale_weight", with_features, ("parameter",), stem="scale", whole=False),
    OperatorKind("layer_norm", with_features, ("parameter", "submodule"), stem="norm", whole=False),
    OperatorKind(
        "batch_norm", two_axes, ("parameter", "buffer", "submodule"), stem="batch", whole=False
    ),
    OperatorKind("dropout", carries=("submodule",), stem="drop", whole=False),
)

_READS_STATE = (
    OperatorKind("read_float", carries=("attr.float",), stem="gain", whole=False),
    OperatorKind("read_int", carries=("attr.int",), stem="shift"),
    OperatorKind("read_bool", carries=("attr.bool",), stem="flag"),
    OperatorKind("read_list", carries=("attr.list",), stem="factors", whole=False),
    OperatorKind("read_dict", carries=("attr.dict",), stem="table", whole=False),
    OperatorKind("read_enum", carries=("attr.enum",), stem="choice"),
    OperatorKind("read_tensor", carries=("attr.tensor",), stem="offset", whole=False),
    OperatorKind("read_object", carries=("attr.object",), stem="knobs", whole=False),
    OperatorKind("read_property", carries=("attr.property",), stem="level", whole=False),
    OperatorKind("read_class", carries=("attr.class",), stem="Rates", whole=False),
    OperatorKind("read_global", carries=("global.value",), stem="GLOBAL", whole=False),
    OperatorKind("call_global", carries=("global.function",), stem="helper"),
    OperatorKind("call_closure", carries=("closure",), stem="scaler", whole=False),
    OperatorKind("call_default", carries=("default",), stem="shifted", whole=False),
    OperatorKind("call_method", carries=("method",), stem="act"),
    OperatorKind("call_object", carries=("method.object",), stem="Act"),
    OperatorKind("call_submodule", carries=("submodule", "block"), stem="block"),
    OperatorKind("read_buffer", carries=("buffer",), stem="buffer", whole=False),
    OperatorKind("literal_tensor", carries=("attr.float",), stem="literal", whole=False),
)

_WRITES_STATE = (
    OperatorKind("count_calls", carries=("attr.int",), stem="calls"),
    OperatorKind("count_buffer", carries=("buffer",), stem="count", whole=False),
    OperatorKind("running_mean", carries=("buffer",), stem="mean", whole=False),
    OperatorKind("keep_history", carries=("history",), stem="history"),
    OperatorKind("keep_tensors", carries=("cache",), stem="kept", whole=False),
    OperatorKind("write_buffer", carries=("buffer",), stem="slot", whole=False),
    OperatorKind("mutate_input", needs="floats"),
    OperatorKind("write_input_row", needs="floats"),
)

_BRANCHES = _whole(
    "branch_batch",
    "branch_single",
    "branch_dtype",
    "branch_training",
    "branch_grad",
    "branch_contiguous",
    "branch_requires_grad",
    "branch_value",
    "size_arithmetic",
    "graph_break",
    "try_except",
    "without_grad",
)

_RANDOM = (
    *_floats("noise", "python_random"),
    OperatorKind("random_object", carries=("rng.object",), stem="dice", whole=False),
)

_CONTEXTS = (
    *_floats("make_ones"),
    *_floats("inner_autocast", rule=with_features),
)

_ARGUMENTS = (
    OperatorKind("add_tensor", argument="tensor", needs="floats"),
    OperatorKind("mutate_then_add", argument="tensor", needs="floats"),
    OperatorKind("scale_scalar", argument="scalar", whole=False),
    OperatorKind("clamp_scalar", argument="scalar"),
    OperatorKind("add_scalar", argument="scalar", whole=False),
    OperatorKind("branch_scalar", argument="scalar"),
    OperatorKind("typed_scalar", argument="scalar"),
    OperatorKind("fill_scalar", argument="scalar", whole=False),
    OperatorKind("sum_items", argument="list", needs="floats"),
    OperatorKind("number_list", argument="numbers", whole=False),
    OperatorKind("add_optional", argument="optional", needs="floats"),
    OperatorKind("apply_function", argument="function", whole=False),
)

_RETURNS = _whole(
    "return_input", "return_view", "return_twice", "return_dict", "return_tuple", "return_size"
)

SENSES: dict[str, tuple[str, ...]] = {
    "branch_dtype": ("dtype",),
    "branch_training": ("mode",),
    "dropout": ("mode", "rng"),
    "batch_norm": ("mode",),
    "batch_norm2d": ("mode",),
    "branch_grad": ("grad_mode",),
    "without_grad": ("grad_mode", "backward"),
    "branch_contiguous": ("layout",),
    "branch_requires_grad": ("requires_grad",),
    "noise": ("rng", "set_default_dtype"),
    "python_random": ("rng", "set_default_dtype"),
    "linear": ("autocast",),
    "matmul_weight": ("autocast",),
    "inner_autocast": ("autocast",),
    "make_ones": ("dtype", "set_default_dtype"),
    "fill_scalar": ("set_default_dtype",),
    "literal_tensor": ("set_default_dtype",),
    "mutate_input": ("values", "layout"),
    "write_input_row": ("values", "layout"),
}
"""Operator -> the dimensions of a call, beside batch and arguments, and the events on no carrier
that its result depends on."""

OPERATORS: dict[str, OperatorKind] = {
    kind.name: kind
    for kind in (
        *_ORDINARY,
        *_READS_STATE,
        *_WRITES_STATE,
        *_BRANCHES,
        *_RANDOM,
        *_CONTEXTS,
        *_ARGUMENTS,
        *_RETURNS,
    )
}
"""Every neutral operator by name, in the order of the byte format."""

FAMILIES: dict[str, tuple[str, ...]] = {
    "reads state": tuple(kind.name for kind in _READS_STATE),
    "writes state": tuple(kind.name for kind in _WRITES_STATE),
    "branches": tuple(kind.name for kind in _BRANCHES),
    "random": (*(kind.name for kind in _RANDOM), "dropout"),
    "context": tuple(kind.name for kind in _CONTEXTS),
    "arguments": tuple(kind.name for kind in _ARGUMENTS),
    "returns": tuple(kind.name for kind in _RETURNS),
}
"""Operators that read, write or depend on what differs between calls, by family."""

FAMILY: dict[str, str] = {op: family for family, ops in FAMILIES.items() for op in ops}
"""Operator -> its family; ordinary operators have none."""
