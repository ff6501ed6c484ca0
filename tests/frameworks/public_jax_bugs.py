"""The public stateful bugs of JAX as test cases, with the verdict expected of JAX 0.10.2.

Each is written in the general vocabulary that any byte string can reach.
"""

from __future__ import annotations

from rondo.testcase import TestCase
from tests.cases import call, case, event

PUBLIC_BUGS: dict[str, tuple[str, TestCase]] = {
    "jx_static_one_true_float": (
        "pass",
        case("typed_scalar", call(scalar="1"), call(scalar="True"), call(scalar="1.0")),
    ),
    "jx_device_put_alias": (
        "pass",
        case(
            "double",
            call(33, origin="device_put"),
            event("change_numpy_input", "added"),
            call(33, values="previous_tensors"),
        ),
    ),
    "jx_x64_toggle_random": (
        "pass",
        case(
            "noise",
            call(ambient="no_x64"),
            call(ambient="x64"),
            call(ambient="x64"),
        ),
    ),
    "jx_gumbel_range_flag": (
        "stateful",
        case("python_random", call(), event("set_flag", "gumbel"), call()),
    ),
    "jx_jvp_inner_jit_twice": (
        "pass",
        case("scale_weight", call(transform="jvp_params", wrapper="closure_twice")),
    ),
    "jx_aot_same_array_twice": (
        "pass",
        case(
            "add_tensor",
            call(alias="same", wrapper="ahead_of_time"),
            call(alias="same", wrapper="ahead_of_time"),
        ),
    ),
}
"""Program -> (verdict, case)."""

FAULTS: dict[str, TestCase] = {
    "sizes": case("branch_batch", call(2), call(5)),
    "dtypes": case("branch_dtype", call(), call(dtype="bfloat16")),
    "static_types": case("typed_scalar", call(scalar="1"), call(scalar="True")),
    "static_flags": case("branch_training", call(), call(mode="eval")),
    "keywords": case("sum_items square", call(), call(structure="keyword")),
    "by_name": case("call_closure", call(), call(callee="second")),
    "limit": case("branch_batch", call(2), call(3), call(4), call(5)),
    "partitionable": case("noise", call(), event("set_flag", "partitionable"), call()),
    "strictness": case("linear", call(), call(ambient="strict_ranks")),
    "batch_axes": case("square add_tensor", call(transform="vmap_x"), call(transform="vmap_y")),
    "disk_constants": case(
        "read_float", call(), event("set_float_attribute", "2.5"), call(), cache="persistent"
    ),
}
"""The harness' own fault -> a shortest case that shows it."""
