"""The search on the toy compiler: rare behaviour, repeatable behaviour, and what is admitted."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import pytest
from pytest import MonkeyPatch

from harnesses import jax_xla
from harnesses.toy import HARNESS
from rondo.admission import (
    FIRST_TRACED,
    LEAST_SHARE,
    LONG,
    MOST_TRACED,
    TRACED_SHARE,
    TRUSTED,
    Admission,
    Stability,
    Suspect,
    Suspicion,
)
from rondo.chains import Chains
from rondo.codec import MAX_BYTES, Codec
from rondo.compare import Difference
from rondo.executor.inprocess import InProcess
from rondo.generate import random_case
from rondo.models.operators import OPERATORS
from rondo.novelty import CANDIDATES
from rondo.options import parse
from rondo.oracle import Behaviour, Oracle, Verdict
from rondo.search import CHAIN, CLIMBS, Aim, Search
from rondo.signature import features, signatures
from rondo.testcase import Operator, TestCase
from rondo.yields import work
from tests.cases import call, case, event, through_bytes
from tests.visits import visits

CODEC = Codec(HARNESS.vocabulary)
WARM, ASKED = 120, 150


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    """The oracle of the toy target, in this process."""
    return Oracle(HARNESS, InProcess(HARNESS))


def shown(oracle: Oracle, data: bytes) -> tuple[str, ...]:
    """The signatures of a case."""
    return signatures(oracle.recheck(CODEC.decode(data)))


def test_the_same_case_shows_the_same_behaviour_again(oracle: Oracle) -> None:
    draw = random.Random(5)
    cases = [random_case(draw, CODEC) for _ in range(100)]
    first = [oracle.recheck(given) for given in cases]
    again = [oracle.recheck(given) for given in reversed(cases)][::-1]
    assert [v.behaviour for v in first] == [v.behaviour for v in again]
    pairs = zip(cases, first, again, strict=True)
    assert all(list(features(c, a)) == list(features(c, b)) for c, a, b in pairs)
    assert len({s for verdict in first for s in signatures(verdict)}) > 20


def test_chains_visit_rare_behaviour_more_than_uniform_choice(oracle: Oracle) -> None:
    found = [visits(oracle, CODEC, seed, WARM, ASKED) for seed in range(11, 15)]
    assert sum(v.chains for v in found) > 1.4 * sum(v.uniform for v in found) > 0


def test_proposals_that_never_run_are_forgotten(oracle: Oracle) -> None:
    rng = random.Random(2)
    chains = Chains(CODEC, lambda given: True)
    data = CODEC.encode(case("branch_batch", call(), call(3), call()))
    large = CODEC.decode(data)
    large = replace(large, model=replace(large.model, architecture="mlp"))
    chains.observe(large, CODEC.encode(large), ("compiled",), rng)
    assert not chains.propose(rng)
    chains.observe(CODEC.decode(data), data, shown(oracle, data), rng)
    lost, last = [chains.propose(rng) for _ in range(30)], chains.propose(rng)
    for asked in lost:
        if asked != last:
            chains.observe(CODEC.decode(asked), asked, ("compiled",), rng)
    assert chains.moves.proposed == 0
    chains.observe(CODEC.decode(last), last, ("compiled",), rng)
    chains.observe(CODEC.decode(last), last, ("compiled",), rng)
    assert chains.moves.proposed == 1


@pytest.mark.parametrize("flags", [["--no-mcmc"], []])
def test_behaviour_is_counted_always_and_proposed_for_by_the_chains_alone(
    flags: list[str], oracle: Oracle
) -> None:
    search = Search(CODEC, parse("toy", flags), lambda given: given)
    data, names = b"", set()
    for seed in range(40):
        data = search.mutant(data, MAX_BYTES, seed)
        assert CODEC.canonical(data) == data
        names.update(search.origin(data))
        given = CODEC.decode(data)
        search.learn(given, data, oracle.recheck(given), 1, 0.01)
    assert (CHAIN in names) == (not flags) and search.chains.counts.seen


def test_a_seed_leads_to_the_same_cases(oracle: Oracle) -> None:
    def played() -> list[bytes]:
        search = Search(CODEC, parse("toy", []), lambda given: given)
        made = [b""]
        for seed in range(40):
            made.append(search.mutant(made[-1], MAX_BYTES, seed))
            given = CODEC.decode(made[-1])
            verdict = oracle.recheck(given)
            search.learn(given, made[-1], verdict, len(verdict.behaviour), seed / 7)
        return made

    assert played() == played()


def test_half_of_the_work_goes_through_the_whole_compiler() -> None:
    search = Search(CODEC, parse("toy", []), lambda given: given)
    compiled = Verdict("pass", behaviour=((0, ("compiled",)),))
    done = {False: 0.0, True: 0.0}
    for seed in range(300):
        data = search.mutant(b"", MAX_BYTES, seed)
        given = CODEC.decode(data)
        search.learn(given, data, compiled, 0, 0.1)
        costly = HARNESS.vocabulary.costly(given.settings)
        done[costly] += work(compiled.behaviour, costly)
    assert 0.9 < done[True] / done[False] < 1.1
    drawn = [
        CODEC.decode(search._random(random.Random(k), b"", b"", MAX_BYTES).data) for k in range(99)
    ]
    assert sum(HARNESS.vocabulary.costly(one.settings) for one in drawn) > 30


def test_minimising_does_not_leave_for_another_layer(tmp_path: Path) -> None:
    file = tmp_path / "case"
    file.write_bytes(CODEC.encode(GIVEN))
    search = Search(CODEC, parse("toy", ["--no-mcmc", str(file)]), lambda given: given)
    compiled = Verdict("pass", behaviour=((0, ("compiled",)),))
    costly = 0
    for seed in range(100):
        search.learn(GIVEN, CODEC.encode(GIVEN), compiled, 0, 0.1)  # so that costly ones are owed
        made = CODEC.decode(search.mutant(file.read_bytes(), MAX_BYTES, seed))
        costly += HARNESS.vocabulary.costly(made.settings)
    assert costly < 60  # as often as it comes: 44; if half of the work were due there, 76


def test_the_whole_compiler_meets_most_operators() -> None:
    search, met = Search(CODEC, parse("toy", []), lambda given: given), set[str]()
    made = search._made(random.Random(1), b"", b"", lambda given: given, Aim(True, True))
    for one, _ in islice(made, 400):
        assert HARNESS.vocabulary.costly(one.settings) and CODEC.fitted(one) == one
        met |= {operator.kind for operator in one.model.operators}
    assert len(met) > 0.6 * len(OPERATORS)


@pytest.mark.parametrize("flags", [[], ["--no-novelty"]])
def test_some_cheap_cases_are_about_operators(flags: list[str], monkeypatch: MonkeyPatch) -> None:
    def met(share: float) -> int:
        """How many operators 200 cheap cases have on their layers, so many of them about these."""
        monkeypatch.setattr("rondo.search.VARIED_SHARE", share)
        search, found = Search(CODEC, parse("toy", flags), lambda given: given), set()
        monkeypatch.setattr(search, "_owing", lambda: False)
        for seed in range(200):
            data = search.mutant(b"", MAX_BYTES, seed)
            given = CODEC.decode(data)
            search.learn(given, data, Verdict("pass"), 0, 0.1)
            layer = HARNESS.vocabulary.layer(given.settings)
            found |= {(layer, operator.kind) for operator in given.model.operators}
        return len(found)

    assert (met(0.5) > 1.1 * met(0.0)) == (not flags)


def test_what_comes_after_a_difference_was_not_tried(oracle: Oracle) -> None:
    given = case("relu", call(), call(3), call(3, mode="eval"))
    passed = oracle.recheck(given)
    ended = replace(passed, kind="documented", difference=Difference(1, "exception", "", ""))
    for verdict, tried in ((passed, True), (ended, False)):
        search = Search(CODEC, parse("toy", []), lambda one: one)
        search.learn(given, CODEC.encode(given), verdict, 0, 0.01)
        assert search.tried.counts["relu", "batch"] == 1
        assert (search.tried.counts["relu", "mode"] == 1) == tried


def chosen(flags: list[str], behaviour: Behaviour) -> int:
    """How many of 150 mutants have one of four operators, which have shown so much new behaviour
    while all others have shown none."""
    search = Search(CODEC, parse("toy", ["--no-mcmc", *flags]), lambda one: one)
    names = list(OPERATORS)[:40]
    for number in range(10):
        for place, name in enumerate(names):
            shown = tuple((k, (f"{event}{number} {place}",)) for k, (event,) in behaviour)
            given = case(name, call(), call())
            verdict = Verdict("pass", behaviour=shown if place < 4 else ())
            search.learn(given, CODEC.encode(given), verdict, 0, 0.01)
    whole = case("relu", call(), backend=HARNESS.vocabulary.settings[0].values[-1])
    much = Verdict("pass", behaviour=(*((0, ("compiled",)) for _ in range(99)),))
    search.learn(whole, CODEC.encode(whole), much, 0, 0.01)  # so that none is owed
    search.tried.counts.clear()
    made = [CODEC.decode(search.mutant(b"", MAX_BYTES, seed)).model.parts for seed in range(150)]
    return sum(not parts.isdisjoint(names[:4]) for parts in made)


def test_operators_that_showed_new_behaviour_are_preferred() -> None:
    taught: Behaviour = ((0, ("seen ",)), (1, ("met ",)))
    assert chosen([], taught) > 1.5 * chosen([], ())
    assert chosen(["--no-signature"], taught) == chosen(["--no-signature"], ())


def test_a_target_of_one_layer_is_drawn_for_as_it_comes() -> None:
    codec = Codec(jax_xla.HARNESS.vocabulary)
    asked: list[int] = []

    def steered(given: TestCase) -> TestCase:
        asked.append(1)
        return given

    search = Search(codec, parse("toy", ["--no-mcmc"]), steered)
    for seed in range(20):
        search.mutant(b"", MAX_BYTES, seed)
    assert not codec.vocabulary.layered and len(asked) <= 20 * (CANDIDATES + CLIMBS)


# --- admission --------------------------------------------------------------------------------


@dataclass
class Reported:
    """Stands in for libFuzzer's counters."""

    seen: set[str] = field(default_factory=set)

    def unseen(self, names: Iterable[str]) -> list[str]:
        return [name for name in dict.fromkeys(names) if name not in self.seen]

    def report(self, names: Iterable[str]) -> None:
        self.seen.update(names)


