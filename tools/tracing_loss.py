"""How many compiler lines does tracing on suspicion miss, and what does it save?

    python tools/tracing_loss.py toy --cases 1000
    python tools/tracing_loss.py torch_inductor --cases 200

Plays one recording: cases that the search makes one from another, the parents being those that
showed something new, as libFuzzer would. Every case is traced here, and each is asked whether the
campaign would have traced it. A line is missed when no case that would have been traced ran it.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harnesses import base  # noqa: E402
from rondo.admission import Suspicion  # noqa: E402
from rondo.cli_shared import run_script  # noqa: E402
from rondo.codec import MAX_BYTES, Codec  # noqa: E402
from rondo.executor.client import ForkServer  # noqa: E402
from rondo.feedback import line_names  # noqa: E402
from rondo.options import parse  # noqa: E402
from rondo.oracle import SYMPTOM_OF_DEATH, Oracle, Verdict  # noqa: E402
from rondo.search import Search  # noqa: E402
from rondo.signature import features  # noqa: E402


@dataclass(frozen=True, slots=True)
class Played:
    """One case: its lines, whether a campaign would have traced it, and the seconds of its plain
    run and of its traced one."""

    lines: frozenset[str]
    due: bool
    plain: float
    traced: float


def recording(harness: base.Harness, oracle: Oracle, count: int, seed: int) -> Iterator[Played]:
    """Make, judge and trace cases one after the other."""
    codec = Codec(harness.vocabulary)
    search = Search(codec, parse(__file__, []), lambda case: case)
    rng = random.Random(seed)
    parents, seen, known, suspicion = [b""], set[str](), set[str](), Suspicion(oracle.layer)
    for number in range(count):
        encoded = search.mutant(rng.choice(parents), MAX_BYTES, seed * 1_000_003 + number)
        case = codec.decode(encoded)
        before = time.monotonic()
        verdict = oracle.judge(case)
        plain = time.monotonic() - before
        shown = dict.fromkeys(features(case, verdict))
        new = [name for name in shown if name not in seen]
        suspect = suspicion.suspect(case, shown)
        due = suspicion.due(encoded, suspect, verdict.seconds)
        seen.update(new)
        if new:
            parents.append(encoded)
        search.learn(case, encoded, verdict, len(new), plain)
        if not _traceable(verdict):
            yield Played(frozenset(), False, plain, 0.0)
            continue
        before = time.monotonic()
        lines = frozenset(line_names(oracle.rerun(case, traced=True)[1]))
        seconds = time.monotonic() - before
        if due:
            suspicion.learn(case, suspect, len(lines - known), len(known), seconds)
            known |= lines
        yield Played(lines, due, plain, seconds)


def _traceable(verdict: Verdict) -> bool:
    return verdict.kind != "invalid" and verdict.symptom not in SYMPTOM_OF_DEATH


def report(played: list[Played], after: int) -> str:
    """What was missed, and what tracing costs from case `after` on."""
    every = frozenset[str]().union(*(one.lines for one in played))
    found = frozenset[str]().union(*(one.lines for one in played if one.due))
    late = played[after:]
    plain = sum(one.plain for one in late) or 1.0
    spent = sum(one.traced for one in late if one.due)
    always = sum(one.traced for one in late)
    return "\n".join(
        (
            f"{sum(one.due for one in played)} of {len(played)} cases would have been traced",
            f"{len(every)} lines, of which {len(every - found)} are missed: "
            f"{len(every - found) / max(len(every), 1):.2%}",
            f"after {after} cases: {1 + spent / plain:.3f} x the time without tracing; "
            f"always tracing: {1 + always / plain:.3f} x",
            *sorted(every - found)[:20],
        )
    )


def main(
    target: str,
    cases: Annotated[int, typer.Option(min=1)] = 1000,
    seed: int = 1,
    after: Annotated[int, typer.Option(help="cases before the costs are counted")] = 500,
    fault: Annotated[list[str] | None, typer.Option(help="plant a fault")] = None,
) -> None:
    """Play a recording with every case traced and print what tracing on suspicion misses."""
    harness = base.load(target)
    server = ForkServer(target, tuple(fault or ()))
    try:
        made = recording(harness, Oracle(harness, server), cases, seed)
        played = list(tqdm(made, total=cases, unit="case", disable=None))
    finally:
        server.close()
    print(report(played, min(after, cases // 2)))


if __name__ == "__main__":
    run_script(main)
