"""Emission that class-based targets share: templates for operators, a plan for a call, assembly.

A harness holds tables: `Template`s by neutral operator, `Effect`s by (dimension, value) and event
emitters by kind. This module turns a graph and its steps into program text with them.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from harnesses.base import Program
from rondo.models.graph import Graph, Node
from rondo.testcase import Call, TestCase


@dataclass(frozen=True, slots=True)
class Template:
    """The text of one operator, as lines for `str.format`.

    `forward` computes {y} from {h} (and {h2}, {h3} for further inputs, {hs} for all of them);
    `init` sets up what {n} names on the model, `methods` go into the class, `module` before it,
    once a stem. {n} is the node's stem; the node's attributes are fields too, {sizes} the known
    sizes of its value after {kept} that differ from call to call.
    """

    forward: tuple[str, ...]
    init: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    module: tuple[str, ...] = ()
    returns: str = ""


def lines(text: str) -> tuple[str, ...]:
    """The lines of an indented block, common indentation removed."""
    return tuple(textwrap.dedent(text).strip("\n").splitlines()) if text else ()


def template(
    forward: str, init: str = "", methods: str = "", module: str = "", returns: str = ""
) -> Template:
    """A template from text blocks."""
    return Template(lines(forward), lines(init), lines(methods), lines(module), returns)


@dataclass(frozen=True, slots=True)
class ModelText:
    """The parts of an emitted model, each a list of lines without indentation."""

    module: tuple[str, ...]
    init: tuple[str, ...]
    methods: tuple[str, ...]
    forward: tuple[str, ...]
    result: str


def _fields(graph: Graph, node: Node, entry: str) -> dict[str, object]:
    inputs = [entry if name == "x" else name for name in node.inputs]
    alike = node.shape == graph.input_shape
    sizes = [str(size) for size in node.shape if not isinstance(size, str)]
    return {
        **dict(node.attrs),
        "y": node.name,
        "h": inputs[0],
        "h2": inputs[1 % len(inputs)],
        "h3": inputs[-1],
        "hs": ", ".join(inputs),
        "kept": len(node.shape) - len(sizes),
        "sizes": f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})",
        "n": node.stem,
        "N": node.stem.capitalize(),
        "x": "x" if alike else "x.sum()",
        "other": "y" if alike else "y.sum()",
    }


def model_text(graph: Graph, templates: Mapping[str, Template], entry: str = "x") -> ModelText:
    """Fill in the templates of a graph's nodes, in order; they read the input as `entry`.

    Beside a node's own fields a template can use {x} and {other}: the first and second tensor
    argument in a form that broadcasts with the node's value.
    """
    parts: dict[str, list[str]] = {"module": [], "init": [], "methods": [], "forward": []}
    result = ""
    owners = {node.name for node in graph.owners}
    for node in graph.nodes:
        filled = templates[node.op]
        fields = _fields(graph, node, entry)
        shares = node.stem and node.name not in owners
        for part in ("forward",) if shares else parts:
            parts[part] += [line.format(**fields) for line in getattr(filled, part)]
        if filled.returns:
            result = filled.returns.format(**fields)
    returned = _result(graph, result, entry)
    if len(returned) > _LONG:
        parts["forward"] += ["out = (", *(f"    {name}," for name in _ends(graph, result)), ")"]
        returned = "out"
    return ModelText(
        tuple(parts["module"]),
        tuple(parts["init"]),
        tuple(parts["methods"]),
        tuple(parts["forward"]),
        returned,
    )


_LONG = 75


def _ends(graph: Graph, result: str) -> list[str]:
    """The newest value, or what a node returns in its place, and the ends of other branches."""
    newest, *ends = graph.outputs
    bare = result and not result.startswith(("(", "{"))
    return [f"({result})" if bare else result or newest, *ends]


def _result(graph: Graph, result: str, entry: str) -> str:
    """The expression of what the model returns."""
    if len(graph.outputs) < 2:
        return result or (graph.outputs[0] if graph.nodes else entry)
    return f"({', '.join(_ends(graph, result))})"


@dataclass(slots=True)
class CallPlan:
    """A call under construction; effects change it, `call_lines` writes it.

    `before` runs ahead of the call, `inputs` sets up the arguments, `contexts` are entered around
    the call, `f` is the callee's expression, `after` follows it. `fields` holds what a target's own
    effects and its argument builder agree on.
    """

    graph: Graph
    step: int
    batch: int
    fields: dict[str, str]
    before: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    f: str = "s.model"
    positional: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)
    wrap: str = "{call}"
    after: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Effect:
    """What one value of a dimension does to a call, and the words for it."""

    says: str
    apply: Callable[[CallPlan], None]


def context(expression: str) -> Callable[[CallPlan], None]:
    """Enter a context around the call."""
    return lambda plan: plan.contexts.append(expression)


def before(*text: str) -> Callable[[CallPlan], None]:
    """Run lines ahead of the call."""
    return lambda plan: plan.before.extend(text)


def around(first: str, last: str) -> Callable[[CallPlan], None]:
    """Run a line ahead of the call and one after it."""

    def apply(plan: CallPlan) -> None:
        plan.before.append(first)
        plan.after.append(last)

    return apply


def after(*text: str) -> Callable[[CallPlan], None]:
    """Run lines after the call."""
    return lambda plan: plan.after.extend(text)


def inputs(*text: str) -> Callable[[CallPlan], None]:
    """Run lines once `x` is there, ahead of the call."""
    return lambda plan: plan.inputs.extend(text)


def put(**fields: str) -> Callable[[CallPlan], None]:
    """Set fields that the target's argument builder reads."""
    return lambda plan: plan.fields.update(fields)


