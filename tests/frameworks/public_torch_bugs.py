"""The public stateful bugs of torch as test cases, with the verdict expected of torch 2.13.0.

Each is written in the general vocabulary that any byte string can reach.
"""

from __future__ import annotations

from rondo.testcase import TestCase
from tests.cases import call, case, event

PUBLIC_BUGS: dict[str, tuple[str, TestCase]] = {
    "pt_inputs_begin_to_overlap": (
        "stateful",
        case("mutate_input add_tensor", call(4), call(4, alias="overlapping"), backend="aot_eager"),
    ),
    "pt_method_code_swapped": (
        "stateful",
        case("call_object", call(), event("replace_object_method", "code"), call()),
    ),
    "pt_hook_added_after": (
        "stateful",
        case("call_submodule", call(), event("add_forward_hook", "submodule"), call()),
    ),
    "pt_float_clamp_stale": (
        "stateful",
        case(
            "scale_scalar clamp_scalar",
            call(profile="large"),
            call(profile="large", scalar="2.5"),
            call(profile="large", scalar="3.5"),
            backend="inductor",
        ),
    ),
    "pt_python_rng_object": ("stateful", case("random_object", call(), call())),
    "pt_autocast_dtype_ambient": (
        "stateful",
        case(
            "inner_autocast",
            event("set_autocast_dtype", "bfloat16"),
            call(),
            event("set_autocast_dtype", "float16"),
            call(),
            backend="aot_eager",
        ),
    ),
    "pt_module_int_attr": (
        "pass",
        case(
            "read_int",
            event("set_int_attribute", "5"),
            call(),
            event("set_int_attribute", "3"),
            call(),
        ),
    ),
    "pt_module_flag_toggle": (
        "pass",
        case("read_bool", call(), event("set_bool_attribute", "True"), call()),
    ),
    "pt_buffer_attr_rebound": (
        "pass",
        case(
            "write_buffer",
            call(),
            event("change_buffer", "rebind"),
            call(),
            event("change_buffer", "rebind"),
            call(),
        ),
    ),
    "pt_global_function_replaced": (
        "pass",
        case("call_global", call(), event("replace_global_function", "minus"), call()),
    ),
    "pt_function_defaults_differ": (
        "pass",
        case("apply_function", call(), call(function="other_default")),
    ),
    "pt_class_attr_mutated": (
        "pass",
        case(
            "read_class",
            event("set_class_attribute", "1.0"),
            call(),
            event("set_class_attribute", "10.0"),
            call(),
        ),
    ),
    "pt_default_dtype_changed": (
        "pass",
        case(
            "make_ones literal_tensor",
            event("set_default_dtype", "float32"),
            call(),
            event("set_default_dtype", "float64"),
            call(),
        ),
    ),
    "pt_nograd_then_grad": (
        "pass",
        case("linear", call(1, grad_mode="no_grad"), call(1), backend="aot_eager"),
    ),
    "pt_int_list_second_call": (
        "pass",
        case("number_list", call(), call(numbers="3, 4"), backend="inductor"),
    ),
    "pt_param_requires_grad_toggled": (
        "pass",
        case(
            "linear count_calls linear",
            event("freeze_parameter", "toggle", 1),
            call(backward="sum"),
            event("freeze_parameter", "toggle", 1),
            call(backward="sum"),
            event("freeze_parameter", "toggle", 1),
            call(backward="sum"),
            event("freeze_parameter", "toggle", 1),
            call(backward="sum"),
            backend="aot_eager",
        ),
    ),
    "pt_export_after_module_compile": (
        "pass",
        case("linear", call(1, callee="in_place"), call(1, wrapper="export")),
    ),
    "pt_train_eval_toggle": (
        "pass",
        case(
            "batch_norm dropout",
            call(),
            call(mode="eval"),
            call(),
            event("submodule_mode", "eval"),
            call(mode="eval"),
            backend="aot_eager",
        ),
    ),
}
"""Name of the program -> its verdict on torch 2.13.0 and the case."""
