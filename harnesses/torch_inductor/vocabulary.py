"""torch.compile's part of the vocabulary: settings, and the dimensions and events of its own."""

from __future__ import annotations

from harnesses.torch_inductor.dimensions import OWN_DIMENSIONS
from harnesses.torch_inductor.events import OWN_EVENTS
from harnesses.torch_inductor.templates import SOURCE_TESTS
from rondo.vocabulary import Setting, Vocabulary

BACKENDS = ("eager", "aot_eager", "inductor")
OPTIONS = (
    "none",
    "automatic_dynamic_off",
    "specialize_float",
    "specialize_int",
    "capture_scalar_outputs",
    "recompile_limit_2",
    "reduce_overhead",
)

VOCABULARY = Vocabulary(
    settings=(
        Setting("backend", BACKENDS, (156, 76, 24)),
        Setting("dynamic", ("None", "True", "False"), (192, 40, 24)),
        Setting("fullgraph", ("False", "True"), (240, 16)),
        Setting("option", OPTIONS, (168, 16, 16, 16, 16, 16, 8)),
    ),
    dimensions=OWN_DIMENSIONS,
    events=OWN_EVENTS,
    tests=SOURCE_TESTS.tests,
)
