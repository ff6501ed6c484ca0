"""The standalone program of a JAX finding; it needs JAX and NumPy only."""

from __future__ import annotations

import re
from dataclasses import replace

from harnesses.base import Program, Shown, Wanted
from harnesses.flat import Flat, without
from harnesses.jax_xla.events import CACHE
from harnesses.standalone import Look, Parts, standalone

_LOOK_ALL = '''
def seen(s, result):
    """What a user can see: results, arguments, parameters and state, leaf by leaf."""
    leaves, structure = jax.tree.flatten([result, s.params, s.state])
    return [str(structure), *map(look, leaves)]


def look(leaf):
    """An array by type, shape, weak type and numbers."""
    if not hasattr(leaf, "shape") and not isinstance(leaf, (bool, int, float)):
        return str(leaf)
    value = leaf if isinstance(leaf, np.ndarray) else jnp.asarray(leaf)
    dtype, weak = str(value.dtype), bool(getattr(value, "weak_type", False))
    if dtype.startswith("key"):
        value = jax.random.key_data(value)
    return dtype, tuple(value.shape), weak, np.asarray(value).astype("float64")


def play(step, s, arm):
    """A step as the arm wants it: un-jitted, or compiled, from empty caches in the reset arm."""
    if not s.live:
        with jax.disable_jit():
            return step(s)
    if arm == "reset":
        jax.clear_caches()
    return step(s)
'''

_TWO_DEVICES = 'jax.config.update("jax_num_cpu_devices", 2)'
_READABLE = re.compile(r"\w+(\[(\d+|'\w+')\]|\.\w+)*")
_JIT = "jax.jit(model, static_argnames=STATIC)"


def look(shown: Shown) -> Look | None:
    """How to see one place of a JAX program after the exposing step."""
    path, _, what = shown.path.replace("'", '"').partition(" ")
    if what == "structure":
        return Look(f"[str(jax.tree.structure({path}))]")
    if not _READABLE.fullmatch(shown.path) or not shown.there or "key<" in shown.detail:
        return None
    if not shown.array:
        return Look(f"[type({path}).__name__]")
    numbers = 'np.asarray(value).astype("float64")'
    leaf = f"[str(value.dtype), value.shape, value.weak_type, {numbers}]"
    return Look(leaf, True, (f"value = jnp.asarray({path})",))


def _without_init(module: list[str], steps: list[list[str]]) -> list[str]:
    """The module without `init` where no step uses parameters or state."""
    used = re.search(r"\b(params|state)\b", "\n".join(line for body in steps for line in body))
    return module if used else without("def init():", module)


def _without_static(module: list[str], steps: list[list[str]]) -> list[str]:
    """The module without the names of static arguments where it has none and no step asks."""
    kept = [line for line in module if line != "STATIC = ()"]
    return module if any("STATIC" in line for body in (kept, *steps) for line in body) else kept


def _flat(program: Program) -> Flat:
    jit = "jax.jit(model)" if "\nSTATIC = ()\n" in program.text else _JIT
    return Flat(
        callee='s.jit("model", s.model)',
        start=(f"f = {jit}", 'jax.config.update("jax_disable_jit", arm != "retained")'),
        fresh=(
            'jax.config.update("jax_disable_jit", arm == "eager")',
            'if arm == "reset":',
            "    jax.clear_caches()",
        ),
        unfit=r"\bs\.|jax_disable_jit|make_model",
        tidy=lambda module, steps: (_without_init(_without_static(module, steps), steps), steps),
    )


def _without_cache(program: Program) -> tuple[Program, tuple[str, ...]]:
    """The program, and the lines that set up its persistent cache: each arm needs one of its own,
    or what one arm compiles is there for the next."""
    own = "\n".join(CACHE)
    module = program.text.replace(f"\n{own}\n", "\n")
    return (program, ()) if module == program.text else (replace(program, text=module), CACHE)


def repro(program: Program, wanted: Wanted) -> str:
    """The standalone text of a program that shows a bug."""
    program, cache = _without_cache(program)
    plain = 'options["' not in program.text  # what `State.jit` adds to every compiled function
    wanted = wanted if plain else replace(wanted, shown=None)
    parts = Parts(
        look=look,
        look_all=_LOOK_ALL,
        flat=_flat(program),
        versions='"jax", jax.__version__',
        step="play(step, s, arm)",
        begin=cache,
        imports=(
            "import jax",
            "import jax.numpy as jnp",
            "from jax.extend.core import primitives",
        ),
        top=(_TWO_DEVICES,) if "jax.devices()" in program.text else (),
    )
    return standalone(program, parts, wanted)
