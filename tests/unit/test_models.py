"""Models: any records give a valid graph, bytes spread over all operators, and what generation
draws keeps its shares."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from rondo.codec import Codec
from rondo.generate import random_model, random_operator
from rondo.models.architectures import ARCHITECTURES
from rondo.models.edits import LONGEST_BLOCK, MOST_NODES
from rondo.models.graph import Graph
from rondo.models.grow import BRANCH_FROM, SHARE_FROM, grow
from rondo.models.operators import EDITS, FAMILY, OPERATORS, RECORDS
from rondo.models.parameters import carried, numbers
from rondo.testcase import Model, Operator

GRAPHS = 2000
ORDINARY = [name for name in OPERATORS if name not in FAMILY]


def random_graphs(codec: Codec, count: int, seed: int) -> list[Graph]:
    """Graphs of uniform bytes that are long enough for up to 40 operators."""
    draw = random.Random(seed)
    heads = (bytes([0, draw.randrange(256)]) + draw.randbytes(6) for _ in range(count))
    records = (bytes([draw.randrange(1, 41)]) + draw.randbytes(160) for _ in range(count))
    return [
        grow(codec.decode(head + body).model) for head, body in zip(heads, records, strict=True)
    ]


def check(graph: Graph) -> None:
    """Every value is made before it is read and once, every output is there, shapes are known."""
    known = {"x"}
    for node in graph.nodes:
        assert node.name not in known
        assert set(node.inputs) <= known
        assert all(size in ("B", "T") or int(size) > 0 for size in node.shape)
        assert not carried(node) or node.stem
        known.add(node.name)
    assert set(graph.outputs) <= known
    read = {name for node in graph.nodes for name in node.inputs}
    assert {node.name for node in graph.nodes} <= read | set(graph.outputs)


def test_bytes_spread_over_the_operators_and_give_valid_graphs(codec: Codec) -> None:
    graphs = random_graphs(codec, GRAPHS, 1)
    for graph in graphs:
        check(graph)
    seen = Counter(node.op for graph in graphs for node in graph.nodes if node.op in OPERATORS)
    assert len(ORDINARY) >= 90
    assert not set(OPERATORS) - set(seen)
    assert max(seen.values()) < 0.08 * seen.total(), seen.most_common(3)
    ordinary = [seen[name] for name in ORDINARY]
    assert min(ordinary) > 0.02 * max(ordinary)
    assert sum(len(graph.nodes) for graph in graphs) >= 8 * GRAPHS
    joins = sum(len({*node.inputs}) > 1 for graph in graphs for node in graph.nodes)
    branches = sum(len(graph.outputs) > 1 for graph in graphs)
    shared = sum(
        len({n.stem for n in g.nodes if n.stem}) < sum(bool(n.stem) for n in g.nodes)
        for g in graphs
    )
    assert min(joins, branches) > GRAPHS // 4
    assert shared > GRAPHS // 40


def test_what_is_drawn_keeps_its_shares() -> None:
    draw = random.Random(2)
    models = [random_model(draw) for _ in range(8000)]
    started = [m for m in models if m.architecture != "nothing"]
    assert 0.13 < len(started) / len(models) < 0.17
    assert {m.architecture for m in started} == set(ARCHITECTURES) - {"nothing"}
    small = sum(len(grow(m).nodes) <= 9 for m in models)
    assert small > 0.88 * len(models)
    kinds = Counter(random_operator(draw).kind for _ in range(20_000))
    stateful = sum(kinds[name] for name in FAMILY)
    assert 0.87 < stateful / kinds.total() < 0.91
    alike = [name for name in FAMILY if OPERATORS[name].argument != "tensor"]
    assert max(kinds[name] for name in alike) < 2 * min(kinds[name] for name in alike)
    assert 2 < kinds["add_tensor"] / kinds[alike[0]] < 4
    assert set(OPERATORS) == set(kinds)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_architectures_are_themselves_at_every_size(name: str) -> None:
    sizes = {(w, d): grow(Model(name, w, d)) for w in range(6) for d in range(6)}
    for graph in sizes.values():
        check(graph)
        assert len(graph.nodes) <= 60
        assert len(graph.outputs) == 1
    if name != "nothing":
        assert len({numbers(graph) for graph in sizes.values()}) > 1


def operator(kind: str, a: int = 0, b: int = 0, c: int = 0) -> Operator:
    return Operator(kind, a, b, c)


def test_a_record_can_read_an_earlier_value_and_join_two() -> None:
    graph = grow(
        Model(
            operators=(
                operator("tanh"),
                operator("sigmoid", b=BRANCH_FROM),
                operator("add_value"),
                operator("sine", b=BRANCH_FROM + 1),
            )
        )
    )
    assert [node.inputs for node in graph.nodes] == [("x",), ("x",), ("h2", "x"), ("h1",)]
    assert graph.outputs == ("h4", "h3")


def test_two_nodes_can_share_what_they_own() -> None:
    records = (operator("linear"), operator("tanh"), operator("linear", c=SHARE_FROM))
    graph = grow(Model(operators=records))
    assert [node.stem for node in graph.nodes] == ["linear1", "", "linear1"]
    assert graph.targets("parameter") == ("linear1",)
    assert numbers(graph) == 20
    assert numbers(grow(Model(operators=(operator("linear"), operator("linear"))))) == 40


def test_an_operator_of_more_axes_is_preceded_by_a_lift() -> None:
    graph = grow(Model(operators=(operator("conv3x3"), operator("resize_bilinear"))))
    assert [node.op for node in graph.nodes] == ["as_image", "conv3x3", "resize_bilinear"]
    assert graph.nodes[-1].shape == ("B", 4, 8, 8)


@pytest.mark.parametrize("edit", EDITS)
def test_edits_change_architectures_and_keep_them_valid(edit: str) -> None:
    draw = random.Random(3)
    changed = 0
    for name in ARCHITECTURES:
        plain = grow(Model(name, 1, 1))
        for _ in range(20):
            record = Operator(edit, *draw.randbytes(3))
            graph = grow(Model(name, 1, 1, operators=(record,)))
            check(graph)
            added = len(graph.nodes) - len(plain.nodes)
            low, high = {
                "edit_insert": (1, 1),
                "edit_replace": (0, 0),
                "edit_remove": (-1, -1),
                "edit_duplicate": (1, LONGEST_BLOCK),
            }[edit]
            changed += low <= added <= high and graph != plain
    assert changed > 0.85 * 20 * len(ARCHITECTURES)


def test_edits_end_at_a_largest_size_and_fall_back_on_an_empty_graph() -> None:
    again = tuple(Operator("edit_duplicate", n, 0, 200 * (n % 2)) for n in range(40))
    graph = grow(Model("resnet", operators=again))
    check(graph)
    assert len(graph.nodes) < MOST_NODES + LONGEST_BLOCK
    only = grow(Model(operators=(Operator("edit_remove", 0, 5),)))
    assert [node.op for node in only.nodes] == [list(OPERATORS)[5]]


def test_every_record_name_fits_a_byte() -> None:
    assert len(set(RECORDS)) == len(RECORDS) <= 256
