"""Edits of a graph in the way of model mutation (LEMON, Wang and others 2020): insert, replace or
remove an operator, duplicate a block.

An edit is an operator record: `a` chooses where, `b` what, `c` how. Only what keeps every shape is
done, so an edited graph is valid; an edit that finds no place says so and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rondo.models.graph import Node
from rondo.models.operators import OPERATORS
from rondo.models.sketch import Sketch
from rondo.testcase import Operator

Append = Callable[[Sketch, Operator, str], bool]
"""Append the record's operator, reading a value, if it keeps that value's shape."""

LONGEST_BLOCK, MOST_NODES = 6, 80
_SHARED_FROM = 128
_NAMES = tuple(OPERATORS)


def _rewired(node: Node, old: str, new: str) -> Node:
    if old not in node.inputs:
        return node
    return replace(node, inputs=tuple(new if name == old else name for name in node.inputs))


def _keeping(sketch: Sketch) -> list[int]:
    """The places of nodes whose value has the shape of their first input."""
    return [
        place
        for place, node in enumerate(sketch.nodes)
        if isinstance(node.shape[-1], int) and sketch.shape(node.inputs[0]) == node.shape
    ]


def _fresh(
    sketch: Sketch, record: Operator, source: str, place: int, append: Append
) -> Node | None:
    """A node that reads nothing from `place` on and keeps the shape of `source`: of the operator
    that `b` names or the next that does."""
    later = sketch.nodes[place:]
    del sketch.nodes[place:]
    names = (_NAMES[(record.b + offset) % len(_NAMES)] for offset in range(len(_NAMES)))
    found = any(append(sketch, replace(record, kind=name), source) for name in names)
    made = sketch.nodes.pop() if found else None
    sketch.nodes += later
    return made


def insert(sketch: Sketch, record: Operator, append: Append) -> bool:
    """Put an operator behind a value: whatever read the value reads the operator's."""
    places = [i for i, node in enumerate(sketch.nodes) if isinstance(node.shape[-1], int)]
    if not places or len(sketch.nodes) >= MOST_NODES:
        return False
    place = places[record.a % len(places)]
    source = sketch.nodes[place].name
    made = _fresh(sketch, record, source, place + 1, append)
    if made is None:
        return False
    later = [_rewired(node, source, made.name) for node in sketch.nodes[place + 1 :]]
    sketch.nodes[place + 1 :] = [made, *later]
    return True


def change(sketch: Sketch, record: Operator, append: Append) -> bool:
    """Replace an operator that keeps its input's shape by another that does."""
    places = _keeping(sketch)
    if not places:
        return False
    place = places[record.a % len(places)]
    old = sketch.nodes[place]
    made = _fresh(sketch, record, old.inputs[0], place, append)
    if made is None:
        return False
    sketch.nodes[place] = replace(made, name=old.name)
    return True


def remove(sketch: Sketch, record: Operator, append: Append) -> bool:
    """Take out an operator that keeps its input's shape."""
    places = _keeping(sketch)
    if len(sketch.nodes) < 2 or not places:
        return False
    node = sketch.nodes.pop(places[record.a % len(places)])
    sketch.nodes[:] = [_rewired(n, node.name, node.inputs[0]) for n in sketch.nodes]
    return True


def duplicate(sketch: Sketch, record: Operator, append: Append) -> bool:
    """Repeat a block whose value has the shape of its input; the copy owns its own parameters or
    shares those of the first."""
    blocks = [
        (start, stop)
        for start in range(len(sketch.nodes))
        for stop in range(start + 1, min(start + LONGEST_BLOCK, len(sketch.nodes)) + 1)
        if _repeats(sketch, start, stop)
    ]
    if not blocks or len(sketch.nodes) >= MOST_NODES:
        return False
    start, stop = blocks[record.a % len(blocks)]
    old = sketch.nodes[start:stop]
    copies = _copies(sketch, old, shared=record.c >= _SHARED_FROM)
    later = [_rewired(n, old[-1].name, copies[-1].name) for n in sketch.nodes[stop:]]
    sketch.nodes[stop:] = [*copies, *later]
    return True


def _repeats(sketch: Sketch, start: int, stop: int) -> bool:
    """Whether the nodes are a chain of one entry that keeps its shape and that only its end
    leaves."""
    nodes = sketch.nodes[start:stop]
    inner = {node.name for node in nodes[:-1]}
    entry, end = nodes[0].inputs[0], nodes[-1]
    return (
        isinstance(end.shape[-1], int)
        and sketch.shape(entry) == end.shape
        and all({*node.inputs} & (inner | {entry}) for node in nodes)
        and not any({*node.inputs} & inner for node in sketch.nodes[stop:])
    )


def _copies(sketch: Sketch, nodes: list[Node], shared: bool) -> list[Node]:
    names = {nodes[0].inputs[0]: nodes[-1].name}
    made = []
    for node in nodes:
        number = sketch.number()
        inputs = tuple(names.get(name, name) for name in node.inputs)
        stem = node.stem if shared or not node.stem else f"{node.stem}_{number}"
        names[node.name] = f"h{number}"
        made.append(replace(node, name=f"h{number}", inputs=inputs, stem=stem))
    return made


EDIT: dict[str, Callable[[Sketch, Operator, Append], bool]] = {
    "edit_insert": insert,
    "edit_replace": change,
    "edit_remove": remove,
    "edit_duplicate": duplicate,
}
"""Every edit by the name of its record; each says whether it found a place."""
