"""What torch's compiler did in one step, from its own records, as short normalised names.

Sources: Dynamo's compilation metrics (one record a compiled frame) and its counters. Names hold no
sizes, ids or paths, so the same behaviour has the same name in every run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch._dynamo import utils

_GRAPH_BREAK = re.compile(r"gb(\d{4})")
_REASONS = (
    (re.compile(r"size mismatch"), "size"),
    (re.compile(r"stride mismatch"), "stride"),
    (re.compile(r"dtype mismatch"), "dtype"),
    (re.compile(r"rank mismatch"), "rank"),
    (re.compile(r"requires_grad mismatch"), "requires_grad"),
    (re.compile(r"dispatch key set mismatch"), "dispatch_keys"),
    (re.compile(r"Python type mismatch|expected type"), "tensor_type"),
    (re.compile(r"GLOBAL_STATE"), "global_state"),
    (re.compile(r"2 <= |0/1 specialization"), "zero_one"),
    (re.compile(r"size\(\)\[|stride\(\)\["), "symbolic"),
    (re.compile(r"___check_type_id"), "type"),
    (re.compile(r"___check_obj_id"), "identity"),
    (re.compile(r"len\("), "length"),
    (re.compile(r"training"), "training"),
    (re.compile(r"is not|is None|not None"), "none"),
    (re.compile(r"overlap|aliasing|is L\["), "alias"),
    (re.compile(r"G\["), "global"),
    (re.compile(r"__closure__|cell_contents"), "closure"),
    (re.compile(r"__defaults__"), "default"),
    (re.compile(r"L\['self'\]"), "attribute"),
    (re.compile(r"=="), "value"),
)
_COUNTED = {
    "inductor": ("fxgraph_cache_hit", "fxgraph_cache_miss", "fxgraph_cache_bypass"),
    "aot_autograd": ("autograd_cache_hit", "autograd_cache_miss", "autograd_cache_bypass"),
}


def recompile_kind(reason: str) -> str:
    """The kind of guard that failed, from Dynamo's recompile reason."""
    guard = reason.partition(": ")[2].partition("#")[0] or reason
    return next((name for pattern, name in _REASONS if pattern.search(guard)), "other")


def _break_kind(text: str) -> str:
    found = _GRAPH_BREAK.search(text)
    return f"gb{found[1]}" if found else re.sub(r"\W+", "_", text)[:30]


@contextmanager
def observed() -> Iterator[list[str]]:
    """Collect the events of one step into a list that is filled when the context ends."""
    events: list[str] = []
    utils.clear_compilation_metrics()
    before = {name: dict(counted) for name, counted in utils.counters.items()}
    try:
        yield events
    finally:
        events += _frames() + _counted(before)


def _frames() -> list[str]:
    found: list[str] = []
    for metric in utils.get_compilation_metrics():
        found += _frame(metric)
    return found or ["reused"]


def _frame(metric: Any) -> list[str]:
    resumed = "resume " if str(metric.co_name or "").startswith("torch_dynamo_resume") else ""
    found = []
    if metric.recompile_reason:
        found.append(f"{resumed}recompiled:{recompile_kind(metric.recompile_reason)}")
    elif metric.is_forward is False:
        found.append("backward")
    else:
        found.append(f"{resumed}compiled")
    if metric.fail_type:
        found.append(f"failed:{metric.fail_type}:{_break_kind(metric.fail_reason or '')}")
    if metric.graph_op_count == 0:
        found.append("empty graph")
    found += [f"restart:{_break_kind(reason)}" for reason in sorted(metric.restart_reasons or ())]
    if metric.shape_env_guard_count:
        found.append(f"shape guards:{min(metric.shape_env_guard_count, 4)}")
    return found


def _counted(before: dict[str, dict[str, int]]) -> list[str]:
    found = []
    for group, counts in sorted(utils.counters.items()):
        old = before.get(group, {})
        for name, count in sorted(counts.items()):
            if count <= old.get(name, 0):
                continue
            if group in ("graph_break", "unimplemented"):
                found.append(f"{group}:{_break_kind(name)}")
            elif name in _COUNTED.get(group, ()):
                found.append(name)
    return found
