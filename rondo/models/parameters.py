"""What the nodes of architectures own: the traits that events act on, and how many numbers.

Counts are those of the neutral definition (a bias where the name does not deny it); a framework
may keep some more or less, as PyTorch does with the two biases of its recurrent layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rondo.models.graph import Graph, Node
from rondo.models.operators import OPERATORS

_CARRIES: Mapping[str, tuple[str, ...]] = {
    "conv2d": ("parameter", "submodule"),
    "conv_transpose2d": ("parameter", "submodule"),
    "conv1d": ("parameter", "submodule"),
    "batch_norm2d": ("parameter", "buffer", "submodule"),
    "linear_no_bias": ("parameter", "submodule"),
    "embedding": ("parameter",),
    "add_positions": ("parameter",),
    "class_token": ("parameter",),
    "attend_biased": ("parameter",),
    "cached_attention": ("parameter", "cache"),
}


def carried(node: Node) -> tuple[str, ...]:
    """The traits that a node carries."""
    known = OPERATORS.get(node.op)
    return known.carries if known else _CARRIES.get(node.op, ())


POSITIONS, DISTANCES = 17, 33
"""The longest sequence with learnt positions, and the distances between its places."""

_Count = Callable[[Mapping[str, int]], int]


def _dense(a: Mapping[str, int]) -> int:
    return a["inside"] * a["outside"]


def _filters(side: int, grouped: bool = False, bias: bool = True) -> _Count:
    def count(a: Mapping[str, int]) -> int:
        inside = 1 if grouped else a["channels"]
        outside = a["channels"] if grouped else a["out_channels"]
        return outside * (inside * side + bias)

    return count


_COUNTS: Mapping[str, _Count] = {
    "linear": lambda a: _dense(a) + a["outside"],
    "linear_no_bias": _dense,
    "matmul_weight": _dense,
    "einsum_weight": _dense,
    "bilinear": lambda a: a["inside"] * _dense(a) + a["outside"],
    "scale_weight": lambda a: a["features"],
    "nested_block": lambda a: 2 * a["features"] * (a["features"] + 1),
    "embedding_bag": lambda a: 8 * a["features"],
    "layer_norm": lambda a: 2 * a["features"],
    "rms_norm": lambda a: a["features"],
    "group_norm": lambda a: 2 * a["channels"],
    "batch_norm": lambda a: 2 * a["features"],
    "batch_norm_map": lambda a: 2 * a["channels"],
    "batch_norm2d": lambda a: 2 * a["outside"],
    "conv3x3": _filters(9),
    "conv1x1": _filters(1),
    "conv_dilated": _filters(9),
    "conv_strided": _filters(9),
    "conv_grouped": _filters(9, grouped=True),
    "conv_transposed": _filters(16),
    "conv_sequence": lambda a: 3 * _dense(a) + a["outside"],
    "conv1d": lambda a: a["kernel"] * _dense(a) + a["outside"],
    "conv2d": lambda a: a["outside"] * (a["fan"] * a["kernel"] ** 2 + 1),
    "conv_transpose2d": lambda a: 16 * _dense(a) + a["outside"],
    "embedding": lambda a: a["rows"] * a["outside"],
    "add_positions": lambda a: POSITIONS * a["features"],
    "class_token": lambda a: a["features"],
    "attend_biased": lambda a: a["heads"] * DISTANCES,
    "self_attention": lambda a: 4 * a["features"] * (a["features"] + 1),
    "cached_attention": lambda a: 4 * a["features"] * (a["features"] + 1),
    "lstm": lambda a: 4 * a["outside"] * (a["inside"] + a["outside"] + 2),
    "gru": lambda a: 3 * a["outside"] * (a["inside"] + a["outside"] + 2),
}


def numbers(graph: Graph) -> int:
    """How many trained numbers a model has; what nodes share counts once."""
    return sum(
        _COUNTS[node.op]({k: v for k, v in node.attrs if isinstance(v, int)})
        for node in graph.owners
        if node.op in _COUNTS
    )
