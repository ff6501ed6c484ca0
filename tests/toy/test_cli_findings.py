"""The commands around findings, on the toy target: as a user types them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harnesses.toy import HARNESS
from rondo.errors import Interrupted
from rondo.executor.client import ForkServer
from rondo.findings import Store
from rondo.oracle import Oracle
from rondo.resume import run_shrink
from rondo.triage import Triage
from tests.cases import call, case
from tests.toy.campaigns import ROOT
from tests.toy.hidden import CODEC

pytestmark = pytest.mark.timeout(900)
FAULT = "size_guard"
FAILING = CODEC.normal(
    case("read_float size_arithmetic", call(), call(5), call(), call(8, mode="eval"), call())
)

SHORT = CODEC.normal(case("size_arithmetic", call(), call(3)))


def rondo(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and see that its exit code is as wanted."""
    command = [sys.executable, "-c", "from rondo.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A findings folder with one finding."""
    store = Store(tmp_path_factory.mktemp("findings"))
    server = ForkServer("toy", (FAULT,))
    try:
        oracle = Oracle(HARNESS, server)
        triage = Triage(HARNESS, oracle, store, (FAULT,), say=lambda text: None)
        assert triage.alarm(SHORT, oracle.judge(SHORT), 0).outcome == "new"
    finally:
        server.close()
    return store.folder


def test_shrink_validates_shrinks_and_goes_on_where_it_was(tmp_path: Path) -> None:
    file, small = tmp_path / "case.bin", tmp_path / "small.bin"
    file.write_bytes(CODEC.encode(FAILING))
    options = ("--target=toy", f"--output={small}", f"--findings={tmp_path / 'findings'}")
    passes = rondo("shrink", file, *options, code=2)
    assert "does not fail" in passes.stderr and not small.exists()
    stopped = rondo("shrink", file, *options, f"--fault={FAULT}", "--seconds=0.5")
    journals = list(tmp_path.glob("*.journal"))
    if "run it again to go on" in stopped.stdout:
        assert len(journals) == 1
    done = rondo("shrink", file, *options, f"--fault={FAULT}", "--json")
    told = json.loads(done.stdout)
    assert told["effect"]["steps"] == [5, 2] and told["effect"]["complete"]
    assert told["effect"]["deviations"][1] == 0
    assert not list(tmp_path.glob("*.journal"))
    assert len(CODEC.decode(small.read_bytes()).steps) == 2


def test_report_is_written_again_from_what_is_stored(found: Path) -> None:
    folder = next(iter(Store(found).findings()))
    path = found / folder.name / "report.md"
    before = path.read_text()
    path.unlink()
    rondo("report", found / folder.name)
    assert path.read_text() == before
    assert json.loads(rondo("report", found / folder.name, "--json").stdout)["text"] == before
    assert "holds no finding" in rondo("report", found, code=2).stderr


def test_the_finding_says_what_was_measured(found: Path) -> None:
    finding = next(iter(Store(found).findings()))
    assert finding.cold == (3, 3) and "the bug is there" in finding.output
    assert [t.outcome for t in finding.blame if t.change.startswith("without step 1")] == ["gone"]
    assert finding.ablation[0].outcome == "there"
    lines = (found / finding.name / "repro.py").read_text().splitlines()
    assert len(lines) < 60


def test_a_case_belongs_to_the_finding_in_whose_folder_it_lies(found: Path) -> None:
    finding = next(iter(Store(found).findings()))
    case = found / finding.name / "case.bin"
    assert "verdict: stateful" in rondo("run", case, code=1).stdout
    assert "toy" in rondo("show", case, "--program").stdout
    other = found.parent / "case.bin"
    other.write_bytes(case.read_bytes())
    assert "verdict: pass" in rondo("run", other, "--target", "toy").stdout


def test_a_case_that_cannot_be_judged_is_no_pass(tmp_path: Path) -> None:
    case = tmp_path / "case.bin"
    case.write_bytes(CODEC.encode(FAILING.with_steps(())))
    assert "verdict: invalid" in rondo("run", case, "--target", "toy", code=2).stdout


def test_a_case_of_a_checked_model_is_no_case_of_the_target(found: Path, tmp_path: Path) -> None:
    finding = next(iter(Store(found).findings()))
    shutil.copytree(found, tmp_path / "all")
    verdict = tmp_path / "all" / finding.name / "verdict.json"
    told = json.loads(verdict.read_text())
    verdict.write_text(json.dumps({**told, "target": "toy my.py:make"}))
    refused = rondo("run", verdict.with_name("case.bin"), code=2).stderr
    assert "around a model of yours, my.py:make" in refused and "repro.py" in refused
    report = json.loads(rondo("report", verdict.parent, "--json").stdout)
    assert "takes the model from `my.py:make`" in report["text"]


def test_shrink_says_first_that_it_cannot_write(tmp_path: Path) -> None:
    file = tmp_path / "case.bin"
    file.write_bytes(CODEC.encode(FAILING))
    options = ("--target=toy", f"--fault={FAULT}", "--output=/dev/null/small.bin")
    assert "cannot write /dev/null/small.bin" in rondo("shrink", file, *options, code=2).stderr


def test_an_interrupted_search_leaves_what_an_earlier_one_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rondo.resume.Shrinker.run", interrupted)
    small = tmp_path / "small.bin"
    small.write_bytes(b"earlier")
    with pytest.raises(Interrupted, match="shrinking was interrupted"):
        run_shrink(HARNESS, FAILING, small, (FAULT,), 5, tmp_path / "findings")
    assert small.read_bytes() == b"earlier"


def test_no_findings_is_said(tmp_path: Path) -> None:
    assert rondo("findings", tmp_path).stdout == f"no findings in {tmp_path}\n"


def test_findings_are_listed_by_symptom(found: Path) -> None:
    assert "wrong_result" in rondo("findings", found).stdout
    listed = json.loads(rondo("findings", found, "--json").stdout)
    assert [entry["target"] for entry in listed] == ["toy"]
    assert "no folder" in rondo("findings", found / "nowhere", code=2).stderr


def test_known_issues_are_listed_with_their_hits(found: Path) -> None:
    listed = json.loads(rondo("known", found, "--target", "torch_inductor", "--json").stdout)
    assert {entry["status"] for entry in listed} == {"not met"}
    assert all(entry["entry"]["url"].startswith("https://") for entry in listed)
    assert "pytorch#197860" in rondo("known").stdout
    assert "no issues of toy are known" in rondo("known", found).stdout


def test_a_damaged_finding_is_named_after_the_others(found: Path, tmp_path: Path) -> None:
    shutil.copytree(found, tmp_path / "all")
    (tmp_path / "all" / "wrong").mkdir()
    (tmp_path / "all" / "wrong" / "verdict.json").write_text("{")
    done = rondo("findings", tmp_path / "all", code=2)
    assert "wrong_result" in done.stdout
    assert "wrong/verdict.json is damaged" in done.stderr.replace("\n", "")


def test_shell_completion_is_offered() -> None:
    assert "--install-completion" in rondo("--help").stdout
