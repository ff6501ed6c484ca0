"""The ordinary operators and the nodes of architectures in PyTorch's words.

`part` is a bounded value that is no whole number where its input is one: what has jumps is taken of
it, in a form that has none (see `rondo.models.ordinary`).
"""

from __future__ import annotations

from collections.abc import Mapping

from harnesses.emission import Template, template

_PART = "part = {h}.tanh() * 3 + 0.3\n{y} = "

EXPRESSIONS = {
    "relu": "{h}.relu()",
    "absolute": "{h}.abs()",
    "negate": "-{h}",
    "square": "{h} * {h}",
    "add_one": "{h} + 1",
    "double": "{h} * 2",
    "clamp": "{h}.clamp(-1, 1)",
    "cube_small": "{h}.clamp(-2, 2) ** 3",
    "tanh": "{h}.tanh()",
    "sigmoid": "{h}.sigmoid()",
    "gelu": "torch.nn.functional.gelu({h})",
    "sine": "{h}.sin()",
    "exponential": "torch.exp(-{h}.abs())",
    "root": "torch.sqrt({h}.abs() + 1)",
    "reciprocal": "1 / (1 + {h} * {h})",
    "normalised": "{h} / (1 + {h}.abs())",
    "cosine": "{h}.cos()",
    "tangent": "torch.tan({h}.tanh())",
    "arctangent": "{h}.atan()",
    "arctangent_of_two": "torch.atan2({h}, 1 + {h} * {h})",
    "error_function": "torch.erf({h})",
    "hypotenuse": "torch.hypot({h}, torch.ones_like({h}))",
    "logarithm": "torch.log({h}.abs() + 1)",
    "logarithm_one_plus": "torch.log1p({h}.abs())",
    "exponential_minus_one": "torch.expm1(-{h}.abs())",
    "reciprocal_root": "torch.rsqrt({h} * {h} + 1)",
    "power": "({h}.abs().clamp(max=9) + 0.5) ** 1.5",
    "silu": "torch.nn.functional.silu({h})",
    "elu": "torch.nn.functional.elu({h})",
    "softplus": "torch.nn.functional.softplus({h})",
    "leaky_relu": "torch.nn.functional.leaky_relu({h})",
    "hard_swish": "torch.nn.functional.hardswish({h})",
    "mish": "torch.nn.functional.mish({h})",
    "relu_six": "torch.nn.functional.relu6({h})",
    "cast_wide": "{h}.to(torch.float64).sin().to({h}.dtype)",
    "without_nan": "torch.nan_to_num({h}, 0.0, 9.0, -9.0)",
    "where_positive": "torch.where({h} > 0, {h}, -{h})",
    "add_input": "{h} + {x}",
    "masked_fill": "{h}.masked_fill({h} > 1, 1)",
    "minimum_of_two": "torch.minimum({h}, -{h})",
    "linear_blend": "torch.lerp({h}, -{h}, 0.25)",
    "add_value": "{h} + {h2}",
    "subtract_value": "{h} - {h2}",
    "multiply_value": "{h} * {h2}",
    "maximum_value": "torch.maximum({h}, {h2})",
    "where_value": "torch.where({h} > {h2}, {h} - {h2}, {h2} - {h})",
    "concatenate_value": "torch.cat([{h}, {h2}], -1)",
    "stack_value": "torch.stack([{h}, {h2}], -2)",
    "sum_last": "{h}.sum(-1, keepdim=True)",
    "maximum_last": "{h}.amax(-1, keepdim=True)",
    "minimum_last": "{h}.amin(-1, keepdim=True)",
    "mean_last": "{h}.mean(-1, keepdim=True)",
    "variance_last": "{h}.var(-1, correction=0, keepdim=True)",
    "deviation_last": "torch.sqrt({h}.var(-1, correction=0, keepdim=True) + 0.01)",
    "logsumexp_last": "{h}.logsumexp(-1, keepdim=True)",
    "product_last": "({h}.tanh() * 0.1 + 1).prod(-1, keepdim=True)",
    "norm_last": "torch.linalg.vector_norm({h}, dim=-1, keepdim=True)",
    "cumulative_sum": "{h}.cumsum(-1)",
    "flip": "{h}.flip(-1)",
    "roll": "{h}.roll(1, -1)",
    "cumulative_product": "({h}.tanh() * 0.1 + 1).cumprod(-1)",
    "centred": "{h} - {h}.mean(-1, keepdim=True)",
    "length_one": "{h} / torch.sqrt(({h} * {h}).sum(-1, keepdim=True) + 0.1)",
    "softmax": "{h}.softmax(-1)",
    "log_softmax": "{h}.log_softmax(-1)",
    "softmin": "torch.nn.functional.softmin({h}, dim=-1)",
    "sorted_last": "{h}.sort(dim=-1, stable=True).values",
    "largest_two": "{h}.topk(2, -1).values",
    "differences": "{h}.diff(dim=-1)",
    "concatenate": "torch.cat([{h}, {h}], -1)",
    "tiled": "torch.tile({h}, (2,))",
    "repeated": "{h}.repeat_interleave(2, -1)",
    "slice_half": "{h}[..., :{outside}]",
    "slice_step": "{h}[..., ::2]",
    "pad_zeros": "torch.nn.functional.pad({h}, (1, 1))",
    "pad_around": "torch.cat([{h}[..., -1:], {h}, {h}[..., :1]], -1)",
    "pad_edges": 'torch.nn.functional.pad({h}, (1, 1), mode="replicate")',
    "swap_inner": "{h}.transpose(-1, -2)",
    "flatten": "{h}.flatten(1)",
    "unflatten": "{h}.unflatten(-1, (2, {half}))",
    "add_axis": "{h}.unsqueeze(-2)",
    "drop_axis": "{h}.squeeze(-2)",
    "merge_axes": "{h}.flatten(-2)",
    "stack_negated": "torch.stack([{h}, -{h}], -2)",
    "broadcast": "{h}[..., :1].expand_as({h}) + {h}",
    "lower_triangle": "{h}.tril()",
    "flip_rows": "{h}.flip(0)",
    "windows": "{h}.unfold(-1, 2, 1)",
    "as_image": "({h}[:, :, None] * {h}[:, None, :])[:, None]",
    "as_sequence": "torch.stack([{h}, -{h}], 1)",
    "select_columns": "{h}.index_select(-1, torch.arange({inside}).flip(0))",
    "gathered": "{h}.gather(-1, torch.arange({inside}).flip(0).expand_as({h}))",
    "gram": "{h}.transpose(-1, -2) @ {h} / 4",
    "outer_product": "{h}[..., :, None] * {h}[..., None, :]",
    "max_pool": "torch.nn.functional.max_pool2d({h}, 2)",
    "average_pool": "torch.nn.functional.avg_pool2d({h}, 2)",
    "image_average": "{h}.mean((2, 3))",
    "resize_nearest": 'torch.nn.functional.interpolate({h}, scale_factor=2, mode="nearest")',
    "resize_bilinear": 'torch.nn.functional.interpolate({h}, scale_factor=2, mode="bilinear")',
    "instance_norm": "torch.nn.functional.instance_norm({h})",
    "attention": "torch.nn.functional.scaled_dot_product_attention({h}, {h}, {h})",
    "add": "{h} + {h2}",
    "multiply": "{h} * {h2}",
    "max_pool2d": "torch.nn.functional.max_pool2d({h}, 2)",
    "avg_pool2d": "torch.nn.functional.avg_pool2d({h}, 2)",
    "max_pool_same": "torch.nn.functional.max_pool2d({h}, 3, 1, 1)",
    "global_pool": "{h}.mean((2, 3))",
    "global_pool_keep": "{h}.mean((2, 3), keepdim=True)",
    "join_channels": "torch.cat([{hs}], 1)",
    "join_features": "torch.cat([{hs}], -1)",
    "slice_channels": "{h}[:, {start}:{stop}]",
    "pick_feature": "{h}[..., {start}:{stop}]",
    "channel_shuffle": "{h}.unflatten(1, (2, {half})).transpose(1, 2).flatten(1, 2)",
    "channels_to_end": "{h}.movedim(1, -1)",
    "channels_to_front": "{h}.movedim(-1, 1)",
    "to_map": "{h}.unflatten(1, ({channels}, 2, 2))",
    "map_to_sequence": "{h}.flatten(2).transpose(1, 2)",
    "reparameterise": "{h} + torch.exp(0.5 * {h2}) * torch.randn_like({h2})",
    "first_of_sequence": "{h}[:, 0]",
    "last_of_sequence": "{h}[:, -1]",
    "mean_of_sequence": "{h}.mean(1)",
    "max_of_sequence": "{h}.amax(1)",
    "shift_right": "torch.nn.functional.pad({h}, (1, 0))[:, :-1]",
    "rotary": "rotary({h}, {heads})",
    "attend": "attend({h}, {h2}, {h3}, {heads}, {groups}, causal={causal})",
}
"""Operators that one expression writes."""

