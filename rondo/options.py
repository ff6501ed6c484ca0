"""The command line of the fuzz scripts: Rondo's `--flags` next to libFuzzer's own `-flags`.

libFuzzer starts itself again for `-jobs`, `-fork`, `-merge` and `-minimize_crash`, through the
shell and with its own arguments; Rondo's flags, of which it knows nothing, get to those processes
in the environment.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from rondo.codec import HEADER
from rondo.errors import RondoError
from rondo.libfuzzer import FLAGS

HANDED_ON = "RONDO_FLAGS"
"""The variable with the flags of the process that libFuzzer was started in, as a JSON list."""
MOST_MEGABYTES = 1 << 20
_MOST_SECONDS = 1e7
_INT = (1 << 31) - 1
_WHOLE = {
    "runs": (-1, _INT),
    "max_total_time": (0, _INT),
    "seed": (0, (1 << 32) - 1),
    "max_len": (HEADER + 1, _INT),
    **dict.fromkeys(("jobs", "workers", "fork"), (0, 1000)),
}
"""libFuzzer's flags that take a whole number, and which; a case is longer than its header."""
_NUMBERS = (
    ("--timeout", 0.1, _MOST_SECONDS, "seconds that one child may take"),
    ("--memory", 1, MOST_MEGABYTES, "megabytes that one child may take"),
    ("--shrink-seconds", 0, _MOST_SECONDS, "seconds for one finding"),
    ("--cases", 0, _INT, "a number of cases, 0 for no end"),
)
FORK_JOB_SECONDS = 60
"""The least time for one job of `-fork`."""
_EPILOG = """\
libFuzzer's own flags have one dash: -max_total_time=S, -runs=N, -seed=N, -jobs=N, -fork=N,
-merge=1 INTO FROM, -minimize_crash=1 FILE; -help=1 lists them all. A single FILE is replayed.

exit codes: 0 ended as asked; 1 a replayed case fails, or a finding with --stop-on-finding;
2 bad input or set-up, with a message that says what to do; 77 libFuzzer saw a failing input
(-minimize_crash); 130 Ctrl-C.
"""


@dataclass(frozen=True, slots=True)
class Options:
    """Rondo's options, and the arguments that libFuzzer gets."""

    findings: Path
    oracle: str
    executor: str
    faults: tuple[str, ...]
    mutator: str
    stop_on_finding: bool
    signature: bool
    coverage: bool
    mcmc: bool
    novelty: bool
    seconds: float
    megabytes: int
    shrink_seconds: float
    log: Path | None
    undocumented: bool
    cases: int
    libfuzzer: tuple[str, ...]

    @property
    def corpus(self) -> Path | None:
        """The first positional argument that is a folder: new cases go there."""
        return next((Path(a) for a in self.positional if Path(a).is_dir()), None)

    @property
    def files(self) -> tuple[Path, ...]:
        """The positional arguments that are files: cases to replay."""
        return tuple(Path(a) for a in self.positional if Path(a).is_file())

    @property
    def positional(self) -> tuple[str, ...]:
        """The positional arguments."""
        return tuple(a for a in self.libfuzzer if not a.startswith("-"))

    def flag(self, name: str, default: str = "") -> str:
        """The value of one of libFuzzer's flags."""
        values = [a.partition("=")[2] for a in self.libfuzzer if a.startswith(f"-{name}=")]
        return values[-1] if values else default

    @property
    def total_seconds(self) -> int:
        """When to end, in seconds from the start; 0 for never. The jobs of `-fork` are given one
        second, then two, and so on, which is less than warming takes: they get more."""
        asked = int(self.flag("max_total_time", "0"))
        return max(asked, FORK_JOB_SECONDS) if self.flag("stop_file") else asked

    @property
    def several(self) -> bool:
        """Whether libFuzzer starts drivers of its own that run campaigns."""
        return any(self.flag(name, "0") != "0" for name in ("jobs", "fork"))

    @property
    def replays(self) -> bool:
        """Whether failing is to be told by the exit code: files, not folders, were given."""
        return bool(self.files) and not self.flag("merge")


