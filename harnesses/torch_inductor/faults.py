"""Faults of this harness's own: canaries for the executor's limits and for the whole pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harnesses.base import Fault, allocate, segfault, sleep


def _on_recompile(act: Callable[[], None]) -> Callable[[], None]:
    """A fault that acts whenever Dynamo compiles a frame that it has compiled before."""

    def install() -> None:
        import torch._dynamo.convert_frame as convert_frame
        from torch._guards import CompileContext

        compile_frame = convert_frame._compile

        def patched(code: Any, *args: Any, **named: Any) -> Any:
            result = compile_frame(code, *args, **named)
            compile_id = named.get("compile_id") or CompileContext.current_compile_id()
            if compile_id is not None and (compile_id.frame_compile_id or 0) >= 1:
                act()
            return result

        convert_frame._compile = patched

    return install


FAULTS = (
    Fault("crash_on_recompile", _on_recompile(segfault), "a recompilation segfaults", 2),
    Fault("hang_on_recompile", _on_recompile(sleep), "a recompilation never ends", 2),
    Fault("memory_on_recompile", _on_recompile(allocate), "a recompilation eats memory", 2),
)
"""Faults of the torch_inductor target, beside any given as path.py:name."""
