"""The command line of the fuzz scripts, and how libFuzzer's own children get it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rondo.errors import RondoError
from rondo.options import FORK_JOB_SECONDS, HANDED_ON, flags_of, handed_on, parse

SCRIPT = "fuzz/toy.py"


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("corpus").mkdir()
    return "corpus"


def test_what_is_handed_on_means_the_same(corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = ["--no-mcmc", "--no-coverage", "--undocumented", "--mutator=random", "--memory=512"]
    first = parse(SCRIPT, [corpus, "-runs=7", "-max_total_time=9", "--log=log", *flags])
    command, *rest = handed_on(Path(SCRIPT), first)
    assert command.endswith("fuzz/toy.py")
    assert not any(argument.startswith("--") for argument in rest)
    monkeypatch.setenv(HANDED_ON, json.dumps(flags_of(first)))
    again = parse(SCRIPT, rest)
    assert (again.mcmc, again.coverage, again.undocumented) == (False, False, True)
    assert (again.mutator, again.megabytes, again.findings) == ("random", 512, first.findings)
    assert (again.flag("runs"), again.total_seconds) == ("7", 9)
    assert again.positional == (corpus,)


def test_a_job_of_fork_lives_longer_than_warming_takes(corpus: str) -> None:
    job = ["-max_total_time=100", "-max_total_time=1", "-stop_file=stop"]
    assert parse(SCRIPT, [corpus, *job]).total_seconds == FORK_JOB_SECONDS
    assert parse(SCRIPT, [corpus, "-max_total_time=1"]).total_seconds == 1
    assert parse(SCRIPT, [corpus]).total_seconds == 0
    command = handed_on(Path(SCRIPT), parse(SCRIPT, [corpus, *job]))
    limits = [a for a in command if a.startswith("-max_total_time=")]
    assert limits == [f"-max_total_time={FORK_JOB_SECONDS}"]


@pytest.mark.parametrize(
    ("flag", "words"),
    [("--nonsense", "unknown flag"), ("-runs=x", "not a whole number"), ("gone", "no file")],
)
def test_bad_input_says_what_is_wrong(corpus: str, flag: str, words: str) -> None:
    with pytest.raises(RondoError, match=words):
        parse(SCRIPT, [corpus, flag])


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["-minimize_crash=1"], "takes one file"),
        (["-minimize_crash=1", "corpus"], "takes one file"),
        (["-max_total_time=-5"], "max_total_time=-5 does not lie"),
        (["-jobs=-3"], "jobs=-3 does not lie between 0"),
        (["-seed=18446744073709551616"], "seed=18446744073709551616 does not lie"),
        (["-max_len=3"], "max_len=3 does not lie between 9"),
        (["--shrink-seconds=-1"], "shrink-seconds=-1 does not lie"),
        (["--cases=-1"], "cases=-1 does not lie"),
        (["--timeout=inf"], "timeout=inf does not lie"),
        (["--timeout=0.0001"], "timeout=0.0001 does not lie"),
        (["--shrink-seconds=nan"], "shrink-seconds=nan does not lie"),
        (["--findings="], "names no folder"),
        (["-no-mcmc"], "unknown flag -no-mcmc"),
        (["-mutator=bytes"], "unknown flag -mutator"),
    ],
)
def test_flags_that_make_no_sense_are_refused(corpus: str, flags: list[str], message: str) -> None:
    with pytest.raises(RondoError, match=message):
        parse(SCRIPT, flags)


def test_a_flag_of_libfuzzers_is_left_to_it(corpus: str) -> None:
    assert parse(SCRIPT, [corpus, "-timeout=5"]).flag("timeout") == "5"
