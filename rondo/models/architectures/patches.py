"""Models of image patches, and a block that routes tokens to experts."""

from __future__ import annotations

from rondo.models.architectures.vision import IMAGES
from rondo.models.graph import Shape
from rondo.models.sketch import Sketch


def _patches(sketch: Sketch, size: int) -> None:
    """Embed patches of 4 by 4: a sequence of four."""
    sketch.conv(size, 4, 4)
    sketch.add("map_to_sequence", ("B", 4, size))


def _feed_forward(sketch: Sketch, inside: int) -> None:
    sketch.dense(2 * inside)
    sketch.add("gelu")
    sketch.dense(inside)


def vision_transformer(width: int, depth: int) -> Sketch:
    """Patch embedding, a class token, learnt positions, pre-norm blocks; the class token is
    classified (Dosovitskiy and others 2020)."""
    size = 4 + 4 * (width % 2)
    sketch = Sketch("images", IMAGES)
    _patches(sketch, size)
    sketch.add("class_token", ("B", 5, size), stem="token", features=size)
    sketch.add("add_positions", stem="positions", features=size)
    for _ in range(1 + depth % 2):
        entry = sketch.newest
        sketch.add("layer_norm", stem="norm", features=size)
        sketch.add("self_attention", stem="attention", features=size, heads=2)
        middle = sketch.plus(entry)
        sketch.add("layer_norm", stem="norm", features=size)
        _feed_forward(sketch, size)
        sketch.plus(middle)
    sketch.add("first_of_sequence", ("B", size))
    sketch.add("layer_norm", stem="norm", features=size)
    sketch.dense(3)
    return sketch


def mlp_mixer(width: int, depth: int) -> Sketch:
    """Linear layers across patches, then across channels, each with a residual (Tolstikhin and
    others 2021)."""
    size = 4 + 4 * (width % 2)
    shape: Shape = ("B", 4, size)
    sketch = Sketch("images", IMAGES)
    _patches(sketch, size)
    for _ in range(1 + depth % 2):
        entry = sketch.newest
        sketch.add("layer_norm", stem="norm", features=size)
        sketch.add("swap_inner", ("B", size, 4))
        _feed_forward(sketch, 4)
        sketch.add("swap_inner", shape)
        middle = sketch.plus(entry)
        sketch.add("layer_norm", stem="norm", features=size)
        _feed_forward(sketch, size)
        sketch.plus(middle)
    sketch.add("mean_of_sequence", ("B", size))
    sketch.dense(3)
    return sketch


def mixture_of_experts(width: int, depth: int) -> Sketch:
    """A router weighs experts for each token by how far they are above the best one left out, so
    that their sum has no jumps; a residual around it (after Shazeer and others 2017)."""
    size, experts = 4 + 4 * (width % 2), 3 + depth % 2
    shape: Shape = ("B", "T", size)
    sketch = Sketch("sequence", shape)
    entry = sketch.add("layer_norm", stem="norm", features=size)
    sketch.dense(experts)
    sketch.add("softmax")
    gates = sketch.add("top_gates", kept=2)
    outputs = []
    for number in range(experts):
        sketch.add(
            "linear", (*shape[:-1], 2 * size), (entry,), "linear", inside=size, outside=2 * size
        )
        sketch.add("gelu")
        expert = sketch.dense(size)
        gate = sketch.add("pick_feature", (*shape[:-1], 1), (gates,), start=number, stop=number + 1)
        outputs.append(sketch.add("multiply", shape, (expert, gate)))
    for output in outputs[:-1]:
        sketch.plus(output)
    sketch.plus("x")
    return sketch
