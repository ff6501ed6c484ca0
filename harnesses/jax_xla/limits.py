"""Exceptions of compiled calls that JAX documents, each with the page that says so."""

from __future__ import annotations

from harnesses.base import documenting

_DOCS = "https://docs.jax.dev/en/latest/"

_DOCUMENTED = (
    (
        "RuntimeError",
        "Array has been deleted",
        "a donated array must not be used again: " + _DOCS + "buffer_donation.html",
    ),
    (
        "ValueError",
        "Buffer has been deleted or donated",
        "a donated array must not be used again: " + _DOCS + "buffer_donation.html",
    ),
    (
        "JaxRuntimeError",
        "that was previously donated in the same call",
        "a donated array must not be used again: " + _DOCS + "buffer_donation.html",
    ),
    (
        "ValueError",
        "Received incompatible devices for jitted computation",
        "what a compiled function returns is committed to its devices: "
        + _DOCS
        + "faq.html#controlling-data-and-computation-placement-on-devices",
    ),
    (
        "ValueError",
        "Disable jit is not supported in the AOT path",
        "a function jitted while jit is disabled cannot be lowered: the message itself; "
        + _DOCS
        + "aot.html",
    ),
    (
        "FloatingPointError",
        "",
        "debug_nans checks what a compiled function returns: " + _DOCS + "debugging/flags.html",
    ),
)


def documented(error: tuple[str, ...], message: str) -> str:
    """The documentation that covers an exception, or the empty string."""
    return documenting(_DOCUMENTED, error, message)
