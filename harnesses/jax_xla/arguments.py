"""The arguments of a call: builds `x` and the optional arguments of the model function.

Reads the fields that the effects of `dimensions.py` put into the call's plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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
from harnesses.jax_xla.templates import MODAL, RANDOM, STATIC, STATIC_SCALAR
from rondo.models.graph import Graph, Node
from rondo.testcase import Call, TestCase

_FROM_NUMPY = ("numpy", "changed", "device_put")
_VIEWS = {
    "transposed": ".swapaxes(-1, -2)",
    "sliced": "[1:]",
    "strided": "[::2]",
}


_CARRIES_STATE = frozenset(
    {
        "buffer",
        "history",
        "cache",
        "attr.dict",
        "attr.tensor",
        "attr.property",
        "method.object",
    }
)


@dataclass(frozen=True)
class Form:
    """What the model function of a program looks like: its graph, and whether the scalar argument
    is static in all calls."""

    graph: Graph
    static_scalar: bool = False

    def uses(self, operators: frozenset[str]) -> bool:
        """Whether any node is one of these operators."""
        return any(node.op in operators for node in self.graph.nodes)

    @cached_property
    def config(self) -> tuple[Node, ...]:
        """The nodes that read a static argument of their own."""
        return tuple(node for node in self.graph.owners if node.op in STATIC)

    @cached_property
    def has_state(self) -> bool:
        """Whether the model carries state from call to call."""
        return bool(_CARRIES_STATE & self.graph.traits) or self.graph.uses("count_calls")

    @cached_property
    def flags(self) -> tuple[str, ...]:
        """The static arguments that do not belong to an operator."""
        scalar = "scalar" in self.graph.arguments and self.static_scalar
        names = ["k"] if scalar else []
        names += ["fn"] if "function" in self.graph.arguments else []
        return tuple([*names, "training"] if self.uses(MODAL) else names)

    @cached_property
    def arrays(self) -> tuple[str, ...]:
        """The names of the model function's arrays and pytrees, in order."""
        names = ["params"] if "parameter" in self.graph.traits else []
        names += ["state"] if self.has_state else []
        names += ["x", *(NAMES[a] for a in self.graph.arguments)]
        names += ["key"] if self.uses(RANDOM) else []
        return tuple(name for name in names if name not in self.flags)

    @property
    def static(self) -> tuple[str, ...]:
        """The names of the model function's static arguments."""
        return (*self.flags, *(node.stem for node in self.config))


def form(case: TestCase, graph: Graph) -> Form:
    """The form of a case's model function."""
    asked = any(isinstance(s, Call) and s.get("scalar_as", "") == "static" for s in case.steps)
    branches = any(node.op in STATIC_SCALAR for node in graph.nodes)
    return Form(graph, asked or branches)


def _fresh(plan: CallPlan, entries: list[int], seed: str, numpy: bool = False) -> str:
    """An expression for new values of a shape."""
    dtype = plan.fields.get("dtype", "")
    differentiated = "lambda x" in plan.wrap or "closure" in plan.fields
    kind = "numpy_" if numpy else ""
    if plan.graph.input_kind == "tokens":
        return f"{kind}integers({shape_text(entries)}, {seed})"
    if dtype == "int64" and not differentiated:
        return f"{kind}integers({shape_text(entries)}, {seed}){plan.fields.get('profile', '')}"
    named = {"": "", "int64": "", "bfloat16": ", jnp.bfloat16"}.get(dtype, f', "{dtype}"')
    return f"{kind}array({shape_text(entries)}, {seed}{named})" + plan.fields.get("profile", "")


def _laid_out(plan: CallPlan, seed: str) -> str:
    """An expression for the input in the plan's layout; other layouts are NumPy's."""
    layout = plan.fields.get("layout", "")
    shape = sizes(plan, plan.batch)
    rows, *row = shape
    if layout == "expanded":
        first = _fresh(plan, [1, *row], seed, numpy=True)
        return f"np.broadcast_to({first}, {shape_text(shape)})"
    if layout:
        stored = {
            "transposed": [*shape[:-2], shape[-1], shape[-2]],
            "sliced": [rows + 1, *row],
            "strided": [rows * 2, *row],
        }[layout]
        return bracketed(_fresh(plan, stored, seed, numpy=True)) + _VIEWS[layout]
    return _fresh(plan, shape, seed, numpy=plan.fields.get("origin", "") in _FROM_NUMPY)


def _input(plan: CallPlan) -> list[str]:
    seed = plan.fields.get("seed", str(plan.step + 1))
    bad = plan.fields.get("bad", "")
    if bad == "type":
        return ["x = None"]
    if bad:
        return [f"x = {_BUILDER.wrong_shape(plan, seed)}"]
    origin = plan.fields.get("origin", "")
    made = _laid_out(plan, seed)
    if origin == "device_put":
        made = f"jax.device_put({made})"
    if origin == "copied":
        made = f"jnp.array({made})"
    if plan.fields.get("previous"):
        made = f"{made} if s.x is None else s.x"
    return [f"x = {made}"]


def _pool(plan: CallPlan, entries: list[int], seed: str) -> str:
    """JAX's arrays cannot overlap; views of one NumPy array can."""
    return _fresh(plan, entries, seed, numpy=True)


_BUILDER = Builder(_fresh, _pool, kept=True)


def _key(plan: CallPlan) -> str:
    seed = plan.fields.get("key_seed", str(plan.step + 1))
    made = f"{plan.fields.get('key', 'jax.random.key')}({seed})"
    return f"key = {f'jax.random.split({made})[0]' if plan.fields.get('key_split') else made}"


def add_arguments(plan: CallPlan, model: Form, keep_input: bool) -> None:
    """Put the lines that build the arguments, and the arguments themselves, into the plan."""
    if model.static_scalar:
        plan.fields.pop("scalar_form", None)
    made = given_lines(plan, _BUILDER, _input(plan))
    if "key" in model.arrays:
        made.append(_key(plan))
    plan.inputs = made + ([] if plan.fields.get("bad") == "type" else plan.inputs)
    if keep_input:
        plan.inputs.append("s.x = x")
    if not plan.fields.get("donate"):
        plan.shown = [n for n in VISIBLE if n in model.arrays]
    _place(plan, model)


def _place(plan: CallPlan, model: Form) -> None:
    """The arguments of the call: arrays by position or keyword, static ones by keyword."""
    values = {
        "params": "params" if "lambda params" in plan.wrap else "s.params",
        "state": "s.state",
        "training": plan.fields.get("training", "True"),
    }
    by_keyword = plan.fields.get("structure") == "keyword"
    if not by_keyword:
        plan.positional = [values.get(name, name) for name in model.arrays]
    named = [*(reversed(model.arrays) if by_keyword else ()), *model.flags]
    plan.keywords = [f"{name}={values.get(name, name)}" for name in named]
    if model.config:
        plan.keywords.append("**s.config")
