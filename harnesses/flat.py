"""A program told as one function: its steps, up to the exposing one, as the lines of `run(arm)`.

The steps of an emitted program are functions of a `State`, so that the fuzzer can stop between
them. A person reads the same lines faster without that frame. What does not fit into one function
(several compiled callees, steps before the exposing one that raise) is not told so: `flattened`
gives None, and the repro plays the step functions instead.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from harnesses.base import Program
from harnesses.emission import indent

Tidy = Callable[[list[str], list[list[str]]], tuple[list[str], list[list[str]]]]
"""(lines of the module, lines of each step) -> the same, plainer."""
_RANDOM = re.compile(r"\brandom\.(?!Random)|rand\(|[dD]ropout|bernoulli|multinomial|\bfactory\(")
"""Where random numbers are drawn, or may be: what a factory makes is not looked into."""
_PYTHON_RANDOM = re.compile(r"\brandom\.(?!Random|seed)|\bfactory\(")
_FRAME = re.compile(r"class State:|def reseed\(|def step_\d+\(|STEPS = ")


@dataclass(frozen=True, slots=True)
class Flat:
    """How a target's steps read in one function.

    `callee` is what a step fetches the compiled model with, which becomes `f`; `start` stands ahead
    of the first step and makes `f`, `fresh` ahead of the exposing step; `renamed` are (pattern,
    replacement) pairs for the lines of steps; `unfit` matches what has to stay in step functions.
    """

    callee: str
    start: tuple[str, ...]
    fresh: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...] = ()
    unfit: str = r"\bs\.|\bself\."
    tidy: Tidy = lambda module, steps: (module, steps)


def compiled_in(arm: str, compiled: str, otherwise: str) -> tuple[str, ...]:
    """The lines that make `f` the compiled model in one arm, as formatters have them."""
    parts = (compiled, f'if arm == "{arm}"', f"else {otherwise}")
    line = f"f = {' '.join(parts)}"
    if len(line) <= _LONGEST:
        return (line,)
    return ("f = (", *indent(list(parts), 1), ")")


_LONGEST = 96
"""Of a line of `run`, which is indented once."""


@dataclass(frozen=True, slots=True)
class Flattened:
    """The module's lines without the frame, and the lines of `run`: those ahead of the exposing
    step, and its own."""

    module: list[str]
    before: list[str]
    exposing: list[str]


def blocks(lines: Iterable[str]) -> list[list[str]]:
    """The top-level statements of a module, each as its lines, the blank lines around them left
    out."""
    found: list[list[str]] = []
    for line in lines:
        continues = not line or line[0].isspace() or line[0] == ")"
        if found and (continues or found[-1][-1].startswith("@")):
            found[-1].append(line)
        elif not continues:
            found.append([line])
    return ["\n".join(block).rstrip("\n").split("\n") for block in found]


def joined(parts: Iterable[list[str]]) -> str:
    """Top-level statements with the blank lines between them that formatters want."""
    given = list(parts)
    text = "\n".join(given[0]) if given else ""
    for before, after in pairwise(given):
        defines = _defines(before) or _defines(after)
        text += ("\n\n\n" if defines else "\n") + "\n".join(after)
    return text


def _defines(block: list[str]) -> bool:
    return block[0].startswith(("def ", "class ", "@"))


def flattened(program: Program, flat: Flat, exposing: int) -> Flattened | None:
    """The program as one function, or None where it does not fit."""
    if any(step < exposing for step in program.raising):
        return None
    parts = blocks(program.text.splitlines())
    frame = {block[0]: block for block in parts if _FRAME.match(block[0])}
    module = [line for block in parts if block[0] not in frame for line in [*block, ""]]
    steps = [_body(frame[f"def step_{k + 1}(s):"], flat) for k in range(exposing + 1)]
    module, steps = flat.tidy(module, steps)
    if re.search(flat.unfit, "\n".join(line for body in steps for line in body)):
        return None
    text = "\n".join(line for body in steps for line in body)
    if "reseed(" in text:
        module = [*next(b for first, b in frame.items() if "def reseed(" in first), "", *module]
    seeds = _seeds(frame, "\n".join([*module, text]))
    told = [
        [
            *_comment(f"{k + 1}. {program.sentences[k].rstrip('.')}"),
            *(seeds(k + 1) if k in program.calls else ()),
            *body,
        ]
        for k, body in enumerate(steps)
    ]
    start = [*seeds(0, True), *_fields(frame["class State:"], steps), *flat.start]
    module, told = _inlined(module, told)
    hoisted, told = _globals(told)
    before = [*hoisted, *start, *(line for body in told[:-1] for line in folded(body, "out"))]
    return Flattened(_plainer(module), before, [*flat.fresh, *told[-1]])


def _body(function: list[str], flat: Flat) -> list[str]:
    """The lines of a step without its sentence and what it returns."""
    lines = textwrap.dedent("\n".join(function[1:])).splitlines()
    while lines and lines[0].startswith("#"):
        del lines[0]
    lines = [line for line in lines if not line.startswith("return {")]
    text = "\n".join(line for line in lines if line != f"f = {flat.callee}")
    text = text.replace(flat.callee, "f")
    for pattern, replacement in flat.renamed:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return re.sub(
        r"\bs\.(model|inputs|params|state|config|hooks|last|hooked)\b", r"\1", text
    ).splitlines()


def _fields(state: list[str], steps: list[list[str]]) -> list[str]:
    """What `State` begins with, as local variables: the model, and what the steps name."""
    text = "\n".join(line for body in steps for line in body)
    found = []
    for line in state:
        if not line.startswith("        self.") or "self.live" in line or "self.made" in line:
            continue
        local = line.strip().replace("self.", "")
        names = re.findall(r"\w+", local.partition(" = ")[0])
        used = any(re.search(rf"\b{name}\b", text) for name in names)
        if local != "model = model" and (used or names == ["model"]):
            found.append(local)
    return found


def _seeds(frame: dict[str, list[str]], text: str) -> Callable[..., list[str]]:
    """What gives a step its random numbers: `reseed` as the fuzzer does it where the program draws
    any, else one line at the start where the parameters need it."""
    reseed = next(block for first, block in frame.items() if first.startswith("def reseed("))
    argument = reseed[0].partition("(")[2].partition(")")[0]
    body = [line.strip() for line in reseed[1:]]
    if body[0].startswith('"""'):
        return lambda step, first=False: []
    every = _RANDOM.search(text) is not None
    if not _PYTHON_RANDOM.search(text):
        body = [line for line in body if not line.startswith("random.")]

    def seeds(step: int, first: bool = False) -> list[str]:
        lines = body if every else body[-1:] if first else []
        return [line.replace(f"({argument})", f"({step})") for line in lines]

    return seeds