MODULES = {
    "linear": ("torch.nn.Linear({inside}, {outside})", "self.{n}({h})"),
    "linear_no_bias": ("torch.nn.Linear({inside}, {outside}, bias=False)", "self.{n}({h})"),
    "layer_norm": ("torch.nn.LayerNorm({features})", "self.{n}({h})"),
    "rms_norm": ("torch.nn.RMSNorm({features}, eps=1e-5)", "self.{n}({h})"),
    "group_norm": ("torch.nn.GroupNorm(2, {channels})", "self.{n}({h})"),
    "batch_norm": ("torch.nn.BatchNorm1d({features})", "self.{n}({h})"),
    "batch_norm_map": ("torch.nn.BatchNorm2d({channels})", "self.{n}({h})"),
    "batch_norm2d": ("torch.nn.BatchNorm2d({outside})", "self.{n}({h})"),
    "dropout": ("torch.nn.Dropout(0.5)", "self.{n}({h})"),
    "bilinear": ("torch.nn.Bilinear({inside}, {inside}, {outside})", "self.{n}({h}, {h})"),
    "conv3x3": ("torch.nn.Conv2d({channels}, {out_channels}, 3, padding=1)", "self.{n}({h})"),
    "conv1x1": ("torch.nn.Conv2d({channels}, {out_channels}, 1)", "self.{n}({h})"),
    "conv_grouped": (
        "torch.nn.Conv2d({channels}, {channels}, 3, padding=1, groups={channels})",
        "self.{n}({h})",
    ),
    "conv_dilated": (
        "torch.nn.Conv2d({channels}, {out_channels}, 3, padding=2, dilation=2)",
        "self.{n}({h})",
    ),
    "conv_strided": (
        "torch.nn.Conv2d({channels}, {out_channels}, 3, stride=2, padding=1)",
        "self.{n}({h})",
    ),
    "conv_transposed": (
        "torch.nn.ConvTranspose2d({channels}, {out_channels}, 4, 2, 1)",
        "self.{n}({h})",
    ),
    "conv_sequence": (
        "torch.nn.Conv1d({inside}, {outside}, 3, padding=1)",
        "self.{n}({h}.transpose(1, 2)).transpose(1, 2)",
    ),
    "conv1d": (
        'torch.nn.Conv1d({inside}, {outside}, {kernel}, padding="same")',
        "self.{n}({h}.transpose(1, 2)).transpose(1, 2)",
    ),
    "conv2d": (
        "torch.nn.Conv2d({inside}, {outside}, {kernel}, {stride}, {pad}, groups={groups})",
        "self.{n}({h})",
    ),
    "conv_transpose2d": ("torch.nn.ConvTranspose2d({inside}, {outside}, 4, 2, 1)", "self.{n}({h})"),
    "embedding": ("torch.nn.Embedding({rows}, {outside})", "self.{n}({h})"),
    "embedding_bag": (
        "torch.nn.EmbeddingBag(8, {features})",
        "{h} + self.{n}(torch.arange(8).view(2, 4)).sum(0)",
    ),
    "lstm": ("torch.nn.LSTM({inside}, {outside}, batch_first=True)", "self.{n}({h})[0]"),
    "gru": ("torch.nn.GRU({inside}, {outside}, batch_first=True)", "self.{n}({h})[0]"),
    "self_attention": (
        "torch.nn.MultiheadAttention({features}, {heads}, batch_first=True)",
        "self.{n}({h}, {h}, {h})[0]",
    ),
    "matmul_weight": ("torch.nn.Parameter(torch.randn({inside}, {outside}))", "{h} @ self.{n}"),
    "einsum_weight": (
        "torch.nn.Parameter(torch.randn({inside}, {outside}) / 2)",
        'torch.einsum("...i,ij->...j", {h}, self.{n})',
    ),
    "scale_weight": ("torch.nn.Parameter(torch.randn({features}))", "{h} * self.{n}"),
    "add_positions": (
        "torch.nn.Parameter(torch.randn(17, {features}) / 4)",
        "{h} + self.{n}[: {h}.shape[1]]",
    ),
    "class_token": (
        "torch.nn.Parameter(torch.randn(1, 1, {features}))",
        "torch.cat([self.{n}.expand({h}.shape[0], 1, {features}), {h}], 1)",
    ),
}
"""Operators that own one attribute, with its first value, and read it in one expression."""

