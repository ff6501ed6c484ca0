"""How soon does a campaign find each planted fault? One campaign a fault, from an empty corpus.

    python tools/planted_faults.py torch_inductor --file faults_torch.py --seconds 300 --jobs 2

A finding counts for a fault when its repro, run in a cold interpreter *without* the fault, no
longer shows the bug: real bugs of the framework that a campaign meets on the way do not count.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harnesses import base  # noqa: E402
from rondo.cli_shared import named, run_script  # noqa: E402
from rondo.confirm import run_repro  # noqa: E402
from rondo.errors import RondoError  # noqa: E402
from rondo.findings import Finding, Store  # noqa: E402

_POLL_SECONDS = 0.5
_END_SECONDS = 10
_TOLD = 2000
"""How much of what a campaign said is told where it could not run."""


@dataclass(frozen=True, slots=True)
class Result:
    """One campaign: whether the fault was found, after how many cases and seconds, the steps of
    the shrunk case, and the findings that were real bugs of the framework."""

    fault: str
    found: bool
    cases: int
    seconds: float
    steps: int
    name: str
    others: int


@dataclass(frozen=True, slots=True)
class Setup:
    """What the campaigns have in common."""

    target: str
    seconds: int
    seed: int
    extra: tuple[str, ...]
    known: Path | None


def campaign(setup: Setup, fault: str) -> Result:
    """Run one campaign until the fault is found or time is up."""
    folder = Path(tempfile.mkdtemp(prefix="rondo-faults-"))
    corpus, findings = folder / "corpus", folder / "findings"
    corpus.mkdir()
    if setup.known is not None:
        shutil.copytree(setup.known, findings, ignore=shutil.ignore_patterns("alarms", "running"))
    command = [sys.executable, str(ROOT / "fuzz" / f"{setup.target}.py"), str(corpus)]
    command += [f"-max_total_time={setup.seconds}", f"-seed={setup.seed}"]
    command += [f"--findings={findings}", f"--fault={fault}", "--log=cases", *setup.extra]
    log = (folder / "log").open("wb")
    before = time.monotonic()
    process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        found = _watch(setup, fault.rpartition(":")[2], process, Store(findings), before)
        if found.found:
            return found
        if process.returncode:
            said = (folder / "log").read_text(errors="replace")
            raise RondoError(f"the campaign with {fault} could not run", said[-_TOLD:].strip())
        return replace(found, cases=_lines(folder / "cases"))
    finally:
        process.terminate()
        process.wait(_END_SECONDS)
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


def _lines(file: Path) -> int:
    return len(file.read_bytes().splitlines()) if file.exists() else 0


def _watch(
    setup: Setup, fault: str, process: subprocess.Popen[bytes], store: Store, before: float
) -> Result:
    others = {finding.name for finding in store.findings()}
    while True:
        over = process.poll() is not None
        for finding in store.findings():
            if finding.name in others:
                continue
            if _by_the_fault(store.folder / finding.name / "repro.py"):
                return _found(fault, finding, time.monotonic() - before, len(others))
            others.add(finding.name)
        if over:
            return Result(fault, False, 0, setup.seconds, 0, "", len(others))
        time.sleep(_POLL_SECONDS)


def _found(fault: str, finding: Finding, seconds: float, others: int) -> Result:
    return Result(fault, True, finding.case_number, seconds, finding.steps[1], finding.name, others)


def _by_the_fault(repro: Path) -> bool:
    return run_repro(repro) == 0


def names(target: str, file: Path | None) -> list[str]:
    """The faults to try: those of a file's FAULTS, or the target's own.

    Raises RondoError for a file without.
    """
    if file is None:
        return [fault.name for fault in base.load(target).runtime().faults()]
    found = getattr(base.fault_file(file), "FAULTS", None)
    if found is None:
        raise RondoError(f"{file} has no list FAULTS", "name its functions there")
    return [f"{file.resolve()}:{name}" for name in found]


def chosen(faults: list[str], only: str) -> list[str]:
    """Those that are named, with commas between; all without."""
    known = {fault.rpartition(":")[2]: fault for fault in faults}
    return [known[name] for name in named(only, known)] if only else faults


def show(results: list[Result]) -> None:
    """Print the table of results."""
    table = Table("fault", "found", "cases", "seconds", "steps", "finding", "real bugs met")
    for r in results:
        row = [r.fault, "yes" if r.found else "NO", str(r.cases), f"{r.seconds:.0f}", str(r.steps)]
        table.add_row(*row, r.name, str(r.others))
    Console(width=150).print(table)
    print(f"{sum(r.found for r in results)} of {len(results)} found")


def main(
    target: str,
    file: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="a file of faults with FAULTS")
    ] = None,
    only: Annotated[str, typer.Option(help="comma-separated names")] = "",
    seconds: Annotated[int, typer.Option(min=1, help="time for one fault")] = 300,
    seed: int = 1,
    jobs: Annotated[int, typer.Option(min=1, help="campaigns at a time")] = 1,
    mutator: str = "structured",
    known: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            file_okay=False,
            help="findings of a campaign without faults: what is known",
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="write the results as JSON")] = None,
) -> None:
    """Run one campaign for each planted fault and print a table."""
    setup = Setup(target, seconds, seed, (f"--mutator={mutator}",), known)
    faults = chosen(names(target, file), only)
    results: list[Result] = []
    with ThreadPoolExecutor(jobs) as pool:
        for result in pool.map(lambda fault: campaign(setup, fault), faults):
            print(json.dumps(asdict(result)), flush=True)
            results.append(result)
            if output is not None:
                output.write_text(json.dumps([asdict(r) for r in results], indent=2))
    show(results)


if __name__ == "__main__":
    run_script(main)
