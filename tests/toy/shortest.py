"""The shortest sequences that show the planted faults of the toy compiler."""

from __future__ import annotations

from rondo.testcase import TestCase
from tests.cases import call, case, event

SHORTEST: dict[str, TestCase] = {
    "dtype_guard": case("branch_dtype", call(), call(dtype="float64")),
    "size_guard": case("size_arithmetic", call(), call(3), dynamic="never"),
    "alias_guard": case("add_tensor", call(alias="same"), call()),
    "relation_guard": case("branch_scalar", call(), call(scalar="3.5"), dynamic="always"),
    "layout_guard": case("branch_contiguous", call(), call(layout="transposed")),
    "instance_guard": case("count_buffer", call(), call(callee="second")),
    "grad_mode_guard": case("branch_grad", call(), call(grad_mode="no_grad")),
    "training_guard": case("branch_training", call(), call(mode="eval")),
    "effects_on_hits": case("keep_history", call(), call()),
    "effects_when_dynamic": case("keep_history", call(), call(3)),
    "stale_random_stream": case("noise", call(), call(3)),
    "size_bound": case("branch_batch", call(), call(3), call(1)),
    "third_float": case("scale_scalar", call(), call(scalar="2.5"), call(scalar="3.5")),
    "limit_serves_first": case(
        "branch_dtype", call(), call(dtype="float64"), call(dtype="float16"), limit="2"
    ),
    "disk_ignores_constants": case(
        "scale_scalar", call(), event("drop_compiler_state", "in_memory"), call(scalar="2.5")
    ),
    "default_dtype_guard": case("make_ones", call(), event("set_default_dtype", "float64"), call()),
    "method_code_guard": case("call_method", call(), event("replace_method", "code"), call()),
    "closure_guard": case("call_closure", call(), event("set_closure_cell", "2.5"), call()),
    "hook_guard": case("relu", call(), event("add_forward_hook", "root"), call()),
    "fourth_entry": case(
        "branch_scalar",
        call(),
        call(scalar="1"),
        call(scalar="True"),
        call(scalar="3.5"),
        dynamic="never",
    ),
    "crash": case("add_scalar", call(), call(scalar="1"), call(scalar="True")),
    "hang": case("relu", call(), call()),
    "memory": case("branch_dtype", call(), call(dtype="float64"), limit="1"),
}
"""The shortest sequence that shows each fault."""
