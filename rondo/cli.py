"""The `rondo` command: everything around the fuzzer itself, which is started as `fuzz/<target>.py`.

Each command reads, calls one module that does the work, and prints. A `RondoError` becomes one
message on standard error and exit code 2. Modules are imported by the command that needs them, so
that `rondo doctor` works in a damaged installation.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console
from rich.markup import escape

from rondo.cli_check import CHECK_CODES, check
from rondo.cli_findings import COMMANDS
from rondo.cli_shared import (
    DEFAULT_TARGET,
    EXIT_CODES,
    FAILED,
    CaseTargetOption,
    FaultOption,
    JsonOption,
    TargetOption,
    UndocumentedOption,
    belonging,
    load_harness,
    read_case,
)
from rondo.errors import FormatError, Interrupted, RondoError, SetupError

if TYPE_CHECKING:
    from harnesses.base import Program
    from rondo.codec import Codec
    from rondo.testcase import TestCase

RUN_CODES = f"""Exit codes: 0 the case passes; 1 it fails; {FAILED} it could not be judged: the
message says what to do."""

app = typer.Typer(
    help="A coverage-guided, stateful fuzzer for deep-learning compilers.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
corpus_app = typer.Typer(help="Look after a corpus.", epilog=EXIT_CODES, no_args_is_help=True)
app.add_typer(corpus_app, name="corpus")


def main() -> None:
    """Run the command line; the entry point of the `rondo` script."""
    try:
        app()
    except RondoError as error:
        if "--json" in sys.argv:
            typer.echo(json.dumps({"error": error.what, "advice": error.advice}))
        console = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)
        console.print(f"[bold red]rondo:[/] {escape(str(error))}")
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        Console(stderr=True).print("interrupted")
        raise SystemExit(Interrupted.exit_code) from None


@app.command(epilog=EXIT_CODES)
def doctor(as_json: JsonOption = False) -> None:
    """Say what is installed, which targets can run, and what to do about what is missing.

    Exit code 0 when at least one target can run, 2 otherwise.
    """
    from rondo import doctor as examination

    report = examination.examine(examination.CHECKS)
    if as_json:
        typer.echo(json.dumps(report.as_dict(), indent=2))
    else:
        examination.show(report, Console())
    if not report.healthy:
        raise typer.Exit(FAILED)


@app.command(epilog=EXIT_CODES)
def show(
    file: Annotated[Path, typer.Argument(help="A test case: bytes, or JSON named *.json.")],
    target: CaseTargetOption = "",
    undocumented: UndocumentedOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the case as JSON.")] = False,
    program: Annotated[
        bool, typer.Option("--program", help="Print the emitted program only.")
    ] = False,
) -> None:
    """Print a test case: its model, settings and steps, and the program that it is emitted as."""
    from rondo import jsonform
    from rondo.codec import Codec

    if as_json and program:
        raise SetupError("--json and --program exclude each other", "give one of them")
    target, _ = belonging(file, target, None)
    harness = load_harness(target, undocumented)
    case = read_case(file, Codec(harness.vocabulary))
    if as_json:
        typer.echo(jsonform.to_json(case), nl=False)
        return
    emitted = harness.emit(case)
    if not program:
        typer.echo("\n".join(described(case, emitted)) + "\n")
    typer.echo(emitted.text.rstrip("\n"))


@app.command(epilog=EXIT_CODES)
def models(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the architectures that a model can start from, and the operators that it grows by."""
    from harnesses import base
    from rondo.catalogue import catalogue, show

    targets = [load_harness(name) for name in base.available()]
    tests = {target.name: target.vocabulary.tests for target in targets}
    found = catalogue({target.name: target.stand_ins for target in targets}, tests)
    if as_json:
        typer.echo(msgspec.json.encode(found))
    else:
        show(found, Console())


