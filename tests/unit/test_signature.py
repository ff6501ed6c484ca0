"""The coarse reaction of the compiler to one step."""

from __future__ import annotations

import pytest

from rondo.signature import reaction


@pytest.mark.parametrize(
    ("events", "wanted"),
    [
        ((), "reused"),
        (("compiled",), "compiled"),
        (("resume compiled",), "reused"),
        (("resume recompiled:size",), "recompiled"),
        (("resume recompiled:value",), "reused"),
        (("resume compiled", "recompiled:value"), "recompiled"),
        (("compiled", "failed:Unsupported"), "failed"),
    ],
)
def test_the_entry_frame_says_what_the_compiler_did(events: tuple[str, ...], wanted: str) -> None:
    assert reaction(events) == wanted
