"""Assembly: a test case to the text of a program, with the tables of this package."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise

from harnesses.base import Program
from harnesses.emission import (
    CallPlan,
    ModelText,
    apply_effects,
    assembled,
    call_lines,
    indent,
    is_bad,
    lines,
    model_text,
    steps_line,
)
from harnesses.event_text import carrier
from harnesses.toy.dimensions import EFFECTS
from harnesses.toy.events import HAPPENINGS
from harnesses.toy.templates import PARAMETERS, PRELUDE, TEMPLATES
from rondo.models.graph import Graph
from rondo.models.grow import grow
from rondo.testcase import Call, Event, TestCase
from rondo.vocabulary import Vocabulary

_OPTION_TEXT = {
    "backend": {"interpret": '"interpret"', "fuse": '"fuse"'},
    "dynamic": {"automatic": "None", "always": "True", "never": "False"},
    "limit": {"8": "8", "2": "2", "1": "1"},
    "disk": {"on": "True", "off": "False"},
}
"""The settings as arguments of `toy.compile`."""

_DEFINITIONS = {
    "hook": """
        def hook(module, out):
            return out * 2 if isinstance(out, toy.Array) else out
        """,
    "pre_hook": """
        def pre_hook(module, args):
            return tuple(a + 1 if isinstance(a, toy.Array) else a for a in args)
        """,
    "Tanh": """
        class Tanh(toy.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, x):
                return toy.apply("tanh", self.inner(x))
        """,
    "Wrapped": """
        class Wrapped(toy.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, x):
                return self.inner(x)
        """,
}
"""What events use, defined where a step names it."""

_STATE = """
class State:
    def __init__(self, live):
        self.live = live
        self.model = Model()
        self.made = {}
"""

_STATE_FIELDS = {
    "parts": "self.parts = {}",
    "hooked": "self.hooked = []",
    "last": "self.last = None",
}

_STATE_METHODS = {
    "part": """
        def part(self, name, make):
            if name not in self.parts:
                self.parts[name] = make()
            return self.parts[name]
        """,
    "copy_model": """
        def copy_model(self):
            return copy.deepcopy(self.model)
        """,
    "previous": """
        def previous(self, x):
            last = self.last
            fits = last is not None and (last.shape, last.dtype) == (x.shape, x.dtype)
            return last if fits else x
        """,
    "in_thread": """
        def in_thread(self, call):
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                return pool.submit(call).result()
        """,
    "submodule": """
        def submodule(self):
            return next(v for v in vars(self.model).values() if isinstance(v, toy.Module))
        """,
    "owned": """
        def owned(self, name, kind=toy.Parameter):
            value = vars(self.model)[name]
            values = vars(value) if isinstance(value, toy.Module) else {name: value}
            return {k: v for k, v in values.items() if isinstance(v, kind)}
        """,
    "rebind": """
        def rebind(self, name, dtype, kind=toy.Parameter):
            value = vars(self.model)[name]
            owner = value if isinstance(value, toy.Module) else self.model
            for key, old in self.owned(name, kind).items():
                setattr(owner, key, kind((old.data * 2).astype(dtype)))
        """,
}
"""What a program's `State` can do beside compiling; written where a step uses it."""

_REMEMBER = "    s.last = x"
_NEEDED_TOO = {"rebind": ("owned",)}
_IMPORTS = ("concurrent.futures", "copy", "enum", "gc")


def emit(case: TestCase, vocabulary: Vocabulary) -> Program:
    """The program of a test case."""
    graph = grow(case.model)
    steps = [
        _call(graph, index, step) if isinstance(step, Call) else _event(graph, vocabulary, step)
        for index, step in enumerate(case.steps, start=1)
    ]
    return assembled(case, steps, lambda found: _text(case, graph, vocabulary, found), is_bad)


def _text(case: TestCase, graph: Graph, vocabulary: Vocabulary, functions: list[list[str]]) -> str:
    steps = [line for text in functions for line in text]
    if not any("s.previous(" in line for line in steps):
        steps = [line for line in steps if line != _REMEMBER]
    return "\n".join(_module(case, graph, vocabulary, steps)) + "\n"


def _event(graph: Graph, vocabulary: Vocabulary, event: Event) -> tuple[str, list[str]]:
    stem, _ = carrier(graph, vocabulary, event)
    return HAPPENINGS.filled(event, {"n": stem, "v": event.value})


def _call(graph: Graph, number: int, call: Call) -> tuple[str, list[str]]:
    fields = {"seed": str(number), "dtype": "float32", "length": "4", "profile": "normal"}
    plan = CallPlan(graph, number, call.batch, fields, f='s.compiled("model", s.model)')
    apply_effects(plan, call, EFFECTS)
    _arguments(plan)
    rows = "row" if call.batch == 1 else "rows"
    says = ", ".join([f"Call the model with {call.batch} {rows}", *plan.sentences])
    return f"{says}.", call_lines(plan)


def _arguments(plan: CallPlan) -> None:
    """Set up the input and the other arguments, with what the effects have put into `fields`."""
    plan.fields["shape"] = _shape(plan)
    first = _input(plan)
    named = [("x", "x")]
    for kind in plan.graph.arguments:
        name = PARAMETERS[kind].partition("=")[0]
        expression, *setup = _ARGUMENTS[kind](plan.fields)
        plan.inputs += [*setup, f"{name} = {expression}"]
        named.append((name, name))
    plan.inputs.insert(0, first)
    plan.inputs.append(_REMEMBER.strip())
    keyword = plan.fields.get("structure") == "keyword"
    if keyword:
        plan.keywords = [f"{name}={value}" for name, value in named]
    else:
        plan.positional = [value for _, value in named]
    plan.shown = [n for n, _ in named if n in ("x", "other", "items", "optional")]


