"""The arguments of a call: builds `x` and the optional arguments of the model's forward function.

Reads the fields that the effects of `dimensions.py` put into the call's plan.
"""

from __future__ import annotations

from harnesses.emission import CallPlan
from harnesses.torch_inductor.templates import MUTATES_INPUT

_NAMES = {
    "tensor": "y",
    "scalar": "k",
    "list": "items",
    "numbers": "numbers",
    "optional": "bias",
    "function": "fn",
}
SIGNATURE = {
    "tensor": "y",
    "scalar": "k",
    "list": "items",
    "numbers": "numbers",
    "optional": "bias=None",
    "function": "fn=abs",
}
"""Argument -> how the forward function declares it."""


def sizes(plan: CallPlan, batch: int) -> list[int]:
    """The input's shape at a batch size, with the plan's sequence length."""
    length = int(plan.fields.get("length", "4"))
    known = {"B": batch, "T": length}
    return [known[s] if isinstance(s, str) else s for s in plan.graph.input_shape]


def _shape(entries: list[int]) -> str:
    return f"({', '.join(map(str, entries))}{',' if len(entries) == 1 else ''})"


def _fresh(plan: CallPlan, entries: list[int], seed: str) -> str:
    """An expression for new values of a shape."""
    if plan.graph.input_kind == "tokens":
        return f"integers({_shape(entries)}, {seed})"
    if plan.fields.get("dtype") == "torch.int64":
        return f"integers({_shape(entries)}, {seed}){plan.fields.get('profile', '')}"
    dtype = plan.fields.get("dtype", "")
    made = f"tensor({_shape(entries)}, {seed}{', ' + dtype if dtype else ''})"
    return made + plan.fields.get("profile", "")


def _written(plan: CallPlan) -> bool:
    return any(node.op in MUTATES_INPUT for node in plan.graph.nodes)


def _laid_out(plan: CallPlan, seed: str) -> str:
    """An expression for the input in the plan's layout."""
    layout = plan.fields.get("layout", "")
    if layout == "expanded" and _written(plan):
        layout = "sliced"
    shape = sizes(plan, plan.batch)
    swapped = [*shape[:-2], shape[-1], shape[-2]]
    forms = {
        "": lambda: _fresh(plan, shape, seed),
        "transposed": lambda: _bracketed(_fresh(plan, swapped, seed)) + ".transpose(-1, -2)",
        "sliced": lambda: _bracketed(_fresh(plan, sizes(plan, plan.batch + 1), seed)) + "[1:]",
        "strided": lambda: _bracketed(_fresh(plan, sizes(plan, plan.batch * 2), seed)) + "[::2]",
        "expanded": lambda: (
            _bracketed(_fresh(plan, sizes(plan, 1), seed))
            + f".expand({', '.join(map(str, shape))})"
        ),
        "channels_last": lambda: (
            _bracketed(_fresh(plan, shape, seed)) + ".to(memory_format=torch.channels_last)"
        ),
    }
    return forms[layout]()


def _bracketed(expression: str) -> str:
    return f"({expression})" if " " in expression.split(")")[-1] else expression


def _wrong_shape(plan: CallPlan, seed: str) -> str:
    shape = sizes(plan, plan.batch)
    return _fresh(plan, [*shape[:-1], shape[-1] + 1], seed)


def _input(plan: CallPlan) -> list[str]:
    seed = plan.fields.get("seed", str(plan.step + 1))
    bad = plan.fields.get("bad", "")
    if bad:
        return ["x = None" if bad == "type" else f"x = {_wrong_shape(plan, seed)}"]
    made = _laid_out(plan, seed)
    if plan.fields.get("previous"):
        made = f"{made} if s.x is None else s.x"
    whole = plan.graph.input_kind == "tokens" or plan.fields.get("dtype") == "torch.int64"
    lines = [f"x = {made}"]
    if plan.fields.get("requires_grad") and not whole:
        lines.append("x.requires_grad_()" if not _written(plan) else "x = x.requires_grad_() * 1")
    return lines


def _second(plan: CallPlan) -> list[str]:
    """The second tensor argument, in its relation to the first."""
    alias = plan.fields.get("alias", "")
    seed = str(plan.step + 101)
    if alias == "overlapping" and not plan.fields.get("bad"):
        pool = _fresh(plan, sizes(plan, plan.batch + 1), seed)
        return [f"pool = {pool}", "x, y = pool[:-1], pool[1:]"]
    if alias and not plan.fields.get("bad"):
        return ["y = x" if alias == "same" else "y = x[:]"]
    return [f"y = {_fresh(plan, sizes(plan, plan.batch), seed)}"]


def _scalar(plan: CallPlan) -> list[str]:
    return [f"k = {plan.fields.get('scalar', '1.5')}"]


def _items(plan: CallPlan) -> list[str]:
    shape = sizes(plan, plan.batch)
    made = [f"{n} = {_fresh(plan, shape, str(plan.step + 201 + i))}" for i, n in enumerate("ab")]
    return [*made, f"items = {plan.fields.get('items', '[a, b]')}"]


def _numbers(plan: CallPlan) -> list[str]:
    return [f"numbers = [{plan.fields.get('numbers', '1, 2')}]"]


def _optional(plan: CallPlan) -> list[str]:
    given = {"": "None", "is_input": "x"}
    chosen = plan.fields.get("optional", "")
    fresh = _fresh(plan, sizes(plan, plan.batch), str(plan.step + 301))
    return [f"bias = {given.get(chosen, fresh)}"]


def _function(plan: CallPlan) -> list[str]:
    return [f"fn = {plan.fields.get('function', 'make_fn(1.5)')}"]


_BUILDERS = {
    "tensor": _second,
    "scalar": _scalar,
    "list": _items,
    "numbers": _numbers,
    "optional": _optional,
    "function": _function,
}


def add_arguments(plan: CallPlan, keep_input: bool) -> None:
    """Put the lines that build the arguments, and the arguments themselves, into the plan."""
    made = _input(plan)
    for argument in plan.graph.arguments:
        made += _BUILDERS[argument](plan)
    names = ["x", *(_NAMES[a] for a in plan.graph.arguments)]
    if plan.fields.get("alias") == "overlapping" and "tensor" in plan.graph.arguments:
        made = [line for line in made if not line.startswith("x = ") or plan.fields.get("bad")]
    marks = plan.inputs
    plan.inputs = made + ([] if plan.fields.get("bad") == "type" else marks)
    if keep_input:
        plan.inputs.append("s.x = x")
    if plan.fields.get("structure") == "keyword":
        plan.keywords = [f"{name}={name}" for name in reversed(names)]
    else:
        plan.positional = names
    shown = {"x", "y", "items", "bias"} & set(names)
    plan.shown = [name for name in names if name in shown]
