"""A user's own model as a target: its vocabulary is what it takes, its programs call its factory.

Everything else is the torch target's: the arms, observations, numerics and repros.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import replace

from harnesses.base import OwnModel, Program, Wanted
from harnesses.emission import (
    KEPT,
    CallPlan,
    apply_effects,
    assembled,
    call_lines,
    indent,
    needed_helpers,
    needed_imports,
    steps_line,
)
from harnesses.torch_inductor import TorchInductor
from harnesses.torch_inductor.emit import COMPILED, IMPORTS, compile_line
from harnesses.torch_inductor.helpers import HELPERS
from harnesses.torch_inductor.own_steps import (
    AMBIENT_EVENTS,
    add_inputs,
    dimensions,
    effects,
    event_step,
    events,
)
from rondo.check.facts import Facts
from rondo.check.source import IMPORTS as SOURCE_IMPORTS
from rondo.check.source import Input, Source, factory_text
from rondo.errors import SetupError
from rondo.models.graph import Graph
from rondo.testcase import Call, Event, TestCase
from rondo.vocabulary import SHARED_DIMENSIONS, SHARED_EVENTS, Vocabulary

_TENSOR = """
def tensor(example, sizes, shift, dtype=None):
    \"\"\"The values of an example, cyclically, in these sizes and another order.\"\"\"
    made = example.detach().clone()
    for axis, size in enumerate(sizes):
        rows = (torch.arange(size) + shift) % max(made.shape[axis], 1)
        made = made.index_select(axis, rows)
    return made if dtype is None else made.to(dtype)
"""
_EXAMPLE = """
def example(shape, seed, dtype):
    generator = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, generator=generator, dtype=dtype)
    return torch.randint(0, 2 if dtype is torch.bool else 8, shape, generator=generator).to(dtype)
