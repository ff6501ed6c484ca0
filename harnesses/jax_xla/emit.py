"""Emission: a test case as a plain JAX program, the text that the fuzzer runs and reports."""

from __future__ import annotations

import re
from dataclasses import replace

from harnesses.base import Program
from harnesses.emission import (
    KEPT,
    CallPlan,
    apply_effects,
    assembled,
    call_lines,
    indent,
    is_bad,
    model_text,
    module_blocks,
    needed_helpers,
    needed_imports,
    steps_line,
    tuple_text,
)
from harnesses.event_text import carrier
from harnesses.jax_xla.arguments import Form, add_arguments, form
from harnesses.jax_xla.dimensions import EFFECTS, FORWARD_MODE, RAISING_AMBIENTS
from harnesses.jax_xla.events import CACHE, EVENT_TEXT
from harnesses.jax_xla.helpers import HELPERS
from harnesses.jax_xla.templates import STATIC, TEMPLATES
from harnesses.jax_xla.vocabulary import VOCABULARY
from rondo.models.graph import Graph
from rondo.models.grow import grow
from rondo.testcase import Call, Event, Step, TestCase

_EVERYTHING = VOCABULARY.with_undocumented()
_IMPORTS = {
    "concurrent.futures": "import concurrent.futures",
    "dataclasses.": "import dataclasses",
    "enum.": "import enum",
    "functools.": "import functools",
    "gc.": "import gc",
    "tempfile.": "import tempfile",
    "types.": "import types",
    "typing.": "import typing",
}


def emit(case: TestCase) -> Program:
    """The program of a test case."""
    model = form(case, grow(case.model))
    keeps_input = any(_keeps_input(step) for step in case.steps)
    steps = [_step(model, step, i, keeps_input) for i, step in enumerate(case.steps)]
    reverse_only = model.graph.uses("call_method")

    def may_raise(call: Call) -> bool:
        forward = call.get("transform", "none") in FORWARD_MODE
        return is_bad(call) or _strict(call) or (reverse_only and forward)

    return assembled(case, steps, lambda functions: _module(case, model, functions), may_raise)


def _keeps_input(step: Step) -> bool:
    if isinstance(step, Event):
        return step.kind == "change_numpy_input"
    return step.get("values", "own") == "previous_tensors"


def _strict(call: Call) -> bool:
    return call.get("ambient", "none") in RAISING_AMBIENTS


def _step(model: Form, step: Step, index: int, keeps_input: bool) -> tuple[str, list[str]]:
    if isinstance(step, Event):
        stem, other = carrier(model.graph, _EVERYTHING, step)
        fields = {"t": stem, "T": stem.capitalize(), "t2": other, "v": step.value}
        static = stem in model.static
        fields["owner"] = "s.config" if static else "s.state"
        fields["w"] = step.value if static else f"jnp.asarray({step.value})"
        return EVENT_TEXT.filled(step, fields)
    plan = CallPlan(model.graph, index, step.batch, {}, f="f")
    apply_effects(plan, _one_transform(step), EFFECTS)
    add_arguments(plan, model, keeps_input)
    _route(plan)
    _name_long_call(plan)
    sentence = ", ".join([f"Call with a batch of {step.batch}", *plan.sentences])
    plain = plan.wrap == "{call}" and model.has_state
    return sentence, call_lines(plan, "out, s.state" if plain else "out")


def _one_transform(call: Call) -> Call:
    """A transform of the call takes the place of the backward pass."""
    if call.get("transform", "none") == "none":
        return call
    return replace(call, deviations=tuple(d for d in call.deviations if d.dimension != "backward"))


def _route(plan: CallPlan) -> None:
    """Say which compiled function is called, where no effect has said so, and how."""
    if text := plan.fields.get("closure"):
        plan.wrap = plan.wrap.replace("{call}", text)
        plan.f = "s.model"
    if plan.f == "f" and not any(line.startswith("f = ") for line in plan.before):
        plan.before.append('f = s.jit("model", s.model)')
    if plan.fields.get("ahead") and plan.f == "f" and "lambda" not in plan.wrap:
        plan.before.append("f = functools.partial(ahead, f) if s.live else s.model")
    if plan.fields.get("thread"):  # outermost: a tracer must not leave its thread
        plan.wrap = f"in_thread(lambda: {plan.wrap})"
    if first := plan.fields.get("first"):
        given = ", ".join(["s.model", *plan.keywords])
        plan.inputs.append(f"bound = functools.partial({given})")
        if first == "jax.make_jaxpr":
            plan.inputs.append(f"{first}(bound)({', '.join(plan.positional)})")
        else:
            plan.inputs.append(f"{first}({', '.join(['bound', *plan.positional])})")
    if plan.fields.get("origin") == "changed" and plan.shown:
        plan.after += ["if isinstance(x, np.ndarray) and x.flags.writeable:", "    x += 1"]


_NUMPY_ARRAY = re.compile(r"\bnumpy_|\bnp\.broadcast_to")
_NUMPY_TREE = re.compile(r"\bs\.(params|state) = .*\bnp\.asarray\(v\)")
_BOUND = re.compile(r"lambda ([a-z, ]+):")


