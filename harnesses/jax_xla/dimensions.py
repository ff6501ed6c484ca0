"""What each value of an invocation dimension does to a call, in JAX's words.

One entry a value: the words for a person and the change of the call's plan. `arguments.py` reads
the fields that `put` sets; a `wrapped` text names `{call}`, the call of the compiled function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from harnesses.arguments import plain_effects
from harnesses.emission import (
    CallPlan,
    Effect,
    callee,
    context,
    inputs,
    put,
    wrapped,
)
from rondo.vocabulary import Dimension, values

OWN_DIMENSIONS = (
    Dimension(
        "transform",
        values(
            "none",
            "grad_x@floats",
            "grad_params@parameter",
            "value_and_grad@floats",
            "jvp_x@floats",
            "jvp_y@arg.tensor",
            "jvp_both@arg.tensor",
            "jvp_params@parameter",
            "linearize@floats",
            "vjp_twice@floats",
            "vmap_x",
            "vmap_y@arg.tensor",
            "named_vmap",
            "second_order@floats",
        ),
        weight=5,
        kin=(("jvp_x", "jvp_y", "jvp_both"), ("vmap_x", "vmap_y"), ("grad_x", "grad_params")),
    ),
    Dimension(
        "wrapper",
        values(
            "none",
            "nested",
            "ahead_of_time",
            "partial",
            "closure",
            "closure_twice",
            "shape_first",
            "jaxpr_first",
            "grad_inside@floats",
            "vmap_inside",
            "checkpoint",
            "donate",
            "inline",
        ),
        weight=3,
        mechanisms=True,
    ),
    Dimension(
        "origin", values("jax", "numpy", "numpy_then_changed", "device_put", "python"), weight=2
    ),
    Dimension(
        "scalar_as",
        values("python", "numpy", "numpy64", "array", "static", "weak_array"),
        needs="arg.scalar",
        weight=4,
    ),
    Dimension("numbers", values("1, 2", "3, 4", "5, 6, 7", "1.5, 2.5"), needs="arg.numbers"),
    Dimension(
        "ambient",
        values(
            "none",
            "x64",
            "no_x64",
            "precision",
            "debug_nans",
            "strict_dtypes",
            "strict_ranks",
            "other_device",
            "not_partitionable",
            "rbg",
            "key_reuse",
            "leaks",
            "disable_jit",
        ),
        weight=4,
        mechanisms=True,
        operators=("make_ones", "noise", "python_random", "fill_scalar", "literal_tensor"),
    ),
    Dimension("placement", values("default", "other_device", "sharded")),
    Dimension("key", values("typed", "raw"), weight=1),
)
"""Dimensions that JAX alone has."""

FORWARD_MODE = frozenset({"jvp_x", "jvp_y", "jvp_both", "jvp_params", "linearize", "second_order"})
"""Transforms that a function with a reverse rule of its own does not have."""

RAISING_AMBIENTS = frozenset({"strict_dtypes", "strict_ranks", "debug_nans", "key_reuse"})
"""Ambient modes in which a call may raise, eagerly too."""


def _by(plan: CallPlan) -> tuple[str, str]:
    """What to differentiate a call by, as a name and its value: the parameters of a model of
    tokens, else the input."""
    return ("params", "s.params") if plan.graph.input_kind == "tokens" else ("x", "x")


def _differentiated(transform: str, value: str) -> Callable[[CallPlan], None]:
    def apply(plan: CallPlan) -> None:
        name, given = _by(plan)
        wrapped(f"{transform}(lambda {name}: {value})({given})")(plan)

    return apply


def _pulled_back(plan: CallPlan) -> None:
    name, given = _by(plan)
    wrapped(f"pulled_back(lambda {name}: total({{call}}), {given})")(plan)


_TRANSFORMS = {
    "grad_x": ("the gradient by x", "jax.grad(lambda x: total({call}))(x)"),
    "grad_params": (
        "the gradient by the parameters",
        "jax.grad(lambda params: total({call}))(s.params)",
    ),
    "value_and_grad": (
        "the value and the gradient by x",
        "jax.value_and_grad(lambda x: total({call}))(x)",
    ),
    "jvp_x": ("the tangent by x", "tangent(lambda x: total({call}), x)"),
    "jvp_y": ("the tangent by y", "tangent(lambda y: total({call}), y)"),
    "jvp_both": ("the tangent by x and y", "tangent(lambda x, y: total({call}), x, y)"),
    "jvp_params": (
        "the tangent by the parameters",
        "tangent(lambda params: total({call}), s.params)",
    ),
    "linearize": (
        "linearised by x",
        "jax.linearize(lambda x: total({call}), x)[1](jnp.ones_like(x))",
    ),
    "vjp_twice": ("pulled back twice by x", "pulled_back(lambda x: total({call}), x)"),
    "vmap_x": (
        "mapped over two inputs",
        "jax.vmap(lambda x: {call})(jnp.stack([x, x]))",
    ),
    "vmap_y": (
        "mapped over two second tensors",
        "jax.vmap(lambda y: {call})(jnp.stack([y, y]))",
    ),
    "named_vmap": (
        "mapped over two inputs along a named axis",
        'jax.vmap(lambda x: {call}, axis_name="two")(jnp.stack([x, x]))',
    ),
    "second_order": (
        "the tangent of the gradient by x",
        "tangent(jax.grad(lambda x: total({call})), x)",
    ),
}

_AMBIENTS = {
    "x64": ("with 64-bit types enabled", "jax.enable_x64(True)"),
    "no_x64": ("with 64-bit types disabled", "jax.enable_x64(False)"),
    "precision": ("at the highest matmul precision", 'jax.default_matmul_precision("highest")'),
    "debug_nans": ("looking for NaNs", "jax.debug_nans(True)"),
    "strict_dtypes": (
        "with strict dtype promotion, which may raise",
        'jax.numpy_dtype_promotion("strict")',
    ),
    "strict_ranks": (
        "without rank promotion, which may raise",
        'jax.numpy_rank_promotion("raise")',
    ),
    "other_device": (
        "with the second device as the default",
        "jax.default_device(jax.devices()[1])",
    ),
    "not_partitionable": (
        "with the old threefry algorithm",
        "jax.threefry_partitionable(False)",
    ),
    "rbg": ("with rbg as the default generator", 'jax.default_prng_impl("rbg")'),
    "key_reuse": ("looking for reused keys, which may raise", "jax.debug_key_reuse(True)"),
    "leaks": ("looking for leaked tracers", "jax.checking_leaks()"),
    "disable_jit": ("under disable_jit", "jax.disable_jit()"),
}


def _donating(plan: CallPlan) -> None:
    plan.fields["donate"] = "yes"
    callee("f", 'f = s.jit("donating", s.model, donate_argnames=("x",))')(plan)


def _closed_over(says: str, text: str) -> Effect:
    """Call through a closure of `x` over the other arguments, which holds the plan's arguments."""

    def apply(plan: CallPlan) -> None:
        plan.fields["closure"] = text

    return Effect(f"through {says} a closure over the other arguments", apply)


