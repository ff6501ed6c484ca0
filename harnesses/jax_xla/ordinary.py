"""The ordinary operators and the nodes of architectures in JAX's words.

`part` is a bounded value that is no whole number where its input is one: what has jumps is taken of
it, in a form that has none (see `rondo.models.ordinary`).
"""

from __future__ import annotations

from collections.abc import Mapping

from harnesses.emission import Template, template

_PART = "part = jnp.tanh({h}) * 3 + 0.3\n{y} = "
_FINITE_PART = "part = jnp.nan_to_num(jnp.tanh({h})) * 3 + 0.3\n"
_OWN = 'params["{n}"]'

EXPRESSIONS = {
    "relu": "jax.nn.relu({h})",
    "absolute": "jnp.abs({h})",
    "negate": "-{h}",
    "square": "{h} * {h}",
    "add_one": "{h} + 1",
    "double": "{h} * 2",
    "clamp": "jnp.clip({h}, -1, 1)",
    "cube_small": "jnp.clip({h}, -2, 2) ** 3",
    "tanh": "jnp.tanh({h})",
    "sigmoid": "jax.nn.sigmoid({h})",
    "gelu": "jax.nn.gelu({h})",
    "sine": "jnp.sin({h})",
    "exponential": "jnp.exp(-jnp.abs({h}))",
    "root": "jnp.sqrt(jnp.abs({h}) + 1)",
    "reciprocal": "1 / (1 + {h} * {h})",
    "normalised": "{h} / (1 + jnp.abs({h}))",
    "cosine": "jnp.cos({h})",
    "tangent": "jnp.tan(jnp.tanh({h}))",
    "arctangent": "jnp.arctan({h})",
    "arctangent_of_two": "jnp.arctan2({h}, 1 + {h} * {h})",
    "error_function": "jax.scipy.special.erf({h})",
    "hypotenuse": "jnp.hypot({h}, jnp.ones_like({h}))",
    "logarithm": "jnp.log(jnp.abs({h}) + 1)",
    "logarithm_one_plus": "jnp.log1p(jnp.abs({h}))",
    "exponential_minus_one": "jnp.expm1(-jnp.abs({h}))",
    "reciprocal_root": "jax.lax.rsqrt({h} * {h} + 1.0)",
    "power": "(jnp.clip(jnp.abs({h}), 0, 9) + 0.5) ** 1.5",
    "silu": "jax.nn.silu({h})",
    "elu": "jax.nn.elu({h})",
    "softplus": "jax.nn.softplus({h})",
    "leaky_relu": "jax.nn.leaky_relu({h})",
    "hard_swish": "jax.nn.hard_swish({h})",
    "mish": "jax.nn.mish({h})",
    "relu_six": "jax.nn.relu6({h})",
    "cast_wide": 'jnp.sin({h}.astype("float32")).astype({h}.dtype)',
    "without_nan": "jnp.nan_to_num({h}, nan=0.0, posinf=9.0, neginf=-9.0)",
    "where_positive": "jnp.where({h} > 0, {h}, -{h})",
    "add_input": "{h} + {x}",
    "masked_fill": "jnp.where({h} > 1, 1, {h})",
    "minimum_of_two": "jnp.minimum({h}, -{h})",
    "linear_blend": "{h} + 0.25 * (-{h} - {h})",
    "add_value": "{h} + {h2}",
    "subtract_value": "{h} - {h2}",
    "multiply_value": "{h} * {h2}",
    "maximum_value": "jnp.maximum({h}, {h2})",
    "where_value": "jnp.where({h} > {h2}, {h} - {h2}, {h2} - {h})",
    "concatenate_value": "jnp.concatenate([{h}, {h2}], -1)",
    "stack_value": "jnp.stack([{h}, {h2}], -2)",
    "sum_last": "{h}.sum(-1, keepdims=True)",
    "maximum_last": "{h}.max(-1, keepdims=True)",
    "minimum_last": "{h}.min(-1, keepdims=True)",
    "mean_last": "{h}.mean(-1, keepdims=True)",
    "variance_last": "{h}.var(-1, keepdims=True)",
    "deviation_last": "jnp.sqrt({h}.var(-1, keepdims=True) + 0.01)",
    "logsumexp_last": "jax.nn.logsumexp({h}, -1, keepdims=True)",
    "product_last": "(jnp.tanh({h}) * 0.1 + 1).prod(-1, keepdims=True)",
    "norm_last": "jnp.sqrt(({h} * {h}).sum(-1, keepdims=True) + 0.001)",
    "cumulative_sum": "jnp.cumsum({h}, -1)",
    "flip": "jnp.flip({h}, -1)",
    "roll": "jnp.roll({h}, 1, -1)",
    "cumulative_product": "jnp.cumprod(jnp.tanh({h}) * 0.1 + 1, -1)",
    "centred": "{h} - {h}.mean(-1, keepdims=True)",
    "length_one": "{h} / jnp.sqrt(({h} * {h}).sum(-1, keepdims=True) + 0.1)",
    "softmax": "jax.nn.softmax({h}, -1)",
    "log_softmax": "jax.nn.log_softmax({h}, -1)",
    "softmin": "jax.nn.softmax(-{h}, -1)",
    "sorted_last": "jnp.sort({h}, -1)",
    "largest_two": "jax.lax.top_k({h}, 2)[0]",
    "differences": "jnp.diff({h}, axis=-1)",
    "concatenate": "jnp.concatenate([{h}, {h}], -1)",
    "tiled": "jnp.tile({h}, 2)",
    "repeated": "jnp.repeat({h}, 2, -1)",
    "slice_half": "{h}[..., :{outside}]",
    "slice_step": "{h}[..., ::2]",
    "pad_zeros": "jnp.pad({h}, [(0, 0)] * ({h}.ndim - 1) + [(1, 1)])",
    "pad_around": 'jnp.pad({h}, [(0, 0)] * ({h}.ndim - 1) + [(1, 1)], mode="wrap")',
    "pad_edges": 'jnp.pad({h}, [(0, 0), (0, 0), (1, 1)], mode="edge")',
    "swap_inner": "jnp.swapaxes({h}, -1, -2)",
    "flatten": "jax.lax.collapse({h}, 1)",
    "unflatten": "{h}.reshape(*{h}.shape[:-1], 2, {half})",
    "add_axis": "jnp.expand_dims({h}, -2)",
    "drop_axis": "jnp.squeeze({h}, -2)",
    "merge_axes": "jax.lax.collapse({h}, {h}.ndim - 2)",
    "stack_negated": "jnp.stack([{h}, -{h}], -2)",
    "broadcast": "jnp.broadcast_to({h}[..., :1], {h}.shape) + {h}",
    "lower_triangle": "jnp.tril({h})",
    "flip_rows": "jnp.flip({h}, 0)",
    "windows": "jnp.stack([{h}[..., :-1], {h}[..., 1:]], -1)",
    "as_image": "({h}[:, :, None] * {h}[:, None, :])[:, None]",
    "as_sequence": "jnp.stack([{h}, -{h}], 1)",
    "select_columns": "jnp.take({h}, jnp.flip(jnp.arange({inside})), -1)",
    "scattered": "jnp.zeros_like({h}).at[..., jnp.flip(jnp.arange({inside}))].add({h})",
    "set_first": "{h}.at[..., 0].set(1)",
    "one_hot_product": "{h} @ jax.nn.one_hot(jnp.flip(jnp.arange({inside})), {inside})",
    "gram": "jnp.swapaxes({h}, -1, -2) @ {h} / 4",
    "outer_product": "{h}[..., :, None] * {h}[..., None, :]",
    "max_pool": "pooled({h})",
    "average_pool": "pooled({h}, mean=True)",
    "image_average": "{h}.mean((2, 3))",
    "resize_nearest": 'jax.image.resize({h}, ({h}.shape[0], *{sizes}), "nearest")',
    "resize_bilinear": 'jax.image.resize({h}, ({h}.shape[0], *{sizes}), "bilinear")',
    "instance_norm": "standardised({h}, (2, 3))",
    "attention": "attend({h}, {h}, {h}, 1, 1)",
    "causal_attention": "attend({h}, {h}, {h}, 1, 1, causal=True)",
    "smooth_loss": "{h} + 0.1 * smooth_loss({h}, jnp.roll({h}, 1, -1))",
    "squared_loss": "{h} + 0.1 * (({h} - jnp.roll({h}, 1, -1)) ** 2).sum()",
    "cross_entropy": "{h} - 0.1 * jax.nn.log_softmax({h}, -1)[..., 0].sum()",
    "loop": "jax.lax.fori_loop(0, 3, lambda i, h: jnp.tanh(h * 1.5), {h} * 1.0)",
    "scan_columns": "scanned({h} * 1.0)",
    "add": "{h} + {h2}",
    "multiply": "{h} * {h2}",
    "max_pool2d": "pooled({h})",
    "avg_pool2d": "pooled({h}, mean=True)",
    "max_pool_same": 'pooled({h}, 3, 1, "SAME")',
    "global_pool": "{h}.mean((2, 3))",
    "global_pool_keep": "{h}.mean((2, 3), keepdims=True)",
    "join_channels": "jnp.concatenate([{hs}], 1)",
    "join_features": "jnp.concatenate([{hs}], -1)",
    "slice_channels": "{h}[:, {start}:{stop}]",
    "pick_feature": "{h}[..., {start}:{stop}]",
    "channel_shuffle": "shuffled({h}, {half})",
    "channels_to_end": "jnp.moveaxis({h}, 1, -1)",
    "channels_to_front": "jnp.moveaxis({h}, -1, 1)",
    "to_map": "{h}.reshape({h}.shape[0], {channels}, 2, 2)",
    "map_to_sequence": "jnp.swapaxes(jax.lax.collapse({h}, 2), 1, 2)",
    "reparameterise": "{h} + jnp.exp(0.5 * {h2}) * jax.random.normal(key, {h2}.shape)",
    "first_of_sequence": "{h}[:, 0]",
    "last_of_sequence": "{h}[:, -1]",
    "mean_of_sequence": "{h}.mean(1)",
    "max_of_sequence": "{h}.max(1)",
    "shift_right": "jnp.pad({h}, [(0, 0), (1, 0)])[:, :-1]",
    "rotary": "rotary({h}, {heads})",
    "attend": "attend({h}, {h2}, {h3}, {heads}, {groups}, causal={causal})",
}
"""Operators that one expression writes."""