GIVEN = through_bytes(
    case("read_float branch_batch", call(), event("set_float_attribute", "2.5"), call(3)),
    HARNESS.vocabulary,
)


def admitted(oracle: Oracle, verdict: Verdict, mutant: bool) -> tuple[Reported, Stability]:
    """What is reported of a run of GIVEN that ended in a verdict."""
    feedback, stability = Reported(), Stability()
    admission = Admission(feedback, oracle, stability, coverage=False)  # type: ignore[arg-type]
    admission.report(GIVEN, CODEC.encode(GIVEN), verdict, mutant)
    return feedback, stability


def test_what_shows_again_is_reported(oracle: Oracle) -> None:
    verdict = oracle.judge(GIVEN)
    feedback, stability = admitted(oracle, verdict, mutant=True)
    assert feedback.seen == set(features(GIVEN, verdict))
    assert (stability.checked, stability.unstable) == (1, 0)


def test_what_does_not_show_again_is_counted_and_not_reported(oracle: Oracle) -> None:
    verdict = oracle.judge(GIVEN)
    last = (verdict.behaviour[-1][0], ("happened:once",))
    shaky = Verdict("pass", behaviour=(*verdict.behaviour[:-1], last))
    feedback, stability = admitted(oracle, shaky, mutant=True)
    assert "step happened:once" in set(features(GIVEN, shaky)) - feedback.seen
    assert f"step {signatures(verdict)[0]}" in feedback.seen
    assert (stability.checked, stability.unstable, stability.stable_share) == (1, 1, 0.0)


