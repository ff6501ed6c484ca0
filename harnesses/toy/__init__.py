"""The toy target: a small lazy array compiler of our own, so that whole-pipeline tests are fast."""

from __future__ import annotations

from harnesses.base import Harness, Issue, Program, Runtime, Wanted
from harnesses.toy.dimensions import OWN_DIMENSIONS
from harnesses.toy.program import emit
from harnesses.toy.stand_ins import STAND_INS
from rondo.testcase import TestCase
from rondo.vocabulary import Setting, Vocabulary

_UNSUPPORTED = frozenset(
    {
        "requires_grad",
        "backward",
        "optimizer_step",
        "freeze_parameter",
        "tie_parameters",
        "grad_mode=inference",
        "dtype=bfloat16",
        "autocast=bfloat16",
        "callee=in_place",
    }
)
"""The toy framework has no gradients, no bfloat16 and no `model.compile()`."""


class ToyHarness(Harness):
    """The driver's side of the toy target."""

    name = "toy"
    package = "numpy"
    issue = Issue("toy.compile")
    modules = ("numpy",)
    layers = ("interpret", "fuse")
    stand_ins = STAND_INS
    vocabulary = Vocabulary(
        settings=(
            Setting("backend", ("interpret", "fuse"), (128, 128)),
            Setting("dynamic", ("automatic", "always", "never"), (192, 40, 24)),
            Setting("limit", ("8", "2", "1"), (176, 60, 20)),
            Setting("disk", ("on", "off"), (192, 64)),
        ),
        dimensions=OWN_DIMENSIONS,
        unsupported=_UNSUPPORTED,
    )

    def emit(self, case: TestCase) -> Program:
        """The program of a test case."""
        return emit(case, self.vocabulary)

    def repro(self, case: TestCase, wanted: Wanted) -> str:
        """A standalone program that shows the bug at step `exposing`."""
        from harnesses.toy.repro import repro

        return repro(self.emit(case), wanted)

    def runtime(self) -> Runtime:
        """The executing side."""
        from harnesses.toy.runtime import ToyRuntime

        return ToyRuntime()


HARNESS = ToyHarness()
