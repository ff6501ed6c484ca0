"""The table of neutral operators that a model grows by: what carries state, and all of them.

An operator record never fails: one that does not fit the current value is passed on to the next
operator of the table that does. Features that carry state between calls (an attribute that
`forward` reads, a counter that it writes) are operators like any other, so that events have
something to act on. `ordinary` holds those that carry none.
"""

from __future__ import annotations

from rondo.models.kinds import OperatorKind, floats, whole
from rondo.models.ordinary import AUTOCAST, ORDINARY
from rondo.models.rules import with_features
from rondo.vocabulary import BATCH

EDITS = ("edit_insert", "edit_replace", "edit_remove", "edit_duplicate")
"""Records that change the graph before them in place of adding to it, see `rondo.models.edits`."""

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
    OperatorKind("literal_flag", carries=("attr.bool",), stem="picked", whole=False),
    OperatorKind("literal_mode", stem="table", whole=False),
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

_BRANCHES = whole(
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
    *floats("noise", "python_random"),
    OperatorKind("random_object", carries=("rng.object",), stem="dice", whole=False),
)

_CONTEXTS = (
    *floats("make_ones"),
    *floats("inner_autocast", rule=with_features),
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

_RETURNS = whole(
    "return_input", "return_view", "return_twice", "return_dict", "return_tuple", "return_size"
)

SENSES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("branch_batch", "branch_single", "size_arithmetic", "return_size"), (BATCH,)),
    "branch_dtype": ("dtype",),
    "branch_training": ("mode",),
    "literal_mode": ("mode", "set_default_dtype"),
    "literal_flag": ("set_default_dtype",),
    "dropout": ("mode", "rng"),
    "batch_norm": ("mode",),
    "batch_norm2d": ("mode",),
    "branch_grad": ("grad_mode",),
    "without_grad": ("grad_mode", "backward"),
    "branch_contiguous": ("layout",),
    "branch_requires_grad": ("requires_grad",),
    "reparameterise": ("rng",),
    "noise": ("rng", "set_default_dtype"),
    "python_random": ("rng", "set_default_dtype"),
    "linear": ("autocast",),
    **dict.fromkeys(AUTOCAST, ("autocast",)),
    "inner_autocast": ("autocast",),
    "make_ones": ("dtype", "set_default_dtype"),
    "fill_scalar": ("set_default_dtype",),
    "literal_tensor": ("set_default_dtype",),
    "mutate_input": ("values", "layout"),
    "write_input_row": ("values", "layout"),
}
"""Operator -> the dimensions of a call, beside its arguments, and the events on no carrier that its
result depends on, other than as every result depends on the input."""

OPERATORS: dict[str, OperatorKind] = {
    kind.name: kind
    for kind in (
        *_READS_STATE,
        *_WRITES_STATE,
        *_BRANCHES,
        *_RANDOM,
        *_CONTEXTS,
        *_ARGUMENTS,
        *_RETURNS,
        *ORDINARY,
    )
}
"""Every neutral operator by name, in the order of the byte format: a byte has more values than
there are operators, and those that carry state come first so that two bytes stand for each."""

RECORDS: tuple[str, ...] = (*OPERATORS, *EDITS)
"""Everything that a record can be, in the order of the byte format."""

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
