"""Torch cases whose programs are kept as snapshots."""

from __future__ import annotations

from rondo.testcase import TestCase
from tests.cases import call, case, event

CASES: dict[str, TestCase] = {
    "hook": case("call_submodule", call(), event("add_forward_hook", "submodule"), call()),
    "overlap": case(
        "mutate_input add_tensor", call(4), call(4, alias="overlapping"), backend="aot_eager"
    ),
    "three_scalars": case(
        "scale_scalar clamp_scalar",
        call(profile="large"),
        call(profile="large", scalar="2.5"),
        call(profile="large", scalar="3.5"),
        backend="inductor",
        dynamic="True",
        option="specialize_int",
    ),
    "transformer": case(
        "",
        call(length="7", requires_grad="yes", backward="sum"),
        event("freeze_parameter", "toggle"),
        call(grad_mode="no_grad", thread="other", callee="copy"),
        architecture="transformer",
    ),
    "state": case(
        "read_enum read_property call_closure call_method random_object add_optional sum_items",
        call(items="tuple"),
        event("set_enum_attribute", "B"),
        event("set_closure_cell", "10.0"),
        call(values="previous_tensors", optional="given"),
        call(structure="keyword", wrapper="export"),
        call(bad_call="bad_shape"),
    ),
}
