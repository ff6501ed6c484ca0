"""jax.jit on the CPU, with its transforms, flags and caches.

`emit` and the tables here import no JAX; `runtime` does, in the fork server.
"""

from __future__ import annotations

from harnesses.base import Harness, Issue, Program, Runtime, Wanted
from harnesses.jax_xla.emit import emit
from harnesses.jax_xla.vocabulary import LAYERS, VOCABULARY
from rondo.testcase import TestCase

_ISSUE = Issue(
    "jax.jit",
    ("-c", "import jax; jax.print_environment_info()"),
    (
        ("Description", ("summary", "repro", "logs", "blame", "ablation", "comparison")),
        ("What jax/jaxlib version are you using?", ("versions",)),
        ("Which accelerator(s) are you using?", ("cpu",)),
        ("Additional System Info", ("environment",)),
    ),
)
"""The fields of jax-ml/jax's `.github/ISSUE_TEMPLATE/bug-report.yml`."""


class JaxXla(Harness):
    """The driver's side of the jax.jit target."""

    name = "jax_xla"
    package = "jax"
    modules = ("jax", "jaxlib")
    vocabulary = VOCABULARY
    layers = LAYERS
    eager_shares_process = False
    issue = _ISSUE

    def emit(self, case: TestCase) -> Program:
        return emit(case)

    def repro(self, case: TestCase, wanted: Wanted) -> str:
        from harnesses.jax_xla.repro import repro

        return repro(emit(case), wanted)

    def runtime(self) -> Runtime:
        from harnesses.jax_xla.runtime import JaxRuntime

        return JaxRuntime()

    def documented(self, error: tuple[str, ...], message: str) -> str:
        """Exceptions that JAX documents: see `limits.py`."""
        from harnesses.jax_xla.limits import documented

        return documented(error, message)


HARNESS = JaxXla()