_PLAIN = plain_effects("array")
_TABLE: dict[str, dict[str, Effect]] = {
    **_PLAIN,
    "profile": {
        **_PLAIN["profile"],
        "repeated": Effect("the input is non-negative", put(profile=" ** 2")),
    },
    "dtype": {
        name: Effect(f"inputs are {name}", put(dtype=name))
        for name in ("float64", "bfloat16", "float16", "int64")
    },
    "layout": {
        name: Effect(f"the input is {says}", put(layout=name))
        for name, says in {
            "transposed": "a transposed NumPy view",
            "sliced": "a NumPy slice with an offset",
            "strided": "a NumPy view of every other row",
            "expanded": "one broadcast NumPy row",
        }.items()
    },
    "mode": {"eval": Effect("in evaluation", put(training="False"))},
    "backward": {
        "sum": Effect(
            "the value and the gradient of its sum",
            _differentiated("jax.value_and_grad", "total({call})"),
        ),
        "twice": Effect("pulled back twice", _pulled_back),
        "first_output": Effect(
            "the gradient of the first output",
            _differentiated("jax.grad", "first({call})"),
        ),
    },
    "alias": {
        "same": Effect("the second array is the first", put(alias="same")),
        "overlapping": Effect("both are overlapping NumPy views", put(alias="overlapping")),
        "view": Effect("the second array is a slice of all of the first", put(alias="view")),
    },
    "scalar_as": {
        "numpy": Effect("the scalar is a NumPy float32", put(scalar_form="np.float32({k})")),
        "numpy64": Effect("the scalar is a NumPy float64", put(scalar_form="np.float64({k})")),
        "array": Effect(
            "the scalar is a 0-d array", put(scalar_form='jnp.asarray({k}, "float32")')
        ),
        "weak_array": Effect(
            "the scalar is a weakly typed 0-d array", put(scalar_form="jnp.asarray({k})")
        ),
        "static": Effect("the scalar is a static argument", put()),
    },
    "function": {
        "other_default": Effect("a function with another constant", put(function="make_fn(2.5)")),
        "other_code": Effect("another function", put(function="jnp.negative")),
    },
    "rng": {
        "first_step_seed": Effect("with the first step's random key", put(key_seed="1")),
        "advanced": Effect("with a split random key", put(key_split="yes")),
    },
    "callee": {
        "again": Effect(
            "through a new jit of the same function",
            callee("f", "f = jax.jit(s.model, static_argnames=STATIC)"),
        ),
        "again_dynamic": Effect(
            "through a second jit that keeps unused arguments",
            callee("f", 'f = s.jit("keeping", s.model, keep_unused=True)'),
        ),
        "copy": Effect(
            "on another function object with the same code",
            callee("f", 'f = s.jit("copy", s.kept("copied", lambda: same_code(s.model)))'),
        ),
        "second": Effect(
            "on a second closure of the same code",
            callee("f", 'f = s.jit("second", s.kept("other", lambda: make_model(2.5)))'),
        ),
        "method": Effect(
            "through a jitted bound method",
            callee("f", 'f = s.jit("method", s.kept("holder", lambda: Holder(s.model)).call)'),
        ),
        "eager": Effect("without the compiler", callee("s.model")),
    },
    "transform": {
        value: Effect(says, wrapped(text)) for value, (says, text) in _TRANSFORMS.items()
    },
    "wrapper": {
        "nested": Effect(
            "through a jit around the jitted function",
            callee("f", 'f = s.jit("nested", s.jit("model", s.model))'),
        ),
        "ahead_of_time": Effect("compiled ahead of time", put(ahead="yes")),
        "partial": Effect(
            "through a jitted partial",
            callee("f", "f = jax.jit(functools.partial(s.model), static_argnames=STATIC)"),
        ),
        "closure": _closed_over("a new jit of", "jax.jit(lambda x: {call})(x)"),
        "closure_twice": _closed_over(
            "the same new jit, twice, of", "twice(jax.jit(lambda x: {call}), x)"
        ),
        "shape_first": Effect("after eval_shape", put(first="jax.eval_shape")),
        "jaxpr_first": Effect("after make_jaxpr", put(first="jax.make_jaxpr")),
        "grad_inside": _closed_over("the gradient of", "gradient(lambda x: {call})(x)"),
        "vmap_inside": _closed_over("vmap of", "mapped(lambda x: {call})(jnp.stack([x, x]))"),
        "checkpoint": _closed_over("checkpoint of", "remat(lambda x: {call})(x)"),
        "donate": Effect("with the input donated", _donating),
        "inline": Effect(
            "through an inlined jit", callee("f", 'f = s.jit("inline", s.model, inline=True)')
        ),
    },
    "origin": {
        "numpy": Effect("with NumPy arrays", put(origin="numpy")),
        "numpy_then_changed": Effect(
            "with a NumPy array that is changed after the call", put(origin="changed")
        ),
        "device_put": Effect("with device_put of a NumPy array", put(origin="device_put")),
        "python": Effect("with an uncommitted copy", put(origin="copied")),
    },
    "ambient": {value: Effect(says, context(text)) for value, (says, text) in _AMBIENTS.items()},
    "placement": {
        "other_device": Effect(
            "with the input on the second device",
            inputs("x = jax.device_put(x, jax.devices()[1])"),
        ),
        "sharded": Effect("with the input sharded over two devices", inputs("x = sharded(x)")),
    },
    "key": {"raw": Effect("with a raw uint32 key", put(key="jax.random.PRNGKey"))},
    "thread": {"other": Effect("in another thread", put(thread="yes"))},
}

EFFECTS: Mapping[tuple[str, str], Effect] = {
    (dimension, value): effect
    for dimension, entries in _TABLE.items()
    for value, effect in entries.items()
}
"""Every deviation that JAX has, by dimension and value."""
