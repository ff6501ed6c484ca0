"""What do cases cost, how many are valid, and what does the oracle say of them?

    python tools/case_costs.py torch_inductor --cases 200
    python tools/case_costs.py torch_inductor --cases 1000 --source bytes --eager-only
    python tools/case_costs.py torch_inductor --cases 500 --layer eager --output alarms/

`--source random` draws the cases that a campaign starts from, `--source bytes` decodes random
bytes. The overhead is the share of the wall time that is not spent in steps of programs: everything
but the framework's compiling and running.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harnesses import base  # noqa: E402
from rondo.codec import Codec, digest  # noqa: E402
from rondo.executor.client import ForkServer  # noqa: E402
from rondo.executor.protocol import EAGER, Job  # noqa: E402
from rondo.generate import random_case  # noqa: E402
from rondo.oracle import Oracle, Verdict  # noqa: E402
from rondo.tell import told  # noqa: E402
from rondo.testcase import TestCase  # noqa: E402


def cases(codec: Codec, source: str, count: int, seed: int, layer: str) -> list[TestCase]:
    """The cases to look at: drawn, or decoded from random bytes; on one layer if it is named."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        if source == "bytes":
            given = codec.decode(draw.randbytes(draw.randrange(8, 140)))
        else:
            given = random_case(draw, codec)
        if layer:
            setting = codec.vocabulary.settings[0]
            others = tuple(pair for pair in given.settings if pair[0] != setting.name)
            chosen = ((setting.name, layer),) if layer != setting.values[0] else ()
            given = replace(given, settings=chosen + others)
        found.append(given)
    return found


def valid_share(harness: base.Harness, server: ForkServer, given: list[TestCase]) -> float:
    """The share of cases whose eager arm raises in no step that is not meant to."""
    valid = 0
    for case in given:
        program = harness.emit(case)
        outcome = server.run(Job(program.text, (EAGER,), tuple(sorted(program.raising))))
        records = outcome.arms.get("eager", [])
        wrong = [r for r in records if r.error and r.step not in program.raising]
        valid += not wrong and outcome.death is None and not outcome.trouble
    return valid / len(given)


def judge_all(
    harness: base.Harness, server: ForkServer, given: list[TestCase], output: Path | None
) -> tuple[Counter[str], float, float]:
    """Verdict counts, wall seconds, and the seconds spent in steps of programs."""
    oracle, codec = Oracle(harness, server), Codec(harness.vocabulary)
    kinds: Counter[str] = Counter()
    inside = 0.0
    before = time.monotonic()
    for case in given:
        verdict = oracle.judge(case)
        kinds[f"{verdict.kind} {verdict.symptom}".strip()] += 1
        if verdict.runs == 1:
            inside += sum(seconds for _, seconds in verdict.arm_seconds)
        else:
            before += verdict.seconds
        if output is not None and verdict.kind not in ("pass", "invalid"):
            _keep(harness, codec, case, verdict, output)
    return kinds, time.monotonic() - before, inside


def _keep(
    harness: base.Harness, codec: Codec, case: TestCase, verdict: Verdict, folder: Path
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    data = codec.encode(case)
    name = f"{verdict.kind}-{digest(data)}"
    (folder / f"{name}.bin").write_bytes(data)
    words = "\n".join(told(case, harness.emit(case), verdict))
    (folder / f"{name}.txt").write_text(words + "\n")


def main(
    target: str,
    count: Annotated[int, typer.Option("--cases")] = 200,
    source: str = "random",
    seed: int = 1,
    layer: Annotated[str, typer.Option(help="run all cases on this layer")] = "",
    eager_only: Annotated[bool, typer.Option(help="only ask whether cases are valid")] = False,
    output: Annotated[Path | None, typer.Option(help="keep the cases that do not pass")] = None,
) -> None:
    """Judge many cases and print what they cost."""
    harness = base.load(target)
    given = cases(Codec(harness.vocabulary), source, count, seed, layer)
    server = ForkServer(target)
    server.start()
    print(f"server ready after {server.start_seconds:.1f} s")
    try:
        if eager_only:
            print(f"valid {valid_share(harness, server, given):.1%} of {count}")
            return
        kinds, wall, inside = judge_all(harness, server, given, output)
    finally:
        server.close()
    for kind, seen in kinds.most_common():
        print(f"{seen:6} {kind}")
    print(f"{count / wall:.2f} cases/s; {1 - inside / wall:.1%} of the time is not the framework's")


if __name__ == "__main__":
    typer.run(main)
