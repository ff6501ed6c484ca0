"""What a check says: where it is while it runs, and what was and was not covered at its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from tqdm import tqdm

from rondo.check.run import Checked, counted
from rondo.check.trial import axis_dimension, axis_words

_PLAIN_EVERY = 10.0
LIMITS = (
    ("hooks", "hooks are neither added nor removed"),
    ("devices", "only the CPU"),
)
"""What no check covers."""


class Live:
    """A live line on a terminal, a plain line now and then elsewhere; on standard error."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._shown = self._start
        self._terminal = sys.stderr.isatty()
        self._bar = tqdm(bar_format="{desc}", disable=not self._terminal, file=sys.stderr)

    def say(self, text: str) -> None:
        """Print a line of its own."""
        tqdm.write(text, file=sys.stderr)

    def show(self, text: str) -> None:
        """Show where the check is."""
        now = time.monotonic()
        line = f"{now - self._start:.0f} s | {text}"
        if self._terminal:
            self._bar.set_description_str(line)
        elif now - self._shown > _PLAIN_EVERY:
            self._shown = now
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._bar.close()


def headline(result: Checked) -> str:
    """The outcome in one sentence."""
    played = result.played
    if result.findings:
        return f"{played}: {counted(len(result.findings), 'stateful difference')}"
    if doubtful := result.unconfirmed:
        differences = counted(doubtful, "stateful difference")
        return f"{played}, {differences}, not confirmed: run it again, with more --time"
    if not result.judged:
        return f"{played}, none of which can be judged"
    return f"{played}, no {'stateful ' if result.others else ''}difference"


def told(result: Checked, findings: Path) -> Iterator[str]:
    """The outcome in words, line by line."""
    interrupted = ", interrupted" if result.interrupted else ""
    yield f"{headline(result)} ({result.seconds:.0f} s{interrupted})"
    for finding in result.findings:
        place = f"step {finding.exposing + 1} of {len(finding.sentences)}"
        yield f"  {place} is wrong: {finding.symptom}"
        for number, sentence in enumerate(finding.sentences, 1):
            yield f"    {number}. {sentence}"
        yield f"    {finding.where}: {finding.detail}"
        if finding.known:
            yield f"    known: {finding.known}"
        yield f"    python {findings / finding.name / 'repro.py'}"
    for text, count in result.others.most_common():
        yield f"  {count} x {text}"
    unjudged = result.verdicts["invalid"]
    if unjudged:
        yield f"  {unjudged} sequences were left out: eager execution raises in them"


def covered(result: Checked) -> Iterator[tuple[str, str, str]]:
    """(what was varied, values, layers) in the order in which it was."""
    names = dict.fromkeys(name for _, name in result.covered)
    sizes = {axis_dimension(axis): axis_words(result.facts, axis) for axis in result.facts.axes}
    for name in names:
        layers = [layer for layer, other in result.covered if other == name]
        values = sorted({v for layer in layers for v in result.covered[layer, name]}, key=_order)
        yield sizes.get(name, name), ", ".join(values), ", ".join(layers)


def _order(value: str) -> tuple[bool, int, str]:
    return (not value.isdigit(), int(value) if value.isdigit() else 0, value)


def uncovered(result: Checked) -> Iterator[tuple[str, str]]:
    """(what was not varied or compared, why)."""
    yield from result.refused
    for part in result.facts.unseen:
        yield part, "compared by type alone: its parts are not known"
    for layer, count in result.left.items():
        yield f"{count} planned sequences with {layer}", "time was up: --time allows more"
    yield from LIMITS


def show(result: Checked, findings: Path, console: Console) -> None:
    """Print the outcome and the two tables."""
    for line in told(result, findings):
        console.print(escape(line), highlight=False, soft_wrap=True)
    table = Table("covered", "values", "backends", title_justify="left")
    for row in covered(result):
        table.add_row(*map(escape, row))
    console.print(table)
    missing = Table("not covered", "why")
    for what, why in uncovered(result):
        missing.add_row(escape(what), escape(why))
    console.print(missing)


def as_record(result: Checked, findings: Path) -> dict[str, Any]:
    """The outcome for `--json`."""
    return {
        "outcome": headline(result),
        "sequences": result.verdicts.total(),
        "calls": result.calls,
        "verdicts": dict(result.verdicts),
        "seconds": round(result.seconds, 1),
        "interrupted": result.interrupted,
        "findings": [{"finding": f, "folder": str(findings / f.name)} for f in result.findings],
        "others": dict(result.others),
        "covered": [
            {"name": name, "values": values.split(", "), "layers": layers.split(", ")}
            for name, values, layers in covered(result)
        ],
        "not_covered": [{"what": what, "why": why} for what, why in uncovered(result)],
    }
