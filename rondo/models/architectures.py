"""The architectures a model can start from, as functions from size knobs to neutral nodes.

Each returns the input's kind and shape and the list of nodes; `rondo.models.grow` appends the
operator records of the test case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rondo.models.graph import Node, Shape


@dataclass(slots=True)
class Sketch:
    """A graph under construction: `add` appends a node that reads the newest value."""

    input_kind: str
    input_shape: Shape
    nodes: list[Node] = field(default_factory=list)

    @property
    def newest(self) -> str:
        """The name of the newest value."""
        return self.nodes[-1].name if self.nodes else "x"

    def add(
        self,
        op: str,
        shape: Shape,
        inputs: tuple[str, ...] = (),
        stem: str = "",
        **attrs: int | str,
    ) -> str:
        """Append a node and give the name of its value."""
        number = len(self.nodes) + 1
        name = f"h{number}"
        owned = f"{stem}{number}" if stem else ""
        node = Node(name, op, inputs or (self.newest,), shape, owned, tuple(attrs.items()))
        self.nodes.append(node)
        return name


def _dense(sketch: Sketch, batch: Shape, inside: int, outside: int) -> None:
    sketch.add("linear", (*batch, outside), stem="linear", inside=inside, outside=outside)


def nothing(width: int, depth: int) -> Sketch:
    """Start from the input alone."""
    return Sketch("floats", ("B", 4))


def mlp(width: int, depth: int) -> Sketch:
    """Linear layers with ReLU between them."""
    hidden = 4 + 4 * (width % 3)
    sketch = Sketch("floats", ("B", 4))
    inside = 4
    for _ in range(1 + depth % 3):
        _dense(sketch, ("B",), inside, hidden)
        sketch.add("relu", ("B", hidden))
        inside = hidden
    _dense(sketch, ("B",), inside, 3)
    return sketch


def small_cnn(width: int, depth: int) -> Sketch:
    """Convolution, batch norm, ReLU and pooling; then a linear classifier."""
    channels = 2 + 2 * (width % 3)
    sketch = Sketch("images", ("B", 2, 6, 6))
    inside, side = 2, 6
    for _ in range(1 + depth % 2):
        shape: Shape = ("B", channels, side, side)
        sketch.add("conv2d", shape, stem="conv", inside=inside, outside=channels)
        sketch.add("batch_norm2d", shape, stem="norm", outside=channels)
        sketch.add("relu", shape)
        inside = channels
    side //= 2
    sketch.add("max_pool2d", ("B", channels, side, side))
    sketch.add("flatten", ("B", channels * side * side))
    _dense(sketch, ("B",), channels * side * side, 3)
    return sketch


def transformer(width: int, depth: int) -> Sketch:
    """A pre-norm block: self-attention and a feed-forward part, each with a residual."""
    size = 4 + 4 * (width % 2)
    shape: Shape = ("B", "T", size)
    sketch = Sketch("sequence", shape)
    for _ in range(1 + depth % 2):
        entry = sketch.newest
        sketch.add("layer_norm", shape, stem="norm", features=size)
        sketch.add("self_attention", shape, stem="attention", features=size, heads=2)
        middle = sketch.add("add", shape, inputs=(sketch.newest, entry))
        sketch.add("layer_norm", shape, stem="norm", features=size)
        _dense(sketch, ("B", "T"), size, 2 * size)
        sketch.add("gelu", ("B", "T", 2 * size))
        _dense(sketch, ("B", "T"), 2 * size, size)
        sketch.add("add", shape, inputs=(sketch.newest, middle))
    return sketch


def lstm(width: int, depth: int) -> Sketch:
    """An LSTM over the sequence, its last state, a linear head."""
    hidden = 4 + 2 * (width % 2)
    sketch = Sketch("sequence", ("B", "T", 4))
    sketch.add("lstm", ("B", "T", hidden), stem="lstm", inside=4, outside=hidden)
    sketch.add("last_of_sequence", ("B", hidden))
    _dense(sketch, ("B",), hidden, 3)
    return sketch


def embedding_pool(width: int, depth: int) -> Sketch:
    """Token embeddings, mean over the sequence, a linear head."""
    size = 4 + 4 * (width % 2)
    sketch = Sketch("tokens", ("B", "T"))
    sketch.add("embedding", ("B", "T", size), stem="embedding", rows=16, outside=size)
    sketch.add("mean_of_sequence", ("B", size))
    _dense(sketch, ("B",), size, 3)
    return sketch


def autoencoder(width: int, depth: int) -> Sketch:
    """Down to a code of two and up again, the reconstruction compared with nothing."""
    size = 4 + 4 * (width % 2)
    sketch = Sketch("floats", ("B", 8))
    _dense(sketch, ("B",), 8, size)
    sketch.add("tanh", ("B", size))
    _dense(sketch, ("B",), size, 2)
    _dense(sketch, ("B",), 2, size)
    sketch.add("relu", ("B", size))
    _dense(sketch, ("B",), size, 8)
    sketch.add("sigmoid", ("B", 8))
    return sketch


ARCHITECTURES: dict[str, Callable[[int, int], Sketch]] = {
    "nothing": nothing,
    "mlp": mlp,
    "small_cnn": small_cnn,
    "transformer": transformer,
    "lstm": lstm,
    "embedding_pool": embedding_pool,
    "autoencoder": autoencoder,
}
"""Every architecture by name, in the order of the byte format."""
