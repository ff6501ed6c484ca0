"""The standalone program of a finding: its own text, and a small main that plays the three arms.

A repro is told as one function where that is possible (`harnesses.flat`), and looks at the one
place where the finding was seen: that is short. The whole form plays the step functions as they are
and looks at everything. Each arm runs in a child forked before anything was compiled, so that the
death of an arm is an observation like any other. What a target adds is in `Parts`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from harnesses.base import Program, Shown, Wanted
from harnesses.emission import indent
from harnesses.flat import Flat, Flattened, blocks, flattened, folded, function, joined

_CODES = "Exit code: 1 the bug is there, 0 it is gone, 2 cannot tell."
_ARMS = "Arms: eager; reset (step {step} alone compiled); retained (every step compiled)."
_STANDARD = frozenset(
    "concurrent copy dataclasses enum functools gc importlib io math multiprocessing os pickle "
    "random resource signal sys tempfile types typing".split()
)
_IMPORTS = (
    "from concurrent.futures import ProcessPoolExecutor",
    "from multiprocessing import get_context",
    "from signal import alarm",
    "import resource",
    "import sys",
    "import numpy as np",
)
_LIMIT = "resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))"

_STEPPED = '''
def run({parameters}):
    """The steps in one arm: what the last one shows, or raises."""
    {begin}
    reseed(0)
    s = State(arm == "retained")
    for index, step in enumerate(STEPS[:{count}]):
        s.live = arm == "retained" or (arm == "reset" and index == {exposing})
        reseed(index + 1)
        try:
            result, raised = {step} or {{}}, ""
        except Exception as error:
            result, raised = {{}}, type(error).__name__
    return [raised, *seen(s, result)]
'''
_ONE_ARRAY = """
def same(a, b):
    return a[:-1] == b[:-1] and np.allclose(a[-1], b[-1], {tolerance}, True)
"""
_ONE_TEXT = ""
_BY_FUNCTION = ("same(shown[1], shown[0]) and same(shown[2], shown[0])", "same(shown[3], shown[0])")
_BY_VALUE = ("shown[0] == shown[1] == shown[2]", "shown[3] == shown[0]")
"""Whether the arms that have to agree do, and whether the retained arm agrees with eager."""
_ALL_LEAVES = '''
def same(a, b):
    """Equal leaf by leaf; arrays, which are tuples that end with numbers, up to rounding."""
    return len(a) == len(b) and all(map(same_leaf, a, b))


def same_leaf(a, b):
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return type(a) is type(b) and a == b
    return a[:-1] == b[:-1] and np.allclose(a[-1], b[-1], {tolerance}, True)


def told(a, b):
    off = [f"{{x}} instead of {{y}}" for x, y in zip(a, b) if not same_leaf(x, y)]
    return ", ".join(off)[:300] or "as eager execution"
'''
_DIFFERENT = "told(shown[-1], shown[0])"
_MAIN = """
print({versions}, "Python", sys.version.split()[0])
shown = []
for arm in ("eager", "eager", "reset", "retained"):
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        error = (future := pool.submit(run, arm)).exception()
        shown.append([f"died: {{error!r}}"] if error else future.result())
    print(f"{{arm:8}}", {said})
if "died" in shown[0][0] or not ({sound}):
    print("cannot tell: eager execution fails or varies, or a fresh compile differs from it")
    sys.exit(2)
