"""The contract between the core and a target.

`Harness` is the driver's side: tables and emission, no framework is imported. `Runtime` is the
executing side: it lives in the fork server (or in the driver with `--executor inprocess`) and is
the only place that imports the framework.
"""

from __future__ import annotations

import copy
import ctypes
import importlib
import importlib.util
import inspect
import linecache
import sys
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from rondo.check.facts import Facts
from rondo.check.source import Source
from rondo.errors import SetupError
from rondo.executor.protocol import Observation
from rondo.testcase import TestCase
from rondo.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Program:
    """An emitted test case.

    `text` is a module with `State(live)` and `STEPS`; `sentences[i]` says what step i does,
    `calls` are the indices of the steps that call the model and `raising` those of the calls that
    are meant to raise.
    """

    text: str
    sentences: tuple[str, ...]
    calls: tuple[int, ...]
    raising: frozenset[int]


@dataclass(frozen=True, slots=True)
class Shown:
    """Where a difference was seen, for a repro that looks there and nowhere else: the role and the
    path of the oracle's `Difference`, whether it is an array, and what differed."""

    role: str
    path: str
    array: bool
    detail: str

    @property
    def raises(self) -> str:
        """What tells the arms apart where the difference is an exception: that `any` is raised, or
        its `type`; the empty string for other differences."""
        if self.role != "exception":
            return ""
        told = " instead of " in self.detail and not self.detail.startswith("no exception")
        return "type" if told else "any"

    @property
    def died(self) -> bool:
        """Whether the difference is the death of the child."""
        return self.role in ("crash", "hang", "memory")

    @property
    def there(self) -> bool:
        """Whether both sides have something at this place."""
        return self.detail not in (MISSING, ADDED)


MISSING = "missing"
ADDED = "not there in eager execution"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a repro is to show: the step with the bug (0-based), the title, the seconds that an arm
    may take, and where the difference was seen. A repro that looks there alone can be shorter;
    without it everything is looked at."""

    exposing: int
    title: str
    seconds: int = 300
    shown: Shown | None = None


@dataclass(frozen=True, slots=True)
class Issue:
    """The form in which the framework's tracker wants a bug: `fields` are headings, each with the
    parts of `rondo.report` that stand below it; `collector` are the arguments of an interpreter
    that prints the environment; `compiler` is what the framework calls its compiler."""

    compiler: str = "the compiler"
    collector: tuple[str, ...] = ()
    fields: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("Description", ("summary", "repro", "blame", "ablation", "comparison")),
        ("Error logs", ("logs",)),
        ("Versions", ("versions",)),
    )


@dataclass(frozen=True, slots=True)
class Fault:
    """A bug planted on purpose: `install()` patches the framework in place, `steps` is the length
    of the shortest sequence of steps that shows it (0: not known)."""

    name: str
    install: Callable[[], None]
    says: str = ""
    steps: int = 0


class Harness(ABC):
    """The driver's side of a target."""

    name: str
    """The target's name: `fuzz/<name>.py`, `harnesses/<name>/`."""
    package: str
    """The framework's package on PyPI."""
    modules: tuple[str, ...]
    """What must be importable for the target to run."""
    vocabulary: Vocabulary
    layers: tuple[str, ...]
    """The backends from the cheapest to the whole compiler; the first setting's values."""
    stand_ins: frozenset[str] = frozenset()
    """Operators that the framework does not have, which another takes the place of."""
    needs_compiler: bool = False
    """Whether a C++ compiler must be there for part of its layers."""
    issue: Issue = Issue()
    """The form of the framework's issues."""
    eager_shares_process: bool = True
    """Whether eager execution leaves the compiler's state alone, so that both may share a child."""

    @property
    def server(self) -> str:
        """The target whose fork server plays its programs."""
        return self.name

    @property
    def folder(self) -> Path:
        """Where the harness and its data files are."""
        return Path(str(sys.modules[type(self).__module__].__file__)).parent

    @abstractmethod
    def emit(self, case: TestCase) -> Program:
        """The program of a test case; deterministic."""

    @abstractmethod
    def repro(self, case: TestCase, wanted: Wanted) -> str:
        """A standalone program of the framework and NumPy that shows the bug: exit 1 while it is
        there, 0 when it is gone, 2 when it cannot tell."""

    @abstractmethod
    def runtime(self) -> Runtime:
        """The executing side; importing the framework happens here."""

    def probe(self, source: Source) -> Program:
        """A program whose one step returns the `Facts` of a user's model, as JSON.

        Raises SetupError where the target does not take users' models.
        """
        raise SetupError(
            f"target {self.name} cannot check one's own model", "--target torch_inductor can"
        )

    def own_model(self, source: Source, facts: Facts) -> OwnModel:
        """A user's model as a target of its own; raises as `probe` does."""
        raise SetupError(f"target {self.name} cannot check one's own model")

    def same_exception(self, eager: tuple[str, ...], compiled: tuple[str, ...]) -> bool:
        """Whether two exceptions, given as class names along their MRO, are the same to a user."""
        return eager[:1] == compiled[:1]

    def documented(self, error: tuple[str, ...], message: str) -> str:
        """Why an exception of a compiled call is documented behaviour, or the empty string."""
        return ""


class OwnModel(Harness):
    """A user's model behind the interface of a target; its vocabulary is what may be varied."""

    eager_shares_process = False
    """A user's module may keep state in globals, so that each arm has a child of its own."""

    @abstractmethod
    def restricted(self, refused: frozenset[str]) -> OwnModel:
        """The same without what eager execution refuses: dimensions, events, or `name=value`."""


