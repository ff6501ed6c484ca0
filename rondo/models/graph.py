"""The neutral form of a model: a list of nodes over named values, which a harness emits as text.

A shape is a tuple whose entries are sizes, or "B" for the batch and "T" for the sequence length,
which differ from call to call.
"""

from __future__ import annotations

from dataclasses import dataclass

Shape = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """`name = op(*inputs)`: a value of `shape`; `stem` names what the node owns (a parameter, an
    attribute, a sub-module), `attrs` are the numbers the operator needs."""

    name: str
    op: str
    inputs: tuple[str, ...]
    shape: Shape
    stem: str = ""
    attrs: tuple[tuple[str, int | str], ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """A model: its input, its nodes in order, what it returns, and what its calls and events can
    act on.

    `outputs` are the values that no node reads: the newest first, then the ends of other branches
    in the order of the nodes. `carriers` lists, by trait, the stems that carry it; `arguments` are
    the optional arguments of the forward function beside `x`, in order.
    """

    input_kind: str
    input_shape: Shape
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    carriers: tuple[tuple[str, tuple[str, ...]], ...]
    arguments: tuple[str, ...]
    traits: frozenset[str]

    def targets(self, trait: str) -> tuple[str, ...]:
        """The stems that carry `trait`, in the order of the nodes."""
        return dict(self.carriers).get(trait, ())

    @property
    def owners(self) -> tuple[Node, ...]:
        """The first node of each stem: nodes that share a stem share what it names."""
        first: dict[str, Node] = {}
        for node in self.nodes:
            if node.stem:
                first.setdefault(node.stem, node)
        return tuple(first.values())

    def uses(self, op: str) -> bool:
        """Whether any node is an `op`."""
        return any(node.op == op for node in self.nodes)
