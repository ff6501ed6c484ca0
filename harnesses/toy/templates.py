"""The operators of the toy framework as text: one `Template` for each neutral operator.

`stand_ins` adds what stands in for what the toy framework does not have.
"""

from __future__ import annotations

from harnesses.emission import Template, template
from harnesses.toy.stand_ins import with_stand_ins


def _simple(**expressions: str) -> dict[str, Template]:
    return {name: template(f"{{y}} = {text}") for name, text in expressions.items()}


_ORDINARY = _simple(
    relu='toy.apply("maximum", {h}, 0)',
    absolute="abs({h})",
    negate="-{h}",
    square="{h} * {h}",
    add_one="{h} + 1",
    double="{h} * 2",
    clamp='toy.apply("minimum", toy.apply("maximum", {h}, -1), 1)',
    cube_small="{h} * {h} * {h}",
    tanh='toy.apply("tanh", {h})',
    sigmoid='1.0 / (1.0 + toy.apply("exp", -{h}))',
    gelu='{h} * (1.0 + toy.apply("tanh", {h} * 0.8)) * 0.5',
    sine='toy.apply("sin", {h})',
    exponential='toy.apply("exp", {h})',
    root='toy.apply("sqrt", abs({h}))',
    reciprocal="1.0 / (abs({h}) + 1.0)",
    normalised="{h} / (abs({h}).sum() + 1.0)",
    softmax="toy.softmax({h})",
    log_softmax='toy.apply("log", toy.softmax({h}))',
    cumulative_sum='toy.apply("cumsum", {h})',
    flip='toy.apply("flip", {h})',
    roll='toy.apply("roll", {h})',
    where_positive="toy.where({h} > 0, {h}, {h} * 2)",
    add_input="{h} + x.sum()",
    masked_fill="toy.where({h} > 1, 3, {h})",
    concatenate="toy.concatenate([{h}, {h} * 2], -1)",
    slice_half="{h}[..., 0:{outside}]",
    sum_last="{h}.sum(-1, keepdims=True)",
    maximum_last="{h}.max(-1, keepdims=True)",
    mean_last="{h}.mean(-1, keepdims=True)",
    swap_inner="{h}.swapaxes(-1, -2)",
    flatten='toy.apply("flatten", {h})',
    noise="{h} + toy.rand_like({h})",
    python_random="{h} * toy.python_random.random()",
    make_ones="{h} * toy.full(2.0, 1)",
    add_tensor="{h} + other.sum()",
    scale_scalar="{h} * scalar",
    clamp_scalar='toy.apply("minimum", {h}, scalar)',
    add_scalar="{h} + scalar * 2",
    fill_scalar="{h} + toy.array([scalar, 1.0]).sum()",
    number_list="{h} * toy.array(numbers).sum()",
    apply_function="function({h})",
    size_arithmetic="{h} * ({h}.shape[0] + 1)",
    add="{h} + {h2}",
    last_of_sequence="{h}[:, -1]",
    mean_of_sequence="{h}.mean(1)",
    max_pool2d='toy.apply("maximum", {h}[..., ::2, ::2], {h}[..., 1::2, 1::2])',
)


def _layer(construct: str) -> Template:
    return template("{y} = self.{n}({h})", f"self.{{n}} = {construct}")


_LAYERS = {
    "linear": _layer("toy.Linear({inside}, {outside}, SEED)"),
    "layer_norm": _layer("toy.LayerNorm({features})"),
    "batch_norm": _layer("toy.BatchNorm({inside})"),
    "batch_norm2d": _layer("toy.BatchNorm({outside})"),
    "dropout": _layer("toy.Dropout()"),
    "call_submodule": _layer("toy.Activation()"),
    "embedding": _layer("toy.Embedding({rows}, {outside}, SEED)"),
    "lstm": _layer("toy.Recurrent({inside}, {outside}, SEED)"),
    "self_attention": _layer("toy.SelfAttention({features}, SEED)"),
}

