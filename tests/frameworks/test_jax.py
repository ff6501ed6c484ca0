"""JAX: public bugs and the harness' own faults get their verdicts."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from harnesses.base import Wanted
from harnesses.jax_xla import HARNESS
from rondo.confirm import COLD_RUNS, cold
from rondo.errors import FormatError
from rondo.executor.protocol import EAGER, Job, Observation, Outcome
from rondo.oracle import Limits, Oracle
from rondo.testcase import TestCase
from tests.cases import call, case, event, through_bytes
from tests.frameworks.conftest import judging, serving
from tests.frameworks.public_jax_bugs import FAULTS, PUBLIC_BUGS

SHAPES_DIFFER = through_bytes(case("branch_batch", call(2), call(3)), HARNESS.vocabulary)
SHAPES_ALIKE = through_bytes(case("branch_batch", call(2), call(2)), HARNESS.vocabulary)


@pytest.mark.framework
@pytest.mark.parametrize("name", PUBLIC_BUGS)
def test_public_bug_gets_its_verdict(name: str, jax_oracle: Oracle) -> None:
    if importlib.metadata.version("jax") != "0.10.2":
        pytest.skip("the table is for JAX 0.10.2")
    expected, written = PUBLIC_BUGS[name]
    given = through_bytes(written, HARNESS.vocabulary)
    assert given == written
    verdict = jax_oracle.judge(given)
    assert verdict.kind == expected, verdict
    if expected == "stateful":
        assert verdict.difference is not None
        assert verdict.difference.step == len(given.steps) - 1


@pytest.mark.framework
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_shows_in_its_shortest_case_alone(fault: str, jax_oracle: Oracle) -> None:
    given = through_bytes(FAULTS[fault], HARNESS.vocabulary)
    assert given == FAULTS[fault]
    assert jax_oracle.judge(given).kind == "pass"
    with judging("jax_xla", fault) as faulty:
        verdict = faulty.judge(given)
        assert verdict.kind == "stateful", verdict
        assert verdict.difference is not None
        assert verdict.difference.step == len(given.steps) - 1
        last = given.with_steps(given.steps[-1:])
        assert faulty.judge(last).kind == "pass"


@pytest.mark.framework
@pytest.mark.parametrize(
    ("fault", "symptom"),
    [("crash_on_retrace", "crash"), ("hang_on_retrace", "hang"), ("memory_on_retrace", "memory")],
)
def test_a_dying_child_is_a_stateful_verdict(fault: str, symptom: str) -> None:
    with judging("jax_xla", fault, limits=Limits(seconds=8, megabytes=600)) as oracle:
        verdict = oracle.judge(SHAPES_DIFFER)
        assert (verdict.kind, verdict.symptom) == ("stateful", symptom), verdict
        assert verdict.difference is not None and verdict.difference.step == 1
        assert oracle.judge(SHAPES_ALIKE).kind == "pass"


@pytest.mark.framework
@pytest.mark.parametrize(
    ("fault", "given"),
    [("crash_on_retrace", SHAPES_DIFFER), ("disk_constants", FAULTS["disk_constants"])],
)
def test_a_finding_is_confirmed_in_cold_interpreters(
    fault: str, given: TestCase, tmp_path: Path
) -> None:
    with judging("jax_xla", fault) as oracle:
        difference = oracle.judge(given).difference
    assert difference is not None
    for shown in (difference.shown, None):
        text = HARNESS.repro(given, Wanted(difference.step, fault, 60, shown))
        assert cold(HARNESS.server, (fault,), text, tmp_path).confirmed == COLD_RUNS
        assert cold(HARNESS.server, (), text, tmp_path).confirmed == 0


@pytest.mark.framework
def test_same_case_gives_the_same_verdict_and_behaviour(jax_oracle: Oracle) -> None:
    for name in PUBLIC_BUGS:
        given = through_bytes(PUBLIC_BUGS[name][1], HARNESS.vocabulary)
        first, second = jax_oracle.judge(given), jax_oracle.judge(given)
        assert first.behaviour == second.behaviour
        assert first.difference == second.difference


@pytest.mark.framework
def test_kept_primitives_give_what_jax_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RONDO_CACHE", str(tmp_path))
    given = [through_bytes(written, HARNESS.vocabulary) for _, written in PUBLIC_BUGS.values()]
    programs = [HARNESS.emit(one) for one in given]
    jobs = [Job(p.text, (EAGER,), tuple(sorted(p.raising))) for p in programs]
    with serving("jax_xla") as server:
        empty = [_seen(server.run(job)) for job in jobs]
        kept = set(tmp_path.glob("jax-*/primitive-*"))
        filled = [_seen(server.run(job)) for job in jobs]
    assert len(kept) > 10
    assert set(tmp_path.glob("jax-*/primitive-*")) == kept
    assert empty == filled
    assert all(observations for case_seen in empty for observations in case_seen)


def _seen(outcome: Outcome) -> list[tuple[Observation, ...]]:
    return [record.observations for record in outcome.arms["eager"]]


@pytest.mark.framework
def test_undocumented_changes_come_only_when_asked_for() -> None:
    frozen = case("read_global", call(), event("set_global", "2.5"), call())
    with pytest.raises(FormatError, match="set_global"):
        through_bytes(frozen, HARNESS.vocabulary)
    assert through_bytes(frozen, HARNESS.vocabulary.with_undocumented()) == frozen
