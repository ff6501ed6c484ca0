"""The whole pipeline on the toy target: from bytes to a confirmed, shrunk, written-up finding."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from harnesses.toy import HARNESS
from rondo import fuzzer, statistics
from rondo.codec import Codec
from rondo.errors import RondoError
from rondo.findings import Finding, Store
from rondo.libfuzzer import SHOWN
from rondo.memory import Memory
from rondo.mutate import MUTATORS
from rondo.options import parse
from rondo.oracle import Oracle
from rondo.search import CHAIN, CROSS
from tests.cases import call, case, through_bytes
from tests.toy.campaigns import ROOT, command, corpus, fuzz

CODEC = Codec(HARNESS.vocabulary)
FAILING = through_bytes(
    case("read_float size_arithmetic", call(), call(5), call(), call(8), call()), HARNESS.vocabulary
)


def only_finding(folder: Path) -> Finding:
    """The one finding of a folder."""
    found = list(Store(folder).findings())
    assert len(found) == 1, [one.name for one in found]
    return found[0]


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with one planted fault, run to its end."""
    folder = tmp_path_factory.mktemp("campaign")
    done = fuzz(
        folder,
        corpus(folder),
        "-runs=200",
        "-seed=2",
        "--fault=size_guard",
        "--findings=findings",
        "--log=log.jsonl",
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_a_planted_fault_becomes_one_confirmed_shrunk_finding(campaign: Path) -> None:
    finding = only_finding(campaign / "findings")
    assert finding.verdict == "stateful"
    assert finding.steps[1] == 2 < finding.steps[0]
    assert finding.cold == (3, 3)
    folder = campaign / "findings" / finding.name
    names = {path.name for path in folder.iterdir()}
    assert names >= {"case.bin", "case.json", "original.bin", "repro.py", "report.md"}
    report = (folder / "report.md").read_text()
    assert finding.detail in report and "**this step is wrong**" in report
    assert finding.faults == ("size_guard",) and "**Planted on purpose**: size_guard" in report
    assert "planted by size_guard" in (folder / "repro.py").read_text()


def test_the_repro_tells_whether_the_fault_is_there(campaign: Path) -> None:
    finding = only_finding(campaign / "findings")
    repro = campaign / "findings" / finding.name / "repro.py"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    plain = subprocess.run([sys.executable, repro], env=environment, capture_output=True)
    assert plain.returncode == 0, plain.stdout
    cold = [sys.executable, "-m", "rondo.cold", "toy", str(repro), "--fault=size_guard"]
    assert subprocess.run(cold, env=environment, capture_output=True).returncode == 1


def test_the_corpus_grows_and_every_file_of_it_is_canonical(campaign: Path) -> None:
    files = list((campaign / "corpus").iterdir())
    assert len(files) > 20
    for file in files:
        data = file.read_bytes()
        assert CODEC.canonical(data) == data


def test_the_log_counts_every_case_and_little_time_is_rondos_own(campaign: Path) -> None:
    records = [json.loads(line) for line in (campaign / "log.jsonl").read_text().splitlines()]
    assert [r["number"] for r in records] == list(range(len(records)))
    assert {r["outcome"] for r in records} >= {"", "new"}
    made = [r for r in records if r["mutators"]]
    assert len(made) > 0.9 * len(records)
    assert set(chain.from_iterable(r["mutators"] for r in made)) <= {*MUTATORS, CHAIN, CROSS}
    own = sum(r["seconds"] - r["child_seconds"] for r in records)
    assert own / sum(r["seconds"] for r in records) < 0.35


def test_a_seed_runs_once(tmp_path: Path) -> None:
    seeds = tmp_path / "seeds"
    shutil.copytree(ROOT / "corpus", seeds)
    count = len(list(seeds.iterdir()))
    done = fuzz(tmp_path, seeds, f"-runs={count + 40}", "-seed=1", "--log=log.jsonl")
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert count - 3 <= sum(not record["mutators"] for record in records) <= count + 3
    assert any(record["mutators"] for record in records)


def test_statistics_agree_with_the_log(campaign: Path) -> None:
    records = [json.loads(line) for line in (campaign / "log.jsonl").read_text().splitlines()]
    (lines,) = statistics.read(campaign / "findings").values()
    last = lines[-1]
    assert last.cases == len(records) == sum(last.verdicts.values())
    assert last.findings == {"stateful": 1} and last.unstable == 0
    assert last.checked > 20 and last.traced > 0
    # libFuzzer writes its last case after that case's end.
    assert len(list((campaign / "corpus").iterdir())) - (last.corpus or 0) in (0, 1)
    assert sum(one.features for one in last.mutators.values()) == pytest.approx(
        sum(r["features"] for r in records if r["mutators"])
    )
    assert last.proposed >= last.accepted > 0


def test_counts_of_signatures_are_carried_on(tmp_path: Path) -> None:
    arguments = [corpus(tmp_path), "--findings=findings", "--executor=inprocess"]
    totals = []
    for flags in (["-seed=1", "--no-mcmc"], ["-seed=2"], ["-seed=3"]):
        assert fuzz(tmp_path, *arguments, "-runs=120", *flags).returncode == 0
        totals.append(Memory(tmp_path / "findings", "toy").read().total())
    assert 0 < totals[0] < totals[1] < totals[2]
    runs = statistics.read(tmp_path / "findings").values()
    assert [run[-1].signatures.distinct > 0 for run in runs] == [True] * 3


@pytest.mark.parametrize("flags", [[], ["--mutator=bytes", "--no-signature"]])
def test_a_campaign_ends_after_so_many_cases(tmp_path: Path, flags: list[str]) -> None:
    (tmp_path / "empty").mkdir()
    given = ["empty", "--cases=25", "-seed=1", "--executor=inprocess", "--log=log", *flags]
    assert fuzz(tmp_path, *given).returncode == 0
    assert len((tmp_path / "log").read_bytes().splitlines()) == 25


def test_without_signatures_what_is_new_is_traced_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    given = ["empty", "--cases=60", "-seed=1", "--executor=inprocess", "--findings=findings"]
    assert fuzz(tmp_path, *given, "--no-signature", "--no-mcmc").returncode == 0
    (run,) = statistics.read(tmp_path / "findings").values()
    assert run[-1].traced > 5
    assert not run[-1].features.get("step")


def test_a_clean_compiler_yields_no_finding_and_no_alarm(tmp_path: Path) -> None:
    done = fuzz(tmp_path, corpus(tmp_path), "-runs=150", "-seed=2", "--findings=findings")
    assert done.returncode == 0
    assert not list(Store(tmp_path / "findings").findings())
    assert not (tmp_path / "findings" / "alarms").exists()


def test_a_crashing_child_becomes_a_finding_and_the_run_goes_on(tmp_path: Path) -> None:
    done = fuzz(
        tmp_path,
        corpus(tmp_path),
        "-runs=150",
        "-seed=1",
        "--fault=crash",
        "--mutator=random",
        "--shrink-seconds=10",
        "--findings=findings",
    )
    assert done.returncode == 0, done.stderr
    assert only_finding(tmp_path / "findings").symptom == "crash"
    cases = re.findall(r"\| (\d+) cases \|", done.stderr)
    assert int(cases[-1]) > 100


def test_a_killed_driver_leaves_no_child_and_the_next_run_carries_on(tmp_path: Path) -> None:
    arguments = [corpus(tmp_path), "-seed=3", "--findings=findings"]
    driver = subprocess.Popen(command(*arguments), cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while len(list((tmp_path / "corpus").iterdir())) < 5 and time.monotonic() < deadline:
            time.sleep(0.05)
        children = psutil.Process(driver.pid).children(recursive=True)
    finally:
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait()
    _, alive = psutil.wait_procs(children, timeout=5)
    assert children and not alive
    before = len(list((tmp_path / "corpus").iterdir()))
    left = list((tmp_path / "findings" / "running").glob("*.bin"))
    done = fuzz(tmp_path, "corpus", "-runs=100", "-seed=4", "--findings=findings")
    assert done.returncode == 0, done.stderr
    assert ("taking up a case" in done.stderr) == bool(left)
    assert len(list((tmp_path / "corpus").iterdir())) > before


def test_ctrl_c_ends_with_a_summary(tmp_path: Path) -> None:
    arguments = [corpus(tmp_path), "--findings=findings"]
    driver = subprocess.Popen(command(*arguments), cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list((tmp_path / "corpus").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    driver.send_signal(signal.SIGINT)
    _, said = driver.communicate(timeout=20)
    assert driver.returncode == 130
    assert "findings are in" in said and "Traceback" not in said


@pytest.mark.parametrize("mode", [["-fork=1"], ["-jobs=3", "-workers=1"]])
def test_ctrl_c_ends_all_drivers_of_libfuzzer(mode: list[str], tmp_path: Path) -> None:
    arguments = [*mode, corpus(tmp_path), "--findings=findings"]
    parent = subprocess.Popen(command(*arguments), cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("findings/running/*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    started = psutil.Process(parent.pid).children(recursive=True)
    parent.send_signal(signal.SIGINT)
    _, said = parent.communicate(timeout=40)
    assert parent.returncode == 130
    assert "rondo findings" in said and "Traceback" not in said
    _, alive = psutil.wait_procs(started, timeout=5)
    assert started and not [one for one in alive if one.status() != psutil.STATUS_ZOMBIE]


def test_a_full_disk_of_the_corpus_ends_the_campaign(tmp_path: Path, monkeypatch) -> None:
    options = parse("toy.py", [str(corpus(tmp_path))])
    fuzzer._check_room(options)
    full = SimpleNamespace(f_bavail=3, f_frsize=4096)
    monkeypatch.setattr("rondo.fuzzer.os.statvfs", lambda path: full)
    with pytest.raises(RondoError, match="corpus is full"):
        fuzzer._check_room(options)


def test_an_error_in_a_campaign_names_the_file_and_keeps_what_was_learned(tmp_path: Path) -> None:
    done = fuzz(tmp_path, corpus(tmp_path), "--cases=5", "--findings=findings", "--log=/dev/full")
    assert done.returncode == 2
    assert "cannot write /dev/full" in done.stderr and "Traceback" not in done.stderr
    (runs,) = statistics.read(tmp_path / "findings").values()
    assert [line.cases for line in runs] == [1]


def test_a_single_file_is_replayed_with_its_verdict_and_exit_code(tmp_path: Path) -> None:
    (tmp_path / "case.bin").write_bytes(CODEC.encode(FAILING))
    clean = fuzz(tmp_path, "case.bin")
    assert clean.returncode == 0 and "verdict: pass" in clean.stdout
    failing = fuzz(tmp_path, "case.bin", "--fault=size_guard")
    assert failing.returncode == 1 and "verdict: stateful wrong_result" in failing.stdout


def test_libfuzzer_minimises_a_failing_case(tmp_path: Path) -> None:
    (tmp_path / "case.bin").write_bytes(CODEC.encode(FAILING))
    fuzz(
        tmp_path,
        "-minimize_crash=1",
        "-max_total_time=15",
        "-exact_artifact_path=small.bin",
        "case.bin",
        "--fault=size_guard",
        "--findings=findings",
    )
    small = CODEC.decode((tmp_path / "small.bin").read_bytes())
    assert len(CODEC.encode(small)) < len(CODEC.encode(FAILING))
    (tmp_path / "small.bin").write_bytes(CODEC.encode(small))
    assert fuzz(tmp_path, "small.bin", "--fault=size_guard").returncode == 1


def test_libfuzzer_merges_a_corpus(campaign: Path, tmp_path: Path) -> None:
    merged = corpus(tmp_path, "merged")
    done = fuzz(tmp_path, "-merge=1", merged, campaign / "corpus", "--findings=findings")
    assert done.returncode == 0, done.stderr
    assert 5 < len(list(merged.iterdir())) <= len(list((campaign / "corpus").iterdir()))


@pytest.mark.parametrize("mode", [["-fork=1"], ["-jobs=2", "-workers=2"]])
def test_libfuzzers_own_processes_work(mode: list[str], tmp_path: Path) -> None:
    done = fuzz(tmp_path, *mode, corpus(tmp_path), "-max_total_time=8", "--findings=findings")
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "corpus").iterdir())) > 5


def test_the_inprocess_executor_gives_the_same_verdict(tmp_path: Path) -> None:
    (tmp_path / "case.bin").write_bytes(CODEC.encode(FAILING))
    forked = fuzz(tmp_path, "case.bin", "--fault=size_guard")
    inside = fuzz(tmp_path, "case.bin", "--fault=size_guard", "--executor=inprocess")
    assert inside.returncode == forked.returncode == 1
    assert inside.stdout.splitlines()[-4:] == forked.stdout.splitlines()[-4:]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--no-such-flag"], "unknown flag"),
        (["missing-folder"], "no file or folder"),
        (["torn.bin"], "middle of a record"),
        (["short.bin"], "truncated"),
        (["other.bin"], "not a test case of format"),
        (["good.bin", "--fault=no_such_fault"], "no fault"),
        (["good.bin", "--fault=nowhere.py:name"], "no file"),
        (["good.bin", "--fault=planted.py:name"], "planted.py, line 2)"),
        (["-runs=many"], "not a whole number"),
        (["--timeout=0"], "does not lie between"),
        (["-jobs=2", "a folder"], "no file or folder"),
        (["-jobs=2", "other"], "cannot start itself again"),
        (["--findings=good.bin"], "File exists"),
        (["other"], "not a test case"),
        (["."], "lies in the corpus"),
        (["empty.bin"], "is empty"),
        (["good.bin", "other"], "is a file and other a folder"),
        (["other", "-max_total_tme=600"], "no flag of libFuzzer"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(
    arguments: list[str], words: str, tmp_path: Path
) -> None:
    data = CODEC.encode(FAILING)
    (tmp_path / "good.bin").write_bytes(data)
    (tmp_path / "torn.bin").write_bytes(data[:-3])
    (tmp_path / "short.bin").write_bytes(data[:5])
    (tmp_path / "other.bin").write_bytes(b"\x7f" + data[1:])
    (tmp_path / "empty.bin").touch()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "case.bin").write_bytes(b"\x7f" + data[1:])
    (tmp_path / "planted.py").write_text("def name():\n    {}['missing']\n")
    if "-jobs=2" in arguments:
        arguments = [*arguments, "--findings=a&b"]
    done = fuzz(tmp_path, *arguments)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr and "Traceback" not in done.stderr


def test_a_damaged_finding_is_named_and_nothing_runs(campaign: Path, tmp_path: Path) -> None:
    name = only_finding(campaign / "findings").name
    folder = tmp_path / "findings" / name
    folder.mkdir(parents=True)
    (folder / "verdict.json").write_bytes(b'{"name": 1}')
    done = fuzz(tmp_path, corpus(tmp_path), "-runs=5", "--findings=findings")
    assert done.returncode == 2
    assert "verdict.json is damaged" in done.stderr and "Traceback" not in done.stderr


def test_cases_left_behind_are_taken_up_and_none_is_lost(tmp_path: Path) -> None:
    store = Store(tmp_path)
    running = tmp_path / "running"
    running.mkdir()
    for pid in (4194301, 4194302, 4194303):
        (running / f"{pid}.bin").write_bytes(CODEC.encode(FAILING))
    (running / "notes.bin").write_bytes(b"x")
    (running / "4194303-repro.py").write_text("")
    taken = store.left_behind()
    next(taken)
    assert len(list(running.glob("*.bin"))) == 4
    assert len(list(taken)) == 2
    assert [path.name for path in running.iterdir()] == ["notes.bin"]


@pytest.mark.parametrize("runs", [0, 40])
def test_a_campaign_of_so_many_runs_ends_once(campaign: Path, tmp_path: Path, runs: int) -> None:
    seeds = corpus(tmp_path)
    for file in sorted((campaign / "corpus").iterdir())[:20]:
        shutil.copy(file, tmp_path / seeds)
    given = len(list((tmp_path / seeds).iterdir()))
    done = fuzz(tmp_path, seeds, f"-runs={runs}", "-seed=1", "--findings=findings")
    assert done.returncode == 0 and done.stderr.count("findings are in") == 1, done.stderr
    ((line,),) = statistics.read(tmp_path / "findings").values()
    assert line.cases == max(given, runs - 1)  # libFuzzer's first input is empty


def test_libfuzzers_help_is_shown_and_lists_the_flags_that_are_taken(tmp_path: Path) -> None:
    done = fuzz(tmp_path, "-help=1", "--findings=findings")
    assert done.returncode == 0
    assert set(re.findall(r"^ ([a-z_0-9]+) *\t", done.stderr, re.MULTILINE)) == SHOWN


def test_full_mode_asks_the_reset_arm_where_state_was_right(toy_oracle: Oracle) -> None:
    assert toy_oracle.judge(FAILING).kind == "pass"
    full = Oracle(HARNESS, toy_oracle._executor, full=True)
    verdicts = [
        full.judge(
            through_bytes(case("read_float" + " tanh" * n, call(), call(3)), CODEC.vocabulary)
        )
        for n in range(4)
    ]
    assert {v.kind for v in verdicts} == {"pass"}
    assert {v.runs for v in verdicts} == {1, 2}
