"""What each value of an invocation dimension does to a call, in PyTorch's words.

One entry a value: the words for a person and the change of the call's plan. `arguments.py` reads
the fields that `put` sets.
"""

from __future__ import annotations

from collections.abc import Mapping

from harnesses.arguments import plain_effects
from harnesses.emission import (
    Effect,
    after,
    around,
    before,
    callee,
    context,
    inputs,
    put,
    wrapped,
)
from rondo.vocabulary import Dimension, values

OWN_DIMENSIONS = (
    Dimension(
        "wrapper", values("none", "export", "function", "closure", "nested"), mechanisms=True
    ),
    Dimension("mark", values("none", "dynamic", "static", "maybe_dynamic"), needs="floats"),
    Dimension(
        "numbers", values("1, 2", "3, 4", "5, 6, 7", "1.5, 2.5"), needs="arg.numbers", weight=3
    ),
    Dimension("grad_context", values("ambient", "set_off", "set_on", "anomaly")),
)
"""Dimensions that torch alone has."""

_PLAIN = plain_effects("tensor")
_TABLE: dict[str, dict[str, Effect]] = {
    **_PLAIN,
    "profile": {
        **_PLAIN["profile"],
        "repeated": Effect("the input is plus or minus one", put(profile=".sign()")),
    },
    "dtype": {
        name: Effect(f"inputs are {name}", put(dtype=f"torch.{name}"))
        for name in ("float64", "bfloat16", "float16", "int64")
    },
    "layout": {
        name: Effect(f"the input is {says}", put(layout=name))
        for name, says in {
            "transposed": "a transposed view",
            "sliced": "a slice with a storage offset",
            "strided": "a view of every other row",
            "expanded": "one expanded row",
            "channels_last": "in channels-last layout",
        }.items()
    },
    "requires_grad": {"yes": Effect("the input requires grad", put(requires_grad="yes"))},
    "grad_mode": {
        "no_grad": Effect("under no_grad", context("torch.no_grad()")),
        "inference": Effect("under inference_mode", context("torch.inference_mode()")),
    },
    "autocast": {
        "bfloat16": Effect(
            "under autocast to bfloat16", context('torch.autocast("cpu", dtype=torch.bfloat16)')
        ),
        "float16": Effect(
            "under autocast to float16", context('torch.autocast("cpu", dtype=torch.float16)')
        ),
        "disabled": Effect(
            "under a disabled autocast", context('torch.autocast("cpu", enabled=False)')
        ),
    },
    "mode": {"eval": Effect("in eval mode", around("s.model.eval()", "s.model.train()"))},
    "backward": {
        "sum": Effect("then backward", after("backward(out)")),
        "twice": Effect("then backward twice", after("backward(out, times=2)")),
        "first_output": Effect(
            "then backward of the first output alone", after("backward(out, only_first=True)")
        ),
    },
    "alias": {
        "same": Effect("the second tensor is the first", put(alias="same")),
        "overlapping": Effect("the two tensors overlap in memory", put(alias="overlapping")),
        "view": Effect("the second tensor is a view of the first", put(alias="view")),
    },
    "function": {
        "other_default": Effect("a function with another default", put(function="make_fn(2.5)")),
        "other_code": Effect("another function", put(function="torch.neg")),
    },
    "rng": {
        "first_step_seed": Effect("with the first step's random seed", before("reseed(1)")),
        "python_advanced": Effect("with Python's random state advanced", before("random.random()")),
        "advanced": Effect("with torch's random state advanced", before("torch.rand(1)")),
    },
    "callee": {
        "again": Effect(
            "through a second torch.compile of the model",
            callee("f", 'f = s.compiled("again", s.model, **COMPILE)'),
        ),
        "again_dynamic": Effect(
            "through a second torch.compile with dynamic=True",
            callee("f", 'f = s.compiled("dynamic", s.model, **{**COMPILE, "dynamic": True})'),
        ),
        "copy": Effect(
            "on a copy of the model",
            callee(
                "f",
                'other = s.kept("copy", lambda: copy.deepcopy(s.model))',
                'f = s.compiled("copy", other, **COMPILE)',
            ),
        ),
        "second": Effect(
            "on a second instance of the class",
            callee(
                "f",
                'other = s.kept("second", Model)',
                'f = s.compiled("second", other, **COMPILE)',
            ),
        ),
        "method": Effect(
            "through the compiled bound method",
            callee("f", 'f = s.compiled("method", s.model.forward, **COMPILE)'),
        ),
        "in_place": Effect(
            "after compiling the model in place",
            callee("s.model", "if s.live:", "    s.model.compile(**COMPILE)"),
        ),
        "eager": Effect("without the compiler", callee("s.model")),
    },
    "wrapper": {
        "export": Effect(
            "through torch.export",
            put(export="yes"),
        ),
        "function": Effect(
            "through a compiled function that calls the model",
            callee(
                "f",
                'run = s.kept("run", lambda: lambda *args, **names: s.model(*args, **names))',
                'f = s.compiled("run", run, **COMPILE)',
            ),
        ),
        "closure": Effect(
            "through a new compiled closure over the model",
            callee(
                "f",
                "model = s.model",
                "f = torch.compile(lambda *args, **names: model(*args, **names), **COMPILE)",
                "f = f if s.live else model",
            ),
        ),
        "nested": Effect(
            "through a compiled function around the compiled model",
            callee(
                "f",
                'inner = s.compiled("model", s.model, **COMPILE)',
                'run = s.kept("outer", lambda: lambda *args, **names: inner(*args, **names))',
                'f = s.compiled("nested", run, **COMPILE)',
            ),
        ),
    },
    "mark": {
        "dynamic": Effect("the batch marked dynamic", inputs("torch._dynamo.mark_dynamic(x, 0)")),
        "static": Effect("the batch marked static", inputs("torch._dynamo.mark_static(x, 0)")),
        "maybe_dynamic": Effect(
            "the batch marked maybe dynamic", inputs("torch._dynamo.maybe_mark_dynamic(x, 0)")
        ),
    },
    "grad_context": {
        "set_off": Effect("with set_grad_enabled(False)", context("torch.set_grad_enabled(False)")),
        "set_on": Effect("with set_grad_enabled(True)", context("torch.set_grad_enabled(True)")),
        "anomaly": Effect(
            "with anomaly detection", context("torch.autograd.set_detect_anomaly(True)")
        ),
    },
    "thread": {"other": Effect("in another thread", wrapped("in_thread(lambda: {call})"))},
}

EFFECTS: Mapping[tuple[str, str], Effect] = {
    (dimension, value): effect
    for dimension, entries in _TABLE.items()
    for value, effect in entries.items()
}
"""Every deviation that torch has, by dimension and value."""