_READS_STATE = {
    "matmul_weight": template(
        "{y} = toy.matmul({h}, self.{n})",
        "self.{n} = toy.Parameter(toy.filled(({inside}, {outside}), SEED))",
    ),
    "scale_weight": template(
        "{y} = {h} * self.{n}",
        "self.{n} = toy.Parameter(toy.filled(({inside},), SEED))",
    ),
    "read_float": template("{y} = {h} * self.{n}", "self.{n} = 1.5"),
    "read_int": template("{y} = {h} + self.{n}", "self.{n} = 2"),
    "read_bool": template("{y} = {h} * 2 if self.{n} else {h} - 1", "self.{n} = True"),
    "read_list": template(
        """
        {y} = {h}
        for factor in self.{n}:
            {y} = {y} * factor
        """,
        "self.{n} = [1.5, 0.5]",
    ),
    "read_dict": template(
        """
        {y} = {h} + len(self.{n})
        {y} = {y} * self.{n}["a"]
        """,
        'self.{n} = {{"a": 1.5}}',
    ),
    "read_enum": template(
        "{y} = {h} * 2 if self.{n} is Choice.A else {h} - 3",
        "self.{n} = Choice.A",
    ),
    "read_tensor": template(
        "{y} = {h} + self.{n}",
        'self.{n} = toy.Array(np.full((1,), 0.5, "float32"))',
    ),
    "read_object": template("{y} = {h} * self.{n}.gain", "self.{n} = Knobs()"),
    "read_property": template(
        "{y} = {h} * self.{n}",
        "self.inner_{n} = 1.5",
        """
        @property
        def {n}(self):
            return self.inner_{n} + 1.0

        @{n}.setter
        def {n}(self, value):
            self.inner_{n} = value

        """,
    ),
    "read_class": template(
        "{y} = {h} * {n}.rate",
        module="""


        class {n}:
            rate = 1.5
        """,
    ),
    "read_global": template("{y} = {h} * {n}", module="\n{n} = 1.5"),
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


        def make_{n}(factor):
            def scale(h):
                return h * factor

            return scale


        {n} = make_{n}(1.5)
        """,
    ),
    "call_default": template(
        "{y} = {n}({h})",
        module="""


        def {n}(h, by=1.5):
            return h + by
        """,
    ),
    "call_method": template(
        "{y} = self.{n}({h})",
        methods="""
        def {n}(self, h):
            return h + 2

        """,
    ),
    "call_object": template(
        "{y} = self.in_{n}.act({h})",
        "self.in_{n} = {n}()",
        module="""


        class {n}:
            def act(self, h):
                return h + 2
        """,
    ),
    "read_buffer": template(
        "{y} = {h} * self.{n}",
        'self.{n} = toy.Buffer(np.full((1,), 1.5, "float32"))',
    ),
    "literal_tensor": template(
        "{y} = {h} + toy.array([self.{n}, 2.0]).sum()",
        "self.{n} = 1.5",
    ),
    "literal_flag": template(
        "{y} = {h} + toy.array([1.0, 2.0] if self.{n} else [3.0, 4.0]).sum()",
        "self.{n} = True",
    ),
    "literal_mode": template(
        "{y} = {h} + toy.array([1.0, 2.0] if self.training else [3.0, 4.0]).sum()"
    ),
}

_WRITES_STATE = {
    "count_calls": template(
        """
        self.{n} = self.{n} + 1
        {y} = {h} + self.{n}
        """,
        "self.{n} = 0",
    ),
    "count_buffer": template(
        """
        self.{n}.add_(1.0)
        {y} = {h} + self.{n}
        """,
        'self.{n} = toy.Buffer(np.zeros(1, "float32"))',
    ),
    "running_mean": template(
        """
        if self.training:
            self.{n}.multiply_(0.5)
            self.{n}.add_({h}.sum())
        {y} = {h} - self.{n}
        """,
        'self.{n} = toy.Buffer(np.zeros(1, "float32"))',
    ),
    "keep_history": template(
        """
        self.{n}.append({h}.shape[0])
        {y} = {h} * 2
        """,
        "self.{n} = []",
    ),
    "keep_tensors": template(
        """
        {y} = {h} * 1.5
        for kept in self.{n}:
            {y} = {y} + kept.sum()
        self.{n} = [{h}]
        """,
        "self.{n} = []",
    ),
    "write_buffer": template(
        """
        self.{n}.assign_({h}.sum())
        {y} = {h} + self.{n}
        """,
        'self.{n} = toy.Buffer(np.zeros(1, "float32"))',
    ),
    "mutate_input": template(
        """
        x.add_(1)
        {y} = {h} * 2
        """
    ),
    "write_input_row": template(
        """
        x[:1].assign_(3)
        {y} = {h} + 1
        """
    ),
}

_BRANCHES = {
    "branch_single": template("{y} = {h} * 2 if x.shape[0] == 1 else {h} - 1"),
    "branch_batch": template("{y} = {h} * 2 if x.shape[0] > 1 else {h} - 1"),
    "branch_dtype": template('{y} = {h} * 2 if x.dtype == "float32" else {h} - 1'),
    "branch_training": template("{y} = {h} * 2 if self.training else {h} - 1"),
    "branch_grad": template("{y} = {h} * 2 if toy.is_grad_enabled() else {h} - 1"),
    "branch_contiguous": template("{y} = {h} * 2 if x.is_contiguous() else {h} - 1"),
    "branch_value": template("{y} = {h} * 2 if {h}.sum() > 0 else {h} - 1"),
    "graph_break": template(
        """
        toy.graph_break()
        {y} = {h} + 2
        """
    ),
    "try_except": template(
        """
        try:
            {y} = {h}.reshape(7, 11, 13)
        except ValueError:
            {y} = {h} - 2
        """
    ),
    "without_grad": template(
        """
        with toy.no_grad():
            {y} = {h} * (3 if toy.is_grad_enabled() else 2)
        """
    ),
    "random_object": template("{y} = {h} + self.{n}.random()", "self.{n} = toy.Dice(SEED)"),
    "inner_autocast": template(
        """
        with toy.autocast("float16"):
            {y} = toy.matmul({h}, toy.eye({features}))
        """
    ),
}

_ARGUMENTS = {
    "mutate_then_add": template(
        """
        other.add_(1)
        {y} = {h} + other.sum()
        """
    ),
    "branch_scalar": template("{y} = {h} * 2 if scalar > 2 else {h} - 1"),
    "typed_scalar": template("{y} = {h} * 2 if isinstance(scalar, int) else {h} - 1"),
    "sum_items": template(
        """
        {y} = {h} + len(items)
        for item in items:
            {y} = {y} + item.sum()
        """
    ),
    "add_optional": template("{y} = {h} if optional is None else {h} + optional.sum()"),
}

_RETURNS = {
    "return_input": template("{y} = {h} + 1", returns="({{last}}, x)"),
    "return_view": template("{y} = {h} * 2", returns="({{last}}, {{last}}[:1])"),
    "return_twice": template("{y} = {h} - 1", returns="({{last}}, {{last}})"),
    "return_dict": template("{y} = {h} + 3", returns="dict(out={{last}}, inner={y})"),
    "return_tuple": template("{y} = {h} * 3", returns="({{last}}, {y}, None)"),
    "return_size": template("{y} = {h} - 2", returns="({{last}}, x.shape[0])"),
}

TEMPLATES = with_stand_ins(
    _ORDINARY | _LAYERS | _READS_STATE | _WRITES_STATE | _BRANCHES | _ARGUMENTS | _RETURNS
)

"""Every neutral operator, and every node of an architecture."""

PRELUDE = {
    "read_enum": ("", "", "class Choice(enum.Enum):", "    A = 1", "    B = 2"),
    "read_object": (
        "",
        "",
        "class Knobs:",
        "    def __init__(self):",
        "        self.gain = 1.5",
    ),
    "apply_function": (
        "",
        "",
        "def make_scaled(factor):",
        "    def scaled(h, by=factor):",
        "        return h * by",
        "",
        "    return scaled",
        "",
        "",
        "scaled = make_scaled(1.5)",
        "scaled_more = make_scaled(2.5)",
        "",
        "",
        "def shifted(h):",
        "    return h - 1",
    ),
}
"""What the module defines once when any node is of the kind."""

PARAMETERS = {
    "tensor": "other",
    "scalar": "scalar",
    "list": "items",
    "numbers": "numbers",
    "optional": "optional=None",
    "function": "function=None",
}
"""The parameter of `forward` for each kind of argument."""
