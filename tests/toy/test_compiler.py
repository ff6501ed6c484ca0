"""The toy compiler: its guards, caches and effects; and each planted fault, which must show."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harnesses.toy import HARNESS, compiler, faults
from rondo.executor.client import ForkServer
from rondo.executor.inprocess import InProcess
from rondo.executor.protocol import EAGER, RETAINED, Job, Outcome
from rondo.testcase import TestCase
from tests.cases import call, case, through_bytes
from tests.toy.shortest import SHORTEST

_PATCHED = tuple(
    f"harnesses.toy.{name}"
    for name in ("guards", "tracing", "state_tracing", "backends", "compiler")
)

DEADLY = {"crash", "hang", "memory"}


def job(given: TestCase, seconds: float = 120.0, megabytes: int = 4096) -> Job:
    """A case as eager and retained arms."""
    program = HARNESS.emit(through_bytes(given, HARNESS.vocabulary))
    raising = tuple(sorted(program.raising))
    return Job(program.text, (EAGER, RETAINED), raising, seconds, megabytes)


def differing(outcome: Outcome) -> list[int]:
    """The steps at which eager and retained show a user different things."""
    assert not outcome.trouble
    pairs = zip(outcome.arms["eager"], outcome.arms["retained"], strict=True)
    return [a.step for a, b in pairs if (a.observations, a.error) != (b.observations, b.error)]


@pytest.fixture
def planted() -> Iterator[Callable[[str], InProcess]]:
    """Plants a fault in this process; afterwards the compiler is as it was."""
    modules = [importlib.import_module(name) for name in _PATCHED]
    before = [(owner, dict(vars(owner))) for owner in modules]
    trace = sys.modules["harnesses.toy.state_tracing"].StateTrace
    own = dict(vars(trace))

    def plant(name: str) -> InProcess:
        return InProcess(HARNESS, (name,))

    yield plant
    for owner, names in before:
        vars(owner).update(names)
    for name in set(vars(trace)) - set(own):
        delattr(trace, name)
    for name, value in own.items():
        if vars(trace)[name] is not value:
            setattr(trace, name, value)
    compiler.reset()


def test_every_fault_has_its_shortest_sequence() -> None:
    assert set(SHORTEST) == set(faults.FAULTS)
    assert {n: len(c.steps) for n, c in SHORTEST.items()} == {
        n: f.steps for n, f in faults.FAULTS.items()
    }
    assert sum(f.steps >= 3 for f in faults.FAULTS.values()) >= 5


@pytest.mark.parametrize("backend", HARNESS.layers)
@pytest.mark.parametrize("name", SHORTEST)
def test_sound_compiler_agrees_with_eager(name: str, backend: str) -> None:
    given = SHORTEST[name]
    settings = {"backend": backend, **dict(given.settings)}
    if backend == HARNESS.layers[0]:
        del settings["backend"]
    outcome = InProcess(HARNESS).run(
        job(TestCase(given.model, tuple(settings.items()), given.steps))
    )
    assert differing(outcome) == []


@pytest.mark.parametrize("name", sorted(set(SHORTEST) - DEADLY))
def test_fault_shows_at_its_last_step_only(name: str, planted: Callable[[str], InProcess]) -> None:
    outcome = planted(name).run(job(SHORTEST[name]))
    assert differing(outcome) == [len(SHORTEST[name].steps) - 1]


@pytest.mark.parametrize("name", sorted(set(SHORTEST) - DEADLY))
def test_fault_needs_every_step(name: str, planted: Callable[[str], InProcess]) -> None:
    given, executor = SHORTEST[name], planted(name)
    for left_out in range(len(given.steps)):
        steps = given.steps[:left_out] + given.steps[left_out + 1 :]
        assert differing(executor.run(job(given.with_steps(steps)))) == []


@pytest.mark.parametrize("name", sorted(DEADLY))
def test_deadly_fault_costs_one_child(name: str) -> None:
    server = ForkServer("toy", (name,))
    try:
        seconds = 1.0 if name == "hang" else 60.0
        outcome = server.run(job(SHORTEST[name], seconds, megabytes=400))
        alive = server.run(job(case("relu", call())))
    finally:
        server.close()
    assert outcome.death is not None
    last = len(SHORTEST[name].steps) - 1
    assert (outcome.death.kind, outcome.death.arm, outcome.death.step) == (name, "retained", last)
    assert alive.death is None and differing(alive) == []


# --- the compiler by itself -----------------------------------------------------------------


class Scaled(compiler.Module):
    """Reads an attribute and a scalar, counts its calls, writes its input."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = 1.5
        self.calls = 0
        self.history: list[Any] = []

    def forward(self, x: Any, by: float = 2.0) -> Any:
        self.calls = self.calls + 1
        self.history.append(x.shape[0])
        x.add_(1)
        return x * self.gain * by