"""
_HELPERS = {**HELPERS, "tensor": _TENSOR, "example": _EXAMPLE}
_IMPORTS = {**IMPORTS, **SOURCE_IMPORTS}
_UNPACKED = {
    "alone": "self.{model} = factory()",
    "one": "self.{model}, self.inputs = factory()",
    "pair": "self.{model}, self.inputs = factory()",
    "several": "self.{model}, *self.inputs = factory()",
}
_RESEED = """\
def reseed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)"""


_DTYPES = frozenset(
    "float64 float32 float16 bfloat16 complex64 complex128 int64 int32 int16 int8 uint8 "
    "bool".split()
)


def inputs_expression(inputs: Iterable[Input]) -> str:
    """The dict of example inputs that the command line asked for.

    Raises SetupError for an element type that torch does not have.
    """
    if unknown := [given.dtype for given in inputs if given.dtype not in _DTYPES]:
        raise SetupError(f"torch has no type {unknown[0]}", f"types: {', '.join(sorted(_DTYPES))}")
    entries = [
        f'"{given.name}": example({given.shape!r}, {place}, torch.{given.dtype})'
        for place, given in enumerate(inputs)
    ]
    return f"{{{', '.join(entries)}}}"


def probe_program(source: Source) -> Program:
    """The program that inspects a model instead of playing steps with it."""
    text = [
        _RESEED,
        "class State:\n    def __init__(self, live):\n        self.live = live\n"
        "        self.model = torch.nn.Module()",
        'def step_1(s):\n    return {"out": examine(factory)}',
        "STEPS = (step_1,)",
    ]
    blocks = ["\n".join(factory_text(source, inputs_expression(source.inputs))), *text]
    body = "\n\n\n".join([*needed_helpers({"example": _EXAMPLE}, blocks[0]), *blocks])
    imports = needed_imports(_IMPORTS, body)
    head = [*imports, "import random", "", "import numpy as np", "import torch", ""]
    head.append("from harnesses.torch_inductor.probe import examine")
    return Program("\n".join(head) + f"\n\n\n{body}\n", ("Inspect the model",), (0,), frozenset())


class TorchModel(OwnModel, TorchInductor):
    """A user's model under `torch.compile`."""

    server = TorchInductor.name

    def __init__(self, source: Source, facts: Facts) -> None:
        self._source = source
        self._facts = facts
        self.name = f"{TorchInductor.name} {source.label}"
        self.vocabulary = _vocabulary(facts)
        self._effects = effects(facts)
        self._shown = [leaf.name for leaf in facts.leaves if leaf.kind == "tensor"]

    def restricted(self, refused: frozenset[str]) -> TorchModel:
        other = copy.copy(self)
        old = self.vocabulary
        kept = tuple(d for d in old.dimensions if d.name not in refused)
        other.vocabulary = replace(old, dimensions=kept, unsupported=old.unsupported | refused)
        return other

    def repro(self, case: TestCase, wanted: Wanted) -> str:
        """The short form where the model is a module; a function is seen through `State`."""
        from harnesses.torch_inductor.repro import repro

        shown = wanted.shown if self._facts.module else None
        return repro(self.emit(case), replace(wanted, shown=shown))

    def emit(self, case: TestCase) -> Program:
        steps = list(self._steps(case))
        return assembled(case, steps, lambda f: self._assemble(case, f), lambda call: False)

    def _steps(self, case: TestCase) -> Iterator[tuple[str, list[str]]]:
        dtype = ""
        for index, step in enumerate(case.steps):
            if isinstance(step, Event):
                dtype = step.value if step.kind == "convert_model" else dtype
                yield event_step(self._facts, step)
            else:
                yield self._call_step(step, index, dtype)

    def _call_step(self, step: Call, index: int, dtype: str) -> tuple[str, list[str]]:
        plan = CallPlan(_NO_GRAPH, index, step.batch, {"dtype": dtype}, f="f")
        apply_effects(plan, step, self._effects)
        if not {"callee", "wrapper"} & {d.dimension for d in step.deviations}:
            plan.before.append('f = s.compiled("model", s.model, **COMPILE)')
        add_inputs(plan, self._facts)
        plan.shown = self._shown
        said = ", ".join(plan.sentences)
        body = call_lines(plan)
        if not self._facts.module:
            body = [line.replace("s.model", "s.function") for line in body]
        return f"Call: {said}" if said else "Call with the factory's inputs, reordered", body

    def _assemble(self, case: TestCase, functions: list[list[str]]) -> str:
        made = factory_text(self._source, inputs_expression(self._source.inputs))
        blocks = [made, *self._instance(functions), self._state(), *functions]
        body = "\n\n\n".join("\n".join(block) for block in blocks)
        helpers = "\n\n\n".join([_RESEED, *needed_helpers(_HELPERS, body)])
        imports = sorted({*needed_imports(_IMPORTS, body + helpers), "import random"})
        top = [*imports, "", "import numpy as np", "import torch"]
        if "tree_leaves(" in helpers:
            top.append("from torch.utils._pytree import tree_leaves")
        config = [compile_line(dict(case.settings))]
        if dict(case.settings).get("backend") == "inductor":
            config.insert(0, "torch._inductor.config.fallback_random = True")
        head = "\n".join(top) + "\n\n" + "\n".join(config)
        return "\n\n\n".join([head, helpers, body, steps_line(len(functions))]) + "\n"

    def _instance(self, functions: list[list[str]]) -> list[list[str]]:
        """`Model()`, another instance, where a step wants one."""
        if not any(", Model)" in line for text in functions for line in text):
            return []
        made = "factory()" if self._facts.form == "alone" else "factory()[0]"
        return [["def Model():", f"    return {made}"]]

    def _state(self) -> list[str]:
        text = [
            "class State:",
            "    def __init__(self, live):",
            "        self.live, self.made = live, {}",
        ]
        model = "model" if self._facts.module else "function"
        text += indent([_UNPACKED[self._facts.form].format(model=model)], 2)
        if not self._facts.module:
            text += indent(["self.model = torch.nn.Module()  # a function has no state"], 2)
        return [*text, *indent(KEPT, 1), *indent(COMPILED, 1)]


_NO_GRAPH = Graph("floats", (), (), "", (), (), frozenset())


def _vocabulary(facts: Facts) -> Vocabulary:
    """What can be varied around a model, as far as inspection tells."""
    own_dimensions, own_events = dimensions(facts), events(facts)
    kept = {d.name for d in own_dimensions} | {e.name for e in own_events} | AMBIENT_EVENTS
    shared = {entry.name for entry in (*SHARED_DIMENSIONS, *SHARED_EVENTS)}
    settings = TorchInductor.vocabulary.settings
    return Vocabulary(settings, own_dimensions, own_events, frozenset(shared - kept))
