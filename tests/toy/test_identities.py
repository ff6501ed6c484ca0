"""One cause is one finding however it is found, and two causes never join."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from harnesses.toy import HARNESS
from rondo.confirm import Cold
from rondo.executor.client import ForkServer
from rondo.findings import Store
from rondo.identity import Identity, identify
from rondo.oracle import Oracle, Verdict
from rondo.shrink import Shrinker, Shrunk
from rondo.testcase import TestCase
from rondo.triage import DOUBTS, Triage, Triaged
from tests.toy.hidden import CODEC, hidden
from tests.toy.shortest import SHORTEST

DEADLY = {"crash", "hang", "memory"}
PAIR = ("closure_guard", "hook_guard")
CAMPAIGNS = 10
ONE = "closure_guard"
pytestmark = pytest.mark.timeout(900)


def identity(oracle: Oracle, fault: str) -> Identity:
    """The identity of a fault's shortest sequence."""
    case = CODEC.normal(SHORTEST[fault])
    verdict = oracle.judge(case)
    assert verdict.kind == "stateful", f"{fault}: {verdict}"
    return identify(case, verdict, HARNESS.name, HARNESS.vocabulary)


def test_no_two_faults_join() -> None:
    found = {}
    for fault in sorted(set(SHORTEST) - DEADLY):
        server = ForkServer("toy", (fault,))
        try:
            found[fault] = identity(Oracle(HARNESS, server), fault)
        finally:
            server.close()
    joined = [pair for pair in combinations(found, 2) if found[pair[0]] == found[pair[1]]]
    assert joined == [] and len(found) == 20


def test_ten_campaigns_with_one_fault_give_one_identity() -> None:
    server = ForkServer("toy", (ONE,))
    oracle, names = Oracle(HARNESS, server), []
    try:
        for seed in range(100):
            case = hidden(random.Random(seed), SHORTEST[ONE])
            verdict = oracle.judge(case)
            if verdict.kind != "stateful":
                continue
            shrunk = Shrinker(CODEC, oracle.recheck, case, verdict, 120).run()
            names.append(identify(shrunk.case, shrunk.verdict, "toy", HARNESS.vocabulary).name)
            if len(names) == CAMPAIGNS:
                break
    finally:
        server.close()
    assert len(names) == CAMPAIGNS and len(set(names)) == 1, names


def test_two_faults_in_one_run_give_two_findings(tmp_path: Path) -> None:
    server, rng = ForkServer("toy", PAIR), random.Random(3)
    oracle, store = Oracle(HARNESS, server), Store(tmp_path)
    triage = Triage(HARNESS, oracle, store, PAIR, say=lambda text: None)
    try:
        for number in range(40):
            case = hidden(rng, *(SHORTEST[fault] for fault in PAIR[:: 1 - 2 * (number % 2)]))
            verdict = oracle.judge(case, lambda found, case=case: triage.explains(case, found))
            if verdict.kind == "stateful":
                triage.alarm(case, verdict, number)
            if len(list(store.findings())) == len(PAIR):
                break
    finally:
        server.close()
    changes = sorted(tuple(finding.identity["changes"]) for finding in store.findings())
    assert changes == [("add_forward_hook",), ("set_closure_cell",)]


@pytest.mark.parametrize(("ends", "found"), [(0.0, 1), (math.inf, 2)])
def test_what_is_met_after_the_end_is_left_to_the_next_campaign(
    ends: float, found: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ForkServer("toy", PAIR)
    oracle, store = Oracle(HARNESS, server), Store(tmp_path)
    triage = Triage(HARNESS, oracle, store, PAIR, 0.0, say=lambda text: None, ends=ends)
    first, other = (SHORTEST[fault] for fault in PAIR)
    shrink = triage._shrink

    def meets_other(case: TestCase, verdict: Verdict) -> Shrunk:
        return replace(shrink(case, verdict), others=(other,) if case == first else ())

    monkeypatch.setattr(triage, "_shrink", meets_other)
    try:
        assert triage.alarm(first, oracle.judge(first), 0).outcome == "new"
    finally:
        server.close()
    assert len(list(store.findings())) == found
    left = [CODEC.decode(path.read_bytes()) for path in (tmp_path / "running").glob("*.bin")]
    assert left == [other] * (2 - found)


def test_what_is_not_confirmed_twice_is_not_tried_a_third_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ForkServer("toy", (ONE,))
    oracle, tried = Oracle(HARNESS, server), []
    triage = Triage(HARNESS, oracle, Store(tmp_path), (ONE,), say=lambda text: None)
    monkeypatch.setattr(triage, "_confirmed", lambda shrunk: tried.append(1) or ("", Cold(0, "")))
    try:
        verdict = oracle.judge(SHORTEST[ONE])
        dealt = [triage.alarm(SHORTEST[ONE], verdict, number) for number in range(4)]
    finally:
        server.close()
    assert dealt == [Triaged("kept", "unconfirmed")] * 4
    assert len(tried) == DOUBTS
    assert len(list((tmp_path / "alarms" / "unconfirmed").iterdir())) == 1