def _filters(shape: str, fan: str, out: str) -> str:
    return f'{{{{"w": weights(rng, {shape}, fan={fan}), "b": jnp.zeros(({out}, 1, 1))}}}}'


_OUT_IN = "{out_channels}, {channels}"
PARAMETERS = {
    "linear": (
        '{{"w": normal(rng, ({inside}, {outside})), "b": jnp.zeros({outside})}}',
        '{h} @ params["{n}"]["w"] + params["{n}"]["b"]',
    ),
    "linear_no_bias": (
        '{{"w": weights(rng, {inside}, {outside}, fan={inside})}}',
        '{h} @ params["{n}"]["w"]',
    ),
    "matmul_weight": ('{{"w": normal(rng, ({inside}, {outside}))}}', '{h} @ params["{n}"]["w"]'),
    "einsum_weight": (
        '{{"w": normal(rng, ({inside}, {outside}))}}',
        'jnp.einsum("...i,ij->...j", {h}, params["{n}"]["w"])',
    ),
    "bilinear": (
        '{{"w": weights(rng, {inside}, {inside}, {outside}, fan={inside})}}',
        'jnp.einsum("...i,ijo,...j->...o", {h}, params["{n}"]["w"], {h})',
    ),
    "scale_weight": ('{{"w": normal(rng, ({features},))}}', '{h} * params["{n}"]["w"]'),
    "nested_block": (
        '{{"a": {{"w": normal(rng, ({features}, {features}))}}, '
        '"b": {{"w": normal(rng, ({features}, {features}))}}}}',
        '{h} + jax.nn.relu({h} @ params["{n}"]["a"]["w"]) @ params["{n}"]["b"]["w"]',
    ),
    "layer_norm": (
        '{{"w": jnp.ones({features}), "b": jnp.zeros({features})}}',
        'standardised({h}) * params["{n}"]["w"] + params["{n}"]["b"]',
    ),
    "rms_norm": ('{{"w": jnp.ones({features})}}', 'scaled_to_one({h}) * params["{n}"]["w"]'),
    "group_norm": (
        '{{"w": jnp.ones({channels}), "b": jnp.zeros({channels})}}',
        'group_normed(params["{n}"], {h})',
    ),
    "conv3x3": (
        _filters(_OUT_IN + ", 3, 3", "9 * {channels}", "{out_channels}"),
        "convolved({p}, {h})",
    ),
    "conv1x1": (
        _filters(_OUT_IN + ", 1, 1", "{channels}", "{out_channels}"),
        "convolved({p}, {h}, pad=0)",
    ),
    "conv_grouped": (
        _filters("{channels}, 1, 3, 3", "9", "{channels}"),
        "convolved({p}, {h}, groups={channels})",
    ),
    "conv_dilated": (
        _filters(_OUT_IN + ", 3, 3", "9 * {channels}", "{out_channels}"),
        "convolved({p}, {h}, pad=2, dilation=2)",
    ),
    "conv_strided": (
        _filters(_OUT_IN + ", 3, 3", "9 * {channels}", "{out_channels}"),
        "convolved({p}, {h}, stride=2)",
    ),
    "conv_transposed": (
        _filters(_OUT_IN + ", 4, 4", "4 * {channels}", "{out_channels}"),
        "convolved({p}, {h}, pad=2, spread=2)",
    ),
    "conv_sequence": (
        '{{"w": weights(rng, {outside}, {inside}, 3, fan=3 * {inside})}}',
        'convolved_sequence(params["{n}"]["w"], {h})',
    ),
    "conv1d": (
        '{{"w": weights(rng, {outside}, {inside}, {kernel}, fan={kernel} * {inside})}}',
        'convolved_sequence(params["{n}"]["w"], {h})',
    ),
    "conv2d": (
        _filters(
            "{outside}, {fan}, {kernel}, {kernel}", "{fan} * {kernel} * {kernel}", "{outside}"
        ),
        "convolved({p}, {h}, {stride}, {pad}, {groups})",
    ),
    "conv_transpose2d": (
        _filters("{outside}, {inside}, 4, 4", "4 * {inside}", "{outside}"),
        "convolved({p}, {h}, pad=2, spread=2)",
    ),
    "embedding": ('{{"w": normal(rng, ({rows}, {outside}))}}', 'params["{n}"]["w"][{h}]'),
    "embedding_bag": (
        '{{"w": normal(rng, (8, {features}))}}',
        '{h} + params["{n}"]["w"][jnp.arange(8).reshape(2, 4)].mean(1).sum(0)',
    ),
    "lstm": (
        '{{"w": normal(rng, ({inside} + {outside}, 4 * {outside}))}}',
        'lstm(params["{n}"]["w"], {h})',
    ),
    "gru": (
        '{{"w": normal(rng, ({inside}, 3 * {outside})), '
        '"u": normal(rng, ({outside}, 3 * {outside}))}}',
        'gru(params["{n}"], {h})',
    ),
    "self_attention": (
        '{{"w": normal(rng, ({features}, 3 * {features}))}}',
        'attention(params["{n}"]["w"], {h}, {heads})',
    ),
    "add_positions": (
        '{{"w": weights(rng, 17, {features}, fan=16)}}',
        '{h} + params["{n}"]["w"][: {h}.shape[1]]',
    ),
    "class_token": (
        '{{"w": normal(rng, ({features},))}}',
        'with_token(params["{n}"]["w"], {h})',
    ),
}
"""Operators that own an entry of the parameters, with its first value, and the expression that
reads it; {p} stands for the entry."""

