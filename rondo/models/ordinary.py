"""The ordinary operators: arithmetic, shapes, indices, linear algebra, layers. They carry no state
from call to call beside parameters and running statistics.

Domains: a logarithm, root or quotient is written with a guard that keeps it finite. What has jumps
(floor, round, comparisons, casts to integers) is written so that its value has none: a difference
of one rounding step must not become a difference that anybody sees. So floor is a triangle wave,
a comparison a hinge, and integers weigh a term that is zero where they change. Sorting gives
values, never places.
"""

from __future__ import annotations

from rondo.models.kinds import OperatorKind, floats, owning, whole
from rondo.models.rules import (
    as_image,
    as_sequence,
    at_least_two,
    doubled,
    even_channels,
    even_halved,
    every_other,
    few_columns,
    filtered,
    filtered_double,
    filtered_half,
    flattened,
    halved,
    image,
    image_double,
    image_half,
    image_mean,
    inner_square,
    inner_swapped,
    kept_one,
    merged,
    padded_sequence,
    paired_sequence,
    projected,
    projected_sequence,
    sequence,
    square_of_last,
    two_axes,
    two_kept,
    unflattened,
    widened_by,
    windowed,
    with_axis,
    with_features,
    without_axis,
)

_LAYER = ("submodule",)

_ELEMENTWISE = (
    *whole("relu", "absolute", "negate", "square", "add_one", "double", "clamp", "cube_small"),
    *floats("tanh", "sigmoid", "gelu", "sine", "exponential", "root", "reciprocal", "normalised"),
    *floats("cosine", "tangent", "arctangent", "arctangent_of_two", "error_function", "hypotenuse"),
    *floats("logarithm", "logarithm_one_plus", "exponential_minus_one", "reciprocal_root", "power"),
    *floats("silu", "elu", "softplus", "leaky_relu", "hard_swish", "mish", "relu_six"),
    *floats("floor", "ceiling", "rounded", "truncated", "remainder", "sign_times"),
    *floats("compared", "logical", "cast_integer", "bit_operation", "cast_wide", "without_nan"),
    *whole("where_positive", "add_input", "masked_fill", "minimum_of_two"),
    *floats("linear_blend"),
)

_JOINS = tuple(
    OperatorKind(name, rule, second=True)
    for name, rule in (
        ("add_value", with_features),
        ("subtract_value", with_features),
        ("multiply_value", with_features),
        ("maximum_value", with_features),
        ("where_value", with_features),
        ("concatenate_value", doubled),
        ("stack_value", with_axis(2)),
    )
)

_REDUCTIONS = (
    *whole("sum_last", "maximum_last", "minimum_last", rule=kept_one),
    *floats("mean_last", "variance_last", "deviation_last", "logsumexp_last", rule=kept_one),
    *floats("product_last", "norm_last", rule=kept_one),
    *whole("cumulative_sum", "flip", "roll", rule=with_features),
    *floats("cumulative_product", "centred", "length_one", rule=with_features),
    *floats("softmax", "log_softmax", "softmin", rule=with_features),
    *whole("sorted_last", rule=with_features),
    *whole("largest_two", rule=two_kept),
    *whole("differences", rule=widened_by(-1)),
)

_SHAPES = (
    *whole("concatenate", "tiled", "repeated", rule=doubled),
    *whole("slice_half", rule=halved),
    *whole("slice_step", rule=every_other),
    *whole("split_product", rule=even_halved),
    *whole("pad_zeros", "pad_around", rule=widened_by(2)),
    *floats("pad_edges", rule=padded_sequence, lift="as_sequence"),
    *whole("swap_inner", rule=inner_swapped, lift="as_sequence"),
    *whole("flatten", rule=flattened),
    *whole("unflatten", rule=unflattened),
    *whole("add_axis", rule=with_axis(1)),
    *whole("drop_axis", rule=without_axis, lift="add_axis"),
    *whole("merge_axes", rule=merged, lift="unflatten"),
    *whole("stack_negated", rule=with_axis(2)),
    *whole("broadcast", "lower_triangle", "flip_rows", rule=with_features),
    *whole("windows", rule=windowed),
    *whole("as_image", rule=as_image),
    *whole("as_sequence", rule=as_sequence),
)

_INDEXING = (
    *whole("select_columns", "gathered", "scattered", "set_first", rule=with_features),
    *floats("one_hot_product", rule=with_features),
    owning("embedding_bag", with_features, "bag"),
)

_ALGEBRA = (
    *floats("gram", rule=inner_square, lift="as_sequence"),
    *floats("outer_product", rule=square_of_last),
    owning("linear", projected, "linear", *_LAYER),
    owning("matmul_weight", projected, "weight"),
    owning("einsum_weight", projected, "weight"),
    owning("bilinear", projected, "bilinear", *_LAYER),
    owning("scale_weight", with_features, "scale"),
    owning("nested_block", with_features, "nested", *_LAYER),
)

_MAPS = (
    owning("conv3x3", filtered, "conv", *_LAYER, lift="as_image"),
    owning("conv1x1", filtered, "conv", *_LAYER, lift="as_image"),
    owning("conv_grouped", image, "conv", *_LAYER, lift="as_image"),
    owning("conv_dilated", filtered, "conv", *_LAYER, lift="as_image"),
    owning("conv_strided", filtered_half, "conv", *_LAYER, lift="as_image"),
    owning("conv_transposed", filtered_double, "conv", *_LAYER, lift="as_image"),
    owning("conv_sequence", projected_sequence, "conv", *_LAYER, lift="as_sequence"),
    *floats("max_pool", "average_pool", rule=image_half, lift="as_image"),
    *floats("image_average", rule=image_mean, lift="as_image"),
    *floats("resize_nearest", "resize_bilinear", rule=image_double, lift="as_image"),
    owning("batch_norm_map", image, "batch", "buffer", *_LAYER, lift="as_image"),
    *floats("instance_norm", rule=image, lift="as_image"),
)

_LAYERS = (
    owning("layer_norm", with_features, "norm", *_LAYER),
    owning("rms_norm", with_features, "norm", *_LAYER),
    owning("group_norm", even_channels, "norm", *_LAYER),
    owning("batch_norm", two_axes, "batch", "buffer", *_LAYER),
    OperatorKind("dropout", carries=("submodule",), stem="drop", whole=False),
    *floats("attention", "causal_attention", rule=sequence, lift="as_sequence"),
    owning("self_attention", paired_sequence, "attention", lift="as_sequence"),
    owning("lstm", projected_sequence, "lstm", lift="as_sequence"),
    owning("gru", projected_sequence, "gru", lift="as_sequence"),
    *floats("squared_loss", "smooth_loss", "divergence_loss", "logit_loss", rule=at_least_two),
    *floats("cross_entropy", rule=at_least_two),
    *floats("loop", rule=with_features),
    *floats("scan_columns", rule=few_columns),
)

ORDINARY = (
    *_ELEMENTWISE,
    *_JOINS,
    *_REDUCTIONS,
    *_SHAPES,
    *_INDEXING,
    *_ALGEBRA,
    *_MAPS,
    *_LAYERS,
)
"""Every ordinary operator, in the order of the byte format."""

AUTOCAST = (
    *("matmul_weight", "einsum_weight", "bilinear", "nested_block", "gram", "attention"),
    *("conv3x3", "conv1x1", "conv_grouped", "conv_strided", "conv_transposed", "conv_sequence"),
    *("conv2d", "linear_no_bias", "self_attention", "lstm", "gru"),
)
"""Operators and nodes that compute in the narrow type under autocast."""