def test_what_has_always_repeated_is_checked_by_sample_until_it_does_not() -> None:
    stability = Stability()
    cases = [bytes([0, number]) for number in range(200)]
    for one in cases[:TRUSTED]:
        assert stability.doubts(one)
        stability.check(repeats=True)
    assert 10 < sum(map(stability.doubts, cases)) < 50
    stability.check(repeats=False)
    assert all(map(stability.doubts, cases))
    assert (stability.checked, stability.unstable) == (TRUSTED + 1, 1)


def test_a_case_of_the_corpus_is_believed(oracle: Oracle) -> None:
    shaky = Verdict("pass", behaviour=((0, ("happened:once",)),))
    feedback, stability = admitted(oracle, shaky, mutant=False)
    assert "step happened:once" in feedback.seen and stability.checked == 0


RARE = ("step compiled", "change batch > recompiled", "step reused")


KNOWN = Suspect(GIVEN.model.architecture, operator=False, behaviour=False)


def known_suspicion() -> Suspicion:
    """What is suspicious once runs of GIVEN were traced that showed nothing new in the end."""
    suspicion = Suspicion(lambda case: case.model.architecture)
    trace(suspicion, GIVEN, 0, 100)
    return suspicion


def trace(suspicion: Suspicion, case: TestCase, new: int, times: int = 1) -> None:
    """Runs of a case are traced that show so many new lines each, and nothing else."""
    for _ in range(times):
        suspicion.learn(case, suspicion.suspect(case, []), new, 10_000, 0.1)


