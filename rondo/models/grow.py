"""Turn a test case's `Model` into a `Graph`: the architecture, then its operator records.

Deterministic and total: a record that does not fit the newest value goes on to the next operator
of the table that does, so that any record sequence gives a valid model.
"""

from __future__ import annotations

from functools import lru_cache

from rondo.models.architectures import ARCHITECTURES, Sketch
from rondo.models.graph import Graph, Node, Shape
from rondo.models.operators import OPERATORS, OperatorKind
from rondo.testcase import Model, Operator

_NAMES = tuple(OPERATORS)
_ALWAYS_INPUT = {"floats", "sequence", "images"}
_ARCHITECTURE_CARRIES = {
    "conv2d": ("parameter", "submodule"),
    "batch_norm2d": ("parameter", "buffer", "submodule"),
    "self_attention": ("parameter",),
    "lstm": ("parameter",),
    "embedding": ("parameter",),
}
_FORWARD_ORDER = ("tensor", "scalar", "list", "numbers", "optional", "function")


def _input_traits(sketch: Sketch) -> set[str]:
    traits = {sketch.input_kind}
    if sketch.input_kind in _ALWAYS_INPUT:
        traits.add("floats")
    if "T" in sketch.input_shape:
        traits.add("sequence")
    return traits


def _attrs(record: Operator, before: Shape, after: Shape) -> dict[str, int | str]:
    inside, outside = before[-1], after[-1]
    return {"inside": inside, "outside": outside, "features": inside, "a": record.a}


def fitting(record: Operator, shape: Shape, traits: frozenset[str]) -> tuple[OperatorKind, Shape]:
    """The first operator from the record's on that fits a value of `shape`, and its result."""
    start = _NAMES.index(record.kind)
    for offset in range(len(_NAMES)):
        kind = OPERATORS[_NAMES[(start + offset) % len(_NAMES)]]
        if kind.needs and kind.needs not in traits:
            continue
        after = kind.rule(shape, record)
        if after is not None:
            return kind, after
    raise AssertionError("element-wise operators fit every value")


def _grow(sketch: Sketch, operators: tuple[Operator, ...]) -> None:
    traits = frozenset(_input_traits(sketch))
    for record in operators:
        shape = sketch.nodes[-1].shape if sketch.nodes else sketch.input_shape
        kind, after = fitting(record, shape, traits)
        sketch.add(kind.name, after, (), kind.stem, **_attrs(record, shape, after))


def _carriers(nodes: list[Node]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node in nodes:
        known = OPERATORS.get(node.op)
        carried = known.carries if known else _ARCHITECTURE_CARRIES.get(node.op, ())
        for trait in carried:
            found.setdefault(trait, []).append(node.stem)
    return found


def _twins(nodes: list[Node]) -> list[str]:
    """The stems of the first two linear layers or weights of one kind and size, which can be
    tied."""
    seen: dict[tuple[object, ...], str] = {}
    for node in nodes:
        if node.op not in ("linear", "scale_weight"):
            continue
        key = (node.op, dict(node.attrs).get("inside"), dict(node.attrs).get("outside"))
        if key in seen:
            return [seen[key], node.stem]
        seen[key] = node.stem
    return []


@lru_cache(maxsize=4096)
def grow(model: Model) -> Graph:
    """The graph of a model."""
    sketch = ARCHITECTURES[model.architecture](model.width, model.depth)
    _grow(sketch, model.operators)
    kinds = [OPERATORS[n.op] for n in sketch.nodes if n.op in OPERATORS]
    wanted = {k.argument for k in kinds if k.argument}
    arguments = tuple(a for a in _FORWARD_ORDER if a in wanted)
    carriers = _carriers(sketch.nodes)
    if twins := _twins(sketch.nodes):
        carriers["parameters"] = twins
    traits = _input_traits(sketch) | set(carriers) | {f"arg.{a}" for a in arguments}
    if "parameter" in carriers or "buffer" in carriers:
        traits.add("state")
    if "floats" in traits and ("parameter" in carriers or all(k.whole for k in kinds)):
        traits.add("takes.int")
    return Graph(
        sketch.input_kind,
        sketch.input_shape,
        tuple(sketch.nodes),
        sketch.newest,
        tuple((trait, tuple(stems)) for trait, stems in carriers.items()),
        arguments,
        frozenset(traits),
    )