_STATEMENTS = {
    "floor": _PART + "(part - part.floor() - 0.5).abs()",
    "ceiling": _PART + "(part.ceil() - part - 0.5).abs()",
    "rounded": _PART + "(part - part.round()).abs()",
    "truncated": "part = {h}.tanh() * 3 + 0.3\n"
    "left = part - part.trunc()\n"
    "{y} = left * (left.abs() - 1)",
    "remainder": _PART + "(part.remainder(2) - 1).abs()",
    "sign_times": _PART + "part.sign() * part",
    "compared": _PART + "(part > 1).to(part.dtype) * (part - 1)",
    "logical": _PART + "torch.where((part > -1) & ~(part > 1), part, part.clamp(-1, 1))",
    "cast_integer": "part = {h}.tanh().nan_to_num() * 3 + 0.3\n"
    "left = part - part.to(torch.int64)\n"
    "{y} = left * (left.abs() - 1)",
    "bit_operation": "part = {h}.tanh().nan_to_num() * 3 + 0.3\n"
    "below = part.floor().to(torch.int64)\n"
    "{y} = ((below & 3) ^ 1) * (part - below) * (1 - (part - below))",
    "split_product": "left, right = {h}.chunk(2, -1)\n{y} = left * right",
    "scattered": "places = torch.arange({inside}).flip(0).expand_as({h})\n"
    "{y} = torch.zeros_like({h}).scatter_add(-1, places, {h})",
    "set_first": "{y} = {h}.clone()\n{y}[..., 0] = 1",
    "one_hot_product": "places = torch.arange({inside}).flip(0)\n"
    "{y} = {h} @ torch.nn.functional.one_hot(places, {inside}).to({h}.dtype)",
    "causal_attention": "attend_to = torch.nn.functional.scaled_dot_product_attention\n"
    "{y} = attend_to({h}, {h}, {h}, is_causal=True)",
    "squared_loss": "loss = torch.nn.functional.mse_loss\n"
    '{y} = {h} + 0.1 * loss({h}, {h}.roll(1, -1), reduction="sum")',
    "smooth_loss": "loss = torch.nn.functional.smooth_l1_loss\n"
    '{y} = {h} + 0.1 * loss({h}, {h}.roll(1, -1), reduction="sum")',
    "divergence_loss": "loss = torch.nn.functional.kl_div\n"
    "found, wanted = {h}.log_softmax(-1), {h}.roll(1, -1).softmax(-1)\n"
    '{y} = {h} + 0.1 * loss(found, wanted, reduction="sum")',
    "logit_loss": "loss = torch.nn.functional.binary_cross_entropy_with_logits\n"
    '{y} = {h} + 0.1 * loss({h}, {h}.roll(1, -1).sigmoid(), reduction="sum")',
    "cross_entropy": "rows = {h}.flatten(0, -2)\n"
    "wanted = torch.zeros(rows.shape[0], dtype=torch.int64)\n"
    '{y} = {h} + 0.1 * torch.nn.functional.cross_entropy(rows, wanted, reduction="sum")',
    "loop": "{y} = {h}\nfor _ in range(3):\n    {y} = ({y} * 1.5).tanh()",
    "scan_columns": "columns = [{h}[..., 0]]\n"
    "for place in range(1, {inside}):\n"
    "    columns.append(columns[-1] * 0.5 + {h}[..., place])\n"
    "{y} = torch.stack(columns, -1)",
    "top_gates": "above = ({h} - {h}.topk({kept} + 1, -1).values[..., -1:]).relu()\n"
    "{y} = above / (above.sum(-1, keepdim=True) + 0.001)",
}