def _name_long_call(plan: CallPlan) -> None:
    """Give a call inside a transform a name of its own where the line would get too long."""
    arguments = ", ".join([*plan.positional, *plan.keywords])
    call = f"{plan.f}({arguments})"
    names = list(dict.fromkeys(n for found in _BOUND.findall(plan.wrap) for n in found.split(", ")))
    if not names or len(plan.wrap) + len(call) < _LONG:
        return
    given = ", ".join(names)
    plan.inputs += ["", f"def run({given}):", f"    return {call}", ""]
    plan.f, plan.positional, plan.keywords = "run", names, []


_LONG = 85


_LONGEST_HEAD = 96


def _model(model: Form, factory: bool, steps: str) -> list[str]:
    """The model function; inside a factory where a captured value or a second one is wanted.

    Where a step gives it NumPy arrays it makes JAX's of them: NumPy's own arithmetic is not what
    a traced function does, so eager execution would be another computation.
    """
    text = model_text(model.graph, TEMPLATES)
    numpy = _NUMPY_ARRAY.search(steps) is not None
    arrays = [name for name in ("x", "y") if numpy and name in model.arrays]
    trees = [name for name in _NUMPY_TREE.findall(steps) if name in model.arrays]
    body = [
        *(f"{name} = jax.tree.map(jnp.asarray, {name})" for name in dict.fromkeys(trees)),
        *(f"{name} = jnp.asarray({name})" for name in arrays),
        *(["state = dict(state)"] if model.has_state and "state" not in trees else []),
        *text.forward,
        f"return {text.result}, state" if model.has_state else f"return {text.result}",
    ]
    names = [*model.arrays, *model.static]
    head = [f"def model({', '.join(names)}):"]
    if len(head[0]) > _LONGEST_HEAD:
        head = ["def model(", *(f"    {name}," for name in names), "):"]
    lines = [*head, *indent(body, 1)]
    if not factory:
        return lines
    return ["def make_model(rate=1.5):", *indent([*lines, "", "return model"], 1)]


def _init(graph: Graph, seed: int) -> list[str]:
    """`init()`: parameters and state."""
    made = model_text(graph, {**TEMPLATES, **_WITHOUT_INIT}).init
    body = ["params, state = {}, {}", *made, "return params, state"]
    if any("(rng" in line for line in made):
        body.insert(0, f"rng = np.random.default_rng({seed})")
    return ["def init():", *indent(body, 1)]


_WITHOUT_INIT = {
    op: type(TEMPLATES[op])(TEMPLATES[op].forward, module=TEMPLATES[op].module) for op in STATIC
}


def _config(model: Form) -> list[str]:
    """The static arguments that belong to operators, with their first values."""
    lines = ["self.config = {}"] if model.config else []
    for node in model.config:
        value = TEMPLATES[node.op].init[0].format(n=node.stem, N=node.stem.capitalize())
        lines.append(f'self.config["{node.stem}"] = {value}')
    return lines


def _state_class(case: TestCase, model: Form, factory: bool, steps: str) -> list[str]:
    fields = [
        "self.live, self.made = live, {}",
        f"self.model = {'make_model()' if factory else 'model'}",
        "self.params, self.state = init()",
        *_config(model),
        *(["self.x = None"] if "s.x" in steps else []),
    ]
    chosen = case.setting("options", "none")
    return [
        "class State:",
        "    def __init__(self, live):",
        *indent(fields, 2),
        *indent(KEPT, 1),
        "",
        "    def jit(self, name, function, **options):",
        *([f'        options["{chosen}"] = True'] if chosen != "none" else []),
        "        make = functools.partial(jax.jit, function, static_argnames=STATIC, **options)",
        '        return self.kept(f"jit {name}", make)',
    ]


def _module(case: TestCase, model: Form, functions: list[list[str]]) -> str:
    steps = "\n".join(line for text in functions for line in text)
    factory = model.graph.uses("call_closure") or "make_model(" in steps
    own = module_blocks(model_text(model.graph, TEMPLATES).module)
    blocks = [
        *([own] if own else []),
        _model(model, factory, steps),
        _init(model.graph, case.model.seed),
        _state_class(case, model, factory, steps),
        *functions,
    ]
    body = "\n\n\n".join("\n".join(block) for block in blocks)
    helpers = "\n\n\n".join([_RESEED, *needed_helpers(HELPERS, body)])
    config = [f"STATIC = {tuple_text(model.static)}"]
    if case.setting("x64", "off") == "on":
        config.append('jax.config.update("jax_enable_x64", True)')
    if case.setting("cache", "none") == "persistent":
        config += CACHE
    text = "\n".join([*config, helpers, body])
    top = [*needed_imports(_IMPORTS, text), "", "import jax", "import jax.numpy as jnp"]
    if "np." in text.replace("jnp.", ""):
        top.append("import numpy as np")
    if "primitives." in text:
        top.append("from jax.extend.core import primitives")
    head = "\n".join(top).lstrip("\n") + "\n\n" + "\n".join(config)
    return "\n\n\n".join([head, helpers, body, steps_line(len(functions))]) + "\n"


_RESEED = '''
def reseed(seed):
    """JAX has no hidden random state: a key is an argument."""
'''.strip("\n")
