"""`rondo stats`: reading statistics, the tables, the growth curves."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from rondo import cli, growth
from rondo.errors import FormatError, RondoError, SetupError
from rondo.statistics import NAME, Signatures, Snapshot, read
from rondo.yields import Yield


def snapshot(run: str, seconds: float, cases: int) -> Snapshot:
    """A line of a campaign that has found nothing."""
    return Snapshot(
        run=run,
        target="toy",
        seconds=seconds,
        cases=cases,
        cases_per_second=cases / seconds,
        corpus=cases // 2,
        case_seconds=seconds * 0.9,
        child_seconds=seconds * 0.8,
        arm_seconds={"eager": 1.0, "retained": 20.0},
        verdicts={"pass": cases},
        findings={"stateful": 1},
        joined=2,
        features={"step": cases, "line": 10 * cases},
        collisions=0,
        signatures=Signatures(cases, 3, 40),
        traced=4,
        traced_share=0.04,
        traced_seconds=3.0,
        checked=9,
        unstable=1,
        check_seconds=2.0,
        proposed=20,
        accepted=15,
        restarts=1,
        mutators={"walk": Yield(cases, 30.0, 10.0, 0.25)},
        flags=("-seed=7", "-runs=9", "--mutator=structured", "--no-mcmc"),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A findings folder of two runs."""
    lines = [snapshot("one", 60, 100), snapshot("two", 60, 90), snapshot("one", 120, 150)]
    data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    (tmp_path / NAME).write_bytes(data)
    return tmp_path


def test_runs_are_told_apart_and_torn_lines_are_left_out(folder: Path) -> None:
    with (folder / NAME).open("ab") as file:
        file.write(b'{"run": "one", "tar\n' + msgspec.json.encode(snapshot("two", 9, 95))[:50])
    left_out: list[FormatError] = []
    runs = read(folder, left_out)
    assert {run: [s.cases for s in lines] for run, lines in runs.items()} == {
        "one": [100, 150],
        "two": [90],
    }
    assert [error.what.partition(" of ")[0] for error in left_out] == ["line 4", "line 5"]


def test_missing_or_foreign_statistics_are_named(tmp_path: Path) -> None:
    with pytest.raises(RondoError, match="cannot be read"):
        read(tmp_path)
    (tmp_path / NAME).write_bytes(b'{"cases": 3}\n')
    with pytest.raises(FormatError, match="line 1"):
        read(tmp_path)


def test_curves_start_at_nothing_and_are_drawn(folder: Path) -> None:
    runs = read(folder)
    hours, cases = growth.curve(runs["one"], lambda s: s.cases)
    assert cases == [0, 100, 150] and hours == pytest.approx([0, 1 / 60, 1 / 30])
    written = growth.draw(runs, folder / "plots")
    assert len(written) == len(growth.CURVES)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)


def test_names_of_runs_are_told_in_full_in_a_narrow_terminal(folder: Path) -> None:
    names = [f"2026-12-03T04:36:{second}Z-10595" for second in (25, 26, 27)]
    runs = dict.fromkeys(names, read(folder)["one"])
    told = io.StringIO()
    Console(file=told, width=80).print(growth.summary(runs))
    head = [line.split("┃") for line in told.getvalue().splitlines() if "┃" in line]
    assert ["".join(column).replace(" ", "") for column in zip(*head, strict=True)][2:5] == names


def test_without_matplotlib_the_message_says_what_to_do(folder: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SetupError, match="--no-plots"):
        growth.draw(read(folder), folder)


def command(monkeypatch, *arguments: object) -> int:
    """The exit code of `rondo stats`."""
    monkeypatch.setattr(sys, "argv", ["rondo", "stats", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code or 0


def test_the_command_prints_tables_or_json(folder: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert command(monkeypatch, folder, "--no-plots") == 0
    said = capsys.readouterr().out
    for words in ("150, 1.25/s", "75.0% accepted", "1 differed", "walk", "3.00", "-seed=7"):
        assert words in said
    assert not list(folder.glob("*.png"))
    assert command(monkeypatch, folder, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [line["cases"] for line in found] == [150, 90]


def test_the_runs_of_several_folders_stand_side_by_side(
    folder: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / NAME).write_bytes(msgspec.json.encode(snapshot("three", 60, 70)) + b"\n")
    assert command(monkeypatch, folder, other, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [line["run"] for line in found] == ["one", "two", "three"]
    assert command(monkeypatch, folder, other) == 0
    assert all((folder / f"growth-{name}.png").exists() for name in growth.CURVES)
    assert not list(other.glob("*.png"))


def test_a_folder_without_statistics_is_exit_code_2(tmp_path: Path, monkeypatch, capsys) -> None:
    assert command(monkeypatch, tmp_path) == 2
    assert "first line comes after a minute" in capsys.readouterr().err
