"""Functions that emitted JAX programs are written with; a program holds those that it uses.

A later one may use an earlier one.
"""

from __future__ import annotations

from harnesses.jax_xla import layers

HELPERS = {
    "normal": """
def normal(rng, shape):
    return jnp.asarray(rng.standard_normal(shape) * 0.5, "float32")
""",
    "array": """
def array(shape, seed, dtype="float32"):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), dtype)
""",
    "numpy_array": """
def numpy_array(shape, seed, dtype="float32"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)
""",
    "integers": """
def integers(shape, seed):
    return jnp.asarray(np.random.default_rng(seed).integers(0, 8, shape), "int32")
""",
    "numpy_integers": """
def numpy_integers(shape, seed):
    return np.random.default_rng(seed).integers(0, 8, shape).astype("int32")
""",
    "weights": """
def weights(rng, *shape, fan):
    return jnp.asarray(rng.standard_normal(shape) / np.sqrt(fan), "float32")
""",
    **layers.HELPERS,
    "running": """
def running(old, mean, var):
    return {"mean": old["mean"] * 0.9 + mean * 0.1, "var": old["var"] * 0.9 + var * 0.1}
""",
    "normed": """
def normed(h, mean, var, w, shape):
    return (h - mean.reshape(shape)) / jnp.sqrt(var.reshape(shape) + 1e-5) * w.reshape(shape)
""",
    "with_entry": """
def with_entry(tree, name, change):
    return {**tree, name: jax.tree.map(change, tree[name])}
""",
    "total": """
def total(tree):
    leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(tree)]
    floats = [leaf for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.floating)]
    return sum(leaf.astype("float32").sum() for leaf in floats) + jnp.float32(0)
""",
    "first": """
def first(tree):
    return total(jax.tree.leaves(tree)[0])
""",
    "gradient": """
def gradient(f):
    return jax.jit(jax.grad(lambda x: total(f(x))))
""",
    "remat": """
def remat(f):
    return jax.jit(jax.checkpoint(f))
""",
    "mapped": """
def mapped(f):
    return jax.jit(jax.vmap(f))
""",
    "tangent": """
def tangent(f, *given):
    return jax.jvp(f, given, jax.tree.map(jnp.ones_like, given))
""",
    "pulled_back": """
def pulled_back(f, x):
    pull = jax.vjp(f, x)[1]
    return pull(jnp.float32(1)), pull(jnp.float32(2))
""",
    "twice": """
def twice(f, x):
    return f(x), f(x + 1)
""",
    "ahead": """
def ahead(f, *args, **named):
    compiled = f.lower(*args, **named).compile()
    return compiled(*args, **{name: v for name, v in named.items() if name not in STATIC})
""",
    "in_thread": """
def in_thread(call):
    plain = jax.config.jax_disable_jit  # a thread of its own does not inherit this

    def run():
        with jax.disable_jit(plain):
            return call()

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()
""",
    "sharded": """
def sharded(x):
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("rows",))
    spec = ("rows",) if x.shape[0] % 2 == 0 else ()
    return jax.device_put(x, jax.NamedSharding(mesh, jax.P(*spec)))
""",
    "make_fn": """
def make_fn(rate):
    def fn(h):
        return h * rate

    return fn
""",
    "Holder": """
class Holder:
    def __init__(self, function):
        self.function = function

    def call(self, *args, **config):
        return self.function(*args, **config)
""",
    "same_code": """
def same_code(f):
    return types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
""",
}
"""Helper functions by name; a program holds those that it uses."""
