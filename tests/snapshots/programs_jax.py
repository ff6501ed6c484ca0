"""JAX cases whose programs are kept as snapshots."""

from __future__ import annotations

from rondo.testcase import TestCase
from tests.cases import call, case, event

CASES: dict[str, TestCase] = {
    "hook": case("python_random", call(), event("set_flag", "gumbel"), call()),
    "overlap": case("mutate_then_add", call(4), call(4, alias="overlapping"), options="inline"),
    "three_scalars": case(
        "scale_scalar clamp_scalar",
        call(scalar_as="numpy"),
        call(scalar="2.5", scalar_as="array", ambient="x64"),
        call(scalar="3.5", transform="grad_x"),
        x64="on",
        cache="persistent",
    ),
    "transformer": case(
        "",
        call(length="7", transform="grad_params"),
        event("optimizer_step", "sgd"),
        call(thread="other", callee="copy", placement="sharded"),
        architecture="transformer",
    ),
    "state": case(
        "read_enum read_property call_closure call_method random_object add_optional sum_items",
        call(items="tuple"),
        event("set_enum_attribute", "B"),
        event("set_property", "3.5"),
        call(values="previous_tensors", optional="given", wrapper="donate"),
        call(structure="keyword", wrapper="ahead_of_time", callee="second"),
        call(wrapper="closure_twice", transform="jvp_x"),
        call(bad_call="bad_shape"),
    ),
}