def behaviour(run: Callable[[], Any]) -> list[str]:
    """What the compiler logs while `run` runs."""
    compiler.LOG.clear()
    run()
    return list(compiler.LOG)


@pytest.fixture
def fresh() -> Iterator[None]:
    compiler.reset()
    yield
    compiler.reset()


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("backend", HARNESS.layers)
def test_a_size_that_changed_is_dynamic_but_not_0_or_1(backend: str) -> None:
    model = compiler.compile(compiler.Linear(4, 3, 0), backend, disk=False)
    log = [behaviour(lambda n=n: model(compiler.sample((n, 4), 0))) for n in (2, 2, 3, 7, 1, 0)]
    assert log == [
        ["compiled"],
        ["reused"],
        ["recompiled:shape", "dynamic:1"],
        ["reused"],
        ["recompiled:bound"],
        ["recompiled:shape"],
    ]


@pytest.mark.usefixtures("fresh")
def test_attribute_counters_and_floats_become_dynamic() -> None:
    model = Scaled()
    compiled = compiler.compile(model, disk=False)
    log = []
    for gain in (1.5, 2.5, 3.5, 4.5, 5.5, 6.5):
        model.gain = gain
        log += behaviour(lambda: compiled(compiler.sample((2, 4), 0)))
    assert log == ["compiled", *["recompiled:attribute"] * 3, "reused", "reused"]
    assert (model.calls, model.history) == (6, [2] * 6)


@pytest.mark.usefixtures("fresh")
def test_tracing_leaves_inputs_and_streams_to_the_program() -> None:
    x, model = compiler.sample((2, 4), 0), Scaled()
    before = x.data.copy()
    compiler.compile(model)(x)
    assert (x.data == before + 1).all() and model.calls == 1


@pytest.mark.usefixtures("fresh")
def test_over_the_limit_runs_eagerly() -> None:
    model = compiler.compile(compiler.Linear(4, 3, 0), limit=1)
    log = [behaviour(lambda n=n: model(compiler.sample((n, 4), 0))) for n in (2, 3, 2)]
    assert log == [["compiled"], ["fallback:limit"], ["reused"]]


@pytest.mark.usefixtures("fresh")
def test_disk_cache_outlives_memory() -> None:
    model = compiler.compile(compiler.Linear(4, 3, 0), "fuse")

    def run() -> None:
        model(compiler.sample((2, 4), 0))

    run()
    compiler.drop_memory()
    assert behaviour(run) == ["compiled", "disk_hit"]
    compiler.reset()
    assert behaviour(run) == ["compiled"]


@pytest.mark.usefixtures("fresh")
def test_graph_break_and_exception_run_eagerly() -> None:
    def branches(x: Any) -> Any:
        return x + 1 if x.sum() > 0 else x - 1

    compiled = compiler.compile(branches)
    ones = compiler.sample((2,), 0, "ones")
    assert behaviour(lambda: compiled(ones)) == ["compiled", "fallback:break"]
    assert (compiled(ones).data == 2).all()
    with pytest.raises(AttributeError):
        compiled(None)
