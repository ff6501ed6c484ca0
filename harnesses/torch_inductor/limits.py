"""Exceptions of compiled calls that torch documents, each with the page that says so."""

from __future__ import annotations

from harnesses.base import documenting

_DOCS = "https://docs.pytorch.org/docs/stable/"

_DOCUMENTED = (
    (
        "Unsupported",
        "",
        "fullgraph=True raises at a graph break: " + _DOCS + "generated/torch.compile.html",
    ),
    (
        "FailOnRecompileLimitHit",
        "",
        "fullgraph=True raises at the recompile limit: "
        + _DOCS
        + "user_guide/torch_compiler/compile/programming_model.recompilation.html",
    ),
    (
        "RuntimeError",
        "compiled with non-empty donated buffers",
        "a compiled backward wants the same retain_graph in all calls, as the message says: "
        "https://github.com/pytorch/pytorch/pull/130580",
    ),
    (
        "ConstraintViolationError",
        "",
        "mark_dynamic raises when the code specialises the dimension: "
        + _DOCS
        + "user_guide/torch_compiler/torch.compiler_dynamic_shapes.html",
    ),
)


def documented(error: tuple[str, ...], message: str) -> str:
    """The documentation that covers an exception, or the empty string."""
    return documenting(_DOCUMENTED, error, message)
