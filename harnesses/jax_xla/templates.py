"""The operators in JAX's words: one template a neutral operator; `ordinary` holds those that
carry no state.

A model is a pure function: what it owns is in `params` (trained) and `state` (carried from call to
call and returned), what configures it is a static argument. Where PyTorch has a Python branch on
data, JAX has `cond`, `scan` and `while_loop`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harnesses import source_tests
from harnesses.emission import Template, template
from harnesses.jax_xla.ordinary import ORDINARY
from rondo.models.operators import SENSES

SOURCE_TESTS = source_tests.read(Path(__file__).with_name("source_tests.json"))
"""JAX's primitive harnesses, as `tools/jax_source_tests.py` wrote them down."""

_EXPRESSIONS = {
    "noise": "{h} + jax.random.uniform(key, {h}.shape)",
    "python_random": "{h} + jax.random.gumbel(key, {h}.shape)",
    "random_object": "{h} + jax.random.randint(key, (1,), 1, 1000)",
    "make_ones": "{h} + jnp.ones(1)",
    "size_arithmetic": "{h} * {h}.shape[0]",
    "scale_scalar": "{h} * k",
    "clamp_scalar": "jnp.minimum({h}, k)",
    "add_scalar": "{h} + k",
    "fill_scalar": "{h} + jnp.full((1,), k)",
    "number_list": "{h} + sum(numbers)",
    "apply_function": "fn({h})",
    "branch_batch": "{h} * 2 if {h}.shape[0] > 4 else {h} + 1",
    "branch_single": "{h} * 2 if {h}.shape[0] == 1 else {h} + 1",
    "branch_dtype": "{h} * 2 if x.dtype == jnp.float32 else {h} + 1",
    "branch_training": "{h} * 2 if training else {h} + 1",
    "literal_mode": "{h} + jnp.array([1.0, 2.0] if training else [3.0, 4.0]).sum()",
    "branch_grad": "{h} * 2 if jax.config.jax_enable_x64 else {h} + 1",
    "branch_contiguous": "jax.lax.scan(lambda c, row: (c + 1, row * c), 1, {h})[1]",
    "branch_requires_grad": "jax.checkpoint(lambda h: jnp.sin(h) * 2)({h})",
    "branch_value": ("jax.lax.cond({h}.sum() > 0.3, lambda h: h * 2, lambda h: h - 1, {h})"),
    "branch_scalar": "{h} * 2 if k > 2 else {h} - 1",
    "add_tensor": "{h} + {other}",
    "graph_break": "jax.jit(lambda h: h + 1)({h})",
    "try_except": "jax.lax.fori_loop(0, 3, lambda i, h: h + i, {h})",
    "without_grad": "jax.lax.stop_gradient({h}) * 2",
}

_STATE = {
    "read_dict": (
        '{{"a": jnp.float32(1.5), "b": jnp.float32(2.0)}}',
        '{y} = {h} * state["{n}"]["a"] + len(state["{n}"])',
    ),
    "read_tensor": ("jnp.ones(1)", '{y} = {h} + state["{n}"]'),
    "read_buffer": ("jnp.ones(1)", '{y} = {h} + state["{n}"]'),
    "count_calls": ("jnp.int32(0)", 'state["{n}"] = state["{n}"] + 1\n{y} = {h} + state["{n}"]'),
    "count_buffer": (
        "jnp.zeros(1)",
        'state["{n}"] = state["{n}"] + 1\n{y} = {h} + state["{n}"]',
    ),
    "running_mean": (
        "jnp.zeros(1)",
        'state["{n}"] = state["{n}"] * 0.9 + {h}.mean() * 0.1\n{y} = {h} - state["{n}"]',
    ),
    "write_buffer": ("jnp.zeros(1)", 'state["{n}"] = {h}.sum()\n{y} = {h} * 2'),
    "keep_history": (
        "()",
        'state["{n}"] = (*state["{n}"], jnp.int32({h}.shape[0]))\n{y} = {h} + len(state["{n}"])',
    ),
    "keep_tensors": (
        "()",
        'state["{n}"] = (*state["{n}"], {h}.mean())\n{y} = {h} + sum(state["{n}"])',
    ),
}

_STATIC = {
    "read_float": ("1.5", "{h} * {n}"),
    "read_int": ("2", "{h} + {n}"),
    "read_bool": ("False", "{h} * 7 if {n} else {h}"),
    "read_list": ("(1.5, 2.0)", "{h} * sum({n}) * len({n})"),
    "call_submodule": ("jax.nn.relu", "{n}({h})"),
    "literal_flag": ("False", "{h} + jnp.array([1.0, 2.0] if {n} else [3.0, 4.0]).sum()"),
    "literal_tensor": ("1.5", "{h} + jnp.array([{n}, 1.0]).sum()"),
}

