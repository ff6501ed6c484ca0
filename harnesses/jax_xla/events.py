"""What each event between calls does, in JAX's words.

`{t}` is the carrier's name, `{T}` that name capitalised, `{owner}` the dict that holds it, `{v}`
the value, `{w}` the value as its owner holds it, `{t2}` another carrier. State is data that the
program passes in, so most events rebind an entry of a pytree or a static argument.
"""

from __future__ import annotations

from harnesses.event_text import Entry, EventTable, alike, each
from rondo.vocabulary import EventKind, values

_FLAGS = {
    "gumbel": ("jax_high_dynamic_range_gumbel", ("True", "False")),
    "partitionable": ("jax_threefry_partitionable", ("False", "True")),
    "prng": ("jax_default_prng_impl", ('"rbg"', '"threefry2x32"')),
    "softmax": ("jax_softmax_custom_jvp", ("True", "False")),
    "seed_offset": ("jax_random_seed_offset", ("7", "0")),
    "debug_nans": ("jax_debug_nans", ("True", "False")),
    "disable_jit": ("jax_disable_jit", ("True", "False")),
    "checks": ("jax_enable_checks", ("True", "False")),
    "linearize": ("jax_use_direct_linearize", ("False", "True")),
    "remat": ("jax_remat3", ("True", "False")),
    "scan": ("jax_scan3", ("True", "False")),
    "vjp": ("jax_custom_vjp3", ("True", "False")),
    "leaks": ("jax_check_tracer_leaks", ("True", "False")),
    "async": ("jax_cpu_enable_async_dispatch", ("False", "True")),
}

CACHE = (
    'jax.config.update("jax_compilation_cache_dir", tempfile.mkdtemp())',
    'jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)',
)
"""The lines that a new persistent cache takes."""
_RANDOM = ("noise", "python_random", "random_object", "dropout")

OWN_EVENTS = (
    EventKind("set_flag", values(*_FLAGS), weight=5, mechanisms=True, operators=_RANDOM),
    EventKind("restore_flag", values(*_FLAGS), weight=2, mechanisms=True),
    EventKind("set_default_device", values("1", "0", "None"), weight=1, holds="None"),
    EventKind("use_compilation_cache", values("fresh", "same", "off"), weight=2, mechanisms=True),
    EventKind("change_numpy_input", values("added"), weight=1),
)
"""Events that JAX alone has."""


def _static(kind: str, what: str, value: str = "{w}") -> Entry:
    """Give a static argument, or a counter in the state, another value."""
    return alike(kind, f"set the {what} {{t}} to {{v}}", f'{{owner}}["{{t}}"] = {value}')


def _flag(kind: str, which: int) -> Entry:
    return each(
        kind,
        **{
            name: (
                f"set {flag} to {options[which]}",
                f'jax.config.update("{flag}", {options[which]})',
            )
            for name, (flag, options) in _FLAGS.items()
        },
    )


def _rescaled(kind: str, part: str, **forms: tuple[str, str]) -> Entry:
    """Replace the leaves of an entry of a pytree; a form is (words, expression of leaf `v`)."""
    return each(
        kind,
        **{
            value: (
                f"{says} of {{t}}",
                f's.{part} = with_entry(s.{part}, "{{t}}", lambda v: {text})',
            )
            for value, (says, text) in forms.items()
        },
    )


