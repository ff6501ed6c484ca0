"""The standalone program of a JAX finding; it needs JAX and NumPy only."""

from __future__ import annotations

from harnesses.base import Program
from harnesses.standalone import Parts, standalone

_LOOK = '''
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


def run(step, s, arm):
    """A step as the arm wants it: un-jitted, or compiled, from empty caches in the reset arm."""
    if not s.live:
        with jax.disable_jit():
            return step(s)
    if arm == "reset":
        jax.clear_caches()
    return step(s)
'''

_TWO_DEVICES = 'jax.config.update("jax_num_cpu_devices", 2)'


def repro(program: Program, exposing: int, title: str, seconds: int) -> str:
    """The standalone text of a program whose step `exposing` shows a bug."""
    devices = (_TWO_DEVICES,) if "jax.devices()" in program.text else ()
    parts = Parts(
        look=_LOOK,
        versions='"jax", jax.__version__',
        step="run(step, s, arm)",
        third_party=("import jax", "import jax.numpy as jnp", "import numpy as np"),
        top=devices,
    )
    return standalone(program, parts, exposing, title, seconds)