_STATEMENTS = {
    "mutate_input": "x = jnp.asarray(x) * 2\n{y} = {h} + {x}",
    "write_input_row": "x = jnp.asarray(x).at[:1].set(0)\n{y} = {h} + {x}",
    "mutate_then_add": "y = jnp.asarray(y) + 1\n{y} = {h} + {other}",
    "inner_autocast": (
        'with jax.default_matmul_precision("bfloat16"):\n'
        "    {y} = {h} @ jnp.eye({features}, dtype={h}.dtype)"
    ),
    "typed_scalar": (
        "if isinstance(k, bool):\n"
        "    {y} = {h} * 2\n"
        "else:\n"
        "    {y} = {h} + 1 if isinstance(k, int) else {h} - k"
    ),
    "sum_items": "{y} = {h} * len(items)\nfor item in items:\n    {y} = {y} + item.mean()",
    "add_optional": "{y} = {h} * 2 if bias is None else {h} + bias.mean()",
}

_RETURNS = {
    "return_input": "({y}, x)",
    "return_view": "({y}, {y}[:1])",
    "return_twice": "({y}, {y})",
    "return_dict": '{{"second": {y} * 2, "first": {y}}}',
    "return_tuple": "({y}, ({y} + 1, None))",
    "return_size": "({y}, jnp.asarray({y}.shape[0]))",
}


_SPECIAL = {
    "read_enum": template(
        "{y} = {h} * 2 if {n} is {N}.A else {h} - 1",
        "{N}.A",
        module="""
            class {N}(enum.Enum):
                A = 1
                B = 2
        """,
    ),
    "read_object": template(
        "{y} = {h} * {n}.gain",
        "{N}(1.5)",
        module="""
            @dataclasses.dataclass(frozen=True)
            class {N}:
                gain: float
        """,
    ),
    "read_property": template(
        '{y} = {h} * state["{n}"].twice',
        'state["{n}"] = {N}(jnp.float32(0.75))',
        module="""
            @jax.tree_util.register_pytree_node_class
            class {N}:
                def __init__(self, value):
                    self.value = value

                @property
                def twice(self):
                    return self.value * 2

                def tree_flatten(self):
                    return (self.value,), None

                @classmethod
                def tree_unflatten(cls, aux, children):
                    return cls(*children)
        """,
    ),
    "read_class": template(
        "{y} = {h} * {n}.rate",
        module="""
            class {n}:
                rate = 1.5
        """,
    ),
    "read_global": template("{y} = {h} * {n}", module="{n} = 1.5"),
    "call_global": template(
        "{y} = {n}({h})",
        module="""
            @jax.jit
            def {n}(h):
                return h + 1
        """,
    ),
    "call_closure": template("{y} = {h} * rate"),
    "call_default": template(
        "{y} = {n}({h})",
        module="""
            @jax.custom_jvp
            def {n}(h):
                return h * 1.5


            @{n}.defjvp
            def {n}_jvp(primals, tangents):
                return {n}(primals[0]), tangents[0] * 3
        """,
    ),
    "call_method": template(
        "{y} = {n}({h})",
        module="""
            @jax.custom_vjp
            def {n}(h):
                return h * 1.5


            def {n}_forward(h):
                return {n}(h), None


            def {n}_backward(_, out):
                return (out * 3,)


            {n}.defvjp({n}_forward, {n}_backward)
        """,
    ),
    "call_object": template(
        '{y} = {h} + state["{n}"].shift - state["{n}"].step',
        'state["{n}"] = {n}(jnp.float32(1.5), jnp.float32(0.5))',
        module="""
            class {n}(typing.NamedTuple):
                step: float
                shift: float
        """,
    ),
}

STATIC = frozenset({*_STATIC, "read_enum", "read_object"})
"""Operators that read a static argument; the `init` of their template is its first value."""

STATIC_SCALAR = frozenset({"branch_scalar", "typed_scalar"})
"""Operators for which the scalar argument must be static."""

RANDOM = frozenset({"dropout", "noise", "python_random", "random_object", "reparameterise"})
"""Operators that need a random key."""

MODAL = frozenset({*(op for op, senses in SENSES.items() if "mode" in senses), "batch_norm_map"})
"""Operators that depend on the static flag `training`."""

TEMPLATES: Mapping[str, Template] = {
    **ORDINARY,
    **{op: template(f"{{y}} = {text}") for op, text in _EXPRESSIONS.items()},
    **{op: template(text, f'state["{{n}}"] = {made}') for op, (made, text) in _STATE.items()},
    **{op: template(f"{{y}} = {text}", made) for op, (made, text) in _STATIC.items()},
    **{op: template(text) for op, text in _STATEMENTS.items()},
    **{op: template("{y} = {h}", returns=text) for op, text in _RETURNS.items()},
    **_SPECIAL,
    **SOURCE_TESTS.templates,
}
"""Every neutral operator, architecture node and test of JAX's own as JAX text."""