def interval(suspicion: Suspicion, case: TestCase, shown: Sequence[str], seconds: float) -> int:
    return suspicion.interval(suspicion.suspect(case, shown), seconds)


def through(layer: str, one: TestCase = GIVEN) -> TestCase:
    """The case on another layer, which is the architecture here."""
    return replace(one, model=replace(one.model, architecture=layer))


def test_what_is_new_is_suspicious_once() -> None:
    suspicion = known_suspicion()
    assert interval(suspicion, GIVEN, [], 0.1) == TRACED_SHARE
    for name in RARE:
        assert suspicion.suspect(GIVEN, [name]).behaviour
        assert not suspicion.suspect(GIVEN, [name, "pair compiled > reused"]).behaviour
    assert interval(suspicion, GIVEN, [], 4 * LONG) == 4 * TRACED_SHARE


def test_an_operator_is_suspicious_until_a_run_with_it_is_traced() -> None:
    suspicion = known_suspicion()
    grown = GIVEN.with_operators((Operator("relu"),))
    assert [interval(suspicion, grown, [], seconds) for seconds in (0.1, LONG, 8 * LONG)] == [
        1,
        1,
        2,
    ]
    before = suspicion.interval(replace(KNOWN, behaviour=True), 0.1)
    trace(suspicion, grown, 0)
    assert suspicion.interval(replace(KNOWN, behaviour=True), 0.1) == before
    assert interval(suspicion, grown, [], 0.1) == TRACED_SHARE


def test_an_operator_is_suspicious_again_on_another_layer() -> None:
    suspicion = known_suspicion()
    trace(suspicion, GIVEN.with_operators((Operator("relu"),)), 0)
    trace(suspicion, through("mlp"), 0)
    other = through("mlp", GIVEN.with_operators((Operator("relu"),)))
    assert suspicion.suspect(other, []) == Suspect("mlp", operator=True, behaviour=False)
    trace(suspicion, other, 0)
    assert suspicion.suspect(other, []) == Suspect("mlp", operator=False, behaviour=False)


def test_tracing_takes_a_fifth_of_the_time_after_the_first_runs() -> None:
    suspicion, traced = Suspicion(lambda case: case.model.architecture), []
    for number in range(1000):
        grown = through(f"layer {number}")  # every run has an operator that is new to its layer
        suspect = suspicion.suspect(grown, [])
        traced.append(suspicion.due(bytes([number % 256]), suspect, 1.0))
        if traced[-1]:
            suspicion.learn(grown, suspect, 100, 10_000, 1.0 if number < 500 else 3.0)
    assert all(traced[:FIRST_TRACED]) and 0.9 < 3.0 * sum(traced[500:]) / 500 / MOST_TRACED < 1.1


@pytest.mark.parametrize("operator", [True, False])
@pytest.mark.parametrize("behaviour", [True, False])
def test_runs_are_traced_less_the_less_runs_like_them_show(operator: bool, behaviour: bool) -> None:
    suspicion, found = known_suspicion(), []
    least = LEAST_SHARE if operator or behaviour else TRACED_SHARE
    alike, elsewhere = Suspect("x", operator, behaviour), Suspect("y", operator, behaviour)
    for _ in range(100):
        found.append(suspicion.interval(alike, 0.1))
        suspicion.learn(GIVEN, alike, 0, 10_000, 0.1)
    assert found[0] == 1 and found == sorted(found) and found[-1] == least
    assert suspicion.interval(elsewhere, 0.1) == 1
    for _ in range(20):
        suspicion.learn(GIVEN, alike, 500, 10_000, 0.1)
    assert suspicion.interval(alike, 0.1) == 1