_LIBFUZZERS_TOO = {"--timeout", "--help"}
"""Rondo's flags of whose names libFuzzer has one with a single dash."""


def _parser(script: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=script,
        usage=f"python {script} [-libfuzzer_flag=value ...] [--rondo-flag ...] [CORPUS ... | FILE]",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    add = parser.add_argument
    add("--help", action="help", help="show this and end")
    add("--findings", type=Path, default=Path("findings"), help="folder for findings")
    add("--oracle", choices=("lazy", "full"), default="lazy", help="full also looks at fresh "
        "compiles of calls where the retained arm was right")  # fmt: skip
    add("--executor", choices=("fork", "inprocess"), default="fork", help="inprocess where "
        "children are forbidden")  # fmt: skip
    add("--fault", action="append", default=[], help="plant a fault: NAME or path.py:NAME")
    add("--mutator", choices=("structured", "random", "bytes"), default="structured",
        help="random draws every case anew; bytes is libFuzzer's own")  # fmt: skip
    add("--stop-on-finding", action="store_true", help="end with exit code 1 at a finding")
    add("--no-signature", action="store_true", help="no behaviour features")
    add("--no-coverage", action="store_true", help="no compiler lines")
    add("--no-mcmc", action="store_true", help="no Metropolis-Hastings chains")
    add("--no-novelty", action="store_true", help="no choice among candidates by what was tried")
    add("--timeout", type=float, default=120.0, help="seconds that one child may take")
    add("--memory", type=int, default=4096, help="megabytes that one child may take")
    add("--shrink-seconds", type=float, default=60.0, help="time to shrink one finding")
    add("--undocumented", action="store_true", help="also make changes that the framework "
        "documents not to see")  # fmt: skip
    add("--cases", type=int, default=0, help="end after so many cases; libFuzzer's -runs also "
        "counts inputs that are none")  # fmt: skip
    add("--log", type=Path, help="append one JSON line a case: its verdict and times")
    return parser


def parse(script: str, arguments: list[str]) -> Options:
    """Read a fuzz script's command line, and what the process before it handed on.

    Raises RondoError for a flag or a path that cannot be meant.
    """
    before = json.loads(os.environ.get(HANDED_ON, "[]"))
    parser = _parser(script)
    given, rest = parser.parse_known_args([*before, *arguments])
    own = {flag for action in parser._actions for flag in action.option_strings}
    own -= _LIBFUZZERS_TOO
    unknown = [a for a in rest if a.startswith("--") or f"-{a.partition('=')[0]}" in own]
    if unknown:
        raise RondoError(f"unknown flag {unknown[0]}", f"python {script} --help lists the flags")
    if not given.findings.name:
        raise RondoError("--findings= names no folder", "give the path of one, or leave it out")
    options = Options(
        findings=given.findings.absolute(),
        oracle=given.oracle,
        executor=given.executor,
        faults=tuple(_absolute(fault) for fault in given.fault),
        mutator=given.mutator,
        stop_on_finding=given.stop_on_finding,
        signature=not given.no_signature,
        coverage=not given.no_coverage,
        mcmc=not given.no_mcmc,
        novelty=not given.no_novelty,
        seconds=given.timeout,
        megabytes=given.memory,
        shrink_seconds=given.shrink_seconds,
        log=given.log,
        undocumented=given.undocumented,
        cases=given.cases,
        libfuzzer=tuple(rest),
    )
    if not started_by_libfuzzer():
        _check_flags(script, rest)
        _check_whole(options)
    _check_numbers(options)
    _check_paths(options)
    if options.flag("minimize_crash") and (len(options.files) != 1 or len(options.positional) != 1):
        raise RondoError("-minimize_crash takes one file", "give a finding's original.bin")
    _check_shell(options)
    return options


def started_by_libfuzzer() -> bool:
    """Whether this is not the process that the user started."""
    return HANDED_ON in os.environ


def _check_flags(script: str, arguments: list[str]) -> None:
    """libFuzzer only warns of a flag that it does not know, and starts."""
    for argument in arguments:
        name, equals, _ = argument.removeprefix("-").partition("=")
        if argument.startswith("-") and not (equals and name in FLAGS):
            raise RondoError(
                f"{argument} is no flag of libFuzzer with a value",
                f"write -flag=value; python {script} -help=1 lists libFuzzer's flags",
            )


def _check_paths(options: Options) -> None:
    for argument in options.positional:
        path = Path(argument)
        if not path.exists():
            raise RondoError(
                f"there is no file or folder {argument}",
                "create the corpus folder first (an empty one will do), or correct the path",
            )
        if options.replays and path.is_dir():
            raise RondoError(
                f"{options.files[0]} is a file and {argument} a folder",
                "give files to replay them, or folders to fuzz",
            )
        if path.is_dir() and options.findings.resolve().is_relative_to(path.resolve()):
            raise RondoError(
                f"the findings folder {options.findings} lies in the corpus {argument}",
                "put it elsewhere with --findings: every file of a corpus is a test case",
            )


def _check_whole(options: Options) -> None:
    """libFuzzer reads what it cannot hold as another number, or ends without a word of advice."""
    for flag, (least, most) in _WHOLE.items():
        value = options.flag(flag) or str(least)
        if not re.fullmatch("-?[0-9]+", value):
            raise RondoError(f"-{flag}={value} is not a whole number")
        if not least <= int(value) <= most:
            raise RondoError(f"-{flag}={value} does not lie between {least} and {most}")


def _check_numbers(options: Options) -> None:
    given = (options.seconds, options.megabytes, options.shrink_seconds, options.cases)
    for value, (flag, least, most, unit) in zip(given, _NUMBERS, strict=True):
        if not least <= value <= most:  # which NaN is not either
            raise RondoError(
                f"{flag}={value:g} does not lie between {least:g} and {most:g}",
                f"{flag} takes {unit}",
            )


def _check_shell(options: Options) -> None:
    """libFuzzer hands its own child processes' command lines to a shell without quoting them."""
    if not any(options.flag(name) for name in ("jobs", "fork", "merge", "minimize_crash")):
        return
    for text in (*options.positional, str(options.findings)):
        if shlex.quote(text) != text:
            raise RondoError(
                f"libFuzzer cannot start itself again with the path {text!r}",
                "with -jobs, -fork, -merge and -minimize_crash use paths without spaces or "
                "characters that a shell reads",
            )


def _absolute(fault: str) -> str:
    path, colon, name = fault.rpartition(":")
    return f"{Path(path).absolute()}:{name}" if colon else fault


def flags_of(options: Options) -> list[str]:
    """Rondo's flags, for the processes that libFuzzer starts."""
    flags = [f"--findings={options.findings}", f"--oracle={options.oracle}"]
    flags += [f"--executor={options.executor}", f"--mutator={options.mutator}"]
    flags += [f"--fault={fault}" for fault in options.faults]
    flags += [f"--timeout={options.seconds:g}", f"--memory={options.megabytes}"]
    flags += [f"--shrink-seconds={options.shrink_seconds:g}"]
    flags += ["--stop-on-finding"] * options.stop_on_finding
    flags += ["--no-signature"] * (not options.signature)
    flags += ["--no-coverage"] * (not options.coverage)
    flags += ["--undocumented"] * options.undocumented
    flags += [f"--cases={options.cases}"] * bool(options.cases)
    flags += [f"--log={options.log.absolute()}"] if options.log else []
    flags += ["--no-mcmc"] * (not options.mcmc)
    return flags + ["--no-novelty"] * (not options.novelty)


def handed_on(script: Path, options: Options) -> list[str]:
    """The argument list for Atheris; its first entry is a command that a shell can run again."""
    given = [a for a in options.libfuzzer if not a.startswith("-max_total_time=")]
    ends = [f"-max_total_time={options.total_seconds}"] if options.total_seconds else []
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(script.resolve()))}"
    return [command, *given, *ends]
