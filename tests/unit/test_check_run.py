"""A whole check without a framework: inspection, trials, sequences, a finding and the summary, on
an executor that plays programs by rule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rondo import triage
from rondo.check import show
from rondo.check.facts import Facts
from rondo.check.run import Checked, Wishes, check_on
from rondo.confirm import Cold
from rondo.errors import RondoError, SetupError
from rondo.executor.protocol import Arm, Death, Job, Observation, Outcome, StepRecord
from tests.unit.test_check import FACTS, SOURCE

Wrong = Callable[[Arm, int, str], bool]


class Playing:
    """An executor without processes: `wrong` says where an arm's step gives something else."""

    def __init__(self, wrong: Wrong = lambda *_: False, facts: Facts = FACTS) -> None:
        self._wrong = wrong
        self._facts = msgspec.json.encode(facts).decode()
        self.jobs = 0

    def run(self, job: Job) -> Outcome:
        self.jobs += 1
        if "examine(factory)" in job.text:
            return Outcome({"eager": [StepRecord("eager", 0, (_seen(repr(self._facts)),))]})
        bodies = job.text.split("def step_")[1:]
        return Outcome({arm.name: self._play(arm, bodies) for arm in job.arms})

    def run_both(self, first: Job, second: Job) -> tuple[Outcome, Outcome]:
        return self.run(first), self.run(second)

    def _play(self, arm: Arm, bodies: list[str]) -> list[StepRecord]:
        stop = len(bodies) if arm.stop_after < 0 else arm.stop_after + 1
        return [
            StepRecord(
                arm.name,
                i,
                (_seen("wrong" if self._wrong(arm, i, body) else "right"),),
                behaviour=("reused",),
            )
            for i, body in enumerate(bodies[:stop])
        ]


def _seen(text: str) -> Observation:
    return Observation("output", "out", "str", data=text.encode())


def stale_scalar(arm: Arm, index: int, body: str) -> bool:
    """A kept artifact is reused for another scalar."""
    return arm.name == "retained" and index > 0 and "k = 3.0" in body


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Checked]:
    """Check on an executor; cold interpreters agree with it."""
    monkeypatch.setattr(triage, "run_cold", lambda *_: Cold(3, "the bug is there"))

    def run(server: Any, **wishes: Any) -> Checked:
        asked = Wishes(**{"seconds": 20.0, "findings": tmp_path, **wishes})
        return check_on(server, SOURCE, asked, print, print)

    return run


class Impatient(Playing):
    """Somebody presses Ctrl-C after so many jobs, or at the first finding."""

    def __init__(
        self, wrong: Wrong = lambda *_: False, jobs: int = 120, findings: str = ""
    ) -> None:
        super().__init__(wrong)
        self._most = jobs
        self._findings = findings

    def run(self, job: Job) -> Outcome:
        found = self._findings and any(Path(self._findings).glob("*/verdict.json"))
        if found or self.jobs == self._most:
            raise KeyboardInterrupt
        return super().run(job)


def test_no_difference_says_what_was_covered(checked: Callable[..., Checked]) -> None:
    result = checked(Impatient())
    assert result.interrupted and result.judged == result.verdicts["pass"] > 20
    assert show.headline(result).endswith("no difference")
    names = {name for name, _, _ in show.covered(result)}
    assert {"scalar", "x.shape[0]", "set_attribute", "backward", "alias"} <= names
    record = msgspec.json.decode(msgspec.json.encode(show.as_record(result, Path("findings"))))
    assert record["interrupted"] and record["sequences"] == result.verdicts.total()


def test_a_stateful_difference_is_shrunk_told_and_joined(
    checked: Callable[..., Checked], tmp_path: Path
) -> None:
    result = checked(Impatient(stale_scalar, 1000, str(tmp_path)))
    (found,) = result.findings
    assert found.sentences == ("Call with the factory's inputs, reordered", "Call: k 3.0")
    told = "\n".join(show.told(result, tmp_path))
    assert "1 stateful difference" in told and "step 2 of 2 is wrong: wrong_result" in told
    repro = tmp_path / found.name / "repro.py"
    assert f"python {repro}" in told
    assert "module.make()" in repro.read_text() and "def step_3" not in repro.read_text()
    again = checked(Impatient(stale_scalar))
    assert [f.name for f in again.findings] == [found.name]


def test_a_difference_that_is_not_confirmed_is_no_pass(
    checked: Callable[..., Checked], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> Cold:
        raise KeyboardInterrupt

    monkeypatch.setattr(triage, "run_cold", interrupted)
    result = checked(Playing(stale_scalar))
    assert result.interrupted and not result.findings and result.unconfirmed == 1
    assert "1 stateful difference, not confirmed" in show.headline(result)


def test_a_folder_that_cannot_be_written_is_told_first(checked: Callable[..., Checked]) -> None:
    server = Playing()
    with pytest.raises(RondoError, match="cannot write /dev/null/x/running"):
        checked(server, findings=Path("/dev/null/x"))


def test_a_fresh_compile_that_is_wrong_is_no_finding(checked: Callable[..., Checked]) -> None:
    compiled = {"retained", "reset", "rewound"}
    wrong = Playing(lambda arm, i, body: arm.name in compiled and "k = 4.0" in body)
    result = checked(wrong, seconds=2.0)
    assert not result.findings and result.verdicts["stateless"] > 0
    assert all(text.startswith("a fresh compile is wrong too") for text in result.others)
    assert "no stateful difference" in show.headline(result)


def test_a_model_that_never_can_be_judged_ends_the_check(checked: Callable[..., Checked]) -> None:
    shaky = Playing(lambda arm, i, body: arm.name in ("retained", "eager again"))
    result = checked(shaky)
    assert result.judged == 0 and result.verdicts["nondeterministic"] == 4
    assert "none of which can be judged" in show.headline(result)
    assert all("not judgeable" in text for text in result.others)


def test_a_hang_that_does_not_come_back_is_told_as_too_little_time(
    checked: Callable[..., Checked],
) -> None:
    class SlowOnce(Playing):
        """The retained arm takes too long, but not when it is asked again."""

        def run(self, job: Job) -> Outcome:
            outcome = super().run(job)
            if job.arms[-1].name != "retained" or job.arms[-1].stop_after >= 0:
                return outcome
            died = Death("hang", "no end within 60 s", "retained", 0)
            return msgspec.structs.replace(
                outcome, arms={**outcome.arms, "retained": []}, death=died
            )

    result = checked(SlowOnce())
    assert result.judged == 0 and not result.findings
    assert all("took too long but once: --timeout" in text for text in result.others)
    assert result.others


def test_what_inspection_says_is_told(checked: Callable[..., Checked]) -> None:
    trouble = Playing(
        facts=Facts(trouble="the factory raises ValueError: no", trace="line 1\nmake")
    )
    with pytest.raises(SetupError, match=r"mine:make: the factory raises ValueError: no\n  line 1"):
        checked(trouble)


def test_a_death_of_the_inspection_names_the_limit(checked: Callable[..., Checked]) -> None:
    class Dying(Playing):
        def run(self, job: Job) -> Outcome:
            return Outcome({}, Death("memory", "more than 9 MB", "eager", 0))

    with pytest.raises(SetupError, match=r"more than 9 MB\n  --memory"):
        checked(Dying())


def test_an_unknown_backend_is_told(checked: Callable[..., Checked]) -> None:
    with pytest.raises(RondoError, match=r"no backend 'nonsense'\n  backends: eager, aot_eager"):
        checked(Playing(), layers=("nonsense",))
