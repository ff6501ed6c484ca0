"""`rondo doctor`: what is installed, which targets can run, and what to do about what is missing.

Stands beside the fuzzer, not in its flow, and imports no framework: it only asks the import system
whether there is one. Each check is a function that gives a `Check`; `CHECKS` is the table of them.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rondo import __version__

if TYPE_CHECKING:
    from harnesses.base import Harness

Status = Literal["ok", "warning", "missing"]

SUPPORTED = ((3, 11), (3, 14))
CONSTRAINTS = Path(__file__).resolve().parents[1] / "constraints.txt"
BUNDLED = {"setuptools"}
"""What a new virtual environment brings in a version of its own."""
PACKAGES = ("jinja2", "msgspec", "numpy", "tqdm")
COMPILERS = ("g++", "clang++")
PROGRAM = "#include <cmath>\n#include <vector>\nint main() { return std::vector<int>(1).at(0); }\n"
COMPILE_SECONDS = 60
GIB = 1 << 30
FREE_DISK = 2 * GIB
FREE_MEMORY = 4 * GIB
"""What one child may take by default above the server itself."""
_PR_GET_PDEATHSIG = 2
_STYLES = {"ok": "green", "warning": "yellow", "missing": "bold red"}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: its status, what was found, and what to do when it is not ok."""

    name: str
    status: Status
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """A target: whether its framework is importable, in which version, and what else it lacks."""

    name: str
    importable: bool
    version: str
    runs: bool
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything the doctor found."""

    checks: tuple[Check, ...]
    targets: tuple[Target, ...]

    @property
    def healthy(self) -> bool:
        """Whether at least one target can run."""
        return any(target.runs for target in self.targets)

    def as_dict(self) -> dict[str, Any]:
        """The report in plain types, for JSON."""
        return {
            "rondo": __version__,
            "healthy": self.healthy,
            "checks": [asdict(check) for check in self.checks],
            "targets": [asdict(target) for target in self.targets],
        }


def check_python() -> Check:
    """The interpreter's version is one that atheris and Rondo support."""
    low, high = SUPPORTED
    found = f"{platform.python_version()} at {sys.executable}"
    if low <= sys.version_info[:2] < high:
        return Check("Python", "ok", found)
    return Check("Python", "missing", found, "use Python 3.11, 3.12 or 3.13")


def check_atheris() -> Check:
    """The private names through which features reach libFuzzer."""
    try:
        atheris = importlib.import_module("atheris")
    except ImportError as error:
        return Check("atheris", "missing", str(error), _install("atheris"))
    version = _version("atheris")
    lacking = [n for n in ("_reserve_counter", "_trace_branch") if not hasattr(atheris, n)]
    if lacking:
        found = f"{version} without {' and '.join(lacking)}"
        return Check("atheris", "missing", found, _install("atheris"))
    return Check("atheris", "ok", f"{version}, counters can be set")


def check_coverage() -> Check:
    """The in-memory line sets of coverage's collector, by tracing nothing for a moment."""
    try:
        from rondo.coverage import LineTracer

        LineTracer([Path(tempfile.gettempdir())])
    except (ImportError, AttributeError, RuntimeError) as error:
        return Check("coverage", "missing", str(error), _install("coverage"))
    return Check("coverage", "ok", f"{_version('coverage')}, lines can be read from memory")


def check_packages() -> Check:
    """What else Rondo itself needs."""
    lacking = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if lacking:
        found = f"not installed: {', '.join(lacking)}"
        return Check("packages", "missing", found, "pip install -c constraints.txt .")
    return Check("packages", "ok", ", ".join(f"{name} {_version(name)}" for name in PACKAGES))


def check_compiler() -> Check:
    """A C++ compiler that really compiles."""
    named = os.environ.get("CXX", "")
    path = next(filter(None, map(shutil.which, filter(None, (named, *COMPILERS)))), None)
    if path is None:
        advice = "install g++ (Debian, Ubuntu: apt-get install g++), or set CXX to a compiler"
        return Check("C++ compiler", "missing", "neither g++ nor clang++ is on the path", advice)
    trouble = _compile(path)
    if trouble:
        advice = "a working compiler with its C++ headers is needed: apt-get install g++"
        return Check("C++ compiler", "missing", f"{path} does not compile: {trouble}", advice)
    return Check("C++ compiler", "ok", path)


def _compile(compiler: str) -> str:
    """Compile a three-line program; the first line of trouble, or nothing."""
    try:
        with tempfile.TemporaryDirectory(prefix="rondo-doctor-") as folder:
            source = Path(folder, "probe.cpp")
            source.write_text(PROGRAM)
            command = [compiler, str(source), "-o", str(source.with_suffix(""))]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=COMPILE_SECONDS, check=False
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    words = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return words[0] if done.returncode else ""


