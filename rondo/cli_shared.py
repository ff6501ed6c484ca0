"""What the commands of `rondo` share: options, exit codes, and how they load targets and cases."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rondo.errors import FormatError, Interrupted, RondoError, SetupError, say

if TYPE_CHECKING:
    from harnesses.base import Harness
    from rondo.codec import Codec
    from rondo.findings import Store
    from rondo.testcase import TestCase

DEFAULT_TARGET = "torch_inductor"
FAILED = RondoError.exit_code
EXIT_CODES = f"""Exit codes: 0 done; {FAILED} it could not be done (a bad option, a file that is not
a test case, an unknown target, something not installed): the message says what to do;
{Interrupted.exit_code} Ctrl-C."""

CaseTargetOption = Annotated[
    str,
    typer.Option(
        "--target",
        metavar="NAME",
        help=f"Whose case it is (default: its finding's if it lies in one, or {DEFAULT_TARGET}).",
    ),
]
TargetOption = Annotated[
    str, typer.Option("--target", metavar="NAME", help="Whose vocabulary and emission to use.")
]
UndocumentedOption = Annotated[
    bool, typer.Option("--undocumented", help="Read the case as that flag of the fuzzer does.")
]
FaultOption = Annotated[
    list[str] | None, typer.Option("--fault", help="Plant a fault: NAME or path.py:NAME.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
FolderArgument = Annotated[Path, typer.Argument(help="A findings folder.")]


def load_harness(target: str, undocumented: bool = False) -> Harness:
    """The harness of a target.

    Raises SetupError for an unknown one, and for one that cannot be imported.
    """
    from harnesses import base

    try:
        return base.load(target, undocumented)
    except ImportError as error:
        raise SetupError(
            f"target {target} cannot be loaded: {error}", "`rondo doctor` says what is missing"
        ) from error


def run_script(main: Callable[..., None]) -> None:
    """Run one of `tools/` as a command: what cannot be done is said, with exit code 2."""
    try:
        typer.run(main)
    except (RondoError, OSError) as error:
        sys.exit(say(error))


def named(given: str, table: Iterable[str]) -> list[str]:
    """The names in an option's value, with commas between them, each once.

    Raises typer.BadParameter for one that is not in the table.
    """
    names, known = given.split(","), list(table)
    if unknown := sorted(set(names) - set(known)):
        raise typer.BadParameter(f"{unknown[0]} is none of {', '.join(known)}")
    return list(dict.fromkeys(names))


def belonging(file: Path, target: str, faults: list[str] | None) -> tuple[str, tuple[str, ...]]:
    """The target and the planted faults of a case: what was asked for, else what the finding says
    in whose folder the file lies, else the default target."""
    store = open_store(file.parent.parent) if (file.parent / "verdict.json").exists() else None
    finding = store.known(file.parent.name) if store else None
    if finding is None:
        return target or DEFAULT_TARGET, tuple(faults or ())
    if finding.own_model:
        raise RondoError(
            f"{file} is a sequence around a model of yours, {finding.own_model}",
            f"run {file.parent / 'repro.py'}; `rondo check {finding.own_model}` plays such again",
        )
    ours = target in ("", finding.target)
    return target or finding.target, tuple(faults or (finding.faults if ours else ()))


def read_case(path: Path, codec: Codec) -> TestCase:
    """The test case in a file of bytes, or of JSON where its name ends in `.json`.

    Raises FormatError for a file that cannot be read or holds none.
    """
    from rondo.codec import read_filled

    try:
        if path.suffix == ".json":
            return _from_json(path, codec)
        return codec.decode(read_filled(path))
    except OSError as error:
        raise FormatError(
            f"{path} cannot be read: {error.strerror}", "give the path of a test case"
        ) from error


def _from_json(path: Path, codec: Codec) -> TestCase:
    from rondo.jsonform import from_json

    try:
        return from_json(path.read_bytes(), codec)
    except FormatError as error:
        raise FormatError(f"{path}: {error.what}", error.advice) from error


def open_store(folder: Path) -> Store:
    """The findings of a folder that is there.

    Raises RondoError when it is not.
    """
    from rondo.findings import Store

    if not folder.is_dir():
        raise RondoError(f"there is no folder {folder}", "give the --findings folder of a campaign")
    return Store(folder)