_STATEMENTS = {
    "floor": _PART + "jnp.abs(part - jnp.floor(part) - 0.5)",
    "ceiling": _PART + "jnp.abs(jnp.ceil(part) - part - 0.5)",
    "rounded": _PART + "jnp.abs(part - jnp.round(part))",
    "truncated": "part = jnp.tanh({h}) * 3 + 0.3\n"
    "left = part - jnp.trunc(part)\n"
    "{y} = left * (jnp.abs(left) - 1)",
    "remainder": _PART + "jnp.abs(jnp.remainder(part, 2) - 1)",
    "sign_times": _PART + "jnp.sign(part) * part",
    "compared": _PART + "(part > 1).astype(part.dtype) * (part - 1)",
    "logical": _PART + "jnp.where((part > -1) & ~(part > 1), part, jnp.clip(part, -1, 1))",
    "cast_integer": _FINITE_PART
    + 'left = part - part.astype("int32")\n{y} = left * (jnp.abs(left) - 1)',
    "bit_operation": _FINITE_PART + 'below = jnp.floor(part).astype("int32")\n'
    "{y} = ((below & 3) ^ 1) * (part - below) * (1 - (part - below))",
    "split_product": "left, right = jnp.split({h}, 2, -1)\n{y} = left * right",
    "gathered": "places = jnp.broadcast_to(jnp.flip(jnp.arange({inside})), {h}.shape)\n"
    "{y} = jnp.take_along_axis({h}, places, -1)",
    "divergence_loss": "found = jax.nn.log_softmax({h}, -1)\n"
    "wanted = jnp.roll(found, 1, -1)\n"
    "{y} = {h} + 0.1 * (jnp.exp(wanted) * (wanted - found)).sum()",
    "logit_loss": "wanted = jax.nn.sigmoid(jnp.roll({h}, 1, -1))\n"
    "{y} = {h} + 0.1 * (jax.nn.softplus({h}) - wanted * {h}).sum()",
    "top_gates": "above = jax.nn.relu({h} - jax.lax.top_k({h}, {kept} + 1)[0][..., -1:])\n"
    "{y} = above / (above.sum(-1, keepdims=True) + 0.001)",
}

