"""torch.compile with its eager, aot_eager and Inductor backends, on the CPU.

`emit` and the tables here import no torch; `runtime` does, in the fork server.
"""

from __future__ import annotations

from harnesses.base import Harness, Issue, OwnModel, Program, Runtime, Wanted
from harnesses.torch_inductor.emit import emit
from harnesses.torch_inductor.vocabulary import BACKENDS, VOCABULARY
from rondo.check.facts import Facts
from rondo.check.source import Source
from rondo.testcase import TestCase

_WRAPPED = {"TorchRuntimeError", "InternalTorchDynamoError", "BackendCompilerFailed"}

_ISSUE = Issue(
    "torch.compile",
    ("-m", "torch.utils.collect_env"),
    (
        ("🐛 Describe the bug", ("summary", "repro", "blame", "ablation", "comparison")),
        ("Error logs", ("logs",)),
        ("Versions", ("environment",)),
    ),
)
"""The fields of pytorch/pytorch's `.github/ISSUE_TEMPLATE/pt2-bug-report.yml`."""


class TorchInductor(Harness):
    """The driver's side of the torch.compile target."""

    name = "torch_inductor"
    package = "torch"
    modules = ("torch",)
    vocabulary = VOCABULARY
    layers = BACKENDS
    needs_compiler = True
    issue = _ISSUE

    def emit(self, case: TestCase) -> Program:
        return emit(case)

    def repro(self, case: TestCase, wanted: Wanted) -> str:
        from harnesses.torch_inductor.repro import repro

        return repro(emit(case), wanted)

    def probe(self, source: Source) -> Program:
        from harnesses.torch_inductor.own_model import probe_program

        return probe_program(source)

    def own_model(self, source: Source, facts: Facts) -> OwnModel:
        from harnesses.torch_inductor.own_model import TorchModel

        return TorchModel(source, facts)

    def runtime(self) -> Runtime:
        from harnesses.torch_inductor.runtime import TorchRuntime

        return TorchRuntime()

    def same_exception(self, eager: tuple[str, ...], compiled: tuple[str, ...]) -> bool:
        """Dynamo wraps what user code raises while it traces; a user sees an error either way."""
        return eager[:1] == compiled[:1] or compiled[0] in _WRAPPED

    def documented(self, error: tuple[str, ...], message: str) -> str:
        """Exceptions that torch documents: see `limits.py`."""
        from harnesses.torch_inductor.limits import documented

        return documented(error, message)


HARNESS = TorchInductor()
