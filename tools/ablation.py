"""Which part of the search helps? The toy target with its faults planted one at a time.

    python tools/ablation.py --output ablation/ --seeds 20 --limit 2000 --workers 2
    python tools/ablation.py --output ablation/ --faults steps3 --arms full,random --seeds 5

Each trial is a campaign of the real script `fuzz/toy.py` on an empty corpus, up to its first
confirmed finding: what is compared is libFuzzer's schedule, the mutators and the chains together,
which no shorter loop in one process would be. Only the executor is the one without children where
the fault leaves the process alive: it gives the same verdicts, features and mutants, twice as fast.

Trials are kept as JSON lines and none is run twice; trials of another version of the code, which
each line names by a hash, are left alone and not used. A trial without a finding within the limit
is *censored*: it ranks as the limit, which the tests of ranks allow because every trial of a table
has the same limit, and a median that falls on a censored trial is shown as above the limit.
"""

from __future__ import annotations

import hashlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from scipy.stats import mannwhitneyu
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harnesses.toy.faults import FAULTS  # noqa: E402
from rondo.campaign import CaseRecord  # noqa: E402
from rondo.cli_shared import named, run_script  # noqa: E402
from rondo.errors import RondoError  # noqa: E402

SCRIPT = ROOT / "fuzz" / "toy.py"
BASELINE = "random"
ARMS: dict[str, tuple[str, ...]] = {
    "full": (),
    "no-mcmc": ("--no-mcmc",),
    "no-novelty": ("--no-novelty",),
    "no-signature": ("--no-signature",),
    "no-coverage": ("--no-coverage",),
    "bytes": ("--mutator=bytes",),
    BASELINE: ("--mutator=random", "--no-mcmc", "--no-signature", "--no-coverage"),
}
"""The variants of the search, by the flags of the fuzz script that leave a part out."""

DEADLY = {"crash": (), "hang": ("--timeout=2",), "memory": ("--memory=200",)}
"""Faults that take their process with them, which children are there for; what shows them soon."""
LONG = 3
"""Faults of so many steps are what the search is for."""
_LEGEND = """steps: how many the shortest case that shows the fault has. of random's: the median's
ratio to that of the variant `random`. p: two-sided Mann-Whitney test against it. A12: the
probability that this variant needs fewer cases (Vargha and Delaney 2000). Without `random` among
the variants these are empty. ≥ and ≤ mark bounds: trials without a finding are in the median."""
_BATCH = ("--stop-on-finding", "--shrink-seconds=0")
_GIVEN_UP = 3600


class Trial(msgspec.Struct, frozen=True):
    """One campaign: how many cases it ran up to its finding, or to the limit without one."""

    code: str
    fault: str
    arm: str
    seed: int
    limit: int
    found: bool
    cases: int
    seconds: float

    @property
    def key(self) -> tuple[str, str, str, int, int]:
        """What makes it the same trial."""
        return self.code, self.fault, self.arm, self.seed, self.limit


class Row(msgspec.Struct, frozen=True):
    """One variant on one fault: the median of cases to the finding, how many of its trials found
    it, whether a censored trial is in that median, and against random sequences the ratio of the
    medians, whether theirs has one, the two-sided p of the Mann-Whitney test, and A12: the
    probability that this variant needs fewer cases (Vargha and Delaney 2000; ties count half)."""

    fault: str
    steps: int
    arm: str
    trials: int
    found: int
    median: float
    seconds: float
    bound: bool
    ratio: float | None = None
    ratio_bound: bool = False
    p: float | None = None
    a12: float | None = None


def code_digest() -> str:
    """A hash of the code that a toy campaign runs."""
    files = [*(ROOT / "rondo").rglob("*.py"), *(ROOT / "harnesses").glob("*.py")]
    files += [*(ROOT / "harnesses" / "toy").glob("*.py"), SCRIPT]
    found = hashlib.sha256()
    for file in sorted(files):
        found.update(file.relative_to(ROOT).as_posix().encode() + file.read_bytes())
    return found.hexdigest()[:12]


def run(code: str, fault: str, arm: str, seed: int, limit: int) -> Trial:
    """Run one campaign.

    Raises RuntimeError where the script says that it could not run.
    """
    folder = Path(tempfile.mkdtemp(prefix="rondo-ablation-"))
    (folder / "corpus").mkdir()
    executor = "fork" if fault in DEADLY else "inprocess"
    command = [sys.executable, str(SCRIPT), "corpus", f"-seed={seed}", f"--cases={limit}"]
    command += [f"--fault={fault}", f"--executor={executor}", "--findings=findings", "--log=log"]
    command += [*_BATCH, *ARMS[arm], *DEADLY.get(fault, ())]
    before = time.monotonic()
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=_GIVEN_UP)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{fault} {arm} {seed}: {done.stderr.decode()[-2000:]}")
        records = _records(folder / "log")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = bool(records) and records[-1].outcome == "new"
    cases = len(records) if found else limit
    return Trial(code, fault, arm, seed, limit, found, cases, time.monotonic() - before)


def _records(log: Path) -> list[CaseRecord]:
    lines = log.read_bytes().splitlines() if log.exists() else []
    return [msgspec.json.decode(line, type=CaseRecord) for line in lines]


def kept(file: Path) -> dict[tuple[str, str, str, int, int], Trial]:
    """The trials of a file by their key; a last line that was cut off is removed.

    Raises RondoError for a line that is no trial.
    """
    data = file.read_bytes() if file.exists() else b""
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        file.write_bytes(whole)
    trials = [_trial(file, number, line) for number, line in enumerate(whole.splitlines(), 1)]
    return {trial.key: trial for trial in trials}