_CACHED = template(
    """
    asked, keys, values = jnp.split({h} @ params["{n}"]["w"], 3, -1)
    if state["{n}"] and state["{n}"][0].shape[0] == keys.shape[0]:
        keys = jnp.concatenate([state["{n}"][0], keys], 1)
        values = jnp.concatenate([state["{n}"][1], values], 1)
    state["{n}"] = (keys[:, -16:], values[:, -16:])
    {y} = attend(asked, keys, values, {heads}, {heads}, causal=True) @ params["{n}"]["out"]
    """,
    """
    params["{n}"] = {{"w": weights(rng, {features}, 3 * {features}, fan={features})}}
    params["{n}"]["out"] = weights(rng, {features}, {features}, fan={features})
    state["{n}"] = ()
    """,
)
_BIASED = template(
    """
    mask = relative_bias(params["{n}"]["w"], {h}.shape[1], {causal})
    {y} = attend({h}, {h2}, {h3}, {heads}, {groups}, mask)
    """,
    'params["{n}"] = {{"w": normal(rng, ({heads}, 33))}}',
)


def _batch_norm(axes: str, size: str, wide: str) -> Template:
    """Batch statistics over `axes` in training, which move the running ones; a value a channel
    takes shape `wide` to broadcast with the input."""
    text = f"""
if training:
    mean, var = {{h}}.mean({axes}), {{h}}.var({axes})
    state["{{n}}"] = running(state["{{n}}"], mean, var)
else:
    mean, var = state["{{n}}"]["mean"], state["{{n}}"]["var"]
{{y}} = normed({{h}}, mean, var, params["{{n}}"]["w"], {wide})
"""
    init = (
        f'params["{{n}}"] = {{{{"w": jnp.ones({size})}}}}\n'
        f'state["{{n}}"] = {{{{"mean": jnp.zeros({size}), "var": jnp.ones({size})}}}}'
    )
    return template(text, init)


_SPECIAL = {
    "batch_norm": _batch_norm("0", "{features}", "(-1,)"),
    "batch_norm_map": _batch_norm("(0, 2, 3)", "{channels}", "(-1, 1, 1)"),
    "batch_norm2d": _batch_norm("(0, 2, 3)", "{outside}", "(-1, 1, 1)"),
    "dropout": template(
        "if training:\n"
        "    kept = jax.random.bernoulli(key, 0.5, {h}.shape)\n"
        "    {y} = jnp.where(kept, {h} * 2, 0)\n"
        "else:\n"
        "    {y} = {h}"
    ),
    "cached_attention": _CACHED,
    "attend_biased": _BIASED,
}

ORDINARY: Mapping[str, Template] = {
    **{op: template(f"{{y}} = {text}") for op, text in EXPRESSIONS.items()},
    **{
        op: template(f"{{y}} = {forward.replace('{p}', _OWN)}", f"{_OWN} = {made}")
        for op, (made, forward) in PARAMETERS.items()
    },
    **{op: template(text) for op, text in _STATEMENTS.items()},
    **_SPECIAL,
}
"""Every ordinary operator and every node of an architecture as JAX text."""
