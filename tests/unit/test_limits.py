"""Documented exceptions of torch are told from others by class and message."""

from __future__ import annotations

import pytest

from harnesses.torch_inductor import HARNESS

DONATED = "This backward function was compiled with non-empty donated buffers which requires ..."


@pytest.mark.parametrize(
    ("error", "message", "documented"),
    [
        (("Unsupported", "TorchDynamoException", "RuntimeError"), "graph break", True),
        (("FailOnRecompileLimitHit", "Exception"), "limit", True),
        (("RuntimeError",), DONATED, True),
        (("RuntimeError",), "setStorage: sizes are out of bounds", False),
        (("ValueError",), "graph break", False),
    ],
)
def test_documented(error: tuple[str, ...], message: str, documented: bool) -> None:
    page = HARNESS.documented(error, message)
    assert bool(page) == documented
    assert ("https://" in page) == documented


def test_wrapped_exceptions_are_the_same_to_a_user() -> None:
    assert HARNESS.same_exception(("ValueError",), ("ValueError",))
    assert HARNESS.same_exception(("RuntimeError",), ("TorchRuntimeError", "RuntimeError"))
    assert not HARNESS.same_exception(("ValueError",), ("KeyError",))
