"""The operators in PyTorch's words: one template a neutral operator.

Each reads like what a person would write; what carries state (attributes, globals, closures,
methods) stands where a real program has it, so that events can change it.
"""

from __future__ import annotations

from collections.abc import Mapping

from harnesses.emission import Template, template

_ELEMENTWISE = {
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
    "softmax": "{h}.softmax(-1)",
    "log_softmax": "{h}.log_softmax(-1)",
    "cumulative_sum": "{h}.cumsum(-1)",
    "flip": "{h}.flip(-1)",
    "roll": "{h}.roll(1, -1)",
    "where_positive": "torch.where({h} > 0, {h}, -{h})",
    "add_input": "{h} + {x}",
    "add": "{h} + {h2}",
    "masked_fill": "{h}.masked_fill({h} > 1, 0)",
    "concatenate": "torch.cat([{h}, {h}], -1)",
    "slice_half": "{h}[..., :{outside}]",
    "sum_last": "{h}.sum(-1, keepdim=True)",
    "maximum_last": "{h}.amax(-1, keepdim=True)",
    "mean_last": "{h}.mean(-1, keepdim=True)",
    "swap_inner": "{h}.transpose(-1, -2)",
    "flatten": "{h}.flatten(1)",
    "max_pool2d": "torch.nn.functional.max_pool2d({h}, 2)",
    "last_of_sequence": "{h}[:, -1]",
    "mean_of_sequence": "{h}.mean(1)",
    "noise": "{h} + torch.rand_like({h})",
    "python_random": "{h} + random.random()",
    "make_ones": "{h} + torch.ones(1)",
    "size_arithmetic": "{h} * {h}.shape[0]",
    "scale_scalar": "{h} * k",
    "clamp_scalar": "{h}.clamp(max=k)",
    "add_scalar": "{h} + k",
    "fill_scalar": "{h} + torch.full((1,), k)",
    "number_list": "{h} + torch.tensor(numbers).sum()",
    "apply_function": "fn({h})",
    "branch_batch": "{h} * 2 if {h}.shape[0] > 4 else {h} + 1",
    "branch_single": "{h} * 2 if {h}.shape[0] == 1 else {h} + 1",
    "branch_dtype": "{h} * 2 if x.dtype == torch.float32 else {h} + 1",
    "branch_training": "{h} * 2 if self.training else {h} + 1",
    "branch_grad": "{h} * 2 if torch.is_grad_enabled() else {h} + 1",
    "branch_contiguous": "{h} * 2 if x.is_contiguous() else {h} + 1",
    "branch_requires_grad": "{h} * 2 if x.requires_grad else {h} + 1",
    "branch_value": "{h} * 2 if {h}.sum() > 0 else {h} - 1",
    "branch_scalar": "{h} * 2 if k > 2 else {h} - 1",
    "add_tensor": "{h} + {other}",
    "literal_tensor": "{h} + torch.tensor([self.{n}, 1.0]).sum()",
}

_MODULES = {
    "linear": ("torch.nn.Linear({inside}, {outside})", "self.{n}({h})"),
    "layer_norm": ("torch.nn.LayerNorm({features})", "self.{n}({h})"),
    "batch_norm": ("torch.nn.BatchNorm1d({features})", "self.{n}({h})"),
    "dropout": ("torch.nn.Dropout(0.5)", "self.{n}({h})"),
    "conv2d": ("torch.nn.Conv2d({inside}, {outside}, 3, padding=1)", "self.{n}({h})"),
    "batch_norm2d": ("torch.nn.BatchNorm2d({outside})", "self.{n}({h})"),
    "embedding": ("torch.nn.Embedding({rows}, {outside})", "self.{n}({h})"),
    "call_submodule": ("torch.nn.ReLU()", "self.{n}({h})"),
    "lstm": ("torch.nn.LSTM({inside}, {outside}, batch_first=True)", "self.{n}({h})[0]"),
    "self_attention": (
        "torch.nn.MultiheadAttention({features}, {heads}, batch_first=True)",
        "self.{n}({h}, {h}, {h})[0]",
    ),
    "matmul_weight": (
        "torch.nn.Parameter(torch.randn({inside}, {outside}))",
        "{h} @ self.{n}",
    ),
    "scale_weight": ("torch.nn.Parameter(torch.randn({features}))", "{h} * self.{n}"),
    "read_float": ("1.5", "{h} * self.{n}"),
    "read_int": ("2", "{h} + self.{n}"),
    "read_list": ("[1.5, 2.0]", "{h} * sum(self.{n}) * len(self.{n})"),
    "read_dict": ('{{"a": 1.5, "b": 2.0}}', '{h} * self.{n}["a"] + len(self.{n})'),
    "read_tensor": ("torch.ones(1)", "{h} + self.{n}"),
    "random_object": ("random.Random(3)", "{h} + self.{n}.randint(1, 1000)"),
}

_INIT_FORWARD = {
    "literal_tensor": ("self.{n} = 1.5", "{y} = {h} + torch.tensor([self.{n}, 1.0]).sum()"),
    "read_bool": ("self.{n} = False", "{y} = {h} * 7 if self.{n} else {h}"),
    "read_buffer": (
        'self.register_buffer("{n}", torch.ones(1))',
        "{y} = {h} + self.{n}",
    ),
    "count_calls": ("self.{n} = 0", "self.{n} += 1\n{y} = {h} + self.{n}"),
    "count_buffer": (
        'self.register_buffer("{n}", torch.zeros(1))',
        "self.{n}.add_(1)\n{y} = {h} + self.{n}",
    ),
    "running_mean": (
        'self.register_buffer("{n}", torch.zeros(1))',
        "self.{n}.mul_(0.9).add_({h}.detach().mean() * 0.1)\n{y} = {h} - self.{n}",
    ),
    "write_buffer": (
        'self.register_buffer("{n}", torch.zeros(1))',
        "self.{n}.copy_({h}.detach().sum())\n{y} = {h} * 2",
    ),
    "keep_history": (
        "self.{n} = []",
        "self.{n}.append({h}.shape[0])\n{y} = {h} + len(self.{n})",
    ),
    "keep_tensors": (
        "self.{n} = []",
        "self.{n}.append({h}.detach().mean())\n{y} = {h} + torch.stack(self.{n}).sum()",
    ),
}

