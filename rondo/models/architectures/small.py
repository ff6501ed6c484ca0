"""Small models: each a handful of nodes, so that a sequence of calls compiles in little time."""

from __future__ import annotations

from rondo.models.graph import Shape
from rondo.models.sketch import Sketch


def nothing(width: int, depth: int) -> Sketch:
    """Start from the input alone."""
    return Sketch("floats", ("B", 4))


def mlp(width: int, depth: int) -> Sketch:
    """Linear layers with ReLU between them."""
    sketch = Sketch("floats", ("B", 4))
    for _ in range(1 + depth % 3):
        sketch.dense(4 + 4 * (width % 3))
        sketch.add("relu")
    sketch.dense(3)
    return sketch


def small_cnn(width: int, depth: int) -> Sketch:
    """Convolution, batch norm, ReLU and pooling; then a linear classifier."""
    sketch = Sketch("images", ("B", 2, 6, 6))
    for _ in range(1 + depth % 2):
        sketch.normed_conv(2 + 2 * (width % 3))
    sketch.pool()
    sketch.add("flatten", ("B", sketch.size(1) * 9))
    sketch.dense(3)
    return sketch


def transformer(width: int, depth: int) -> Sketch:
    """A pre-norm block: self-attention and a feed-forward part, each with a residual."""
    size = 4 + 4 * (width % 2)
    shape: Shape = ("B", "T", size)
    sketch = Sketch("sequence", shape)
    for _ in range(1 + depth % 2):
        entry = sketch.newest
        sketch.add("layer_norm", stem="norm", features=size)
        sketch.add("self_attention", stem="attention", features=size, heads=2)
        middle = sketch.plus(entry)
        sketch.add("layer_norm", stem="norm", features=size)
        sketch.dense(2 * size)
        sketch.add("gelu")
        sketch.dense(size)
        sketch.plus(middle)
    return sketch


def lstm(width: int, depth: int) -> Sketch:
    """An LSTM over the sequence, its last state, a linear head."""
    hidden = 4 + 2 * (width % 2)
    sketch = Sketch("sequence", ("B", "T", 4))
    for _ in range(1 + depth % 2):
        inside = sketch.size(-1)
        sketch.add("lstm", ("B", "T", hidden), stem="lstm", inside=inside, outside=hidden)
    sketch.add("last_of_sequence", ("B", hidden))
    sketch.dense(3)
    return sketch


def embedding_pool(width: int, depth: int) -> Sketch:
    """Token embeddings, mean over the sequence, a linear head."""
    size = 4 + 4 * (width % 2)
    sketch = Sketch("tokens", ("B", "T"))
    sketch.add("embedding", ("B", "T", size), stem="embedding", rows=16, outside=size)
    sketch.add("mean_of_sequence", ("B", size))
    sketch.dense(3)
    return sketch


def autoencoder(width: int, depth: int) -> Sketch:
    """Down to a code of two and up again, the reconstruction compared with nothing."""
    size = 4 + 4 * (width % 2)
    sketch = Sketch("floats", ("B", 8))
    sketch.dense(size)
    sketch.add("tanh")
    sketch.dense(2)
    sketch.dense(size)
    sketch.add("relu")
    sketch.dense(8)
    sketch.add("sigmoid")
    return sketch
