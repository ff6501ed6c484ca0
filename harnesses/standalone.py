"""The standalone program of a finding: its own text, and a small main that plays the three arms.

What a target adds is in `Parts`: how to look at its values, and what a step runs under. Each arm
runs in a child forked before anything was compiled.
"""

from __future__ import annotations

from dataclasses import dataclass

from harnesses.base import Program

_MAIN = '''
EXPOSING = {exposing}  # index of the step that shows the bug
SECONDS = {seconds}


{look}

def play(arm):
    """What a user sees after the exposing step, and what that step raised."""
    reseed(0)
    s = State(arm == "retained")
    for index, step in enumerate(STEPS[: EXPOSING + 1]):
        s.live = arm == "retained" or (arm == "reset" and index == EXPOSING)
        reseed(index + 1)
        try:
            result, raised = {step} or {{}}, ""
        except Exception as error:
            result, raised = {{"out": "raised"}}, f"{{type(error).__name__}}: {{error}}"
    return seen(s, result), raised


def arm(name):
    """Play an arm in a child; a death is an observation like any other."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        {setup}
        resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
        signal.alarm(SECONDS)
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(play(name), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    status = os.waitpid(child, 0)[1]
    died = f"died with status {{status}}"
    return ([died], died) if status or not data else pickle.loads(data)


def same(a, b):
    """Equal; arrays, which are (type, shape, flags, numbers), up to rounding."""
    if not isinstance(a, tuple) or not isinstance(b, tuple) or a[:3] != b[:3]:
        return a == b if not isinstance(a, tuple) and not isinstance(b, tuple) else False
    loose = 3e-2 if "bfloat16" in a[0] else 4e-3 if "float16" in a[0] else 1e-4
    return np.allclose(a[3], b[3], rtol=loose, atol=loose / 10, equal_nan=True)


def first_difference(a, b):
    """The first leaves that differ, as text, or the empty string."""
    for left, right in zip(a, b):
        if not same(left, right):
            return f"{{left}} instead of {{right}}".replace("\\n", " ")
    return "" if len(a) == len(b) else f"{{len(a)}} leaves instead of {{len(b)}}"


def main():
    print({versions}, "Python", sys.version.split()[0])
    eager, error = arm("eager")
    if first_difference(arm("eager")[0], eager):
        print("cannot tell: eager execution differs from run to run")
        return 2
    reset, reset_error = arm("reset")
    retained, retained_error = arm("retained")
    reset_wrong = first_difference(reset, eager)
    wrong = first_difference(retained, eager)
    print(f"eager     {{error or 'the reference'}}")
    print(f"reset     {{reset_error or reset_wrong or 'equal'}}"[:300])
    print(f"retained  {{retained_error or wrong or 'equal'}}"[:300])
    if reset_wrong:
        print("cannot tell: a fresh compile differs from eager execution too")
        return 2
    print("the bug is there" if wrong else "the bug is gone")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
'''

_NEEDED = ("os", "pickle", "resource", "signal", "sys")
_CODES = "Exit code 1 while the bug is there, 0 when it is gone, 2 when it cannot tell."


@dataclass(frozen=True, slots=True)
class Parts:
    """What a target adds to a standalone program.

    `look` is the text of `seen(s, result)`, the list of leaves that a user can see after a step: an
    array is a tuple (type name, shape, flags, float64 NumPy array). `step` is the expression that
    runs a step, `setup` the line that a child begins with, `versions` what to print of the
    framework; `imports` are module names, `third_party` import lines, `top` lines below them.
    """

    look: str
    versions: str
    step: str = "step(s)"
    setup: str = "os.setpgid(0, 0)"
    imports: tuple[str, ...] = ()
    third_party: tuple[str, ...] = ()
    top: tuple[str, ...] = ()
    note: str = ""


def standalone(program: Program, parts: Parts, exposing: int, title: str, seconds: int, /) -> str:
    """The standalone text of a program whose step `exposing` shows a bug."""
    lines = program.text.splitlines()
    first = next(i for i, line in enumerate(lines) if line and not line.startswith("import "))
    while lines[first].startswith("from "):
        first += 1
    own = [line for line in lines[:first] if line]
    third = {line for line in own if _third_party(line)} | set(parts.third_party)
    plain = {line for line in own if not _third_party(line)}
    plain |= {f"import {name}" for name in (*_NEEDED, *parts.imports)}
    plain_title = title.replace("\\", "/").replace('"', "'")
    documentation = [f'"""{plain_title}', "", _CODES, *([parts.note] if parts.note else []), '"""']
    main = _MAIN.format(
        exposing=exposing,
        seconds=seconds,
        look=parts.look.strip("\n") + "\n",
        step=parts.step,
        setup=parts.setup,
        versions=parts.versions,
    )
    head = [*documentation, "", *sorted(plain), "", *sorted(third, key=_import_order)]
    top = ["", *parts.top] if parts.top else []
    rest = "\n".join(lines[first:]).strip("\n")
    gap = "\n\n" if rest.startswith(("def ", "class ")) else "\n"
    return "\n".join([*head, *top]) + f"\n{gap}{rest}\n\n{main}"


_STANDARD = frozenset(
    "concurrent copy dataclasses enum functools gc importlib io math os pickle random resource "
    "signal sys tempfile types typing".split()
)


def _third_party(line: str) -> bool:
    return line.split()[1].partition(".")[0] not in _STANDARD


def _import_order(line: str) -> tuple[bool, str]:
    return line.startswith("from "), line
