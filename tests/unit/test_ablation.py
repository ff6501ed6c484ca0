"""The ablation's statistics and its file of trials."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from rondo.cli_shared import run_script
from rondo.errors import RondoError

TOOL = Path(__file__).resolve().parents[2] / "tools" / "ablation.py"


@pytest.fixture(scope="module")
def ablation() -> ModuleType:
    """The tool as a module."""
    spec = importlib.util.spec_from_file_location("ablation", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["ablation"] = module
    spec.loader.exec_module(module)
    return module


def trials(ablation: ModuleType, arm: str, cases: list[int], limit: int = 500) -> list[object]:
    """Trials of one variant; those that come to the limit are censored."""
    return [
        ablation.Trial("code", "hook_guard", arm, seed, limit, n < limit, min(n, limit), 1.0)
        for seed, n in enumerate(cases, 1)
    ]


def test_rows_compare_with_random_sequences(ablation: ModuleType) -> None:
    full = trials(ablation, "full", [10, 20, 30, 40])
    plain = trials(ablation, "random", [100, 200, 25, 500])
    first, second = ablation.compared([*full, *plain])
    assert (first.arm, first.median, first.found, first.ratio) == ("full", 25, 4, 25 / 150)
    # Of 16 pairs, full needs fewer cases in all but (30, 25) and (40, 25).
    assert first.a12 == 14 / 16
    assert 0 < first.p < 0.2
    assert (second.found, second.ratio) == (3, None)


def test_a_median_that_is_censored_is_shown_as_such(ablation: ModuleType) -> None:
    full = trials(ablation, "full", [10, 900, 900])
    plain = trials(ablation, "random", [900, 900, 900])
    rows = list(ablation.compared([*full, *plain]))
    assert [row.found for row in rows] == [1, 0]
    assert rows[0].a12 == (3 + 6 / 2) / 9
    table = ablation.as_markdown(rows)
    assert "| full | 1/3 | ≥ 500 | ? |" in table


def test_a_median_between_a_found_and_a_censored_trial_is_a_bound(ablation: ModuleType) -> None:
    rows = list(ablation.compared(trials(ablation, "full", [27, 900])))
    assert "| full | 1/2 | ≥ 263.5 |" in ablation.as_markdown(rows)
    rows = list(ablation.compared(trials(ablation, "full", [27, 30, 900])))
    assert "| full | 2/3 | 30 |" in ablation.as_markdown(rows)


def test_a_ratio_of_a_censored_median_is_a_bound(ablation: ModuleType) -> None:
    found, missed = [10, 10, 10], [900, 900, 900]
    for cases, plain, shown in ((missed, found, "≥ 50.00"), (found, missed, "≤ 0.02")):
        both = [*trials(ablation, "full", cases), *trials(ablation, "random", plain)]
        assert f"| {shown} |" in ablation.as_markdown(list(ablation.compared(both)))


def test_trials_are_kept_and_none_runs_twice(
    ablation: ModuleType, tmp_path: Path, monkeypatch
) -> None:
    ran = []

    def run(code: str, fault: str, arm: str, seed: int, limit: int) -> object:
        ran.append(seed)
        return ablation.Trial(code, fault, arm, seed, limit, True, seed, 1.0)

    monkeypatch.setattr(ablation, "run", run)
    file = tmp_path / "trials.jsonl"
    wanted = [("code", "hook_guard", "full", seed, 500) for seed in (1, 2)]
    ablation.run_missing(file, wanted, 1)
    torn = msgspec.json.encode(ablation.Trial("code", "hook_guard", "full", 3, 500, True, 3, 1.0))
    with file.open("ab") as log:
        log.write(torn[:20])
    found = ablation.run_missing(file, [*wanted, ("new", "hook_guard", "full", 1, 500)], 1)
    assert len(ablation.kept(file)) == 3
    assert ran == [1, 2, 1] and [trial.cases for trial in found] == [1, 2, 1]


def test_a_line_that_is_no_trial_is_named(ablation: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "trials.jsonl"
    whole = msgspec.json.encode(ablation.Trial("code", "hook_guard", "full", 3, 500, True, 3, 1.0))
    file.write_bytes(whole + b"\n{broken\n")
    with pytest.raises(RondoError, match=r"line 2 of .*trials\.jsonl"):
        ablation.kept(file)
    assert file.read_bytes().startswith(whole)


def test_an_output_that_cannot_be_written_is_one_message(
    ablation: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr("sys.argv", ["ablation.py", "--output", str(tmp_path / "file")])
    with pytest.raises(SystemExit) as ended:
        run_script(ablation.main)
    assert ended.value.code == 2
    assert "file: File exists" in capsys.readouterr().err
