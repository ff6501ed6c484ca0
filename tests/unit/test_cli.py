"""The `rondo` command: what it prints, and that trouble is one message and exit code 2."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harnesses import base
from rondo import cli
from rondo.codec import Codec, digest
from rondo.jsonform import from_json, to_json
from rondo.models.architectures import ARCHITECTURES
from rondo.testcase import Call, Event, Model, Operator, TestCase

ROOT = Path(__file__).resolve().parents[2]
CASE = TestCase(
    Model(operators=(Operator("read_float"),)),
    (("backend", "whole"),),
    (Call(2), Event("set_float_attribute", 0, "3.5"), Call(3)),
)


@pytest.fixture
def rondo(monkeypatch, capsys, stub):
    """Run a command with the stub as target; gives exit code, output and errors."""
    known = base.load
    monkeypatch.setattr(
        base, "load", lambda n, *_: stub if n in ("stub", "torch_inductor") else known(n)
    )

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rondo", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return run


@pytest.fixture
def case_file(tmp_path: Path, codec: Codec) -> Path:
    path = tmp_path / "case.bin"
    path.write_bytes(codec.encode(CASE))
    return path


def test_show_says_everything_and_ends_with_the_program(rondo, case_file: Path) -> None:
    code, out, _ = rondo("show", case_file)
    assert code == 0
    for word in ("nothing: width 0", "read_float", "backend = whole", "3, of which 2 call"):
        assert word in out
    assert " 2. [event] Event(kind='set_float_attribute'" in out
    assert out.endswith("STEPS = []\n")


def test_show_program_prints_the_program_alone(rondo, case_file: Path) -> None:
    assert rondo("show", case_file, "--program", "--target", "stub")[:2] == (0, "STEPS = []\n")


def test_show_json_can_be_read_back(rondo, case_file: Path, codec: Codec) -> None:
    _, out, _ = rondo("show", "--json", case_file)
    assert from_json(out, codec) == CASE
    case_file.with_suffix(".json").write_text(out)
    assert rondo("show", case_file.with_suffix(".json"))[1] == rondo("show", case_file)[1]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("gone.bin", None, "cannot be read: No such file"),
        ("empty.bin", b"", "is empty"),
        (":rocket:.bin", b"", ":rocket:.bin is empty"),
        ("short.bin", b"\1\2\3", "truncated"),
        ("old.bin", bytes([9] * 40), "not a test case of format 3"),
        ("bad.json", b"{", "not a test case as JSON"),
        ("odd.json", b'{"format": 3, "settings": {"[red]": "x"}}', "no setting '[red]'"),
    ],
)
def test_a_file_that_is_no_case_is_one_message(
    rondo, tmp_path: Path, name: str, data: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    code, out, err = rondo("show", path)
    assert (code, out) == (2, "")
    assert err.startswith("rondo: ")
    assert message in err
    assert len(err.splitlines()) == 2, "what happened and what to do"


def test_an_error_is_json_too_where_json_is_asked_for(rondo, tmp_path: Path) -> None:
    code, out, err = rondo("show", tmp_path / "gone.bin", "--json")
    told = json.loads(out)
    assert code == 2 and told["error"].endswith("No such file or directory")
    assert told["advice"] in err


def test_an_unknown_target_is_one_message(rondo, case_file: Path) -> None:
    code, _, err = rondo("show", case_file, "--target", "nonsense")
    assert code == 2
    assert "there is no target 'nonsense'" in err


def test_a_target_that_cannot_be_imported_is_one_message(
    rondo, monkeypatch, case_file: Path
) -> None:
    def load(name: str, undocumented: bool) -> base.Harness:
        raise ImportError("No module named 'framework'")

    monkeypatch.setattr(base, "load", load)
    code, _, err = rondo("show", case_file)
    assert code == 2
    assert "No module named 'framework'" in err
    assert "rondo doctor" in err


def test_options_that_exclude_each_other_are_refused(rondo, case_file: Path) -> None:
    assert rondo("show", case_file, "--json", "--program")[0] == 2


@pytest.mark.parametrize("command", [[], ["doctor"], ["show"], ["corpus", "adopt"]])
def test_help_documents_the_exit_codes(rondo, command: list[str]) -> None:
    code, out, _ = rondo(*command, "--help")
    assert code == 0
    assert "Exit codes: 0 done" in out


def test_adopt_writes_canonical_cases_under_their_digest(
    rondo, tmp_path: Path, codec: Codec
) -> None:
    source, corpus = tmp_path / "old" / "deep", tmp_path / "corpus"
    source.mkdir(parents=True)
    found = {"a": codec.encode(CASE), "b": b"\xff" * 50, "c": b"", "d": b"\xff" * 50}
    for name, data in found.items():
        source.joinpath(name).write_bytes(data)
    assert rondo("corpus", "adopt", source.parent, corpus)[1].startswith("3 of 4 files are new")
    written = {path.name: path.read_bytes() for path in corpus.iterdir()}
    assert set(written.values()) == {codec.canonical(data) for data in found.values()}
    assert all(digest(data) == name for name, data in written.items())
    assert {p.name: p.read_bytes() for p in source.iterdir()} == found


def test_adopt_never_overwrites(rondo, case_file: Path, tmp_path: Path, codec: Codec) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    there = corpus / digest(codec.encode(CASE))
    there.write_bytes(b"kept")
    assert rondo("corpus", "adopt", case_file, corpus)[1].startswith("0 of 1 files are new")
    assert there.read_bytes() == b"kept"


def test_adopt_from_nowhere_makes_nothing(rondo, tmp_path: Path) -> None:
    code, _, err = rondo("corpus", "adopt", tmp_path / "gone", tmp_path / "corpus")
    assert code == 2
    assert "No such file" in err
    assert not (tmp_path / "corpus").exists()


def test_a_real_process_ends_with_code_2_and_no_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rondo.cli", "show", str(tmp_path), "--target", "nonsense"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("rondo: ")


def test_json_form_is_what_show_prints(rondo, case_file: Path) -> None:
    assert rondo("show", case_file, "--json")[1] == to_json(CASE)


def test_models_lists_architectures_operators_and_support(rondo) -> None:
    code, out, _ = rondo("models", "--json")
    listed = json.loads(out)
    assert code == 0
    assert len(listed["architectures"]) == len(ARCHITECTURES)
    llama = next(one for one in listed["architectures"] if one["name"] == "llama")
    assert {"rotary", "rms_norm", "attend"} <= set(llama["operators"])
    assert llama["parameters"][0] > 500
    support = {one["target"]: one["stand_ins"] for one in listed["support"]}
    assert support["jax_xla"] == []
    assert "rotary" in support["toy"]
    code, out, _ = rondo("models")
    assert "llama" in out
    assert "65 that carry state" in out
