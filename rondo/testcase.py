"""The value types of a test case: a model, a compile configuration and an invocation sequence.

Everything is frozen, hashable and framework-neutral; names come from the target's vocabulary and
from `rondo.models`. `rondo.codec` turns test cases into bytes and back, a harness's `emit` turns
them into programs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Operator:
    """One record of a model that grows operator by operator; `a`, `b` and `c` are 0 to 255."""

    kind: str
    a: int = 0
    b: int = 0
    c: int = 0


@dataclass(frozen=True, slots=True)
class SourceTest:
    """One of the framework's own tests of an operator, as a model on a float input of `shape`
    ("B" for the batch); what it owns `carries` the traits that events act on."""

    name: str
    shape: tuple[int | str, ...]
    carries: tuple[str, ...] = ()


NOTHING = "nothing"
"""The architecture of a model that is made of operators alone."""


@dataclass(frozen=True, slots=True)
class Model:
    """An architecture with its size knobs (0 to 15 each), and operators appended to it; or, in
    place of the architecture, one of the framework's own tests, which comes after them."""

    architecture: str = NOTHING
    width: int = 0
    depth: int = 0
    seed: int = 0
    operators: tuple[Operator, ...] = ()
    test: SourceTest | None = None

    @property
    def start(self) -> str:
        """The name of what the operators are appended to, or come before."""
        return self.test.name if self.test else self.architecture

    @property
    def parts(self) -> frozenset[str]:
        """The kinds of its operators, and its architecture."""
        return frozenset({self.architecture, *(operator.kind for operator in self.operators)})


@dataclass(frozen=True, slots=True)
class Deviation:
    """`dimension` has `value` instead of its plain value."""

    dimension: str
    value: str


@dataclass(frozen=True, slots=True)
class Call:
    """Call the compiled model with a batch of `batch` rows, plain but for at most 3 deviations."""

    batch: int = 2
    deviations: tuple[Deviation, ...] = ()

    def get(self, dimension: str, plain: str) -> str:
        """This call's value in a dimension, or `plain`."""
        return next((d.value for d in self.deviations if d.dimension == dimension), plain)


@dataclass(frozen=True, slots=True)
class Event:
    """Change program state between calls: `kind` with `value`, on the `target`-th carrier."""

    kind: str
    target: int = 0
    value: str = "default"


Step = Call | Event


@dataclass(frozen=True, slots=True)
class TestCase:
    """A model, the settings that differ from the plainest, and the steps in order."""

    __test__ = False

    model: Model = field(default_factory=Model)
    settings: tuple[tuple[str, str], ...] = ()
    steps: tuple[Step, ...] = ()

    def setting(self, name: str, plain: str) -> str:
        """The value of a setting, or `plain` where the case does not name it."""
        return dict(self.settings).get(name, plain)

    def with_steps(self, steps: tuple[Step, ...]) -> TestCase:
        """The same model and configuration with other steps."""
        return replace(self, steps=steps)

    def with_operators(self, operators: tuple[Operator, ...]) -> TestCase:
        """The same case with other operators appended to its architecture."""
        return replace(self, model=replace(self.model, operators=operators))

    @property
    def calls(self) -> int:
        """How many of the steps are calls."""
        return sum(isinstance(step, Call) for step in self.steps)