_ENTRIES: Entry = {
    **_static("set_float_attribute", "float"),
    **_static("set_int_attribute", "integer"),
    **_static("set_bool_attribute", "flag"),
    **_static("retype_attribute", "integer"),
    **_static("set_enum_attribute", "enum", "{T}.{v}"),
    **_static("set_object_attribute", "object", "{T}({v})"),
    **each(
        "change_list_attribute",
        append=("append to the static tuple {t}", 's.config["{t}"] = (*s.config["{t}"], 1.25)'),
        pop=("shorten the static tuple {t}", 's.config["{t}"] = s.config["{t}"][:-1]'),
        set=(
            "change the first entry of the static tuple {t}",
            's.config["{t}"] = (3.0, *s.config["{t}"][1:])',
        ),
        rebind=("rebind the static tuple {t}", 's.config["{t}"] = (0.5, 2.0, 1.5)'),
    ),
    **each(
        "change_dict_attribute",
        set=(
            "change an entry of the dict {t}",
            's.state["{t}"] = {{**s.state["{t}"], "a": jnp.float32(3.0)}}',
        ),
        add=(
            "add an entry to the dict {t}",
            's.state["{t}"] = {{"c": jnp.float32(1.0), **s.state["{t}"]}}',
        ),
        rebind=("rebind the dict {t}", 's.state["{t}"] = {{"a": jnp.float32(0.5)}}'),
    ),
    **each(
        "change_tensor_attribute",
        rebind=("rebind the array {t}", 's.state["{t}"] = jnp.full((1,), 5.0)'),
        mutate=("add one to the array {t}", 's.state["{t}"] = s.state["{t}"] + 1'),
    ),
    **alike(
        "set_property", "replace the custom node {t}", 's.state["{t}"] = {T}(jnp.float32({v} / 2))'
    ),
    **alike("set_class_attribute", "set the class attribute {t}.rate to {v}", "{t}.rate = {v}"),
    **alike("set_global", "set the global {t} to {v}", "global {t}", "{t} = {v}"),
    **each(
        "replace_global_function",
        minus=("replace the global function {t}", "global {t}", "{t} = lambda h: h - 1"),
        half=("replace the global function {t}", "global {t}", "{t} = lambda h: h * 0.5"),
    ),
    **alike(
        "set_closure_cell",
        "set the closed-over variable to {v}",
        "s.model.__closure__[0].cell_contents = {v}",
    ),
    **each(
        "replace_submodule",
        tanh=("replace the static function {t}", 's.config["{t}"] = jnp.tanh'),
        identity=("replace the static function {t}", 's.config["{t}"] = jax.nn.silu'),
    ),
    **_rescaled(
        "change_parameter",
        "params",
        mutate=("scale the parameters", "v * 1.5"),
        rebind=("halve the parameters", "v * 0.5"),
        double=("ask for float64 parameters", 'jnp.asarray(v, "float64")'),
    ),
    **alike(
        "optimizer_step",
        "decay all parameters",
        "s.params = jax.tree.map(lambda v: v * 0.9, s.params)",
    ),
    **alike(
        "load_state",
        "load halved parameters from NumPy arrays",
        "s.params = jax.tree.map(lambda v: np.asarray(v) * np.float32(0.5), s.params)",
    ),
    **alike(
        "tie_parameters", "tie two parameters", 's.params = {{**s.params, "{t}": s.params["{t2}"]}}'
    ),
    **_rescaled(
        "change_buffer",
        "state",
        mutate=("add one to the state", "v + 1"),
        rebind=("rebind the state to a NumPy array", "np.asarray(v)"),
    ),
    **alike(
        "set_default_dtype",
        "set the default float type to {v}",
        'jax.config.update("jax_enable_x64", "{v}" == "float64")',
    ),
    **each(
        "set_matmul_precision",
        **{
            value: (
                f"set the matmul precision to {name}",
                f'jax.config.update("jax_default_matmul_precision", "{name}")',
            )
            for value, name in (("medium", "bfloat16"), ("high", "high"), ("highest", "highest"))
        },
    ),
    **alike(
        "collect_garbage",
        "drop compiled functions and collect garbage",
        "s.made.clear()",
        "gc.collect()",
    ),
    **each(
        "drop_compiler_state",
        in_memory=("clear JAX's caches", "jax.clear_caches()"),
        all=(
            "clear JAX's caches and take a new compilation cache",
            "jax.clear_caches()",
            "if jax.config.jax_compilation_cache_dir:",
            '    jax.config.update("jax_compilation_cache_dir", tempfile.mkdtemp())',
        ),
    ),
    **_flag("set_flag", 0),
    **_flag("restore_flag", 1),
    **each(
        "set_default_device",
        **{
            str(number): (
                f"make device {number} the default",
                f'jax.config.update("jax_default_device", jax.devices()[{number}])',
            )
            for number in (0, 1)
        },
        **{"None": ("unset the default device", 'jax.config.update("jax_default_device", None)')},
    ),
    **each(
        "use_compilation_cache",
        fresh=(
            "use a new persistent compilation cache",
            *CACHE,
            "jax.experimental.compilation_cache.compilation_cache.reset_cache()",
        ),
        same=(
            "forget what is in memory of the persistent compilation cache",
            "jax.experimental.compilation_cache.compilation_cache.reset_cache()",
            "jax.clear_caches()",
        ),
        off=(
            "stop using a compilation cache",
            'jax.config.update("jax_compilation_cache_dir", None)',
            "jax.experimental.compilation_cache.compilation_cache.reset_cache()",
        ),
    ),
    **alike(
        "change_numpy_input",
        "change the input of the last call, where NumPy owns it",
        "if isinstance(s.x, np.ndarray) and s.x.flags.writeable:",
        "    s.x += 1",
    ),
}

EVENT_TEXT = EventTable(_ENTRIES)
"""The text of every kind of event that JAX has."""
