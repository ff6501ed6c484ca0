"""JAX's part of the vocabulary: settings, and what it does not have or documents not to see."""

from __future__ import annotations

from harnesses.jax_xla.dimensions import OWN_DIMENSIONS
from harnesses.jax_xla.events import OWN_EVENTS
from harnesses.jax_xla.templates import SOURCE_TESTS
from rondo.vocabulary import Setting, Vocabulary

LAYERS = ("jit",)

UNSUPPORTED = frozenset(
    {
        "layout=channels_last",
        "requires_grad",
        "grad_mode",
        "autocast",
        "callee=in_place",
        "rng=python_advanced",
        "freeze_parameter",
        "add_forward_hook",
        "add_forward_pre_hook",
        "remove_hook",
        "submodule_mode",
        "advance_python_rng",
        "set_default_argument",
        "replace_method",
        "replace_object_method",
    }
)
"""What JAX has no word for: gradients are transforms, there are no modules, hooks or streams."""

UNDOCUMENTED = frozenset(
    {
        "set_class_attribute",
        "set_global",
        "replace_global_function",
        "set_closure_cell",
    }
)
"""Changes that JAX documents not to see once a function is traced: it must be pure.

https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html#pure-functions
"""

VOCABULARY = Vocabulary(
    settings=(
        Setting("layer", LAYERS, (256,)),
        Setting("options", ("none", "keep_unused", "inline"), (216, 20, 20)),
        Setting("x64", ("off", "on"), (208, 48)),
        Setting("cache", ("none", "persistent"), (128, 128)),
    ),
    dimensions=OWN_DIMENSIONS,
    events=OWN_EVENTS,
    unsupported=UNSUPPORTED,
    undocumented=UNDOCUMENTED,
    tests=SOURCE_TESTS.tests,
)
