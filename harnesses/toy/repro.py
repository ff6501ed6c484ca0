"""The standalone program of a finding: the test case's own text with a small `main`."""

from __future__ import annotations

_HEAD = '''"""{title}

Exit status: 1 while the bug is there, 0 when it is gone, 2 when this cannot tell.
Run it from Rondo's root folder, `PYTHONPATH=. python repro.py`: the toy framework lives there.
"""

import sys
'''

_MAIN = '''

EXPOSING = {exposing}  # the step that shows the bug, counted from 0


def shown(value):
    if isinstance(value, dict):
        return {{k: shown(v) for k, v in value.items()}}
    if isinstance(value, (list, tuple)):
        return [shown(v) for v in value]
    if isinstance(value, toy.Array):
        return value.dtype, value.data.shape, value.data.tobytes()
    return repr(value)


def play(live_from):
    """What step EXPOSING returns and leaves behind when steps from `live_from` on are compiled."""
    toy.plain_modes()
    toy.reset()
    reseed(0)
    state = State(live_from == 0)
    for index, step in enumerate(STEPS[: EXPOSING + 1]):
        state.live = index >= live_from
        reseed(index + 1)
        try:
            result = shown(step(state))
        except Exception as error:
            result = type(error).__name__
    return result, shown(state.model.visible_state()), toy.python_random.random()


def main():
    eager, reset, retained = play(len(STEPS)), play(EXPOSING), play(0)
    if play(len(STEPS)) != eager:
        print("eager execution differs from run to run: cannot tell")
        return 2
    for name, result in (("eager", eager), ("reset", reset), ("retained", retained)):
        print(f"{{name:9}} {{'as eager' if result == eager else 'DIFFERENT'}}")
    return 0 if retained == eager else 1


if __name__ == "__main__":
    sys.exit(main())
'''


def repro(text: str, exposing: int, title: str) -> str:
    """A program's text as a script that plays the three arms up to step `exposing`."""
    plain = title.replace("\\", "/").replace('"""', "'''").rstrip('"')
    head = _HEAD.format(title=plain)
    separator = "" if text.startswith("import ") and not text.startswith("import numpy") else "\n"
    return head + separator + text + _MAIN.format(exposing=exposing)
