"""Stand-ins for operators that the toy framework does not have: the nearest that it has, or a value
of the right shape that depends on every input.

A stand-in keeps what matters for a compiler's state: the shape, and what the operator owns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harnesses.emission import Template, template

NEAREST = {
    "branch_requires_grad": "branch_grad",
    **dict.fromkeys(("cosine", "tangent", "rounded", "floor", "ceiling", "remainder"), "sine"),
    **dict.fromkeys(("arctangent", "arctangent_of_two", "error_function", "loop"), "tanh"),
    **dict.fromkeys(("hypotenuse", "logarithm", "logarithm_one_plus", "power"), "root"),
    **dict.fromkeys(("reciprocal_root", "length_one", "exponential_minus_one"), "normalised"),
    **dict.fromkeys(("silu", "elu", "softplus", "leaky_relu", "mish", "hard_swish"), "gelu"),
    **dict.fromkeys(("relu_six", "truncated", "cast_integer", "bit_operation", "logical"), "clamp"),
    **dict.fromkeys(("sign_times", "compared", "without_nan", "minimum_of_two"), "absolute"),
    **dict.fromkeys(("cast_wide", "linear_blend", "flip_rows"), "negate"),
    **dict.fromkeys(("cumulative_product", "sorted_last", "lower_triangle"), "cumulative_sum"),
    **dict.fromkeys(("scan_columns", "gathered", "select_columns"), "flip"),
    **dict.fromkeys(("scattered", "one_hot_product", "broadcast", "set_first"), "roll"),
    **dict.fromkeys(("softmin", "attention", "causal_attention"), "softmax"),
    **dict.fromkeys(("squared_loss", "smooth_loss", "logit_loss", "centred"), "normalised"),
    **dict.fromkeys(("cross_entropy", "divergence_loss", "instance_norm"), "log_softmax"),
    **dict.fromkeys(("tiled", "repeated"), "concatenate"),
    **dict.fromkeys(("variance_last", "deviation_last", "norm_last", "product_last"), "mean_last"),
    **dict.fromkeys(("minimum_last", "logsumexp_last"), "maximum_last"),
    "einsum_weight": "matmul_weight",
    "rms_norm": "layer_norm",
    "batch_norm_map": "batch_norm",
    "channel_shuffle": "flip",
    "rotary": "sine",
    "top_gates": "softmax",
}
"""Operator -> the nearest operator of the same shape rule that the toy framework has."""

SHAPED = (
    *("slice_step", "split_product", "largest_two", "differences", "pad_zeros", "pad_around"),
    *("pad_edges", "unflatten", "add_axis", "drop_axis", "merge_axes", "stack_negated"),
    *("windows", "as_image", "as_sequence", "stack_value", "gram", "outer_product", "max_pool"),
    *("average_pool", "image_average", "resize_nearest", "resize_bilinear", "avg_pool2d"),
    *("max_pool_same", "global_pool", "global_pool_keep", "join_channels", "join_features"),
    *("slice_channels", "pick_feature", "channels_to_end", "channels_to_front", "to_map"),
    *("map_to_sequence", "first_of_sequence", "max_of_sequence", "shift_right", "attend"),
)
"""Operators that become a value of the right shape."""

LAYERS = (
    *("conv2d", "conv3x3", "conv1x1", "conv_grouped", "conv_dilated", "conv_strided"),
    *("conv_transposed", "conv_sequence", "conv1d", "conv_transpose2d", "gru", "group_norm"),
    *("linear_no_bias", "bilinear", "nested_block", "embedding_bag", "add_positions"),
    *("class_token", "attend_biased"),
)
"""Layers that become one of one parameter, its value of the right shape."""

STAND_INS = frozenset({*NEAREST, *SHAPED, *LAYERS})
"""Everything that something else stands in for."""

_WRITTEN = {
    "multiply": template("{y} = {h} * {h2}"),
    "add_value": template("{y} = {h} + {h2}"),
    "subtract_value": template("{y} = {h} - {h2}"),
    "multiply_value": template("{y} = {h} * {h2}"),
    "maximum_value": template('{y} = toy.apply("maximum", {h}, {h2})'),
    "where_value": template("{y} = toy.where({h} > {h2}, {h}, {h2} * 2)"),
    "concatenate_value": template("{y} = toy.concatenate([{h}, {h2}], -1)"),
    "reparameterise": template("{y} = {h} + {h2} * toy.rand_like({h})"),
    "cached_attention": template(
        """
        {y} = self.{n}({kept}, {sizes}, {h})
        for kept in self.kept_{n}:
            {y} = {y} + kept.sum()
        self.kept_{n} = [{h}]
        """,
        """
        self.{n} = toy.StandIn(SEED)
        self.kept_{n} = []
        """,
    ),
}


def _same(names: Iterable[str], stand_in: Template) -> dict[str, Template]:
    return dict.fromkeys(names, stand_in)


def with_stand_ins(own: Mapping[str, Template]) -> dict[str, Template]:
    """The framework's own templates, and those of what it does not have."""
    layer = template("{y} = self.{n}({kept}, {sizes}, {hs})", "self.{n} = toy.StandIn(SEED)")
    return {
        **own,
        **{name: own[near] for name, near in NEAREST.items()},
        **_same(SHAPED, template("{y} = toy.fitted({kept}, {sizes}, {hs})")),
        **_same(LAYERS, layer),
        **_WRITTEN,
    }