class Runtime(ABC):
    """The executing side of a target; one object in a process."""

    @abstractmethod
    def warm_up(self) -> None:
        """Import and compile what every child needs, then forget what was compiled."""

    @abstractmethod
    def reset(self) -> None:
        """Empty the compiler state, on disk too."""

    @abstractmethod
    def sources(self) -> tuple[Path, ...]:
        """The folders whose lines count as compiler coverage."""

    @abstractmethod
    def observe(self) -> AbstractContextManager[list[str]]:
        """Collect what the compiler does in one step: a list, filled at the end of the context,
        of short normalised events that hold no sizes, ids or paths."""

    @abstractmethod
    def observations(self, state: Any, returned: Mapping[str, Any] | None) -> list[Observation]:
        """What a user can see after a step: what it returned, and the program state."""

    def ambient(self) -> AbstractContextManager[None]:
        """Restore the framework's ambient modes at the end of an arm."""
        return _nothing()

    def uncompiled(self) -> AbstractContextManager[None]:
        """Entered around a step that must not be compiled, where the program's text alone does not
        see to that."""
        return _nothing()

    def widen(self, module: ModuleType) -> AbstractContextManager[None]:
        """Make the program compute in float64, for the reference."""
        return _nothing()

    def widen_state(self, state: Any) -> None:
        """Make a new state's model compute in float64."""

    def close(self) -> None:
        """Remove what the runtime keeps on disk."""

    def faults(self) -> Iterable[Fault]:
        """The target's own planted faults."""
        return ()

    def load(self, text: str, name: str) -> ModuleType:
        """Execute a program's text as a new module that tracebacks and `inspect` can read."""
        filename = f"<{name}>"
        module = ModuleType(name)
        module.__file__ = filename
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        sys.modules[name] = module
        exec(compile(text, filename, "exec"), module.__dict__)
        return module

    def install_fault(self, spec: str) -> None:
        """Install a fault by name, or by `path.py:name`.

        Raises SetupError when there is no such fault or it does not fit this framework.
        """
        install = _from_file(spec) if ":" in spec else self._own(spec)
        try:
            install()
        except Exception as error:
            raise SetupError(f"fault {spec} cannot be installed: {_placed(error)}") from error

    def _own(self, name: str) -> Callable[[], None]:
        known = {fault.name: fault.install for fault in self.faults()}
        if name not in known:
            raise SetupError(
                f"there is no fault {name!r}",
                f"known: {', '.join(sorted(known)) or 'none'}; or give path.py:name",
            )
        return known[name]


def documenting(table: Iterable[tuple[str, str, str]], error: tuple[str, ...], message: str) -> str:
    """The documentation that covers an exception, or the empty string: the first row of (class
    name, part of the message, page) that fits it."""
    return next((page for name, part, page in table if name in error and part in message), "")


def segfault() -> None:
    """For a fault: die of a signal."""
    ctypes.string_at(0)


def sleep() -> None:
    """For a fault: never come back."""
    time.sleep(100_000)


def allocate() -> None:
    """For a fault: take memory without end."""
    kept = []
    while True:
        kept.append(bytearray(64 << 20))


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def fault_file(path: Path) -> ModuleType:
    """The module of a file with faults.

    Raises SetupError for one that cannot be imported.
    """
    if not path.is_file():
        raise SetupError(f"there is no file {path}", "--fault takes NAME or path.py:NAME")
    found = importlib.util.spec_from_file_location("rondo_planted_faults", path)
    if found is None or found.loader is None:
        raise SetupError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    try:
        found.loader.exec_module(module)
    except Exception as error:
        raise SetupError(f"{path} cannot be imported: {_placed(error)}") from error
    return module


def _from_file(spec: str) -> Callable[[], None]:
    path, _, name = spec.rpartition(":")
    module = fault_file(Path(path))
    install = getattr(module, name, None)
    if not callable(install):
        raise SetupError(
            f"{path} has no fault {name!r}",
            f"it has: {', '.join(getattr(module, 'FAULTS', _functions(module)))}",
        )
    return install  # type: ignore[no-any-return]


def _functions(module: ModuleType) -> list[str]:
    own = (name for name, value in vars(module).items() if inspect.isfunction(value))
    return [name for name in own if not name.startswith("_")] or ["no function"]


def _placed(error: Exception) -> str:
    """An exception with its type and the line that raised it."""
    told = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):  # its message names the line already
        return told
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{told} ({last.filename}, line {last.lineno})"


def available() -> tuple[str, ...]:
    """The names of all targets."""
    import pkgutil

    import harnesses

    return tuple(sorted(m.name for m in pkgutil.iter_modules(harnesses.__path__) if m.ispkg))


def load(name: str, undocumented: bool = False) -> Harness:
    """The harness of a target; `undocumented` adds what the target documents not to honour.

    Raises SetupError for an unknown one.
    """
    if name not in available():
        raise SetupError(f"there is no target {name!r}", f"targets: {', '.join(available())}")
    harness: Harness = importlib.import_module(f"harnesses.{name}").HARNESS
    if undocumented:
        harness = copy.copy(harness)
        harness.vocabulary = harness.vocabulary.with_undocumented()
    return harness


def require(harness: Harness) -> None:
    """Raise SetupError when the target's framework is not installed."""
    missing = [m for m in harness.modules if importlib.util.find_spec(m) is None]
    if missing:
        raise SetupError(
            f"target {harness.name} needs {harness.package}, which is not installed",
            f"pip install -c constraints.txt '.[{harness.package}]'",
        )
