"""The doctor: what it looks at, and what it says about what is missing."""

from __future__ import annotations

import io
import json
import os
import sys

import pytest
from rich.console import Console

from harnesses import base
from rondo import cli, doctor
from rondo.doctor import Check, Report, Target

GOOD = (Check("Python", "ok", "3.11"), Check("C++ compiler", "ok", "/usr/bin/g++"))
NO_COMPILER = (GOOD[0], Check("C++ compiler", "missing", "none", "install g++"))


@pytest.fixture
def only_stub(monkeypatch, stub):
    """The stub is the only target there is."""
    monkeypatch.setattr(base, "available", lambda: (stub.name,))
    monkeypatch.setattr(base, "load", lambda name: stub)
    return stub


def run(monkeypatch, *arguments: str) -> int:
    """The exit code of a `rondo` command."""
    monkeypatch.setattr(sys, "argv", ["rondo", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code or 0


def printed(report: Report, width: int = 200) -> str:
    """What a person sees of a report."""
    text = io.StringIO()
    doctor.show(report, Console(file=text, width=width))
    return text.getvalue()


def test_json_has_every_check_and_target(monkeypatch, capsys, only_stub) -> None:
    code = run(monkeypatch, "doctor", "--json")
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"rondo", "healthy", "checks", "targets"}
    assert [set(c) for c in report["checks"]] == [{"name", "status", "found", "advice"}] * len(
        doctor.CHECKS
    )
    assert {"Python", "atheris", "coverage", "C++ compiler", "temporary files"} <= {
        check["name"] for check in report["checks"]
    }
    (target,) = report["targets"]
    assert set(target) == {"name", "importable", "version", "runs", "advice"}
    assert code == (0 if report["healthy"] else 2)


def test_a_missing_compiler_has_advice(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    check = doctor.check_compiler()
    assert check.status == "missing"
    assert "apt-get install g++" in check.advice


def test_a_missing_compiler_decides_the_exit_code_where_it_is_needed(
    monkeypatch, capsys, only_stub
) -> None:
    monkeypatch.setattr(doctor, "CHECKS", [lambda c=c: c for c in NO_COMPILER])
    assert run(monkeypatch, "doctor", "--json") == 0
    monkeypatch.setattr(type(only_stub), "needs_compiler", True, raising=False)
    capsys.readouterr()
    assert run(monkeypatch, "doctor", "--json") == 2
    (target,) = json.loads(capsys.readouterr().out)["targets"]
    assert "C++ compiler" in target["advice"]


def test_a_compiler_that_does_not_compile_is_found_out(monkeypatch, tmp_path) -> None:
    fake = tmp_path / "g++"
    fake.write_text("#!/bin/sh\necho 'fatal error: cmath: No such file' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CXX", str(fake))
    check = doctor.check_compiler()
    assert check.status == "missing"
    assert "cmath: No such file" in check.found


def test_a_temp_folder_that_cannot_be_written_has_advice(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(doctor.tempfile, "gettempdir", lambda: str(tmp_path / "gone"))
    check = doctor.check_temp()
    assert check.status == "missing"
    assert "TMPDIR" in check.advice


def test_a_temp_folder_without_programs_has_advice(monkeypatch, tmp_path) -> None:
    def refused(*arguments: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(doctor.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(doctor.subprocess, "run", refused)
    check = doctor.check_temp()
    assert check.status == "missing"
    assert "noexec" in check.advice


def test_forbidden_children_point_to_the_other_executor(monkeypatch) -> None:
    def refused() -> int:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refused)
    check = doctor.check_children()
    assert check.status == "warning"
    assert "--executor inprocess" in check.advice


def test_a_changed_atheris_is_found_out(monkeypatch) -> None:
    import atheris

    monkeypatch.delattr(atheris, "_trace_branch")
    check = doctor.check_atheris()
    assert check.status == "missing"
    assert "without _trace_branch" in check.found


def test_coverage_is_probed_for_real() -> None:
    assert doctor.check_coverage().status == "ok"


def test_an_old_interpreter_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(doctor.sys, "version_info", (3, 10, 0))
    assert doctor.check_python().status == "missing"


def test_little_memory_is_a_warning(monkeypatch) -> None:
    assert doctor.available_memory() > 0
    monkeypatch.setattr(doctor, "available_memory", lambda: doctor.GIB)
    assert doctor.check_machine().status == "warning"


def test_versions_are_compared_with_the_tested_ones(monkeypatch, tmp_path) -> None:
    pins = tmp_path / "constraints.txt"
    monkeypatch.setattr(doctor, "CONSTRAINTS", pins)
    assert doctor.check_versions().status == "warning"
    monkeypatch.setattr(doctor, "_version", {"a": "1.0+cpu", "b": "2.1", "c": ""}.get)
    pins.write_text("# tested\na==1.0\nb==2.1  # why\nc==3\n")
    assert doctor.check_versions().found == "all 2 installed packages as tested"
    pins.write_text("a==1.1\nb==2.1\nsetuptools==0\n")
    assert doctor.check_versions().found == "a 1.0 (tested 1.1)"


def test_a_missing_framework_has_advice_that_can_be_pasted(monkeypatch, stub) -> None:
    monkeypatch.setattr(stub, "modules", ("no_such_framework",), raising=False)
    monkeypatch.setattr(stub, "package", "framework", raising=False)
    target = doctor.diagnose(stub, GOOD)
    assert (target.importable, target.runs) == (False, False)
    shown = printed(Report(GOOD, (target,)))
    assert "pip install -c constraints.txt '.[framework]'" in shown
    assert "No target can run yet" in shown


def test_a_target_waits_for_what_all_need(stub) -> None:
    checks = (*GOOD, Check("atheris", "missing", "no", "pip install"))
    target = doctor.diagnose(stub, checks)
    assert (target.importable, target.runs) == (True, False)
    assert "atheris" in target.advice


def test_a_broken_harness_is_told_and_the_others_go_on(monkeypatch, stub) -> None:
    def load(name: str) -> base.Harness:
        if name == "broken":
            raise ImportError("No module named 'framework'")
        return stub

    monkeypatch.setattr(base, "available", lambda: ("broken", "stub"))
    monkeypatch.setattr(base, "load", load)
    report = doctor.examine(())
    assert [target.runs for target in report.targets] == [False, True]
    assert "No module named 'framework'" in report.targets[0].advice
    assert report.healthy


def test_a_report_reads_well() -> None:
    shown = printed(Report(NO_COMPILER, (Target("stub", True, "1.2", True),)))
    for word in ("C++ compiler", "missing", "install g++", "1.2", "Can run: stub"):
        assert word in shown