def _globals(steps: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """The `global` statements of all steps, once and first, and the steps without them."""
    found = dict.fromkeys(line for body in steps for line in body if line.startswith("global "))
    return list(found), [[line for line in body if line not in found] for body in steps]


def _inlined(module: list[str], steps: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """A function of one expression that only one step names, to store it, as a lambda there."""
    for head, *body in blocks(module):
        defined = re.fullmatch(r"def (\w+)\((.*)\):", head)
        if defined is None or len(body) != 1 or not body[0].startswith("    return "):
            continue
        text = "\n".join([*module, *(line for lines in steps for line in lines)])
        stored = f"= {defined[1]}"
        if len(re.findall(rf"\b{defined[1]}\b", text)) != 2:
            continue
        value = f"= lambda {defined[2]}: {body[0].strip().removeprefix('return ')}"
        changed = [
            [line.replace(stored, value) if line.endswith(stored) else line for line in lines]
            for lines in steps
        ]
        if changed != steps:
            module, steps = without(head, module), changed
    return module, steps


def folded(body: list[str], ignored: str = "") -> list[str]:
    """The lines with a call whose input nothing else reads in one line; the result is not even
    named where it is `ignored` and nothing reads it."""
    for index, (first, second) in enumerate(pairwise(body)):
        name, _, value = first.partition(" = ")
        if name != "x" or not second.endswith("out = f(x)") or value.startswith("f("):
            continue
        rest = "\n".join(line for line in body[:index] + body[index + 2 :] if line[0] != "#")
        if re.search(r"\bx\b", rest):
            continue
        unread = ignored and not re.search(r"\bout\b", rest)
        call = second.replace("f(x)", f"f({value})")
        call = call.replace("out = ", "") if unread else call
        return [*body[:index], call, *body[index + 2 :]]
    return body


def _plainer(module: list[str]) -> list[str]:
    """The module with a last `h = ...` and `return h` in one."""
    lines: list[str] = []
    for line in module:
        result = re.fullmatch(r"( +)return (\w+)", line)
        if result and lines and lines[-1].startswith(f"{result[1]}{result[2]} = "):
            value = lines.pop().partition(" = ")[2]
            lines.append(f"{result[1]}return {value}")
        else:
            lines.append(line)
    return lines


def without(head: str, module: list[str]) -> list[str]:
    """The module without the definition that begins so."""
    at = next((i for i, line in enumerate(module) if line.startswith(head)), len(module))
    end = at + 1
    while end < len(module) and (not module[end] or module[end][0].isspace()):
        end += 1
    return module[:at] + module[end:]


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text, 88)]


def function(head: str, body: list[str]) -> list[str]:
    """A function of a module from its lines."""
    return [head, *indent(body, 1)]
