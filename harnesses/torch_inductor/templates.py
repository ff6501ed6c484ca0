"""The operators in PyTorch's words: one template a neutral operator; `ordinary` holds those that
carry no state.

Each reads like what a person would write; what carries state (attributes, globals, closures,
methods) stands where a real program has it, so that events can change it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harnesses import source_tests
from harnesses.emission import Template, template
from harnesses.torch_inductor.ordinary import ORDINARY
from harnesses.torch_inductor.ordinary import PARAMETER as ORDINARY_PARAMETER

SOURCE_TESTS = source_tests.read(Path(__file__).with_name("source_tests.json"))
"""torch's OpInfo and ModuleInfo, as `tools/torch_source_tests.py` wrote them down."""

_EXPRESSIONS = {
    "noise": "{h} + torch.rand({h}.shape, dtype={h}.dtype)",
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
    "branch_value": "{h} * 2 if {h}.sum() > 0.3 else {h} - 1",
    "branch_scalar": "{h} * 2 if k > 2 else {h} - 1",
    "add_tensor": "{h} + {other}",
    "literal_mode": "{h} + torch.tensor([1.0, 2.0] if self.training else [3.0, 4.0]).sum()",
}

_ATTRIBUTES = {
    "call_submodule": ("torch.nn.ReLU()", "self.{n}({h})"),
    "read_float": ("1.5", "{h} * self.{n}"),
    "read_int": ("2", "{h} + self.{n}"),
    "read_list": ("[1.5, 2.0]", "{h} * sum(self.{n}) * len(self.{n})"),
    "read_dict": ('{{"a": 1.5, "b": 2.0}}', '{h} * self.{n}["a"] + len(self.{n})'),
    "read_tensor": ("torch.ones(1)", "{h} + self.{n}"),
    "random_object": ("random.Random(3)", "{h} + self.{n}.randint(1, 1000)"),
}

_INIT_FORWARD = {
    "literal_tensor": ("self.{n} = 1.5", "{y} = {h} + torch.tensor([self.{n}, 1.0]).sum()"),
    "literal_flag": (
        "self.{n} = False",
        "{y} = {h} + torch.tensor([1.0, 2.0] if self.{n} else [3.0, 4.0]).sum()",
    ),
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
    **ORDINARY,
    **{op: template(f"{{y}} = {text}") for op, text in _EXPRESSIONS.items()},
    **{
        op: template(f"{{y}} = {forward}", f"self.{{n}} = {made}")
        for op, (made, forward) in _ATTRIBUTES.items()
    },
    **{op: template(forward, init) for op, (init, forward) in _INIT_FORWARD.items()},
    **{op: template(text) for op, text in _STATEMENTS.items()},
    **{op: template("{y} = {h}", returns=text) for op, text in _RETURNS.items()},
    **_SPECIAL,
    **SOURCE_TESTS.templates,
}
"""Every neutral operator, architecture node and test of torch's own as PyTorch text."""

PARAMETER = {**ORDINARY_PARAMETER, **SOURCE_TESTS.parameters}
"""Where the parameter of an operator sits below its stem."""

RANDOM = frozenset({"dropout", "noise", "reparameterise"}) | SOURCE_TESTS.random
"""Operators that draw from torch's random stream."""

MUTATES_INPUT = frozenset({"mutate_input", "write_input_row", "mutate_then_add"})
"""Operators that write into an argument."""