_ARGUMENTS: dict[str, Callable[[dict[str, str]], tuple[str, ...]]] = {
    "tensor": lambda f: (f.get("other", f"toy.sample({f['shape']}, seed=5{f['seed']})"),),
    "scalar": lambda f: (f.get("scalar", "1.5"),),
    "list": lambda f: (
        f.get("items", "[a, b]"),
        f"a = toy.sample((2,), seed={f['seed']})",
        f"b = toy.sample((3,), seed={f['seed']})",
    ),
    "numbers": lambda f: (f.get("numbers", "[1.5, 2.5]"),),
    "optional": lambda f: (f.get("optional", "None"),),
    "function": lambda f: (f.get("function", "scaled"),),
}
"""The expression of each kind of argument, then the lines that it needs first."""


def _shape(plan: CallPlan) -> str:
    named = {"B": str(plan.batch), "T": plan.fields["length"]}
    sizes = [named.get(str(size), str(size)) for size in plan.graph.input_shape]
    return f"({', '.join(sizes)})"


def _input(plan: CallPlan) -> str:
    f = plan.fields
    shape = f["shape"]
    if plan.graph.input_kind == "tokens":
        return f"x = toy.tokens({shape}, seed={f['seed']})"
    options = "".join(
        f', {name}="{f[name]}"'
        for name, plain in (("profile", "normal"), ("dtype", "float32"))
        if f[name] != plain
    )
    return f"x = toy.sample({shape}, seed={f['seed']}{options})"


def _module(
    case: TestCase, graph: Graph, vocabulary: Vocabulary, steps: list[str]
) -> Iterable[str]:
    model = model_text(graph, TEMPLATES)
    words = set(re.findall(r"\w+", "\n".join(steps)))
    state = _state(case, vocabulary, steps)
    seed = f"SEED = {case.model.seed}"
    body = [
        *([seed] if any("SEED" in line for line in model.init) else []),
        *(line for op, text in PRELUDE.items() if graph.uses(op) for line in text),
        *model.module,
        *_class(graph, model),
        *(line for name, text in _DEFINITIONS.items() if name in words for line in lines(text)),
        *state,
        *lines("def reseed(k):\n    toy.manual_seed(k)"),
        *steps,
        steps_line(len(case.steps)),
    ]
    text = "\n".join(body)
    found = [name for name in _IMPORTS if f"{name}." in text]
    yield from [f"import {name}" for name in found]
    yield from [*([""] if found else [])]
    if "np." in text:
        yield from ("import numpy as np", "")
    yield from ("from harnesses.toy import compiler as toy", "")
    placed = list(spaced(body, 2))
    yield from [*([""] if _defines(placed) else []), *placed]


def _class(graph: Graph, model: ModelText) -> list[str]:
    parameters = ", ".join(["self", "x", *(PARAMETERS[a] for a in graph.arguments)])
    result = model.result.replace("{last}", graph.outputs[0])
    body = [
        "def __init__(self):",
        *indent(["super().__init__()", *model.init], 1),
        *model.methods,
        f"def forward({parameters}):",
        *indent([*model.forward, f"return {result}"], 1),
    ]
    return ["class Model(toy.Module):", *indent(list(spaced(body, 1)), 1)]


def _state(case: TestCase, vocabulary: Vocabulary, steps: list[str]) -> list[str]:
    text = "\n".join(steps)
    used = [name for name in _STATE_METHODS if f"s.{name}" in text]
    needed = [
        n for n in _STATE_METHODS if n in used or any(n in _NEEDED_TOO.get(u, ()) for u in used)
    ]
    fields = [line for name, line in _STATE_FIELDS.items() if _uses_field(name, text)]
    options = [
        f"{setting.name}={_OPTION_TEXT[setting.name][case.setting(setting.name, '')]}"
        for setting in vocabulary.settings
        if case.setting(setting.name, "")
    ]
    compiled = [
        "def compiled(self, name, target, **options):",
        "    if not self.live:",
        "        return target",
        "    if name not in self.made:",
        *([f"        options = {{{_as_dict(options)}}} | options"] if options else []),
        "        self.made[name] = toy.compile(target, **options)",
        "    return self.made[name]",
    ]
    methods = [line for name in needed for line in lines(_STATE_METHODS[name])]
    inside = list(spaced([*compiled, *methods], 1))
    return [*lines(_STATE), *indent(fields, 2), "", *indent(inside, 1)]


def _uses_field(name: str, text: str) -> bool:
    return f"s.{name}" in text or (name == "parts" and "s.part(" in text)


def _as_dict(options: list[str]) -> str:
    pairs = (option.partition("=") for option in options)
    return ", ".join(f'"{name}": {value}' for name, _, value in pairs)


def spaced(text: Iterable[str], gap: int) -> Iterable[str]:
    """Blocks that start at the left margin, `gap` blank lines around functions and classes."""
    blocks: list[list[str]] = []
    for line in text:
        starts = line and not line[0].isspace() and line[0] != ")"
        decorated = blocks and blocks[-1][-1].startswith("@")
        if starts and not decorated:
            blocks.append([line])
        elif blocks and (line or len(blocks[-1]) > 1):
            blocks[-1].append(line)
    trimmed = ["\n".join(block).rstrip("\n").split("\n") for block in blocks]
    for block in trimmed[:1]:
        yield from block
    for before, block in pairwise(trimmed):
        if _defines(before) or _defines(block):
            yield from [""] * gap
        yield from block


def _defines(block: list[str]) -> bool:
    return block[0].startswith(("def ", "class ", "@"))
