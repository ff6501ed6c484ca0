"""Models of token sequences: convolutional, recurrent, and the transformer family."""

from __future__ import annotations

from rondo.models.graph import Shape
from rondo.models.sketch import Sketch

TOKENS: Shape = ("B", "T")
ROWS = 16
"""The vocabulary of the embeddings."""


def embedded(sketch: Sketch, size: int, inputs: tuple[str, ...] = ()) -> str:
    """The embedding of tokens."""
    return sketch.add("embedding", ("B", "T", size), inputs, "embedding", rows=ROWS, outside=size)


def text_cnn(width: int, depth: int) -> Sketch:
    """Convolutions of several widths over the embeddings, the maximum of each over time, joined
    (Kim 2014)."""
    size, filters = 4 + 4 * (width % 2), 3 + width % 2
    sketch = Sketch("tokens", TOKENS)
    entry = embedded(sketch, size)
    found = []
    for kernel in range(2, 4 + depth % 3):
        shape = ("B", "T", filters)
        sketch.add("conv1d", shape, (entry,), "conv", inside=size, outside=filters, kernel=kernel)
        sketch.add("relu")
        found.append(sketch.add("max_of_sequence", ("B", filters)))
    sketch.add("join_features", ("B", filters * len(found)), tuple(found))
    sketch.add("dropout", stem="drop")
    sketch.dense(3)
    return sketch


def gru_seq2seq(width: int, depth: int) -> Sketch:
    """A GRU reads the tokens, another the shifted ones; each of its states attends to the first's
    (Bahdanau 2014, Luong 2015)."""
    size = 4 + 2 * (width % 2)
    shape: Shape = ("B", "T", size)
    sketch = Sketch("tokens", TOKENS)
    embedded(sketch, size)
    for _ in range(1 + depth % 2):
        sketch.add("gru", shape, stem="gru", inside=size, outside=size)
    memory = sketch.newest
    shifted = sketch.add("shift_right", TOKENS, ("x",))
    embedded(sketch, size, (shifted,))
    state = sketch.add("gru", shape, stem="gru", inside=size, outside=size)
    sketch.add("attend", shape, (state, memory, memory), heads=1, groups=1, causal="False")
    sketch.add("join_features", ("B", "T", 2 * size), (sketch.newest, state))
    sketch.dense(size)
    sketch.add("tanh")
    sketch.dense(ROWS)
    return sketch


def _norm(sketch: Sketch, op: str = "layer_norm") -> str:
    return sketch.add(op, stem="norm", features=sketch.size(-1))


def _projected(
    sketch: Sketch, source: str, outside: int, memory: str = "", name: str = "linear_no_bias"
) -> tuple[str, str, str]:
    """Query, key and value: linear maps of a value, key and value of `memory` where it is given."""
    found = []
    for read in (source, memory or source, memory or source):
        inside = sketch.shape(read)[-1]
        shape = (*sketch.shape(read)[:-1], outside)
        found.append(sketch.add(name, shape, (read,), "linear", inside=inside, outside=outside))
    return found[0], found[1], found[2]


def _feed_forward(sketch: Sketch, act: str, name: str = "linear") -> str:
    size = sketch.size(-1)
    sketch.dense(2 * size, name)
    sketch.add(act)
    return sketch.dense(size, name)


def bert_encoder(width: int, depth: int) -> Sketch:
    """Token and position embeddings, post-norm blocks with GELU, a pooled first token (Devlin and
    others 2018)."""
    size = 4 + 4 * (width % 2)
    sketch = Sketch("tokens", TOKENS)
    embedded(sketch, size)
    sketch.add("add_positions", stem="positions", features=size)
    _norm(sketch)
    sketch.add("dropout", stem="drop")
    for _ in range(1 + depth % 2):
        entry = sketch.newest
        sketch.add("self_attention", stem="attention", features=size, heads=2)
        sketch.plus(entry)
        middle = _norm(sketch)
        _feed_forward(sketch, "gelu")
        sketch.plus(middle)
        _norm(sketch)
    sketch.add("first_of_sequence", ("B", size))
    sketch.dense(size)
    sketch.add("tanh")
    return sketch