def callee(expression: str, *lines_before: str) -> Callable[[CallPlan], None]:
    """Call something else."""

    def apply(plan: CallPlan) -> None:
        plan.before.extend(lines_before)
        plan.f = expression

    return apply


def wrapped(text: str) -> Callable[[CallPlan], None]:
    """Wrap the call's expression, `{call}` in `text`, and whatever has wrapped it before."""

    def apply(plan: CallPlan) -> None:
        plan.wrap = text.replace("{call}", plan.wrap)

    return apply


def call_lines(plan: CallPlan, target: str = "out") -> list[str]:
    """The body of the step function of a call, whose result is assigned to `target`."""
    body = [*plan.before, *plan.inputs]
    arguments = ", ".join([*plan.positional, *plan.keywords])
    text = plan.wrap.replace("{call}", f"{plan.f}({arguments})")
    call = f"{target} = {text.replace(f'lambda {arguments}: {plan.f}({arguments})', plan.f)}"
    if plan.contexts:
        body.append(f"with {', '.join(plan.contexts)}:")
        call = f"    {call}"
    body.append(call)
    body += plan.after
    shown = ", ".join(f'"{name}": {name}' for name in ["out", *plan.shown])
    body.append(f"return {{{shown}}}")
    return body


def apply_effects(plan: CallPlan, call: Call, effects: Mapping[tuple[str, str], Effect]) -> None:
    """Let each deviation of a call change its plan, and say so."""
    for deviation in call.deviations:
        effect = effects[deviation.dimension, deviation.value]
        effect.apply(plan)
        plan.sentences.append(effect.says)


def assembled(
    case: TestCase,
    steps: list[tuple[str, list[str]]],
    module: Callable[[list[list[str]]], str],
    may_raise: Callable[[Call], bool],
) -> Program:
    """The program whose steps are (sentence, body): `module` makes its text from their functions,
    `may_raise` says which calls are allowed to raise in eager execution too."""
    functions = [function(f"step_{i + 1}", *step) for i, step in enumerate(steps)]
    calls = {i: step for i, step in enumerate(case.steps) if isinstance(step, Call)}
    raising = frozenset(i for i, call in calls.items() if may_raise(call))
    return Program(module(functions), tuple(says for says, _ in steps), tuple(calls), raising)


def is_bad(call: Call) -> bool:
    """Whether a call is made to raise."""
    return call.get("bad_call", "no") != "no"


KEPT = (
    "",
    "def kept(self, name, make):",
    "    if name not in self.made:",
    "        self.made[name] = make()",
    "    return self.made[name]",
)
"""The method of a program's `State` that makes each thing once."""


def needed_helpers(helpers: Mapping[str, str], text: str) -> list[str]:
    """The helper functions and classes that a text uses, and those that these use."""
    found: dict[str, str] = {}
    for name, source in reversed(helpers.items()):
        if re.search(rf"\b{name}\b", "\n".join([text, *found.values()])):
            found[name] = source.strip("\n")
    return list(reversed(found.values()))


def needed_imports(imports: Mapping[str, str], text: str) -> list[str]:
    """The import lines whose mark stands in a text."""
    return [line for mark, line in imports.items() if re.search(rf"\b{re.escape(mark)}", text)]


def module_blocks(text: tuple[str, ...]) -> list[str]:
    """Module-level lines, with the two blank lines between blocks that formatters want."""
    lines: list[str] = []
    for line in text:
        starts = line and not line.startswith((" ", ")"))
        if (
            starts
            and lines
            and lines[-1]
            and not lines[-1].startswith("@")
            and (line.startswith(("def ", "class ", "@")) or lines[-1][0] == " ")
        ):
            lines += ["", ""]
        lines.append(line)
    return lines


_LONGEST_TUPLE = 91


def tuple_text(names: Iterable[str]) -> str:
    """A tuple of strings as source."""
    quoted = [f'"{name}"' for name in names]
    line = f"({', '.join(quoted)}{',' if len(quoted) == 1 else ''})"
    return (
        line
        if len(line) <= _LONGEST_TUPLE
        else "\n".join(["(", *(f"    {q}," for q in quoted), ")"])
    )


def function(name: str, sentence: str, body: list[str]) -> list[str]:
    """A step function with its sentence as a comment, wrapped at 100 columns."""
    comment = textwrap.wrap(sentence, 92)
    return [f"def {name}(s):", *(f"    # {line}" for line in comment), *indent(body, 1)]


def steps_line(count: int) -> str:
    """The table of step functions, in the form that formatters leave alone."""
    names = [f"step_{number + 1}" for number in range(count)]
    line = f"STEPS = ({', '.join(names)}{',' if count == 1 else ''})"
    if len(line) <= 100:
        return line
    return "\n".join(["STEPS = (", *(f"    {name}," for name in names), ")"])


def indent(text: tuple[str, ...] | list[str], by: int) -> list[str]:
    """Lines moved to the right by `by` levels."""
    return [f"{'    ' * by}{line}" if line else "" for line in text]
