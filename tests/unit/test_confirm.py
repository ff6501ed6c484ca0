"""Cold interpreters: a repro runs as a user would run it, and each one's exit code counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondo.confirm import COLD_RUNS, THERE, cold, run_repro

SHOWS = (
    f'import sys\nprint(sys.argv[1:])\nprint("{THERE}")\nsys.exit(1 if len(sys.argv) == 1 else 2)\n'
)


@pytest.mark.parametrize(
    ("text", "confirmed", "output"),
    [
        (SHOWS, COLD_RUNS, f"[]\n{THERE}\n"),
        ("import sys\nsys.exit(0)\n", 0, ""),
        ("1 / 0\n", 0, ""),
    ],
)
def test_a_repro_runs_as_a_user_runs_it(
    text: str, confirmed: int, output: str, tmp_path: Path
) -> None:
    found = cold("toy", (), text, tmp_path)
    assert (found.confirmed, found.output) == (confirmed, output)
    assert not list(tmp_path.iterdir())


def test_an_error_of_the_repro_itself_confirms_nothing(tmp_path: Path) -> None:
    broken = tmp_path / "repro.py"
    broken.write_text("undefined\n")
    assert run_repro(broken) == 2
