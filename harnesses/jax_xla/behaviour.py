"""What JAX did in one step, from its own records, as short names without sizes, ids or paths.

JAX's monitoring events say that something was traced, lowered and compiled; its cache-miss
explanations say why a jitted function was traced again.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
from jax._src import monitoring

_EVENTS = {
    "/jax/core/compile/jaxpr_trace_duration": "traced",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lowered",
    "/jax/core/compile/backend_compile_duration": "built",
    "/jax/compilation_cache/cache_hits": "cache hit",
    "/jax/compilation_cache/cache_misses": "cache miss",
}
_MISS = "TRACING CACHE MISS"
_NEW = re.compile(r"never seen function:\s+(\S+)")
_FLAG = re.compile(r"\* (\w+) differs")
_REASONS = (
    ("weak_type", re.compile(r"weak_type=")),
    ("static", re.compile(r"Static\(val=")),
    ("structure", re.compile(r"different input pytree")),
    ("type", re.compile(r"different input types")),
    ("context", re.compile(r"Tracing context")),
)
_PROGRAM = "<rondo_case>"
_MANY = 4
_step: list[str] = []


class _Explanations(logging.Handler):
    """Takes JAX's cache-miss explanations, which it logs, of the program's own functions."""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if _MISS in text and _PROGRAM in text:
            _step.append(reason(text))


def reason(text: str) -> str:
    """What a cache-miss explanation says, as one short name."""
    if _NEW.search(text):
        return "compiled"
    if flag := _FLAG.search(text):
        return f"recompiled:{flag[1]}"
    return f"recompiled:{next((name for name, seen in _REASONS if seen.search(text)), 'other')}"


def listen() -> None:
    """Start to record; once a process."""
    jax.config.update("jax_explain_cache_misses", True)
    logger = logging.getLogger("jax._src.interpreters.partial_eval")
    logger.addHandler(_Explanations())
    logger.propagate = False
    monitoring.register_event_listener(_event)
    monitoring.register_event_duration_secs_listener(_event)


def _event(name: str, *_: Any, **details: Any) -> None:
    if name in _EVENTS:
        _step.append(_EVENTS[name])


@contextmanager
def observed() -> Iterator[list[str]]:
    """Collect the events of one step into a list that is filled when the context ends."""
    events: list[str] = []
    _step.clear()
    try:
        yield events
    finally:
        events += _summary(_step)
        _step.clear()


def _summary(step: list[str]) -> list[str]:
    """Each kind of event with how often it happened, up to a few; "reused" where nothing did."""
    counted = {name: step.count(name) for name in dict.fromkeys(step)}
    plain = [name for name in counted if name.startswith(("compiled", "recompiled"))]
    rest = [f"{name}:{min(n, _MANY)}" for name, n in counted.items() if name not in plain]
    return [*plain, *rest] or ["reused"]