def check_temp() -> Check:
    """The folder for temporary files is writable, can hold programs that run, and has room."""
    folder = tempfile.gettempdir()
    elsewhere = "set TMPDIR to a folder that is writable, not mounted noexec, and has room"
    try:
        with tempfile.TemporaryDirectory(prefix="rondo-doctor-", dir=folder) as inside:
            script = Path(inside, "probe")
            script.write_text("#!/bin/sh\nexit 0\n")
            script.chmod(0o700)
            subprocess.run([str(script)], check=True, timeout=COMPILE_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        return Check("temporary files", "missing", f"{folder}: {error}", elsewhere)
    free = shutil.disk_usage(folder).free
    found = f"{folder}, {free / GIB:.1f} GiB free"
    if free < FREE_DISK:
        return Check("temporary files", "warning", found, f"less than 2 GiB: {elsewhere}")
    return Check("temporary files", "ok", found)


def check_children() -> Check:
    """Processes can be forked, watched through a pidfd, and told to die with their parent."""
    advice = "run with --executor inprocess, or on Linux 5.3 or newer outside a tight sandbox"
    try:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        try:
            os.close(os.pidfd_open(pid))
        finally:
            os.waitpid(pid, 0)
    except (OSError, AttributeError) as error:
        return Check("child processes", "warning", f"not allowed: {error}", advice)
    signal = ctypes.c_int()
    if ctypes.CDLL(None).prctl(_PR_GET_PDEATHSIG, ctypes.byref(signal)) != 0:
        return Check("child processes", "warning", "no parent-death signal", advice)
    return Check("child processes", "ok", "fork, pidfd and parent-death signal work")


def check_machine() -> Check:
    """Cores and memory that this process may use."""
    cores = len(os.sched_getaffinity(0))
    memory = available_memory()
    found = f"{cores} cores, {memory / GIB:.1f} GiB of memory available"
    if memory < FREE_MEMORY:
        return Check("machine", "warning", found, "a child may take 4 GiB: close other programs")
    return Check("machine", "ok", found)


def available_memory() -> int:
    """Bytes of memory available, within the limit of this process's control group."""
    text = Path("/proc/meminfo").read_text()
    found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    limits = [int(found[1]) << 10] if found else []
    group = Path("/sys/fs/cgroup/memory.max")
    if group.is_file() and (limit := group.read_text().strip()).isdecimal():
        limits.append(int(limit))
    return min(limits, default=0)


def check_versions() -> Check:
    """Installed packages against the versions that were tested."""
    if not CONSTRAINTS.is_file():
        return Check("tested versions", "warning", "no constraints.txt beside the rondo package")
    tested = {n: v for n, v in _pins(CONSTRAINTS.read_text()) if n not in BUNDLED}
    installed = {name: _version(name).partition("+")[0] for name in tested}
    present = {name: version for name, version in installed.items() if version}
    other = [f"{n} {v} (tested {tested[n]})" for n, v in present.items() if v != tested[n]]
    if other:
        advice = "pip install -c constraints.txt takes the tested versions"
        return Check("tested versions", "warning", ", ".join(other), advice)
    return Check("tested versions", "ok", f"all {len(present)} installed packages as tested")


CHECKS: tuple[Callable[[], Check], ...] = (
    check_python,
    check_atheris,
    check_coverage,
    check_packages,
    check_compiler,
    check_temp,
    check_children,
    check_machine,
    check_versions,
)


def examine(checks: Sequence[Callable[[], Check]]) -> Report:
    """Run every check and look at every target."""
    done = tuple(check() for check in checks)
    return Report(done, tuple(_targets(done)))


def _targets(checks: Sequence[Check]) -> Iterator[Target]:
    if importlib.util.find_spec("msgspec") is None:  # the contract of harnesses cannot be imported
        return
    from harnesses import base

    for name in base.available():
        try:
            harness = base.load(name)
        except Exception as error:  # whatever a broken harness raises is what there is to tell
            trouble = f"harnesses/{name} cannot be loaded: {type(error).__name__}: {error}"
            yield Target(name, False, "", False, trouble)
            continue
        yield diagnose(harness, checks)


def diagnose(harness: Harness, checks: Sequence[Check]) -> Target:
    """Whether a target can run, given the state of everything that all targets share.

    A harness with `needs_compiler` cannot run without a C++ compiler; the others can.
    """
    lacking = [m for m in harness.modules if importlib.util.find_spec(m) is None]
    if lacking:
        advice = f"{harness.package} is not installed: pip install -c constraints.txt "
        return Target(harness.name, False, "", False, f"{advice}'.[{harness.package}]'")
    optional = set() if getattr(harness, "needs_compiler", False) else {"C++ compiler"}
    blocking = [c.name for c in checks if c.status == "missing" and c.name not in optional]
    advice = f"see above: {', '.join(blocking)}" if blocking else ""
    return Target(harness.name, True, _version(harness.package), not blocking, advice)


def show(report: Report, console: Console) -> None:
    """Print a report as two tables and a closing line."""
    checks = Table("check", "", "found", "what to do", title=f"Rondo {__version__}")
    for check in report.checks:
        words = map(escape, (check.found, check.advice))
        checks.add_row(check.name, _styled(check.status), *words)
    targets = Table("target", "", "framework", "what to do", title="Targets")
    for target in report.targets:
        status = _styled("ok" if target.runs else "missing")
        framework = target.version or ("built in" if target.importable else "not found")
        targets.add_row(target.name, status, framework, escape(target.advice))
    console.print(checks, targets)
    able = [target.name for target in report.targets if target.runs]
    console.print(f"Can run: {', '.join(able)}" if able else "No target can run yet.")


def _styled(status: Status) -> str:
    return f"[{_STYLES[status]}]{status}[/]"


def _version(package: str) -> str:
    try:
        return metadata.version(package) if package else ""
    except metadata.PackageNotFoundError:
        return ""


def _install(package: str) -> str:
    return f"pip install -c constraints.txt {package}"


def _pins(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, equals, version = line.partition("#")[0].strip().partition("==")
        if equals:
            yield name, version