_STATEMENTS = {
    "mutate_input": "x.mul_(2)\n{y} = {h} + {x}",
    "write_input_row": "x[:1] = 0\n{y} = {h} + {x}",
    "mutate_then_add": "y.add_(1)\n{y} = {h} + {other}",
    "graph_break": "torch._dynamo.graph_break()\n{y} = {h} + 1",
    "without_grad": "with torch.no_grad():\n    {y} = {h} * 2",
    "inner_autocast": (
        'with torch.autocast("cpu"):\n    {y} = {h} @ torch.eye({features}, dtype={h}.dtype)'
    ),
    "try_except": (
        "try:\n"
        "    {y} = {h} * 2\n"
        "    if {h}.shape[0] > 4:\n"
        '        raise ValueError("large batch")\n'
        "except ValueError:\n"
        "    {y} = {h} - 1"
    ),
    "typed_scalar": (
        "if isinstance(k, bool):\n"
        "    {y} = {h} * 2\n"
        "else:\n"
        "    {y} = {h} + 1 if isinstance(k, int) else {h} - k"
    ),
    "sum_items": "{y} = {h} * len(items)\nfor item in items:\n    {y} = {y} + item.mean()",
    "add_optional": "{y} = {h} * 2 if bias is None else {h} + bias.mean()",
}

_RETURNS = {
    "return_input": "{y}, x",
    "return_view": "{y}, {y}[:1]",
    "return_twice": "{y}, {y}",
    "return_dict": '{{"first": {y}, "second": {y} * 2}}',
    "return_tuple": "({y}, ({y} + 1, None))",
    "return_size": "{y}, {y}.shape[0]",
}

_SPECIAL = {
    "read_enum": template(
        "{y} = {h} * 2 if self.{n} is {N}.A else {h} - 1",
        "self.{n} = {N}.A",
        module="""
            class {N}(enum.Enum):
                A = 1
                B = 2
        """,
    ),
    "read_object": template(
        "{y} = {h} * self.{n}.gain",
        "self.{n} = {N}()",
        module="""
            class {N}:
                def __init__(self):
                    self.gain = 1.5
        """,
    ),
    "read_property": template(
        "{y} = {h} * self.{n}",
        "self._{n} = 1.5",
        methods="""
            @property
            def {n}(self):
                return self._{n}
        """,
    ),
    "read_class": template(
        "{y} = {h} * {n}.rate",
        module="""
            class {n}:
                rate = 1.5
        """,
    ),
    "read_global": template("{y} = {h} * {n}", module="{n} = 1.5"),
    "call_global": template(
        "{y} = {n}({h})",
        module="""
            def {n}(h):
                return h + 1
        """,
    ),
    "call_closure": template(
        "{y} = {n}({h})",
        module="""
            def make_{n}():
                rate = 1.5

                def scale(h):
                    return h * rate

                def change(value):
                    nonlocal rate
                    rate = value

                return scale, change


            {n}, change_{n} = make_{n}()
        """,
    ),
    "call_default": template(
        "{y} = {n}({h})",
        module="""
            def {n}(h, rate=1.5):
                return h * rate
        """,
    ),
    "call_method": template(
        "{y} = self.{n}({h})",
        methods="""
            def {n}(self, h):
                return h + 1
        """,
        module="""
            def other_{n}(self, h):
                return h - 1
        """,
    ),
    "call_object": template(
        "{y} = self.object_{n}.apply({h})",
        "self.object_{n} = {n}()",
        module="""
            class {n}:
                def apply(self, h):
                    return h + 1


            def other_{n}(self, h):
                return h - 1
        """,
    ),
}

TEMPLATES: Mapping[str, Template] = {
    **{op: template(f"{{y}} = {text}") for op, text in _ELEMENTWISE.items()},
    **{
        op: template(f"{{y}} = {forward}", f"self.{{n}} = {made}")
        for op, (made, forward) in _MODULES.items()
    },
    **{op: template(forward, init) for op, (init, forward) in _INIT_FORWARD.items()},
    **{op: template(text) for op, text in _STATEMENTS.items()},
    **{op: template("{y} = {h}", returns=text) for op, text in _RETURNS.items()},
    **_SPECIAL,
}
"""Every neutral operator and architecture node as PyTorch text."""

PARAMETER = {
    "linear": ".weight",
    "layer_norm": ".weight",
    "batch_norm": ".weight",
    "conv2d": ".weight",
    "batch_norm2d": ".weight",
    "embedding": ".weight",
    "lstm": ".weight_ih_l0",
    "self_attention": ".in_proj_weight",
    "matmul_weight": "",
    "scale_weight": "",
}
"""Where the parameter of an operator sits below its stem."""

BUFFER = {"batch_norm": ".running_mean", "batch_norm2d": ".running_mean"}
"""Where the buffer of an operator sits below its stem, when it is not the stem itself."""

RANDOM = frozenset({"dropout", "noise"})
"""Operators that draw from torch's random stream."""

MUTATES_INPUT = frozenset({"mutate_input", "write_input_row", "mutate_then_add"})
"""Operators that write into an argument."""
