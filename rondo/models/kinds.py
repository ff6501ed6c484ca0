"""What the tables of operators hold: one `OperatorKind` an operator."""

from __future__ import annotations

from dataclasses import dataclass

from rondo.models.rules import ShapeRule, same


@dataclass(frozen=True, slots=True)
class OperatorKind:
    """One neutral operator.

    `carries` are the traits that events act on, `argument` the forward argument it adds, `stem`
    the name of what it owns, `whole` that it works on integers too, `needs` a trait of the input,
    `second` that it reads another value of the same shape, `lift` the operator that first brings a
    value of too few axes to a shape that it takes.
    """

    name: str
    rule: ShapeRule = same
    carries: tuple[str, ...] = ()
    argument: str = ""
    stem: str = ""
    whole: bool = True
    needs: str = ""
    second: bool = False
    lift: str = ""


def floats(*names: str, rule: ShapeRule = same, lift: str = "") -> tuple[OperatorKind, ...]:
    """Operators on floats that own nothing."""
    return tuple(OperatorKind(name, rule, whole=False, lift=lift) for name in names)


def whole(*names: str, rule: ShapeRule = same, lift: str = "") -> tuple[OperatorKind, ...]:
    """Operators on floats and integers that own nothing."""
    return tuple(OperatorKind(name, rule, lift=lift) for name in names)


def owning(name: str, rule: ShapeRule, stem: str, *carries: str, lift: str = "") -> OperatorKind:
    """An operator on floats with parameters of its own."""
    return OperatorKind(name, rule, ("parameter", *carries), stem=stem, whole=False, lift=lift)
