"""Emission: a test case as a plain PyTorch program, the text that the fuzzer runs and reports."""

from __future__ import annotations

from collections.abc import Mapping

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
)
from harnesses.event_text import carrier
from harnesses.torch_inductor.arguments import SIGNATURE, add_arguments
from harnesses.torch_inductor.dimensions import EFFECTS
from harnesses.torch_inductor.events import EVENT_TEXT
from harnesses.torch_inductor.helpers import HELPERS
from harnesses.torch_inductor.ordinary import BUFFER
from harnesses.torch_inductor.templates import PARAMETER, RANDOM, TEMPLATES
from harnesses.torch_inductor.vocabulary import VOCABULARY
from rondo.models.graph import Graph
from rondo.models.grow import grow
from rondo.testcase import Call, Event, TestCase

IMPORTS = {
    "concurrent.futures": "import concurrent.futures",
    "copy.": "import copy",
    "enum.": "import enum",
    "gc.": "import gc",
    "random.": "import random",
    "types.": "import types",
}
"""Standard modules that a program may need: mark -> import line."""

COMPILED = (
    "",
    "def compiled(self, name, target, **options):",
    "    if not self.live:",
    "        return target",
    '    return self.kept(f"compiled {name}", lambda: torch.compile(target, **options))',
)
"""The method of a program's `State` that compiles each thing once, in the compiled arms."""

_OPTIONS = {
    "automatic_dynamic_off": "torch._dynamo.config.automatic_dynamic_shapes = False",
    "specialize_float": "torch._dynamo.config.specialize_float = True",
    "specialize_int": "torch._dynamo.config.specialize_int = True",
    "capture_scalar_outputs": "torch._dynamo.config.capture_scalar_outputs = True",
    "recompile_limit_2": "torch._dynamo.config.recompile_limit = 2",
}


def compile_line(settings: Mapping[str, str]) -> str:
    """The keyword arguments of `torch.compile` under these settings."""
    options = [f'"backend": "{settings.get("backend", "eager")}"']
    dynamic = settings.get("dynamic", "None")
    if dynamic != "None":
        options.append(f'"dynamic": {dynamic}')
    if settings.get("fullgraph", "False") == "True":
        options.append('"fullgraph": True')
    if settings.get("option", "none") == "reduce_overhead" and options[0].endswith('inductor"'):
        options.append('"mode": "reduce-overhead"')
    return f"COMPILE = {{{', '.join(options)}}}"


def _config_lines(case: TestCase, graph: Graph) -> list[str]:
    lines = []
    option = _OPTIONS.get(case.setting("option", "none"))
    if option:
        lines.append(option)
    random = any(node.op in RANDOM for node in graph.nodes)
    if random and case.setting("backend", "eager") == "inductor":
        lines.append("torch._inductor.config.fallback_random = True")
    return lines


def _path(graph: Graph, stem: str, below: dict[str, str]) -> str:
    op = next((node.op for node in graph.nodes if node.stem == stem), "")
    return stem + below.get(op, "")


def _state_class(hooks: bool, keeps_input: bool) -> list[str]:
    lines = [
        "class State:",
        "    def __init__(self, live):",
        "        self.live, self.made = live, {}",
        "        self.model = Model()",
    ]
    if hooks:
        lines.append("        self.hooks = []")
    if keeps_input:
        lines.append("        self.x = None")
    return [*lines, *indent(KEPT, 1), *indent(COMPILED, 1)]


def _model_class(graph: Graph, seed: int) -> tuple[list[str], list[str]]:
    parameter = next(iter(graph.targets("parameter")), None)
    entry = "x"
    cast = []
    if parameter is not None and graph.input_kind != "tokens":
        entry = "x0"
        cast = [f"x0 = x.to(self.{_path(graph, parameter, PARAMETER)}.dtype)"]
    text = model_text(graph, TEMPLATES, entry)
    names = ", ".join(["self", "x", *(SIGNATURE[a] for a in graph.arguments)])
    seeded = (
        ["torch.manual_seed(" + str(seed) + ")"] if seed and "parameter" in graph.traits else []
    )
    body = ["def __init__(self):", *indent(["super().__init__()", *seeded, *text.init], 1), ""]
    body += [*_spaced(text.methods), f"def forward({names}):"]
    body += indent([*cast, *text.forward, f"return {text.result}"], 1)
    return module_blocks(text.module), ["class Model(torch.nn.Module):", *indent(body, 1)]