def _trial(file: Path, number: int, line: bytes) -> Trial:
    try:
        return msgspec.json.decode(line, type=Trial)
    except msgspec.DecodeError as error:
        raise RondoError(
            f"line {number} of {file} is no trial: {error}", "remove that line and run again"
        ) from error


def run_missing(
    file: Path, wanted: list[tuple[str, str, str, int, int]], workers: int
) -> list[Trial]:
    """Every wanted trial: from the file, or run now and added to it."""
    done = kept(file)
    missing = [key for key in wanted if key not in done]
    with file.open("ab") as log, ThreadPoolExecutor(workers) as pool:
        ran = pool.map(lambda key: run(*key), missing)
        for trial in tqdm(ran, total=len(missing), unit="trial", disable=None):
            log.write(msgspec.json.encode(trial) + b"\n")
            log.flush()
            done[trial.key] = trial
    return [done[key] for key in wanted]


def compared(trials: Iterable[Trial]) -> Iterator[Row]:
    """One row for each variant on each fault, in the order of the trials."""
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.fault, trial.arm), []).append(trial)
    for (fault, arm), group in groups.items():
        cases = [trial.cases for trial in group]
        median = statistics.median(cases)
        row = Row(
            fault,
            FAULTS[fault].steps,
            arm,
            len(group),
            sum(trial.found for trial in group),
            median,
            statistics.median(trial.seconds for trial in group),
            _censored(group),
        )
        baseline = groups.get((fault, BASELINE), [])
        plain = [trial.cases for trial in baseline]
        if plain and arm != BASELINE:
            test = mannwhitneyu(plain, cases, alternative="two-sided")
            row = msgspec.structs.replace(
                row,
                ratio=median / statistics.median(plain),
                ratio_bound=_censored(baseline),
                p=float(test.pvalue),
                a12=float(test.statistic) / (len(plain) * len(cases)),
            )
        yield row


def _censored(group: list[Trial]) -> bool:
    """Whether a trial without a finding is in the median: such trials rank last."""
    return sum(trial.found for trial in group) <= len(group) // 2


def pooled(rows: list[Row]) -> Iterator[tuple[str, str, int, float, float]]:
    """For short and for long faults and each variant: how many faults, the geometric mean of the
    ratios of medians, and the mean A12."""
    for label, long in (("2 steps", False), (f"{LONG} steps or more", True)):
        for arm in ARMS:
            of = [r for r in rows if r.arm == arm and (r.steps >= LONG) == long and r.ratio]
            if of:
                ratio = statistics.geometric_mean(r.ratio for r in of if r.ratio)
                yield label, arm, len(of), ratio, statistics.mean(r.a12 or 0.0 for r in of)


def as_markdown(rows: list[Row]) -> str:
    """The table, what its columns are, and the summary below it."""
    lines = [
        "| fault | steps | variant | found | median cases | of random's | p | A12 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        median = f"{'≥ ' * row.bound}{row.median:g}"
        against = ("", "", "")
        if row.ratio is not None and row.p is not None and row.a12 is not None:
            ratio = _bounded(row.ratio, row.bound, row.ratio_bound)
            against = (ratio, f"{row.p:.3f}", f"{row.a12:.2f}")
        found = f"{row.found}/{row.trials}"
        cells = (row.fault, str(row.steps), row.arm, found, median, *against)
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        _LEGEND,
        "",
        "| faults of | variant | faults | cases of random's, geometric mean | mean A12 |",
    ]
    lines += ["|---|---|---|---|---|"]
    lines += [f"| {a} | {b} | {n} | {r:.2f} | {a12:.2f} |" for a, b, n, r, a12 in pooled(rows)]
    return "\n".join(lines) + "\n"


def _bounded(ratio: float, censored: bool, plain_censored: bool) -> str:
    """A ratio of two medians of which one or both may be above the limit."""
    if censored and plain_censored:
        return "?"
    return f"{'≥ ' * censored}{'≤ ' * plain_censored}{ratio:.2f}"


def chosen_faults(given: str) -> list[str]:
    """All faults, those of three steps or more (`steps3`), or those named, with commas between."""
    if given == "all":
        return list(FAULTS)
    if given == "steps3":
        return [name for name, fault in FAULTS.items() if fault.steps >= LONG]
    return named(given, FAULTS)


def main(
    output: Annotated[Path, typer.Option(help="folder for trials and tables")],
    faults: Annotated[
        str, typer.Option(help="all, steps3 (of three steps or more), or names with commas")
    ] = "all",
    arms: Annotated[str, typer.Option(help="names with commas")] = ",".join(ARMS),
    seeds: Annotated[int, typer.Option(min=1, help="trials for each fault and variant")] = 20,
    limit: Annotated[int, typer.Option(min=1, help="cases after which a trial ends")] = 2000,
    workers: Annotated[int, typer.Option(min=1, help="campaigns at a time")] = 1,
) -> None:
    """Run the trials that are missing and write `trials.jsonl`, `table.md` and `table.json`."""
    names, variants, code = chosen_faults(faults), named(arms, ARMS), code_digest()
    output.mkdir(parents=True, exist_ok=True)
    # Seed by seed, so that a run that is cut short leaves every row with as many trials.
    wanted = [
        (code, fault, arm, seed, limit)
        for seed in range(1, seeds + 1)
        for fault in names
        for arm in variants
    ]
    rows = list(compared(run_missing(output / "trials.jsonl", wanted, workers)))
    rows.sort(key=lambda r: (names.index(r.fault), variants.index(r.arm)))
    table = as_markdown(rows)
    (output / "table.md").write_text(table)
    (output / "table.json").write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=2))
    print(table)


if __name__ == "__main__":
    run_script(main)
