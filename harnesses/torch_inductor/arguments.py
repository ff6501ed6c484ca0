"""The arguments of a call: builds `x` and the optional arguments of the model's forward function.

Reads the fields that the effects of `dimensions.py` put into the call's plan.
"""

from __future__ import annotations

from harnesses.arguments import (
    NAMES,
    VISIBLE,
    Builder,
    bracketed,
    given_lines,
    shape_text,
    sizes,
)
from harnesses.emission import CallPlan
from harnesses.torch_inductor.templates import MUTATES_INPUT

SIGNATURE = {
    "tensor": "y",
    "scalar": "k",
    "list": "items",
    "numbers": "numbers",
    "optional": "bias=None",
    "function": "fn=abs",
}
"""Argument -> how the forward function declares it."""


def _fresh(plan: CallPlan, entries: list[int], seed: str) -> str:
    """An expression for new values of a shape."""
    if plan.graph.input_kind == "tokens":
        return f"integers({shape_text(entries)}, {seed})"
    if plan.fields.get("dtype") == "torch.int64":
        return f"integers({shape_text(entries)}, {seed}){plan.fields.get('profile', '')}"
    dtype = plan.fields.get("dtype", "")
    made = f"tensor({shape_text(entries)}, {seed}{', ' + dtype if dtype else ''})"
    return made + plan.fields.get("profile", "")


def _written(plan: CallPlan) -> bool:
    return any(node.op in MUTATES_INPUT for node in plan.graph.nodes)


def _laid_out(plan: CallPlan, seed: str) -> str:
    """An expression for the input in the plan's layout."""
    layout = plan.fields.get("layout", "")
    if layout == "expanded" and _written(plan):
        layout = "sliced"
    shape = sizes(plan, plan.batch)
    rows, *row = shape
    swapped = [*shape[:-2], shape[-1], shape[-2]]
    forms = {
        "": lambda: _fresh(plan, shape, seed),
        "transposed": lambda: bracketed(_fresh(plan, swapped, seed)) + ".transpose(-1, -2)",
        "sliced": lambda: bracketed(_fresh(plan, [rows + 1, *row], seed)) + "[1:]",
        "strided": lambda: bracketed(_fresh(plan, [rows * 2, *row], seed)) + "[::2]",
        "expanded": lambda: (
            bracketed(_fresh(plan, [1, *row], seed)) + f".expand({', '.join(map(str, shape))})"
        ),
        "channels_last": lambda: (
            bracketed(_fresh(plan, shape, seed)) + ".to(memory_format=torch.channels_last)"
        ),
    }
    return forms[layout]()


def _input(plan: CallPlan) -> list[str]:
    seed = plan.fields.get("seed", str(plan.step + 1))
    bad = plan.fields.get("bad", "")
    if bad:
        return ["x = None" if bad == "type" else f"x = {_BUILDER.wrong_shape(plan, seed)}"]
    made = _laid_out(plan, seed)
    if plan.fields.get("previous"):
        made = f"{made} if s.x is None else s.x"
    whole = plan.graph.input_kind == "tokens" or plan.fields.get("dtype") == "torch.int64"
    lines = [f"x = {made}"]
    if plan.fields.get("requires_grad") and not whole:
        lines.append("x.requires_grad_()" if not _written(plan) else "x = x.requires_grad_() * 1")
    return lines


_BUILDER = Builder(_fresh, _fresh)


def add_arguments(plan: CallPlan, keep_input: bool) -> None:
    """Put the lines that build the arguments, and the arguments themselves, into the plan."""
    made = given_lines(plan, _BUILDER, _input(plan))
    names = ["x", *(NAMES[a] for a in plan.graph.arguments)]
    marks = plan.inputs
    plan.inputs = made + ([] if plan.fields.get("bad") == "type" else marks)
    if keep_input:
        plan.inputs.append("s.x = x")
    if plan.fields.get("structure") == "keyword":
        plan.keywords = [f"{name}={name}" for name in reversed(names)]
    else:
        plan.positional = names
    plan.shown = [name for name in names if name in VISIBLE]
