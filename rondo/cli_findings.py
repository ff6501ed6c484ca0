"""The commands of `rondo` around findings: shrink a case, list, report again, what is known."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console
from rich.markup import escape

from rondo.cli_shared import (
    DEFAULT_TARGET,
    CaseTargetOption,
    FaultOption,
    FolderArgument,
    JsonOption,
    UndocumentedOption,
    belonging,
    load_harness,
    open_store,
    read_case,
)
from rondo.errors import FormatError, RondoError

if TYPE_CHECKING:
    from rich.table import Table

    from rondo.findings import Finding
    from rondo.resume import Shrinking


def shrink(
    file: Annotated[Path, typer.Argument(help="A failing test case: .bin or .json.")],
    output: Annotated[
        Path | None, typer.Option(help="Where the small case goes (default FILE.small.bin).")
    ] = None,
    target: CaseTargetOption = "",
    undocumented: UndocumentedOption = False,
    fault: FaultOption = None,
    seconds: Annotated[float, typer.Option(min=0, help="Time to search.")] = 300.0,
    findings: Annotated[
        Path, typer.Option(help="Where different failures that are met go.")
    ] = Path("findings"),
    as_json: JsonOption = False,
) -> None:
    """Make a failing case small: fewer steps, plainer calls, a smaller model.

    Ctrl-C keeps the best case so far; the same command goes on from there.
    """
    from harnesses import base
    from rondo.codec import Codec
    from rondo.resume import run_shrink

    target, faults = belonging(file, target, fault)
    harness = load_harness(target, undocumented)
    case = read_case(file, Codec(harness.vocabulary))
    base.require(harness)
    place = output or file.with_suffix(".small.bin")
    done = run_shrink(harness, case, place, faults, seconds, findings)
    if as_json:
        typer.echo(msgspec.json.encode(done))
        return
    for line in _shrunk_lines(done):
        typer.echo(line)


def _shrunk_lines(done: Shrinking) -> list[str]:
    effect = done.effect
    rows = (("steps", effect.steps), ("deviations", effect.deviations), ("lines", effect.lines))
    ended = "nothing plainer fails" if effect.complete else "not at its end: run it again to go on"
    return [
        *done.told,
        *(f"{name:11}{before} -> {after}" for name, (before, after) in rows),
        f"{effect.runs} cases were run; {ended}",
        *(f"a different failure was met: {name}" for name in done.others),
        f"the small case is {done.output}",
    ]


def findings(folder: FolderArgument = Path("findings"), as_json: JsonOption = False) -> None:
    """List the findings of a folder, sorted by symptom; a damaged one is named after the others."""
    damaged: list[FormatError] = []
    found = sorted(open_store(folder).findings(damaged), key=lambda f: (f.symptom, f.name))
    if as_json:
        typer.echo(msgspec.json.encode(found))
    elif found or damaged:
        _show(found)
    else:
        typer.echo(f"no findings in {folder}")
    for error in damaged[:1]:
        raise error


def _show(found: list[Finding]) -> None:
    from rich.table import Column, Table

    name = Column("finding", overflow="fold")
    table = Table(name, "steps", "seen", "what happens", "what differs", "known", show_lines=True)
    for one in found:
        steps = f"{one.steps[0]} > {one.steps[1]}"
        story = "; ".join(one.sentences[: one.exposing + 1])
        known = "; ".join([*(f"planted: {fault}" for fault in one.faults), one.known])
        row = (one.name, steps, str(one.seen), story, one.detail, known.removesuffix("; "))
        table.add_row(*map(escape, row))
    _print(table)


def report(
    folder: Annotated[Path, typer.Argument(help="The folder of one finding.")],
    as_json: JsonOption = False,
) -> None:
    """Write `report.md` of a finding again, from its verdict.json and repro.py."""
    from rondo.findings import write_atomically
    from rondo.report import report as written

    found = open_store(folder.parent).known(folder.name) if folder.is_dir() else None
    if found is None:
        raise RondoError(f"{folder} holds no finding", "give a folder that `rondo findings` lists")
    try:
        repro = (folder / "repro.py").read_text()
    except OSError as error:
        raise RondoError(
            f"{error.filename}: {error.strerror}", "replay its case.bin to have it found again"
        ) from error
    text = written(found, load_harness(found.compiler).issue, repro)
    write_atomically(folder / "report.md", text.encode())
    if as_json:
        typer.echo(msgspec.json.encode({"report": str(folder / "report.md"), "text": text}))
    else:
        typer.echo(f"wrote {folder / 'report.md'}")


def known(
    folder: Annotated[
        Path | None, typer.Argument(help="A findings folder to count in (default: none).")
    ] = None,
    target: Annotated[
        str,
        typer.Option(metavar="NAME", help=f"Default: the findings' own, or {DEFAULT_TARGET}."),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """List the known issues of a target, with what they explain in a findings folder."""
    from rich.table import Column, Table

    from rondo.known import read, tally

    stored = list(open_store(folder).findings()) if folder else []
    met = {finding.compiler for finding in stored}
    harness = load_harness(target or (met.pop() if len(met) == 1 else DEFAULT_TARGET))
    ours = [finding for finding in stored if finding.compiler == harness.name]
    found = tally(read(harness.folder / "known.toml"), ours, harness.package)
    if as_json:
        typer.echo(msgspec.json.encode(found))
        return
    if not found:
        typer.echo(f"no issues of {harness.name} are known")
        return
    table = Table(
        Column("issue", overflow="fold"),
        "reason",
        "matches",
        "versions",
        "findings",
        "cases",
        "status",
    )
    for one in found:
        entry = one.entry
        what = [*entry.changes, entry.symptom, entry.layer, entry.message, *entry.families]
        row = (f"{entry.id}\n{entry.url}", entry.reason, ", ".join(filter(None, what)))
        counts = (entry.versions or "all", str(len(one.findings)), str(one.cases), one.status)
        table.add_row(*map(escape, (*row, *counts)))
    _print(table)


def _print(table: Table) -> None:
    """Print a table, wide where no terminal says how wide."""
    Console(width=None if sys.stdout.isatty() else 160).print(table)


COMMANDS = (shrink, findings, report, known)
