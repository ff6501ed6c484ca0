"""What corpora reach, by the tool that compares them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from harnesses.toy import HARNESS
from rondo.codec import Codec
from rondo.testcase import TestCase
from tests.cases import call, case
from tests.toy.campaigns import ROOT, corpus

ONE, MORE = case("relu", call()), case("branch_dtype", call(), call(dtype="float64"))


def told(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the tool on the toy."""
    command = [sys.executable, ROOT / "tools" / "corpus_coverage.py", "toy", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def kept(folder: Path, *cases: TestCase) -> Path:
    """A corpus of these cases."""
    for number, one in enumerate(cases):
        (folder / str(number)).write_bytes(Codec(HARNESS.vocabulary).encode(one))
    return folder


def test_a_corpus_that_does_more_reaches_lines_and_signatures_of_its_own(tmp_path: Path) -> None:
    small, large = kept(corpus(tmp_path, "small"), ONE), kept(corpus(tmp_path, "large"), ONE, MORE)
    done = told(small, large)
    assert done.returncode == 0, done.stderr
    rows = {cells[1]: cells[2:7] for line in done.stdout.splitlines() if (cells := line.split("|"))}
    (ran, lines, alone, shown, only), more = (
        list(map(int, rows[f" {folder} "])) for folder in (small, large)
    )
    assert (ran, alone, only) == (1, 0, 0) and lines > 0 < shown
    assert more == [2, lines + more[2], more[2], shown + more[4], more[4]]
    assert more[2] > 0 < more[4]


def test_a_folder_without_cases_is_refused(tmp_path: Path) -> None:
    done = told(corpus(tmp_path))
    assert done.returncode == 2
    assert "holds no case" in done.stderr and "Traceback" not in done.stderr
