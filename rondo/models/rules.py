"""Shape rules: what an operator makes of a value's shape, or None where it does not fit.

Sizes that differ from call to call ("B", "T") are kept as they are; a rule asks for known sizes
where the operator needs them, and keeps values small.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.models.graph import Shape
from rondo.testcase import Operator

ShapeRule = Callable[[Shape, Operator], Shape | None]

FEATURES = (4, 8, 3, 6)
"""Output widths that a record can choose."""


def same(shape: Shape, record: Operator) -> Shape:
    """Element-wise: the shape stays."""
    return shape


def _last(shape: Shape) -> int | None:
    return shape[-1] if len(shape) > 1 and isinstance(shape[-1], int) else None


def with_features(shape: Shape, record: Operator) -> Shape | None:
    """The last axis, of known size, stays."""
    return shape if _last(shape) else None


def projected(shape: Shape, record: Operator) -> Shape | None:
    """The last axis gets another size, chosen by the record."""
    return (*shape[:-1], FEATURES[record.a % len(FEATURES)]) if _last(shape) else None


def doubled(shape: Shape, record: Operator) -> Shape | None:
    """The last axis twice as long, up to 16."""
    last = _last(shape)
    return (*shape[:-1], last * 2) if last and last <= 8 else None


def halved(shape: Shape, record: Operator) -> Shape | None:
    """The first half of the last axis."""
    last = _last(shape)
    return (*shape[:-1], last // 2) if last and last > 1 else None


def kept_one(shape: Shape, record: Operator) -> Shape | None:
    """The last axis reduced, kept with size one."""
    return (*shape[:-1], 1) if _last(shape) else None


def two_axes(shape: Shape, record: Operator) -> Shape | None:
    """Rank two with features: batch statistics make sense."""
    return shape if len(shape) == 2 and _last(shape) else None


def inner_swapped(shape: Shape, record: Operator) -> Shape | None:
    """The two inner axes, both of known size, change places."""
    if len(shape) < 3 or not isinstance(shape[-2], int) or not _last(shape):
        return None
    return (*shape[:-2], shape[-1], shape[-2])


def flattened(shape: Shape, record: Operator) -> Shape | None:
    """All axes after the batch, of known sizes, become one of at most 64."""
    total = 1
    for size in shape[1:]:
        if not isinstance(size, int):
            return None
        total *= size
    return (shape[0], total) if len(shape) > 2 and total <= 64 else None


MOST_RANKS, MOST_FEATURES, MOST_SIDE, MOST_CHANNELS = 5, 64, 16, 16


def widened_by(extra: int) -> ShapeRule:
    """The last axis longer by `extra`, or shorter where it is negative."""

    def rule(shape: Shape, record: Operator) -> Shape | None:
        last = _last(shape)
        fits = last is not None and 2 <= last <= MOST_FEATURES
        return (*shape[:-1], last + extra) if fits and last else None

    return rule


def every_other(shape: Shape, record: Operator) -> Shape | None:
    """Every other entry of the last axis."""
    last = _last(shape)
    return (*shape[:-1], (last + 1) // 2) if last and last > 1 else None


def even_halved(shape: Shape, record: Operator) -> Shape | None:
    """Half of the last axis, which is even."""
    last = _last(shape)
    return (*shape[:-1], last // 2) if last and last % 2 == 0 else None


def at_least_two(shape: Shape, record: Operator) -> Shape | None:
    """The shape stays; the last axis has two entries or more."""
    last = _last(shape)
    return shape if last and last > 1 else None


def few_columns(shape: Shape, record: Operator) -> Shape | None:
    """The shape stays; the last axis has at most eight entries."""
    last = _last(shape)
    return shape if last and last <= 8 else None


def two_kept(shape: Shape, record: Operator) -> Shape | None:
    """Two entries of the last axis, of two or more."""
    last = _last(shape)
    return (*shape[:-1], 2) if last and last > 1 else None


def unflattened(shape: Shape, record: Operator) -> Shape | None:
    """The last axis, of even size, becomes two."""
    last = _last(shape)
    fits = last and last % 2 == 0 and len(shape) < MOST_RANKS
    return (*shape[:-1], 2, last // 2) if fits and last else None


def with_axis(size: int) -> ShapeRule:
    """A new axis of a size before the last one."""

    def rule(shape: Shape, record: Operator) -> Shape | None:
        fits = _last(shape) and len(shape) < MOST_RANKS
        return (*shape[:-1], size, shape[-1]) if fits else None

    return rule


def without_axis(shape: Shape, record: Operator) -> Shape | None:
    """The axis before the last one, of size one, goes."""
    fits = len(shape) > 2 and shape[-2] == 1
    return (*shape[:-2], shape[-1]) if fits else None


def merged(shape: Shape, record: Operator) -> Shape | None:
    """The last two axes, of known sizes, become one."""
    pair = shape[-2:]
    if len(shape) < 3 or not isinstance(pair[0], int) or not isinstance(pair[1], int):
        return None
    return (*shape[:-2], pair[0] * pair[1]) if pair[0] * pair[1] <= MOST_FEATURES else None


def windowed(shape: Shape, record: Operator) -> Shape | None:
    """Windows of two along the last axis."""
    last = _last(shape)
    fits = last and last > 1 and len(shape) < MOST_RANKS
    return (*shape[:-1], last - 1, 2) if fits and last else None


def square_of_last(shape: Shape, record: Operator) -> Shape | None:
    """The last axis against itself, up to 8 by 8."""
    last = _last(shape)
    return (*shape, last) if last and last <= 8 and len(shape) < MOST_RANKS else None


def inner_square(shape: Shape, record: Operator) -> Shape | None:
    """The product of the transpose of the two inner axes with themselves."""
    last = _last(shape)
    fits = last and last <= MOST_SIDE and len(shape) > 2
    return (*shape[:-2], last, last) if fits and last else None


def sequence(shape: Shape, record: Operator) -> Shape | None:
    """Rank three with features: a sequence of rows."""
    return shape if len(shape) == 3 and _last(shape) else None


def paired_sequence(shape: Shape, record: Operator) -> Shape | None:
    """A sequence whose features split into two heads."""
    return shape if sequence(shape, record) and int(shape[-1]) % 2 == 0 else None


def projected_sequence(shape: Shape, record: Operator) -> Shape | None:
    """A sequence with another number of features."""
    return projected(shape, record) if sequence(shape, record) else None


def padded_sequence(shape: Shape, record: Operator) -> Shape | None:
    """A sequence whose last axis gets two entries more."""
    return widened_by(2)(shape, record) if sequence(shape, record) else None


def _image(shape: Shape) -> tuple[int, int, int] | None:
    channels_and_sides = tuple(s for s in shape[1:] if isinstance(s, int))
    if len(shape) != 4 or len(channels_and_sides) != 3:
        return None
    channels, height, width = channels_and_sides
    small = channels <= MOST_CHANNELS and height * width > 1 and max(height, width) <= MOST_SIDE
    return (channels, height, width) if small else None


def image(shape: Shape, record: Operator) -> Shape | None:
    """A map of known channels and sides, more than one pixel."""
    return shape if _image(shape) else None


def filtered(shape: Shape, record: Operator) -> Shape | None:
    """A map with another number of channels."""
    found = _image(shape)
    channels = FEATURES[record.a % len(FEATURES)]
    return (shape[0], channels, *shape[2:]) if found else None


def filtered_half(shape: Shape, record: Operator) -> Shape | None:
    """A map with another number of channels and half the sides, rounded up."""
    found = _image(shape)
    channels = FEATURES[record.a % len(FEATURES)]
    return (shape[0], channels, *((s + 1) // 2 for s in found[1:])) if found else None


def filtered_double(shape: Shape, record: Operator) -> Shape | None:
    """A map with another number of channels and twice the sides."""
    wide = image_double(shape, record)
    return (shape[0], FEATURES[record.a % len(FEATURES)], *wide[2:]) if wide else None


def image_half(shape: Shape, record: Operator) -> Shape | None:
    """Half the sides, of two or more, rounded down."""
    found = _image(shape)
    fits = found and min(found[1:]) > 1
    return (*shape[:2], *(s // 2 for s in found[1:])) if found and fits else None


def image_double(shape: Shape, record: Operator) -> Shape | None:
    """Twice the sides, of at most eight."""
    found = _image(shape)
    fits = found and max(found[1:]) <= MOST_SIDE // 2
    return (*shape[:2], *(s * 2 for s in found[1:])) if found and fits else None


def image_mean(shape: Shape, record: Operator) -> Shape | None:
    """One number a channel."""
    return shape[:2] if _image(shape) else None


def even_channels(shape: Shape, record: Operator) -> Shape | None:
    """Rank two, or a map, whose axis 1 is of even size."""
    even = len(shape) > 1 and isinstance(shape[1], int) and shape[1] % 2 == 0
    return shape if even and (_image(shape) or (len(shape) == 2 and _last(shape) != 2)) else None


def as_image(shape: Shape, record: Operator) -> Shape | None:
    """Rank two with 2 to 8 features: their outer product, as a map of one channel."""
    last = _last(shape)
    fits = last and len(shape) == 2 and 2 <= last <= 8
    return (shape[0], 1, last, last) if fits and last else None


def as_sequence(shape: Shape, record: Operator) -> Shape | None:
    """Rank two with features: a sequence of two rows."""
    return (shape[0], 2, shape[1]) if len(shape) == 2 and _last(shape) else None
