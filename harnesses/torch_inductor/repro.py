"""The standalone program of a finding: its own text, and a small main that plays the three arms.

It needs torch and NumPy only. Each arm runs in a child forked before anything was compiled, with a
cache directory of its own.
"""

from __future__ import annotations

from harnesses.base import Program

_MAIN = '''
EXPOSING = {exposing}  # index of the step that shows the bug
SECONDS = {seconds}


def look(value):
    """The leaves of a value: for a tensor its type, shape, flags and numbers."""
    if isinstance(value, torch.Tensor):
        return [(str(value.dtype), tuple(value.shape), value.requires_grad, value.detach().clone())]
    if isinstance(value, dict):
        return [leaf for key in value for leaf in [key, *look(value[key])]]
    if isinstance(value, (list, tuple)):
        return [len(value), *(leaf for entry in value for leaf in look(entry))]
    return [value if isinstance(value, (bool, int, float, str, type(None))) else str(type(value))]


def play(arm):
    """What a user sees at the exposing step: results, inputs, gradients, state, randomness."""
    reseed(0)
    s = State(arm == "retained")
    for index, step in enumerate(STEPS[: EXPOSING + 1]):
        s.live = arm == "retained" or (arm == "reset" and index == EXPOSING)
        reseed(index + 1)
        try:
            result, raised = step(s) or {{}}, ""
        except Exception as error:
            result, raised = {{"out": "raised"}}, f"{{type(error).__name__}}: {{error}}"
    tensors = [v for v in result.values() if isinstance(v, torch.Tensor) and v.is_leaf]
    seen = look([result, s.model.state_dict(), [p.requires_grad for p in s.model.parameters()]])
    seen += look([t.grad for t in [*tensors, *s.model.parameters()]])
    seen += look({{k: v for k, v in sorted(vars(s.model).items()) if k[0] != "_"}})
    return [*seen, str(random.getstate())[-40:], *look(torch.get_rng_state())], raised


def arm(name):
    """Play an arm in a child; a death is an observation like any other."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
        resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
        signal.alarm(SECONDS)
        with os.fdopen(writing, "wb") as pipe:
            torch.save(play(name), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    signal_number = os.waitpid(child, 0)[1] & 127
    if signal_number or not data:
        return [f"died: signal {{signal_number}}"], f"died with signal {{signal_number}}"
    return torch.load(io.BytesIO(data))


def same(a, b):
    """Equal, up to rounding."""
    if not isinstance(a, tuple) or not isinstance(b, tuple) or a[:3] != b[:3]:
        return a == b if not isinstance(a, tuple) and not isinstance(b, tuple) else False
    loose = {{"torch.bfloat16": 3e-2, "torch.float16": 4e-3}}.get(a[0], 1e-4)
    x, y = a[3].double(), b[3].double()
    return torch.allclose(x, y, rtol=loose, atol=loose / 10, equal_nan=True)


def first_difference(a, b):
    """The first leaves that differ, as text, or the empty string."""
    for left, right in zip(a, b):
        if not same(left, right):
            return f"{{left}} instead of {{right}}".replace("\\n", " ")
    return "" if len(a) == len(b) else f"{{len(a)}} leaves instead of {{len(b)}}"


def main():
    print("torch", torch.__version__, "Python", sys.version.split()[0])
    eager, error = arm("eager")
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

_NEEDED = ("io", "os", "random", "resource", "signal", "sys", "tempfile")


def repro(program: Program, exposing: int, title: str, seconds: int) -> str:
    """The standalone text of a program whose step `exposing` shows a bug."""
    head, _, rest = program.text.partition("import torch\n")
    own = [line for line in head.splitlines() if line]
    imports = sorted({*own, *(f"import {name}" for name in _NEEDED)})
    main = _MAIN.format(exposing=exposing, seconds=seconds)
    codes = "Exit code 1 while the bug is there, 0 when it is gone, 2 when it cannot tell."
    doc = f'"""{title}\n\n{codes}\n"""'
    return f"{doc}\n\n" + "\n".join(imports) + f"\n\nimport torch\n{rest}\n{main}"
