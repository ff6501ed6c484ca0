"""The standalone program of a torch.compile finding; it needs torch and NumPy only.

Each arm has a cache directory of its own.
"""

from __future__ import annotations

from harnesses.base import Program
from harnesses.standalone import Parts, standalone

_LOOK = '''
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
    return [*leaves, str(random.getstate())[-40:], *look(torch.get_rng_state())]
'''

_PARTS = Parts(
    look=_LOOK,
    versions='"torch", torch.__version__',
    setup='os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()',
    imports=("random", "tempfile"),
    third_party=("import numpy as np", "import torch"),
)


def repro(program: Program, exposing: int, title: str, seconds: int) -> str:
    """The standalone text of a program whose step `exposing` shows a bug."""
    return standalone(program, _PARTS, exposing, title, seconds)
