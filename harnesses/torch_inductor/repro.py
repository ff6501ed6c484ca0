"""The standalone program of a torch.compile finding; it needs torch and NumPy only.

Each arm has a cache directory of its own where the whole compiler runs.
"""

from __future__ import annotations

import ast
import re

from harnesses.base import Program, Shown, Wanted
from harnesses.flat import Flat, compiled_in, without
from harnesses.standalone import Look, Parts, standalone

_LOOK_ALL = '''
def look(value):
    """The leaves of a value: for a tensor its type, shape, flags and numbers."""
    if isinstance(value, torch.Tensor):
        numbers = value.detach().double().numpy().copy()
        return [(str(value.dtype), tuple(value.shape), value.requires_grad, numbers)]
    if isinstance(value, dict):
        return [leaf for key in value for leaf in [key, *look(value[key])]]
    if isinstance(value, (list, tuple)):
        return [len(value), *(leaf for entry in value for leaf in look(entry))]
    return [value if isinstance(value, (bool, int, float, str, type(None))) else str(type(value))]


def seen(s, result):
    """What a user can see: results, inputs, gradients, state, randomness."""
    tensors = [v for v in result.values() if isinstance(v, torch.Tensor) and v.is_leaf]
    leaves = look([result, s.model.state_dict(), [p.requires_grad for p in s.model.parameters()]])
    leaves += look([t.grad for t in [*tensors, *s.model.parameters()]])
    leaves += look({k: v for k, v in sorted(vars(s.model).items()) if k[0] != "_"})
    return [*leaves, random.random(), torch.rand(1).item()]
'''

_INPUTS = r"(x|y|items|bias)\b"
_PLACES = {
    "output": "{path}",
    "input": "{path}",
    "parameter": 'model.get_parameter("{path}")',
    "buffer": 'model.get_buffer("{path}")',
    "attribute": "model.{path}",
}
_READABLE = re.compile(r"[\w.]+(\[(\d+|'\w+')\]|\.\w+)*")


def look(shown: Shown) -> Look | None:
    """How to see one place of a torch program after the exposing step."""
    if shown.role == "rng":
        return Look("[str((random.random(), torch.rand(1).item()))]")
    if shown.role == "gradient":
        inputs = re.match(_INPUTS, shown.path)
        place = "{path}.grad" if inputs else 'model.get_parameter("{path}").grad'
    else:
        place = _PLACES[shown.role]
    path, _, what = shown.path.replace("'", '"').partition(" ")
    value = place.format(path=path)
    if what == "structure":
        return Look(f"[str(torch.utils._pytree.tree_flatten({value})[1])]")
    if not _READABLE.fullmatch(shown.path) or not shown.there:
        return None
    if not shown.array:
        return Look(f"[type({value}).__name__, {_text(shown, value)}]")
    first = () if value.isidentifier() else (f"value = {value}",)
    name = value if value.isidentifier() else "value"
    same_object = f", {name} is x" if "the input itself" in shown.detail else ""
    leaf = f"[str({name}.dtype), {name}.shape, {name}.requires_grad{same_object}, {{}}]"
    return Look(leaf.format(f"{name}.detach().double().numpy()"), True, first)


def _text(shown: Shown, value: str) -> str:
    return '""' if shown.detail.startswith("type ") else f"repr({value})"


_NO_INIT = "    def __init__(self):\n        super().__init__()\n\n    def "
_CAST = re.compile(r" +x0 = x\.to\(self\.[\w.]+\.dtype\)")
_OTHER_TYPES = re.compile(r"float64|float16|int64|\.double\(|default_d|\.to\(torch")
_TENSOR = re.compile(r"\btensor\((\([\d, ]+\)), (\d+)\)")


def tidy(module: list[str], steps: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """The same program in plainer words where all is float32: no cast of the input, and random
    inputs drawn directly where no two are meant to be the same."""
    text = "\n".join(line for body in steps for line in body)
    kept = "\n".join(line for line in module if not line.startswith("COMPILE = "))
    module = kept.replace(_NO_INIT, "    def ").splitlines()
    if _OTHER_TYPES.search(text):
        return module, steps
    if any(_CAST.fullmatch(line) for line in module):
        module = [re.sub(r"\bx0\b", "x", line) for line in module if not _CAST.fullmatch(line)]
    seeds = [seed for _, seed in _TENSOR.findall(text)]
    if len(set(seeds)) < len(seeds) or "tensor(" in _TENSOR.sub("", text):
        return module, steps
    drawn = [[_TENSOR.sub(r"torch.randn(\1)", line) for line in body] for body in steps]
    kept = without("def tensor(", module)
    return kept if "tensor(" not in "\n".join(kept) else module, drawn


def _flat(options: dict[str, object]) -> Flat:
    """How steps read in one function, where everything is compiled with these options."""
    named = ", ".join(
        f'{k}="{v}"' if isinstance(v, str) else f"{k}={v}" for k, v in options.items()
    )
    compiled = f"torch.compile(model, {named})".replace(f'backend="{options["backend"]}"', _BACKEND)
    return Flat(
        callee='s.compiled("model", s.model, **COMPILE)',
        start=compiled_in("retained", compiled, "model"),
        fresh=compiled_in("reset", compiled, "f"),
        renamed=((r"s\.hooks\.append\((s\.model.*)\)$", r"\1"),),
        unfit=r"\bs\.|COMPILE",
        tidy=tidy,
    )


_BACKEND = "backend=backend"
_OWN_CACHE = 'os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()'


def repro(program: Program, wanted: Wanted) -> str:
    """The standalone text of a program that shows a bug."""
    line = next(line for line in program.text.splitlines() if line.startswith("COMPILE = "))
    options = ast.literal_eval(line.partition(" = ")[2])
    backend = options["backend"]
    whole_compiler = backend == "inductor"
    parts = Parts(
        look=look,
        look_all=_LOOK_ALL,
        flat=_flat(options),
        versions='"torch", torch.__version__',
        begin=(_OWN_CACHE,) if whole_compiler or wanted.shown is None else (),
        options=(f'backend=sys.argv[1] if sys.argv[1:] else "{backend}"',),
        heeding=('COMPILE["backend"] = backend',),
        note="An argument is the backend.",
        imports=("import os", "import random", "import tempfile", "import torch"),
    )
    return standalone(program, parts, wanted)
