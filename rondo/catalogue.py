"""What models there are to start from: every architecture with its size, operators and targets.

Behind `rondo models`; counts come from the neutral graphs, so no framework is needed.
"""

from __future__ import annotations

from msgspec import Struct
from rich.console import Console
from rich.table import Column, Table

from rondo.models.architectures import ARCHITECTURES
from rondo.models.grow import grow
from rondo.models.operators import FAMILY, OPERATORS
from rondo.models.parameters import numbers
from rondo.testcase import Model, SourceTest


class Support(Struct, frozen=True):
    """How many operators a target has itself, which it takes the nearest for, and the framework's
    own tests that a model can be."""

    target: str
    own: int
    stand_ins: tuple[str, ...]
    tests: tuple[str, ...]


class Architecture(Struct, frozen=True):
    """An architecture: what it is, its input, and nodes and trained numbers at its smallest and at
    width and depth 1; `stand_ins` says, by target, which of its operators have a stand-in there."""

    name: str
    says: str
    input: str
    nodes: tuple[int, int]
    parameters: tuple[int, int]
    operators: tuple[str, ...]
    stand_ins: dict[str, tuple[str, ...]]


class Catalogue(Struct, frozen=True):
    """All architectures, the operators that a model can grow by, and what targets have of them."""

    architectures: tuple[Architecture, ...]
    operators: tuple[str, ...]
    stateful: tuple[str, ...]
    support: tuple[Support, ...]


def catalogue(
    missing: dict[str, frozenset[str]], tests: dict[str, tuple[SourceTest, ...]]
) -> Catalogue:
    """What there is, given by target the operators for which it has only a stand-in, and the
    framework's own tests."""
    found = tuple(_architecture(name, missing) for name in ARCHITECTURES)
    everything = {*OPERATORS, *(op for one in found for op in one.operators)}
    support = tuple(
        Support(
            target,
            len(everything - names),
            tuple(sorted(everything & names)),
            tuple(test.name for test in tests[target]),
        )
        for target, names in missing.items()
    )
    stateful = tuple(name for name in OPERATORS if name in FAMILY)
    return Catalogue(found, tuple(OPERATORS), stateful, support)


def _architecture(name: str, missing: dict[str, frozenset[str]]) -> Architecture:
    small, large = (grow(Model(name, size, size)) for size in (0, 1))
    operators = tuple(sorted({node.op for node in (*small.nodes, *large.nodes)}))
    shape = ", ".join(str(size) for size in small.input_shape)
    says = (ARCHITECTURES[name].__doc__ or "").split("\n\n")[0]
    return Architecture(
        name,
        " ".join(says.split()),
        f"{small.input_kind} ({shape})",
        (len(small.nodes), len(large.nodes)),
        (numbers(small), numbers(large)),
        operators,
        {target: tuple(op for op in operators if op in names) for target, names in missing.items()},
    )


def show(found: Catalogue, console: Console) -> None:
    """Print the architectures as a table, then the operators in numbers."""
    targets = [support.target for support in found.support]
    folded = [Column(name, overflow="fold") for name in ("input", "nodes", "parameters", *targets)]
    table = Table(Column("architecture", no_wrap=True), *folded)
    for one in found.architectures:
        gaps = [one.stand_ins[target] for target in targets]
        words = [f"{len(gap)} replaced" if gap else "whole" for gap in gaps]
        sizes = ["-".join(map(str, dict.fromkeys(pair))) for pair in (one.nodes, one.parameters)]
        table.add_row(one.name, one.input, *sizes, *words)
    console.print(table)
    ordinary = len(found.operators) - len(found.stateful)
    console.print(f"{ordinary} ordinary operators, {len(found.stateful)} that carry state")
    for support in found.support:
        gap = f"{len(support.stand_ins)} stand-ins" if support.stand_ins else "no stand-ins"
        tests = f", {len(support.tests)} of the framework's own tests" if support.tests else ""
        own = f"{support.own} operators and nodes of its own"
        console.print(f"{support.target}: {own}, {gap}{tests}")
