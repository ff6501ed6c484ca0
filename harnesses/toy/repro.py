"""The standalone program of a finding: the test case's own text with a small `main`."""

from __future__ import annotations

_HEAD = '''"""{title}

Exit status: 1 while the bug is there, 0 when it is gone, 2 when this cannot tell.
The toy framework is `harnesses.toy`: have Rondo installed, or its root folder on PYTHONPATH.
"""

import os
import pickle
import resource
import signal
import sys
'''

_MAIN = '''
EXPOSING = {exposing}  # index of the step that shows the bug
SECONDS = {seconds}


def look(value):
    """A value in a form that can be compared: arrays by type, sizes and bytes."""
    if isinstance(value, dict):
        return {{key: look(entry) for key, entry in value.items()}}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *(look(entry) for entry in value)]
    if isinstance(value, toy.Array):
        return value.dtype, value.data.shape, value.data.strides, value.data.tobytes()
    return repr(value) if isinstance(value, (bool, int, float, str)) else type(value).__name__


def play(arm):
    """What a user sees at the exposing step: results, inputs, program state, randomness."""
    toy.reset()
    reseed(0)
    s = State(arm == "retained")
    for index, step in enumerate(STEPS[: EXPOSING + 1]):
        s.live = arm == "retained" or (arm == "reset" and index == EXPOSING)
        reseed(index + 1)
        try:
            result = look(step(s))
        except Exception as error:
            result = type(error).__name__
    parts = [s.model, *(p for p in getattr(s, "parts", {{}}).values() if hasattr(p, "modules"))]
    seen = [look(part.visible_state()) for part in parts]
    return result, seen, look(toy.rand(1)), toy.python_random.random()


def arm(name):
    """Play an arm in a child; a death is an observation like any other."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))
        signal.alarm(SECONDS)
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(play(name), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    status = os.waitpid(child, 0)[1]
    return pickle.loads(data) if status == 0 else f"died with status {{status}}"


def main():
    eager = arm("eager")
    if isinstance(eager, str) or arm("eager") != eager:
        print("eager execution fails or differs from run to run: cannot tell")
        return 2
    seen = {{"eager": eager, "reset": arm("reset"), "retained": arm("retained")}}
    for name, result in seen.items():
        died = result if isinstance(result, str) else "differs from eager"
        print(f"{{name:8}} {{'as eager' if result == eager else died}}")
    return 0 if seen["retained"] == eager else 1


if __name__ == "__main__":
    sys.exit(main())
'''


def repro(text: str, exposing: int, title: str, seconds: int) -> str:
    """A program's text as a script that plays the three arms up to step `exposing`."""
    plain = title.replace("\\", "/").replace('"', "'")
    return merged(_HEAD.format(title=plain), text) + _MAIN.format(
        exposing=exposing, seconds=seconds
    )


def merged(head: str, text: str) -> str:
    """A program's text below `head`, the plain imports of both in one sorted block."""
    first, imports = head.rsplit("\n\n", 1)
    lines = text.splitlines()
    own = [line for line in lines if line.startswith("import ") and "numpy" not in line]
    rest = "\n".join(line for line in lines if line not in own).lstrip("\n")
    block = "\n".join(sorted({*imports.split("\n"), *own} - {""}))
    return f"{first}\n\n{block}\n\n{rest}\n"
