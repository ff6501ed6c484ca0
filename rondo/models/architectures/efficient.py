"""Convolutional networks that save arithmetic: depthwise, grouped, gated, inverted."""

from __future__ import annotations

from rondo.models.architectures.vision import IMAGES
from rondo.models.sketch import Sketch


def _inverted(sketch: Sketch, outside: int, stride: int, act: str, gated: bool = False) -> None:
    """Expand by 1 by 1, filter depthwise, maybe gate the channels, project; a residual where the
    shape stays."""
    entry, inside = sketch.newest, sketch.size(1)
    wide = inside * 2
    sketch.normed_conv(wide, 1, act=act)
    sketch.normed_conv(wide, 3, stride, groups=wide, act=act)
    if gated:
        _squeeze_excite(sketch)
    sketch.normed_conv(outside, 1, act="")
    if stride == 1 and inside == outside:
        sketch.plus(entry)


def _squeeze_excite(sketch: Sketch) -> None:
    entry, channels = sketch.newest, sketch.size(1)
    sketch.add("global_pool_keep", (*sketch.now[:2], 1, 1))
    sketch.conv(max(channels // 4, 1), 1)
    sketch.add("silu")
    sketch.conv(channels, 1)
    sketch.add("sigmoid")
    sketch.add("multiply", sketch.shape(entry), (entry, sketch.newest))


def mobilenet(width: int, depth: int) -> Sketch:
    """Inverted residuals with linear bottlenecks and ReLU6 (MobileNetV2, Sandler and others
    2018)."""
    channels = 4 + 2 * (width % 3)
    sketch = Sketch("images", IMAGES)
    sketch.normed_conv(channels, 3, 2, act="relu_six")
    for _ in range(1 + depth % 2):
        _inverted(sketch, channels, 1, "relu_six")
    _inverted(sketch, channels + 2, 2, "relu_six")
    sketch.classifier()
    return sketch


def shufflenet(width: int, depth: int) -> Sketch:
    """Split the channels, filter one half, join, shuffle (ShuffleNetV2, Ma and others 2018)."""
    channels = 4 + 4 * (width % 2)
    half = channels // 2
    sketch = Sketch("images", IMAGES)
    sketch.normed_conv(channels, 3, 2)
    for _ in range(1 + depth % 3):
        entry, sides = sketch.newest, sketch.now[2:]
        shape = ("B", half, *sides)
        kept = sketch.add("slice_channels", shape, (entry,), start=0, stop=half)
        sketch.add("slice_channels", shape, (entry,), start=half, stop=channels)
        sketch.normed_conv(half, 1)
        sketch.normed_conv(half, 3, groups=half, act="")
        sketch.normed_conv(half, 1)
        sketch.joined(kept, sketch.newest)
        sketch.add("channel_shuffle", half=half)
    sketch.classifier()
    return sketch


def efficientnet(width: int, depth: int) -> Sketch:
    """Inverted residuals whose channels are gated by squeeze and excitation, with SiLU (Tan and Le
    2019)."""
    channels = 4 + 2 * (width % 3)
    sketch = Sketch("images", IMAGES)
    sketch.normed_conv(channels, 3, 2, act="silu")
    for _ in range(1 + depth % 2):
        _inverted(sketch, channels, 1, "silu", gated=True)
    sketch.classifier()
    return sketch


def convnext(width: int, depth: int) -> Sketch:
    """A patch stem; depthwise 7 by 7, layer norm and an inverted bottleneck on the last axis, a
    scaled residual (Liu and others 2022)."""
    size = 4 + 4 * (width % 2)
    sketch = Sketch("images", IMAGES)
    sketch.conv(size, 2, 2)
    for _ in range(1 + depth % 2):
        entry, shape = sketch.newest, sketch.now
        sketch.conv(size, 7, groups=size)
        sketch.add("channels_to_end", (shape[0], *shape[2:], size))
        sketch.add("layer_norm", stem="norm", features=size)
        sketch.dense(2 * size)
        sketch.add("gelu")
        sketch.dense(size)
        sketch.add("scale_weight", stem="scale", inside=size, outside=size, features=size)
        sketch.add("channels_to_front", shape)
        sketch.plus(entry)
    sketch.add("global_pool", ("B", size))
    sketch.add("layer_norm", stem="norm", features=size)
    sketch.dense(3)
    return sketch