@corpus_app.command(epilog=EXIT_CODES)
def adopt(
    source: Annotated[Path, typer.Argument(help="A file, or a folder of files, of any bytes.")],
    destination: Annotated[Path, typer.Argument(help="The corpus; made when it is not there.")],
    target: TargetOption = DEFAULT_TARGET,
    undocumented: UndocumentedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Read any bytes, or JSON cases, as test cases and add them to a corpus in canonical form.

    A file that is there already stays as it is; the source is never changed.
    """
    from rondo.codec import Codec

    codec = Codec(load_harness(target, undocumented).vocabulary)
    try:
        found = [_bytes_of(path, codec) for path in _files(source)]
        destination.mkdir(parents=True, exist_ok=True)
        added = sum(_adopt(data, codec, destination) for data in found)
    except OSError as error:
        raise FormatError(
            f"{error.filename}: {error.strerror}", "give a file or folder, then a folder"
        ) from error
    if as_json:
        typer.echo(json.dumps({"new": added, "read": len(found), "corpus": str(destination)}))
    else:
        typer.echo(f"{added} of {len(found)} files are new in {destination}")


def _bytes_of(path: Path, codec: Codec) -> bytes:
    """A file's bytes; those of the case that it says where it is JSON."""
    if path.suffix == ".json":
        return codec.encode(read_case(path, codec))
    return path.read_bytes()


def _files(source: Path) -> list[Path]:
    from rondo.codec import files_under

    return files_under(source) if source.is_dir() else [source]


def _adopt(data: bytes, codec: Codec, destination: Path) -> bool:
    from rondo.codec import digest

    canonical = codec.canonical(data)
    try:
        with Path(destination, digest(canonical)).open("xb") as file:
            file.write(canonical)
    except FileExistsError:
        return False
    return True


@app.command(epilog=RUN_CODES)
def run(
    file: Annotated[Path, typer.Argument(help="A test case: .bin or .json.")],
    target: CaseTargetOption = "",
    undocumented: UndocumentedOption = False,
    fault: FaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Judge a test case again: what each step does, what the compiler did, and what differs."""
    from harnesses import base
    from rondo.codec import Codec
    from rondo.executor.client import ForkServer
    from rondo.oracle import FAILING, Oracle
    from rondo.tell import told

    target, faults = belonging(file, target, fault)
    harness = load_harness(target, undocumented)
    case = read_case(file, Codec(harness.vocabulary))
    base.require(harness)
    server = ForkServer(harness.name, faults)
    try:
        verdict = Oracle(harness, server).judge(case)
    finally:
        server.close()
    if as_json:
        typer.echo(msgspec.json.encode(verdict))
    else:
        typer.echo("\n".join(told(case, harness.emit(case), verdict)))
    unjudged = verdict.kind in ("invalid", "nondeterministic")
    raise typer.Exit(1 if verdict.kind in FAILING else FAILED if unjudged else 0)


app.command(epilog=CHECK_CODES)(check)
for command in COMMANDS:
    app.command(epilog=EXIT_CODES)(command)


@app.command(epilog=EXIT_CODES)
def stats(
    folders: Annotated[
        list[Path] | None, typer.Argument(help="Findings folders of campaigns (default: findings).")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Where growth curves go; the first folder by default.")
    ] = None,
    plots: Annotated[bool, typer.Option(help="Write growth curves as PNG files.")] = True,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print each run's last line as JSON, draw nothing.")
    ] = False,
) -> None:
    """Say what campaigns did, what their parts yielded, and draw how they grew."""
    from rondo import growth, statistics

    given = folders or [Path("findings")]
    left_out: list[FormatError] = []
    runs = {run: x for folder in given for run, x in statistics.read(folder, left_out).items()}
    for error in left_out:
        typer.echo(f"left out: {error.what}", err=True)
    if as_json:
        typer.echo(msgspec.json.encode([lines[-1] for lines in runs.values()]))
        return
    console = Console()
    console.print(growth.summary(runs))
    console.print(growth.mutators(runs))
    for path in growth.draw(runs, output or given[0]) if plots else ():
        typer.echo(path)


def described(case: TestCase, program: Program) -> list[str]:
    """A test case in words, line by line."""
    model = case.model
    operators = ", ".join(operator.kind for operator in model.operators) or "none"
    settings = ", ".join(f"{name} = {value}" for name, value in case.settings) or "plain"
    return [
        f"model      {model.start}: width {model.width}, depth {model.depth}, seed {model.seed}",
        f"operators  {operators}",
        f"settings   {settings}",
        f"steps      {len(case.steps)}, of which {case.calls} call the model",
        *(f"  {number:2}. {text}" for number, text in enumerate(program.sentences, 1)),
    ]


if __name__ == "__main__":
    main()
