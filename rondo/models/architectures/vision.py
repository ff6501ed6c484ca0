"""Convolutional classifiers, each with the block that it is known for, on images of 8 by 8."""

from __future__ import annotations

from rondo.models.graph import Shape
from rondo.models.sketch import Sketch

IMAGES: Shape = ("B", 3, 8, 8)


def lenet(width: int, depth: int) -> Sketch:
    """Convolutions of 5 by 5 with tanh and average pooling, linear layers (LeCun 1998)."""
    sketch = Sketch("images", ("B", 1, 8, 8))
    for channels in (3 + width % 3, 6 + width % 3):
        sketch.conv(channels, 5)
        sketch.add("tanh")
        sketch.pool("avg_pool2d")
    sketch.add("flatten", ("B", sketch.size(1) * 4))
    for outside in (12, *(8,) * (1 + depth % 2)):
        sketch.dense(outside)
        sketch.add("tanh")
    sketch.dense(3)
    return sketch


def vgg(width: int, depth: int) -> Sketch:
    """Stacks of 3 by 3 convolutions that double their channels at each pooling; dropout in the
    classifier (Simonyan and Zisserman 2014)."""
    sketch = Sketch("images", IMAGES)
    channels = 4 + 2 * (width % 3)
    for _ in range(2):
        for _ in range(1 + depth % 3):
            sketch.conv(channels)
            sketch.add("relu")
        sketch.pool()
        channels *= 2
    sketch.add("flatten", ("B", sketch.size(1) * 4))
    sketch.dense(12)
    sketch.add("relu")
    sketch.add("dropout", stem="drop")
    sketch.dense(3)
    return sketch


def _residual(sketch: Sketch, channels: int, stride: int) -> None:
    entry = sketch.newest
    changes = stride > 1 or sketch.size(1) != channels
    sketch.normed_conv(channels, 3, stride)
    body = sketch.normed_conv(channels, 3, act="")
    if changes:
        sketch.conv(channels, 1, stride, source=entry)
        entry = sketch.add("batch_norm2d", stem="norm", outside=channels)
    sketch.plus(body, entry)
    sketch.add("relu")


def resnet(width: int, depth: int) -> Sketch:
    """Basic blocks with an identity shortcut, and one of stride two with a projected one
    (He and others 2015)."""
    channels = 4 + 2 * (width % 3)
    sketch = Sketch("images", IMAGES)
    sketch.normed_conv(channels)
    for _ in range(1 + depth % 2):
        _residual(sketch, channels, 1)
    _residual(sketch, channels * 2, 2)
    sketch.classifier()
    return sketch


def densenet(width: int, depth: int) -> Sketch:
    """Norm, ReLU, convolution, each on all earlier maps of its block; a transition between two
    blocks (Huang and others 2016)."""
    growth = 2 + width % 3
    sketch = Sketch("images", IMAGES)
    sketch.conv(2 * growth)
    for block in range(2):
        for _ in range(2 + depth % 2):
            entry = sketch.newest
            sketch.add("batch_norm2d", stem="norm", outside=sketch.size(1))
            sketch.add("relu")
            sketch.conv(growth)
            sketch.joined(entry, sketch.newest)
        if block == 0:
            sketch.add("batch_norm2d", stem="norm", outside=sketch.size(1))
            sketch.add("relu")
            sketch.conv(sketch.size(1) // 2, 1)
            sketch.pool("avg_pool2d")
    sketch.classifier()
    return sketch


def _branch(sketch: Sketch, entry: str, *convolutions: tuple[int, int]) -> str:
    """Convolutions with ReLU, the first of which reads `entry`; (channels, kernel) each."""
    for outside, kernel in convolutions:
        sketch.conv(outside, kernel, source=entry)
        entry = sketch.add("relu")
    return entry


def googlenet(width: int, depth: int) -> Sketch:
    """Inception blocks: 1 by 1, 3 by 3 and 5 by 5 convolutions and pooling side by side
    (Szegedy and others 2014)."""
    channels = 2 + width % 3
    sketch = Sketch("images", IMAGES)
    sketch.conv(channels * 2)
    sketch.add("relu")
    for _ in range(1 + depth % 2):
        entry = sketch.newest
        one = _branch(sketch, entry, (channels, 1))
        three = _branch(sketch, entry, (channels, 1), (channels * 2, 3))
        five = _branch(sketch, entry, (2, 1), (channels, 5))
        pooled = sketch.add("max_pool_same", sketch.shape(entry), (entry,))
        sketch.joined(one, three, five, _branch(sketch, pooled, (channels, 1)))
    sketch.add("dropout", stem="drop")
    sketch.classifier()
    return sketch


def squeezenet(width: int, depth: int) -> Sketch:
    """Fire modules: squeeze to few channels, expand by 1 by 1 and 3 by 3 side by side; the
    classifier is a convolution (Iandola and others 2016)."""
    squeezed = 2 + width % 3
    sketch = Sketch("images", IMAGES)
    sketch.conv(8, 3, 2)
    sketch.add("relu")
    for _ in range(2 + depth % 2):
        entry = _branch(sketch, sketch.newest, (squeezed, 1))
        ones = _branch(sketch, entry, (4, 1))
        sketch.joined(ones, _branch(sketch, entry, (4, 3)))
    sketch.add("dropout", stem="drop")
    sketch.conv(3, 1)
    sketch.add("relu")
    sketch.add("global_pool", ("B", 3))
    return sketch