_SPECIAL = {
    "nested_block": template(
        "{y} = self.{n}({h})",
        "self.{n} = {N}()",
        module="""
            class {N}(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    inner = torch.nn.Linear({features}, {features})
                    self.inner = torch.nn.Sequential(inner, torch.nn.ReLU())
                    self.outer = torch.nn.Linear({features}, {features})

                def forward(self, h):
                    return h + self.outer(self.inner(h))
        """,
    ),
    "attend_biased": template(
        "mask = relative_bias(self.{n}, {h}.shape[1], {causal}, {h}.dtype)\n"
        "{y} = attend({h}, {h2}, {h3}, {heads}, {groups}, False, mask)",
        "self.{n} = torch.nn.Parameter(torch.randn({heads}, 33))",
    ),
    "cached_attention": template(
        """
        query, key, value = self.{n}({h}).chunk(3, -1)
        if self.kept_{n} is not None and self.kept_{n}[0].shape[0] == key.shape[0]:
            key = torch.cat([self.kept_{n}[0].to(key.dtype), key], 1)
            value = torch.cat([self.kept_{n}[1].to(key.dtype), value], 1)
        self.kept_{n} = (key[:, -16:].detach(), value[:, -16:].detach())
        {y} = self.out_{n}(attend(query, key, value, {heads}, {heads}, True))
        """,
        """
        self.{n} = torch.nn.Linear({features}, 3 * {features})
        self.out_{n} = torch.nn.Linear({features}, {features})
        self.kept_{n} = None
        """,
    ),
}

