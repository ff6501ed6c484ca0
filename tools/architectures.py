"""Every architecture through the three arms: built, run eagerly, compiled, a sequence of six steps.

    python tools/architectures.py torch_inductor --layer inductor
    python tools/architectures.py jax_xla --only llama,gpt_decoder
    python tools/architectures.py torch_inductor --layer aot_eager --size 1 --output alarms/

The sequence: a call with a backward pass, the same in evaluation, another batch size, an event on
what the model carries, the first call again, an exact replay. The table says the verdict, the
trained numbers, and how long each arm took.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harnesses import base  # noqa: E402
from rondo.cli_shared import run_script  # noqa: E402
from rondo.codec import Codec  # noqa: E402
from rondo.executor.client import ForkServer  # noqa: E402
from rondo.models.architectures import ARCHITECTURES  # noqa: E402
from rondo.models.grow import grow  # noqa: E402
from rondo.models.parameters import numbers  # noqa: E402
from rondo.oracle import FAILING, Limits, Oracle, Verdict  # noqa: E402
from rondo.tell import told  # noqa: E402
from rondo.testcase import Call, Deviation, Event, Model, TestCase  # noqa: E402

SECONDS = 300.0


def sequence(codec: Codec, model: Model, layer: str) -> TestCase:
    """The six steps on a model, as far as the target has words for them."""
    setting = codec.vocabulary.settings[0]
    chosen = ((setting.name, layer),) if layer not in ("", setting.values[0]) else ()
    trained = Call(2, (Deviation("backward", "sum"),))
    evaluated = Call(2, (Deviation("grad_mode", "no_grad"), Deviation("mode", "eval")))
    event = Event("change_parameter", 0, "mutate")
    steps = (trained, evaluated, Call(3), event, trained, trained)
    return codec.normal(TestCase(model, chosen, steps))


def _row(model: Model, case: TestCase, verdict: Verdict) -> tuple[str, ...]:
    graph = grow(model)
    arms = ", ".join(f"{name} {seconds:.1f}" for name, seconds in verdict.arm_seconds)
    said = " ".join(filter(None, (verdict.kind, verdict.symptom, verdict.note)))
    sizes = (str(len(graph.nodes)), str(numbers(graph)), str(len(case.steps)))
    return (model.architecture, *sizes, said, arms)


def main(
    target: str,
    layer: Annotated[str, typer.Option(help="the layer of the compiler; the cheapest")] = "",
    only: Annotated[str, typer.Option(help="comma-separated architectures")] = "",
    size: Annotated[int, typer.Option(help="width and depth", min=0, max=15)] = 0,
    output: Annotated[Path | None, typer.Option(help="keep what does not pass")] = None,
) -> None:
    """Judge every architecture and print a table; exit code 1 when one fails."""
    harness = base.load(target)
    codec = Codec(harness.vocabulary)
    names = only.split(",") if only else [n for n in ARCHITECTURES if n != "nothing"]
    if unknown := set(names) - set(ARCHITECTURES):
        raise typer.BadParameter(f"no architecture {', '.join(sorted(unknown))}")
    server = ForkServer(target)
    table = Table("architecture", "nodes", "parameters", "steps", "verdict", "seconds")
    failed = 0
    try:
        oracle = Oracle(harness, server, Limits(seconds=SECONDS))
        for name in tqdm(names, unit="model", disable=None):
            model = Model(name, size, size)
            case = sequence(codec, model, layer)
            verdict = oracle.judge(case)
            table.add_row(*_row(model, case, verdict))
            failed += verdict.kind in FAILING or verdict.kind == "invalid"
            if output is not None and verdict.kind != "pass":
                output.mkdir(parents=True, exist_ok=True)
                words = "\n".join(told(case, harness.emit(case), verdict))
                (output / f"{name}.txt").write_text(words + "\n")
    finally:
        server.close()
    Console(width=140).print(table)
    raise typer.Exit(1 if failed else 0)


if __name__ == "__main__":
    run_script(main)
