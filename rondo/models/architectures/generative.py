"""Models whose output is an image or a reconstruction."""

from __future__ import annotations

from rondo.models.architectures.vision import IMAGES
from rondo.models.sketch import Sketch


def _widened(sketch: Sketch, outside: int, act: str = "relu") -> None:
    """A transposed convolution that doubles both sides, batch norm and an activation."""
    batch, _, height, width = sketch.now
    assert isinstance(height, int) and isinstance(width, int)
    shape = (batch, outside, height * 2, width * 2)
    inside = sketch.size(1)
    sketch.add("conv_transpose2d", shape, stem="conv", inside=inside, outside=outside)
    if act != "tanh":
        sketch.add("batch_norm2d", stem="norm", outside=outside)
    sketch.add(act)


def unet(width: int, depth: int) -> Sketch:
    """Down by pooling, up by transposed convolution, each level joined with its skip connection
    (Ronneberger and others 2015)."""
    channels = 2 + 2 * (width % 2)
    sketch = Sketch("images", IMAGES)
    skips = []
    for _ in range(1 + depth % 2):
        skips.append(sketch.normed_conv(channels))
        sketch.pool()
        channels *= 2
    sketch.normed_conv(channels)
    for skip in reversed(skips):
        channels //= 2
        _widened(sketch, channels)
        sketch.joined(skip, sketch.newest)
        sketch.normed_conv(channels)
    sketch.conv(1, 1)
    return sketch


def variational_autoencoder(width: int, depth: int) -> Sketch:
    """Encode to a mean and a log-variance, draw a code, decode (Kingma and Welling 2013)."""
    size, code = 6 + 2 * (width % 3), 2 + width % 2
    sketch = Sketch("floats", ("B", 8))
    for _ in range(1 + depth % 2):
        sketch.dense(size)
        sketch.add("relu")
    hidden = sketch.newest
    pair = [
        sketch.add("linear", ("B", code), (hidden,), "linear", inside=size, outside=code)
        for _ in range(2)
    ]
    sketch.add("reparameterise", ("B", code), tuple(pair))
    sketch.dense(size)
    sketch.add("relu")
    sketch.dense(8)
    sketch.add("sigmoid")
    return sketch


def dcgan_generator(width: int, depth: int) -> Sketch:
    """A latent vector becomes a map of 2 by 2, transposed convolutions double it; tanh at the end
    (Radford and others 2015)."""
    channels = 8 + 4 * (width % 2)
    sketch = Sketch("floats", ("B", 8))
    sketch.dense(channels * 4)
    sketch.add("to_map", ("B", channels, 2, 2), channels=channels)
    sketch.add("batch_norm2d", stem="norm", outside=channels)
    sketch.add("relu")
    for _ in range(1 + depth % 2):
        channels //= 2
        _widened(sketch, channels)
    _widened(sketch, 1, "tanh")
    return sketch
