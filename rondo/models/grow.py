"""Turn a test case's `Model` into a `Graph`: the architecture, then its operator records.

Deterministic and total. A record's `kind` names the operator, `a` sizes, `b` the value that it
reads (mostly the newest, else any earlier one: a branch), `c` what else it uses: a second value of
the same shape where the operator joins two, or what an earlier node of its kind owns, which both
then share. A record that does not fit the value is preceded by the operator that lifts the value
to more axes, or goes on to the next operator of the table that fits; edits (`rondo.models.edits`)
change what is there. So any record sequence gives a valid model.
"""

from __future__ import annotations

from functools import lru_cache

from rondo.models.architectures import ARCHITECTURES
from rondo.models.edits import EDIT
from rondo.models.graph import Graph, Node, Shape
from rondo.models.kinds import OperatorKind
from rondo.models.operators import EDITS, OPERATORS
from rondo.models.parameters import carried
from rondo.models.sketch import Sketch
from rondo.testcase import Model, Operator, SourceTest

_NAMES = tuple(OPERATORS)
_ALWAYS_INPUT = {"floats", "sequence", "images"}
_FORWARD_ORDER = ("tensor", "scalar", "list", "numbers", "optional", "function")
BRANCH_FROM, SHARE_FROM = 216, 128
"""The values of `b` from which an earlier value is read, and of `c` from which one's like shares
what it owns."""


def _input_traits(sketch: Sketch) -> frozenset[str]:
    traits = {sketch.input_kind}
    if sketch.input_kind in _ALWAYS_INPUT:
        traits.add("floats")
    if "T" in sketch.input_shape:
        traits.add("sequence")
    return frozenset(traits)


def _attrs(record: Operator, before: Shape, after: Shape) -> dict[str, int | str]:
    inside, outside = before[-1], after[-1]
    found = {"inside": inside, "outside": outside, "features": inside, "a": record.a}
    if isinstance(inside, int):
        found["half"] = inside // 2
    if len(before) > 1 and isinstance(before[1], int):
        found["channels"] = before[1]
        found["out_channels"] = after[1] if len(after) > 1 else 1
    if len(before) > 2:
        found["inner"] = before[-2]
    return found | {"heads": 2}


def _takes(
    kind: OperatorKind, shape: Shape, record: Operator, traits: frozenset[str]
) -> list[Shape]:
    """The shapes that an operator makes of a value, one or, with a lift before it, two; none where
    it does not fit."""
    if kind.needs and kind.needs not in traits:
        return []
    after = kind.rule(shape, record)
    if after is not None:
        return [after]
    lifted = OPERATORS[kind.lift].rule(shape, record) if kind.lift else None
    after = kind.rule(lifted, record) if lifted else None
    return [lifted, after] if lifted and after else []


def fitting(
    record: Operator, shape: Shape, traits: frozenset[str]
) -> tuple[OperatorKind, list[Shape]]:
    """The first operator from the record's on that fits a value of `shape`, and what it makes of
    it, after its lift if it needs one."""
    start = _NAMES.index(record.kind)
    for offset in range(len(_NAMES)):
        kind = OPERATORS[_NAMES[(start + offset) % len(_NAMES)]]
        if shapes := _takes(kind, shape, record, traits):
            return kind, shapes
    raise AssertionError("element-wise operators fit every value")


def _readable(sketch: Sketch) -> list[str]:
    """The values that an operator may read: not tokens."""
    values = ["x"] if sketch.input_kind != "tokens" else []
    return values + [n.name for n in sketch.nodes if isinstance(n.shape[-1], int)]


def _source(sketch: Sketch, record: Operator) -> str:
    """The value that a record reads."""
    values = _readable(sketch)
    if record.b < BRANCH_FROM or not values:
        return sketch.newest
    return values[(record.b - BRANCH_FROM) % len(values)]


def _second(sketch: Sketch, record: Operator, source: str) -> str:
    """Another value of the same shape, the value itself where there is none."""
    shape = sketch.shape(source)
    alike = [v for v in _readable(sketch) if v != source and sketch.shape(v) == shape]
    return alike[record.c % len(alike)] if alike else source


def _append(
    sketch: Sketch, record: Operator, source: str, kind: OperatorKind, shapes: list[Shape]
) -> None:
    if len(shapes) > 1:
        before = sketch.shape(source)
        attrs = _attrs(record, before, shapes[0])
        source = sketch.put(kind.lift, shapes[0], (source,), "", attrs)
    attrs = _attrs(record, sketch.shape(source), shapes[-1])
    inputs = (source, _second(sketch, record, source)) if kind.second else (source,)
    sketch.put(kind.name, shapes[-1], inputs, kind.stem, attrs)
    if kind.stem and record.c >= SHARE_FROM:
        _share(sketch)


