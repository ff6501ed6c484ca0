"""What do cases cost, how many are valid, and what does the oracle say of them?

    python tools/case_costs.py torch_inductor --cases 200
    python tools/case_costs.py torch_inductor --cases 1000 --source bytes --eager-only
    python tools/case_costs.py torch_inductor --cases 500 --layer eager --output alarms/
    python tools/case_costs.py torch_inductor --cases 1000 --layer inductor --first --output alarms/
    python tools/case_costs.py jax_xla --cases 200 --source corpus --corpus corpus/

`--source random` draws the cases that a campaign starts from, `--source bytes` decodes random
bytes, `--source corpus` takes files of a corpus: the same ones for every target. With `--first`
each is one plain call: what alarms then is no matter of state. The overhead is the share of the
wall time that is not spent in steps of programs: everything but the framework's compiling and
running.
"""

from __future__ import annotations

import contextlib
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harnesses import base  # noqa: E402
from rondo.cli_shared import run_script  # noqa: E402
from rondo.codec import Codec, digest, read_case_bytes  # noqa: E402
from rondo.executor.client import ForkServer  # noqa: E402
from rondo.executor.processes import resident_bytes  # noqa: E402
from rondo.executor.protocol import EAGER, Job  # noqa: E402
from rondo.generate import random_case  # noqa: E402
from rondo.oracle import Oracle, Verdict  # noqa: E402
from rondo.signature import signatures  # noqa: E402
from rondo.tell import told  # noqa: E402
from rondo.testcase import Call, TestCase  # noqa: E402


def cases(
    codec: Codec, source: str, count: int, seed: int, layer: str, corpus: Path | None
) -> list[TestCase]:
    """The cases to look at: drawn, or decoded from random bytes or files; on one layer if it is
    named."""
    draw = random.Random(seed)
    files = sorted(f for f in corpus.iterdir() if f.is_file()) if corpus is not None else []
    makers: dict[str, Callable[[], TestCase]] = {
        "bytes": lambda: codec.decode(draw.randbytes(draw.randrange(8, 140))),
        "random": lambda: random_case(draw, codec),
        "corpus": lambda: codec.decode(read_case_bytes(files.pop(draw.randrange(len(files))))),
    }
    if source not in makers:
        raise typer.BadParameter(f"--source is one of {', '.join(makers)}")
    if source == "corpus" and len(files) < count:
        raise typer.BadParameter(f"--corpus has {len(files)} files for {count} cases")
    if layer and layer not in codec.vocabulary.settings[0].values:
        raise typer.BadParameter(
            f"--layer is one of {', '.join(codec.vocabulary.settings[0].values)}"
        )
    found = []
    for _ in range(count):
        given = makers[source]()
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


@dataclass(slots=True)
class Judged:
    """Verdict counts, distinct signatures, wall seconds, the seconds spent in steps of programs,
    and the bytes of the servers over the cases, as many samples as there are cases."""

    kinds: Counter[str] = field(default_factory=Counter)
    signatures: set[str] = field(default_factory=set)
    wall: float = 0.0
    inside: float = 0.0
    resident: list[int] = field(default_factory=list)

    def table(self) -> str:
        """What was measured, as text."""
        lines = [f"{seen:6} {kind}" for kind, seen in self.kinds.most_common()]
        count = sum(self.kinds.values())
        if not count:
            return "no case was judged"
        valid, own = 1 - self.kinds["invalid"] / count, 1 - self.inside / self.wall
        lines.append(f"valid {valid:.1%}; {len(self.signatures)} distinct signatures")
        rate = count / self.wall
        lines.append(f"{rate:.2f} cases/s; {own:.1%} of the time is not the framework's")
        tenth = self.resident[len(self.resident) // 10]
        grown = self.resident[-1] / tenth - 1
        lines.append(
            f"servers: {tenth / 1e6:.1f} MB after a tenth of the cases,"
            f" {self.resident[-1] / 1e6:.1f} MB at the end ({grown:+.1%})"
        )
        return "\n".join(lines)


def judge_all(
    harness: base.Harness, server: ForkServer, given: list[TestCase], output: Path | None
) -> Judged:
    """Judge every case; an interruption ends it early, with what is measured so far."""
    oracle, codec, judged = Oracle(harness, server), Codec(harness.vocabulary), Judged()
    before = time.monotonic()
    with contextlib.suppress(KeyboardInterrupt):
        for case in (bar := tqdm(given, unit="case")):
            verdict = oracle.judge(case)
            judged.kinds[f"{verdict.kind} {verdict.symptom}".strip()] += 1
            judged.signatures.update(signatures(verdict))
            arms = [seconds for _, seconds in verdict.arm_seconds]
            if verdict.runs > (1 if harness.eager_shares_process else 2):
                before += verdict.seconds  # what comes after a disagreement is not counted
            else:
                judged.inside += sum(arms) if harness.eager_shares_process else max(arms, default=0)
            judged.wall = time.monotonic() - before
            servers = filter(None, (server, server.twin))
            judged.resident.append(sum(resident_bytes(one.pid) for one in servers))
            if output is not None and verdict.kind not in ("pass", "invalid"):
                _keep(harness, codec, case, verdict, output)
            bar.set_postfix_str(
                ", ".join(f"{n} {k}" for k, n in judged.kinds.most_common()), refresh=False
            )
    return judged


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
    count: Annotated[int, typer.Option("--cases", min=1)] = 200,
    source: str = "random",
    corpus: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, help="folder for --source corpus")
    ] = None,
    seed: int = 1,
    layer: Annotated[str, typer.Option(help="run all cases on this layer")] = "",
    first: Annotated[bool, typer.Option(help="one plain call of each model")] = False,
    eager_only: Annotated[bool, typer.Option(help="only ask whether cases are valid")] = False,
    output: Annotated[Path | None, typer.Option(help="keep the cases that do not pass")] = None,
) -> None:
    """Judge many cases and print what they cost."""
    harness = base.load(target)
    given = cases(Codec(harness.vocabulary), source, count, seed, layer, corpus)
    if first:
        given = [case.with_steps((Call(),)) for case in given]
    server = ForkServer(target)
    server.start()
    print(f"server ready after {server.start_seconds:.1f} s")
    try:
        if eager_only:
            print(f"valid {valid_share(harness, server, given):.1%} of {count}")
            return
        judged = judge_all(harness, server, given, output)
    finally:
        server.close()
    print(judged.table())


if __name__ == "__main__":
    run_script(main)