def _spaced(methods: tuple[str, ...]) -> list[str]:
    lines: list[str] = []
    for line in methods:
        starts = line.startswith(("def ", "@"))
        if starts and lines and lines[-1] and not lines[-1].startswith("@"):
            lines.append("")
        lines.append(line)
    return [*lines, ""] if lines else []


def _call_step(graph: Graph, step: Call, index: int, keeps_input: bool) -> tuple[str, list[str]]:
    plan = CallPlan(graph, index, step.batch, {}, f="f")
    apply_effects(plan, step, EFFECTS)
    if not {"callee", "wrapper"} & {d.dimension for d in step.deviations}:
        plan.before.append('f = s.compiled("model", s.model, **COMPILE)')
    add_arguments(plan, keeps_input)
    if plan.fields.get("export"):
        plan.inputs += [
            "f = s.model",
            "if s.live:",
            f"    f = torch.export.export(s.model, {_exported(plan)}).module()",
        ]
    sentence = ", ".join([f"Call with a batch of {step.batch}", *plan.sentences])
    return sentence, call_lines(plan)


def _exported(plan: CallPlan) -> str:
    """The arguments of a call as `torch.export.export` takes them: a tuple, and a dict."""
    if plan.keywords:
        named = (keyword.partition("=") for keyword in plan.keywords)
        entries = ", ".join(f'"{name}": {value}' for name, _, value in named)
        return f"(), {{{entries}}}"
    return f"({', '.join(plan.positional)}{',' if len(plan.positional) == 1 else ''})"


def _event_step(graph: Graph, step: Event) -> tuple[str, list[str]]:
    stem, other = carrier(graph, VOCABULARY, step)
    below = BUFFER if "buffer" in step.kind else PARAMETER
    fields = {
        "t": stem,
        "T": stem.capitalize(),
        "v": step.value,
        "p": _path(graph, stem, below),
        "p2": _path(graph, other, below),
    }
    return EVENT_TEXT.filled(step, fields)


def emit(case: TestCase) -> Program:
    """The program of a test case."""
    graph = grow(case.model)
    keeps_input = any(
        isinstance(step, Call) and step.get("values", "own") == "previous_tensors"
        for step in case.steps
    )
    steps = [
        _call_step(graph, step, index, keeps_input)
        if isinstance(step, Call)
        else _event_step(graph, step)
        for index, step in enumerate(case.steps)
    ]
    return assembled(case, steps, lambda f: _assemble(case, graph, f, keeps_input), is_bad)


def _assemble(case: TestCase, graph: Graph, functions: list[list[str]], keeps_input: bool) -> str:
    hooks = any("hook" in line for text in functions for line in text)
    state = _state_class(hooks, keeps_input)
    module, model = _model_class(graph, case.model.seed)
    blocks = [module] if module else []
    blocks += [model, state, *functions]
    body = "\n\n\n".join("\n".join(block) for block in blocks)
    reseed = "def reseed(seed):\n    random.seed(seed)\n    torch.manual_seed(seed)"
    helpers = "\n\n\n".join([reseed, *needed_helpers(HELPERS, body)])
    imports = needed_imports(IMPORTS, body + helpers)
    tree = [name for name in ("tree_leaves", "tree_map") if f"{name}(" in helpers]
    top = [*imports, "", "import torch"]
    if tree:
        top.append(f"from torch.utils._pytree import {', '.join(tree)}")
    config = [*_config_lines(case, graph), compile_line(dict(case.settings))]
    steps = steps_line(len(functions))
    head = "\n\n".join(["\n".join(top), "\n".join(config)])
    return "\n\n\n".join([head, helpers, body, steps]) + "\n"