def _share(sketch: Sketch) -> None:
    """Let the newest node use what the first node of its kind and sizes owns."""
    newest = sketch.nodes[-1]
    for node in sketch.nodes[:-1]:
        if node.op == newest.op and _sizes(node) == _sizes(newest):
            sketch.nodes[-1] = Node(
                newest.name, newest.op, newest.inputs, newest.shape, node.stem, node.attrs
            )
            return


def _sizes(node: Node) -> dict[str, int | str]:
    return {name: size for name, size in node.attrs if name != "a"}


def _grow(sketch: Sketch, operators: tuple[Operator, ...]) -> None:
    traits = _input_traits(sketch)

    def keep(grown: Sketch, record: Operator, source: str) -> bool:
        kind, shape = OPERATORS[record.kind], grown.shape(source)
        if _takes(kind, shape, record, traits) != [shape]:
            return False
        _append(grown, record, source, kind, [shape])
        return True

    for record in operators:
        if record.kind in EDITS:
            first = EDITS.index(record.kind)
            order = (*EDITS[first:], *EDITS[:first])
            if any(EDIT[name](sketch, record, keep) for name in order):
                continue
            record = Operator(_NAMES[record.b % len(_NAMES)], record.a, 0, record.c)
        source = _source(sketch, record)
        kind, shapes = fitting(record, sketch.shape(source), traits)
        _append(sketch, record, source, kind, shapes)


def _carriers(graph_nodes: list[Node]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node in graph_nodes:
        for trait in carried(node):
            stems = found.setdefault(trait, [])
            if node.stem not in stems:
                stems.append(node.stem)
    return found


def _twins(nodes: list[Node]) -> list[str]:
    """The stems of the first two linear layers or weights of one kind and size, which can be
    tied."""
    seen: dict[tuple[object, ...], str] = {}
    for node in nodes:
        if node.op not in ("linear", "scale_weight"):
            continue
        key = (node.op, dict(node.attrs).get("inside"), dict(node.attrs).get("outside"))
        if seen.setdefault(key, node.stem) != node.stem:
            return [seen[key], node.stem]
    return []


def _outputs(sketch: Sketch) -> tuple[str, ...]:
    """The newest value, then the others that no node reads."""
    read = {name for node in sketch.nodes for name in node.inputs}
    ends = [node.name for node in sketch.nodes if node.name not in read]
    return (sketch.newest, *(name for name in ends if name != sketch.newest))


def _begun(model: Model) -> Sketch:
    """The sketch that a model's operators carry on with."""
    if model.test is None:
        return ARCHITECTURES[model.architecture](model.width, model.depth)
    return Sketch("images" if len(model.test.shape) == 4 else "floats", model.test.shape)


def _tested(sketch: Sketch, test: SourceTest) -> None:
    """Append a test of the framework, on the newest value if it has the shape of the input."""
    source = sketch.newest if sketch.now == sketch.input_shape else "x"
    sketch.put(test.name, (), (source,), "test", {})


@lru_cache(maxsize=4096)
def grow(model: Model) -> Graph:
    """The graph of a model."""
    sketch = _begun(model)
    _grow(sketch, model.operators)
    if model.test:
        _tested(sketch, model.test)
    kinds = [OPERATORS[n.op] for n in sketch.nodes if n.op in OPERATORS]
    wanted = {k.argument for k in kinds if k.argument}
    arguments = tuple(a for a in _FORWARD_ORDER if a in wanted)
    carriers = _carriers(sketch.nodes)
    for trait in model.test.carries if model.test else ():
        carriers.setdefault(trait, []).append(sketch.nodes[-1].stem)
    if twins := _twins(sketch.nodes):
        carriers["parameters"] = twins
    traits = _input_traits(sketch) | set(carriers) | {f"arg.{a}" for a in arguments}
    if "parameter" in carriers or "buffer" in carriers:
        traits |= {"state"}
    whole = all(k.whole for k in kinds) and not model.test
    if "floats" in traits and ("parameter" in carriers or whole):
        traits |= {"takes.int"}
    return Graph(
        sketch.input_kind,
        sketch.input_shape,
        tuple(sketch.nodes),
        _outputs(sketch),
        tuple((trait, tuple(stems)) for trait, stems in carriers.items()),
        arguments,
        traits,
    )
