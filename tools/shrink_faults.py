"""How far does shrinking get? Failing sequences of 12 steps or more for each planted toy fault.

    python tools/shrink_faults.py --each 3

The shortest sequence that shows a fault is hidden among random steps of a larger model; one counts
when the oracle says that it fails. The table compares the shrunk steps with the known number.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harnesses.toy import HARNESS  # noqa: E402
from rondo.executor.client import ForkServer  # noqa: E402
from rondo.oracle import Limits, Oracle, Verdict  # noqa: E402
from rondo.shrink import Shrinker  # noqa: E402
from rondo.testcase import TestCase  # noqa: E402
from tests.toy.hidden import CODEC, hidden  # noqa: E402
from tests.toy.shortest import SHORTEST  # noqa: E402

LEAST_STEPS = 12
TRIES = 200
LIMITS = Limits(1.0, 300)


@dataclass(frozen=True, slots=True)
class Result:
    """One shrink: steps before and after, the known number, and the cases run."""

    fault: str
    before: int
    after: int
    known: int
    runs: int
    complete: bool


def failing(rng: random.Random, shortest: TestCase, count: int) -> Iterator[TestCase]:
    """Hidden sequences of at least 12 steps."""
    for _ in range(TRIES):
        case = hidden(rng, shortest, count=count)
        if len(case.steps) >= LEAST_STEPS:
            yield case


def shrink(fault: str, each: int, count: int, seconds: float, seed: int) -> Iterator[Result]:
    """Shrink `each` failing sequences of one fault."""
    server = ForkServer(HARNESS.name, (fault,))
    oracle, rng, done = Oracle(HARNESS, server, LIMITS), random.Random(seed), 0
    try:
        for case in failing(rng, SHORTEST[fault], count):
            verdict = oracle.judge(case)
            if verdict.kind == "stateful":
                yield _shrunk(fault, oracle, case, verdict, seconds)
                done += 1
            if done == each:
                return
    finally:
        server.close()


def _shrunk(fault: str, oracle: Oracle, case: TestCase, verdict: Verdict, seconds: float) -> Result:
    small = Shrinker(CODEC, oracle.recheck, case, verdict, seconds).run()
    known = len(SHORTEST[fault].steps)
    after = len(small.case.steps)
    return Result(fault, len(case.steps), after, known, small.tried, small.complete)


def show(results: list[Result]) -> None:
    """Print the table, the mean reduction and the median number of runs."""
    table = Table("fault", "before", "after", "known", "runs", "complete")
    for r in results:
        table.add_row(*map(str, (r.fault, r.before, r.after, r.known, r.runs, r.complete)))
    Console(width=120).print(table)
    reduced = statistics.mean(1 - r.after / r.before for r in results)
    runs = statistics.median(r.runs for r in results)
    exact = sum(r.after <= r.known for r in results)
    print(f"{exact} of {len(results)} at the known number of steps")
    print(f"mean reduction {reduced:.1%}, median {runs:g} runs a shrink")


def main(
    only: Annotated[str, typer.Option(help="comma-separated names")] = "",
    each: Annotated[int, typer.Option(help="sequences a fault")] = 2,
    steps: Annotated[int, typer.Option(help="steps of a sequence, before some are left out")] = 24,
    seconds: Annotated[float, typer.Option(help="time for one shrink")] = 60,
    seed: int = 1,
    output: Annotated[Path | None, typer.Option(help="write the results as JSON")] = None,
) -> None:
    """Shrink failing sequences of every planted fault and print a table."""
    names = only.split(",") if only else list(SHORTEST)
    results = []
    for name in names:
        for result in shrink(name, each, steps, seconds, seed):
            print(json.dumps(asdict(result)), flush=True)
            results.append(result)
    show(results)
    if output is not None:
        output.write_text(json.dumps([asdict(r) for r in results], indent=2))


if __name__ == "__main__":
    typer.run(main)