ORDINARY: Mapping[str, Template] = {
    **{op: template(f"{{y}} = {text}") for op, text in EXPRESSIONS.items()},
    **{
        op: template(f"{{y}} = {forward}", f"self.{{n}} = {made}")
        for op, (made, forward) in MODULES.items()
    },
    **{op: template(text) for op, text in _STATEMENTS.items()},
    **_SPECIAL,
}
"""Every ordinary operator and every node of an architecture as PyTorch text."""

PARAMETER = {
    **dict.fromkeys(("linear", "linear_no_bias", "bilinear", "layer_norm"), ".weight"),
    **dict.fromkeys(("rms_norm", "group_norm", "batch_norm"), ".weight"),
    **dict.fromkeys(("batch_norm_map", "batch_norm2d", "conv_sequence", "conv1d"), ".weight"),
    **dict.fromkeys(("conv3x3", "conv1x1", "conv_grouped", "conv_dilated"), ".weight"),
    **dict.fromkeys(("conv_strided", "conv_transposed", "conv2d"), ".weight"),
    **dict.fromkeys(("conv_transpose2d", "embedding", "embedding_bag"), ".weight"),
    **dict.fromkeys(("lstm", "gru"), ".weight_ih_l0"),
    **dict.fromkeys(("matmul_weight", "einsum_weight", "scale_weight"), ""),
    **dict.fromkeys(("add_positions", "class_token", "attend_biased"), ""),
    "self_attention": ".in_proj_weight",
    "cached_attention": ".weight",
    "nested_block": ".outer.weight",
}
"""Where the parameter of an operator sits below its stem."""

BUFFER = dict.fromkeys(("batch_norm", "batch_norm_map", "batch_norm2d"), ".running_mean")
"""Where the buffer of an operator sits below its stem, when it is not the stem itself."""