def gpt_decoder(width: int, depth: int) -> Sketch:
    """Pre-norm blocks whose causal attention keeps keys and values from call to call; logits over
    the vocabulary (Radford and others 2019)."""
    size = 4 + 4 * (width % 2)
    sketch = Sketch("tokens", TOKENS)
    embedded(sketch, size)
    sketch.add("add_positions", stem="positions", features=size)
    for _ in range(1 + depth % 2):
        entry = sketch.newest
        _norm(sketch)
        sketch.add("cached_attention", stem="attention", features=size, heads=2)
        middle = sketch.plus(entry)
        _norm(sketch)
        _feed_forward(sketch, "gelu")
        sketch.plus(middle)
    _norm(sketch)
    sketch.dense(ROWS, "linear_no_bias")
    return sketch


def _t5_attention(sketch: Sketch, source: str, memory: str, causal: bool, stem: str) -> None:
    size = sketch.size(-1)
    triple = _projected(sketch, source, size, memory)
    op = "attend_biased" if stem else "attend"
    shape = sketch.shape(source)
    sketch.add(op, shape, triple, stem, heads=2, groups=2, causal=str(causal))
    sketch.dense(size, "linear_no_bias")


def t5(width: int, depth: int) -> Sketch:
    """Encoder and decoder with RMS norm, no biases, and attention biased by relative position; the
    decoder reads the shifted tokens (Raffel and others 2019)."""
    size = 4 + 4 * (width % 2)
    sketch = Sketch("tokens", TOKENS)
    entry = embedded(sketch, size)
    for _ in range(1 + depth % 2):
        _t5_attention(sketch, _norm(sketch, "rms_norm"), "", False, "bias")
        middle = sketch.plus(entry)
        _norm(sketch, "rms_norm")
        _feed_forward(sketch, "relu", "linear_no_bias")
        entry = sketch.plus(middle)
    memory = _norm(sketch, "rms_norm")
    shifted = sketch.add("shift_right", TOKENS, ("x",))
    entry = embedded(sketch, size, (shifted,))
    _t5_attention(sketch, _norm(sketch, "rms_norm"), "", True, "bias")
    entry = sketch.plus(entry)
    _t5_attention(sketch, _norm(sketch, "rms_norm"), memory, False, "")
    entry = sketch.plus(entry)
    _norm(sketch, "rms_norm")
    _feed_forward(sketch, "relu", "linear_no_bias")
    sketch.plus(entry)
    _norm(sketch, "rms_norm")
    sketch.dense(ROWS, "linear_no_bias")
    return sketch


def llama(width: int, depth: int) -> Sketch:
    """RMS norm, rotary positions, grouped-query attention and SwiGLU (Touvron and others 2023)."""
    size, heads = 8, 4
    kept = 1 + width % 2
    few: Shape = ("B", "T", size // heads * kept)
    sketch = Sketch("tokens", TOKENS)
    entry = embedded(sketch, size)
    for _ in range(1 + depth % 2):
        normal = _norm(sketch, "rms_norm")
        query = sketch.dense(size, "linear_no_bias")
        query = sketch.add("rotary", inputs=(query,), heads=heads)
        key, value = (
            sketch.add("linear_no_bias", few, (normal,), "linear", inside=size, outside=few[-1])
            for _ in range(2)
        )
        key = sketch.add("rotary", few, (key,), heads=kept)
        shape = sketch.shape(query)
        sketch.add("attend", shape, (query, key, value), heads=heads, groups=kept, causal="True")
        sketch.dense(size, "linear_no_bias")
        middle = sketch.plus(entry)
        normal = _norm(sketch, "rms_norm")
        sketch.dense(12, "linear_no_bias")
        gate = sketch.add("silu")
        wide: Shape = ("B", "T", 12)
        up = sketch.add("linear_no_bias", wide, (normal,), "linear", inside=size, outside=12)
        sketch.add("multiply", wide, (gate, up))
        sketch.dense(size, "linear_no_bias")
        entry = sketch.plus(middle)
    _norm(sketch, "rms_norm")
    sketch.dense(ROWS, "linear_no_bias")
    return sketch
