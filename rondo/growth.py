"""`rondo stats`: the statistics of a campaign as tables and as growth curves.

Reads what `rondo.statistics` wrote; stands beside the fuzzer, not in its flow. Matplotlib is only
needed for the curves, and imported when they are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.table import Table

from rondo.errors import RondoError, SetupError
from rondo.statistics import Snapshot

Runs = dict[str, list[Snapshot]]
_COLUMNS = 3
_OF_SEARCH = ("-seed=", "--mutator=", "--no-", "--fault=")
"""The flags that a campaign must be told by to be compared with another."""
_SIZE = (9.0, 6.0)
"""Inches of a figure."""
CURVES: dict[str, tuple[tuple[str, Callable[[Snapshot], float]], ...]] = {
    "features": (
        ("compiler lines", lambda s: s.features.get("line", 0)),
        ("changes", lambda s: s.features.get("change", 0)),
        ("pairs of signatures", lambda s: s.features.get("pair", 0)),
        ("signatures", lambda s: s.features.get("step", 0)),
    ),
    "cases": (("cases", lambda s: s.cases), ("corpus", lambda s: s.corpus or 0)),
    "findings": (("findings", lambda s: sum(s.findings.values())),),
}
"""What each figure shows over the hours that drivers ran, by its file's name."""


def summary(runs: Runs) -> Table:
    """One column for each of the last runs: what it came to."""
    shown = list(runs)[-_COLUMNS:]
    table = Table("", caption=f"the last {len(shown)} of {len(runs)} runs")
    for name in shown:
        table.add_column(name, overflow="fold")  # names and flags tell runs apart
    last = [runs[name][-1] for name in shown]
    for label, told in _ROWS:
        table.add_row(label, *map(told, last))
    return table


def _of_search(snapshot: Snapshot) -> str:
    return " ".join(flag for flag in snapshot.flags if flag.startswith(_OF_SEARCH))


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else "-"


_ROWS: tuple[tuple[str, Callable[[Snapshot], str]], ...] = (
    ("target", lambda s: s.target),
    ("search", lambda s: _of_search(s) or "-"),
    ("seconds", lambda s: f"{s.seconds:.0f}"),
    ("cases", lambda s: f"{s.cases}, {s.cases_per_second:.2f}/s"),
    ("corpus", lambda s: "-" if s.corpus is None else str(s.corpus)),
    ("verdicts", lambda s: _counted(s.verdicts)),
    ("new findings", lambda s: _counted(s.findings)),
    ("joined a finding", lambda s: str(s.joined)),
    ("features", lambda s: _counted(s.features)),
    ("collisions of features", lambda s: str(s.collisions)),
    (
        "signatures counted",
        lambda s: (
            f"{s.signatures.distinct}, {s.signatures.once} of them once, "
            f"the commonest {s.signatures.commonest} times"
        ),
    ),
    ("cases' seconds", lambda s: f"{s.case_seconds:.0f}"),
    ("outside children", lambda s: _share(s.case_seconds - s.child_seconds, s.case_seconds)),
    ("in arms", lambda s: ", ".join(f"{v:.0f} {k}" for k, v in s.arm_seconds.items())),
    ("traced", lambda s: f"{s.traced_share:.1%} of cases, {s.traced_seconds:.0f} s"),
    (
        "ran a second time",
        lambda s: f"{s.checked} cases, {s.unstable} differed, {s.check_seconds:.0f} s untraced",
    ),
    (
        "chains",
        lambda s: (
            f"{s.proposed} proposed, {_share(s.accepted, s.proposed)} accepted, "
            f"{s.restarts} restarts"
        ),
    ),
)


def mutators(runs: Runs) -> Table:
    """What each mutator yielded in the runs of `summary` together, most features a second first;
    a case counts for each of its mutators, its features and seconds are shared among them."""
    table = Table("mutator", "cases", "new features", "seconds", "features/s", "weight now")
    table.columns[0].overflow = "fold"
    sums: dict[str, tuple[int, float, float]] = {}
    share: dict[str, float] = {}
    for lines in list(runs.values())[-_COLUMNS:]:
        for name, one in lines[-1].mutators.items():
            cases, found, seconds = sums.get(name, (0, 0.0, 0.0))
            sums[name] = (cases + one.cases, found + one.features, seconds + one.seconds)
            share[name] = one.share
    rows = sorted(sums.items(), key=lambda row: -row[1][1] / (row[1][2] or 1.0))
    for name, (cases, found, seconds) in rows:
        rate = f"{found / seconds:.2f}" if seconds else "-"
        row = (name, str(cases), f"{found:.0f}", f"{seconds:.0f}", rate, f"{share[name]:.1%}")
        table.add_row(*row)
    return table


def draw(runs: Runs, folder: Path) -> list[Path]:
    """Write the growth curves as PNG files, one line for each run; the files written.

    Raises SetupError without Matplotlib, RondoError where the folder cannot be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SetupError(
            "growth curves need matplotlib", "pip install 'rondo[plots]', or give --no-plots"
        ) from error
    written = []
    for name, curves in CURVES.items():
        figure = Figure(figsize=_SIZE, layout="constrained")
        rows = figure.subplots(len(curves), 1, sharex=True, squeeze=False)
        for (axes,), (label, value) in zip(rows, curves, strict=True):
            for run, lines in runs.items():
                times, heights = curve(lines, value)
                axes.plot(times, heights, label=f"{run} {_of_search(lines[-1])}".strip())
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
        rows[-1][0].set_xlabel("hours")
        rows[0][0].legend(fontsize="small")
        path = folder / f"growth-{name}.png"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            figure.savefig(path)
        except OSError as error:
            raise RondoError(
                f"cannot write {path}: {error.strerror}", "give another folder with --output"
            ) from error
        written.append(path)
    return written


def curve(
    lines: Sequence[Snapshot], value: Callable[[Snapshot], float]
) -> tuple[list[float], list[float]]:
    """Hours and values of one run, from nothing at its start on."""
    hours = [0.0, *(line.seconds / 3600 for line in lines)]
    return hours, [0.0, *map(value, lines)]