print("the bug is", "gone" if (right := {right}) else "there")
sys.exit(not right)
"""
_TOLERANCES = (("bfloat16", "3e-2, 3e-2"), ("float16", "4e-3, 4e-3"), ("", "1e-4, 1e-5"))
"""Relative and absolute bound, by the first element type that a program names."""


@dataclass(frozen=True, slots=True)
class Look:
    """How to see one place: `leaf` is a list of texts that have to be the same and, for an `array`,
    its numbers; `lines` come ahead of it. Names are as in `harnesses.flat`."""

    leaf: str
    array: bool = False
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parts:
    """What a target adds to a standalone program.

    `look` gives the way to see one place, or None where there is none that is short; `look_all` is
    the text of `seen(s, result)`, the list of all leaves that a user can see after a step: texts,
    and a tuple that ends with a float64 NumPy array for an array. `step` is the expression that
    runs a step function, `begin` the lines that an arm begins with, `versions` what to print of the
    framework; `imports` are lines that are kept where they are needed, `top` lines stand below.
    """

    versions: str
    look_all: str
    look: Callable[[Shown], Look | None] = lambda shown: None
    flat: Flat | None = None
    step: str = "step(s)"
    begin: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    top: tuple[str, ...] = ()
    note: str = ""
    options: tuple[str, ...] = ()
    """Further parameters of `run`, with their defaults."""
    heeding: tuple[str, ...] = ()
    """The lines of `run` that make the step functions heed these."""

    @property
    def parameters(self) -> str:
        """The parameters of `run`."""
        return ", ".join(["arm", *self.options])


def standalone(program: Program, parts: Parts, wanted: Wanted) -> str:
    """The standalone text of a finding: short where it can be, whole otherwise."""
    shown = wanted.shown
    look = _look(parts, shown) if shown else None
    flat = flattened(program, parts.flat, wanted.exposing) if look and parts.flat else None
    if shown is None or look is None or flat is None:
        return _whole(program, parts, wanted)
    return _short(parts, wanted, flat, shown, look)


def _look(parts: Parts, shown: Shown) -> Look | None:
    if shown.raises:
        return Look('["no exception"]')
    return Look('["alive"]') if shown.died else parts.look(shown)


def _short(parts: Parts, wanted: Wanted, flat: Flattened, shown: Shown, look: Look) -> str:
    last = folded([*flat.exposing, *look.lines, f"return {look.leaf}"])
    bounds = {"hang": [f"alarm({wanted.seconds})"], "memory": [_LIMIT]}
    body = [*bounds.get(shown.role, []), *parts.begin, *flat.before]
    body += _catching(last, shown.raises) if shown.raises else last
    run = function(f"def run({parts.parameters}):", body)
    compare = _ONE_ARRAY if look.array else _ONE_TEXT
    return _assembled(parts, wanted, [*flat.module, *run], compare, "*shown[-1]")


def _catching(lines: list[str], raises: str) -> list[str]:
    shown = '"an exception"' if raises == "any" else "type(error).__name__"
    says = ["print(arm, repr(error)[:300])", f"return [{shown}]"]
    return ["try:", *indent(lines, 1), "except Exception as error:", *indent(says, 1)]


def _whole(program: Program, parts: Parts, wanted: Wanted) -> str:
    begin = [f"alarm({wanted.seconds})", _LIMIT, *parts.heeding, *parts.begin]
    run = _STEPPED.format(
        parameters=parts.parameters,
        begin="\n    ".join(begin),
        count=wanted.exposing + 1,
        exposing=wanted.exposing,
        step=parts.step,
    )
    lines = [*program.text.splitlines(), *parts.look_all.splitlines(), *run.splitlines()]
    return _assembled(parts, wanted, lines, _ALL_LEAVES, _DIFFERENT)


def _assembled(parts: Parts, wanted: Wanted, lines: list[str], compare: str, said: str) -> str:
    """The file: what it shows, imports, the module with `run` last, and the main."""
    named = [block for block in blocks(lines) if not _imports(block[0])]
    text = joined(named)
    tolerance = next(bound for name, bound in _TOLERANCES if name in text)
    sound, right = _BY_FUNCTION if compare else _BY_VALUE
    main = _MAIN.format(versions=parts.versions, said=said, sound=sound, right=right)
    ends = [end.strip("\n") for end in (compare.format(tolerance=tolerance), main) if end]
    rest = "\n\n\n".join([text, *ends]) + "\n"
    found = {block[0] for block in blocks(lines) if _imports(block[0])}
    used = sorted(line for line in {*found, *_IMPORTS, *parts.imports} if _used(line, rest))
    plain = [line for line in used if not _third_party(line)]
    third = [line for line in used if _third_party(line)]
    title = wanted.title.replace("\\", "/").replace('"', "'")
    codes = f"{_CODES} {parts.note}".strip()
    about = [title, _ARMS.format(step=wanted.exposing + 1), codes]
    head = ['"""' + "\n".join(about) + '"""', ""]
    head += [*sorted(plain, key=_order), "", *sorted(third, key=_order)]
    top = ["", *parts.top] if parts.top else []
    gap = "\n\n\n" if named[0][0].startswith(("def ", "class ", "@")) else "\n\n"
    return "\n".join([*head, *top]) + gap + rest


def _imports(line: str) -> bool:
    return line.startswith(("import ", "from "))


def _used(line: str, text: str) -> bool:
    """Whether a text uses something that an import line makes known."""
    names = line.rpartition("import ")[2].split(", ")
    bound = [name.rpartition(" as ")[2] for name in names]
    dot = "" if line.startswith("from ") else r"\."
    return any(re.search(rf"(?<![\w.]){re.escape(name)}\b{dot}", text) for name in bound)


def _third_party(line: str) -> bool:
    return line.split()[1].partition(".")[0] not in _STANDARD


def _order(line: str) -> tuple[bool, str]:
    return line.startswith("from "), line
