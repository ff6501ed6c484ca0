"""How wide is the space of models, are they valid, and which compiler lines do they reach?

    python tools/model_space.py torch_inductor --count 2000
    python tools/model_space.py torch_inductor --models architectures --count 29 --layer inductor
    python tools/model_space.py torch_inductor --models tests --count 500 --layer inductor

`--models bytes` decodes random bytes, `random` draws what a campaign starts from, `architectures`
takes each architecture and `tests` the framework's own tests, every so-manieth. Each model gets one
plain call, eagerly and in float64, which are to give the same finite values; with `--layer` it is
compiled too, and the lines of the compiler that all of them ran together are counted.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
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
from rondo.executor.protocol import EAGER, Arm, Job, Observation, StepRecord  # noqa: E402
from rondo.generate import random_model  # noqa: E402
from rondo.models.architectures import ARCHITECTURES  # noqa: E402
from rondo.models.grow import grow  # noqa: E402
from rondo.models.operators import FAMILIES, OPERATORS  # noqa: E402
from rondo.numerics import REFERENCE_TRUST  # noqa: E402
from rondo.oracle import WIDE  # noqa: E402
from rondo.testcase import Call, Model, TestCase  # noqa: E402

TRACED = Arm("retained", 0, traced=True)
_BY_TYPE = frozenset({*FAMILIES["random"], "branch_dtype"})
"""Operators that are meant to give something else in float64."""


def drawn(codec: Codec, kind: str, count: int, seed: int) -> list[Model]:
    """The models to look at."""
    draw = random.Random(seed)
    tests = codec.vocabulary.tests
    every = max(len(tests) // count, 1)
    makers: dict[str, Callable[[], list[Model]]] = {
        "bytes": lambda: [codec.decode(draw.randbytes(200)).model for _ in range(count)],
        "random": lambda: [random_model(draw, tests) for _ in range(count)],
        "architectures": lambda: [Model(name, 1, 1) for name in ARCHITECTURES][:count],
        "tests": lambda: [Model(test=test) for test in tests[::every]][:count],
    }
    if kind not in makers:
        raise typer.BadParameter(f"--models is one of {', '.join(makers)}")
    return makers[kind]()


@dataclass(slots=True)
class Tally:
    """What the models did, all together."""

    models: int = 0
    valid: int = 0
    finite: int = 0
    nodes: int = 0
    build: float = 0.0
    operators: Counter[str] = field(default_factory=Counter)
    lines: set[tuple[str, int]] = field(default_factory=set)
    seconds: float = 0.0
    compared: int = 0
    steady: int = 0
    not_finite: Counter[str] = field(default_factory=Counter)
    unsteady: Counter[str] = field(default_factory=Counter)


def _sound(records: list[StepRecord]) -> bool:
    return bool(records) and not any(record.error for record in records)


def _finite(observation: Observation) -> bool:
    numbers = observation.role in ("output", "buffer") and observation.kind[1:2] in ("f", "c")
    return not numbers or bool(np.isfinite(np.frombuffer(observation.data, observation.kind)).all())


def _values(observation: Observation) -> np.ndarray:
    return np.frombuffer(observation.data, observation.kind).astype(np.float64)


def _steady(eager: list[StepRecord], wide: list[StepRecord]) -> bool:
    """Whether float64 gives what eager execution gave: it does not where a value sits so close to a
    discontinuity that rounding moves it across. Distances are relative to the root mean square of
    an output's values."""
    wanted = {(o.role, o.path): o for record in wide for o in record.observations}
    for one in (o for record in eager for o in record.observations if o.role == "output"):
        other = wanted.get((one.role, one.path))
        if one.dtype not in REFERENCE_TRUST or other is None or one.shape != other.shape:
            continue
        expected = _values(other)
        scale = float(np.sqrt(np.mean(expected**2))) if expected.size else 0.0
        if not (
            np.abs(_values(one) - expected) <= REFERENCE_TRUST[one.dtype] * (scale or 1.0)
        ).all():
            return False
    return True


def look(harness: base.Harness, server: ForkServer, model: Model, layer: str, tally: Tally) -> None:
    """Run one model and add what it did."""
    setting = harness.vocabulary.settings[0].name
    settings = ((setting, layer),) if layer and layer != harness.layers[0] else ()
    codec = Codec(harness.vocabulary)
    data = codec.encode(TestCase(model, settings, (Call(2),)))
    before = time.perf_counter()
    case = codec.decode(data)
    program = harness.emit(case)
    tally.build += time.perf_counter() - before
    arms = (EAGER, WIDE, *([TRACED] if layer else []))
    outcome = server.run(Job(program.text, arms))
    graph = grow(model)
    tally.models += 1
    tally.nodes += len(graph.nodes)
    tally.operators.update({node.op for node in graph.nodes if node.op in OPERATORS})
    tally.seconds += outcome.seconds
    if not _sound(outcome.arms.get(EAGER.name, [])):
        return
    tally.valid += 1
    wide = [o for r in outcome.arms.get(WIDE.name, []) for o in r.observations]
    finite = bool(wide) and all(map(_finite, wide))
    tally.finite += finite
    used = {node.op for node in graph.nodes}
    if not finite:
        tally.not_finite.update(used)
    elif not used & _BY_TYPE:
        tally.compared += 1
        steady = _steady(outcome.arms[EAGER.name], outcome.arms[WIDE.name])
        tally.steady += steady
        tally.unsteady.update(() if steady else used)
    tally.lines |= {(file, line) for file, found in outcome.lines.items() for line in found}


def show(tally: Tally, layer: str) -> None:
    """Print the tally, and how evenly the operators are used."""
    table = Table("what", "how much", show_header=False)
    rows = (
        ("models", f"{tally.models}"),
        ("valid: eager execution runs", f"{tally.valid / tally.models:.1%}"),
        ("of these finite in float64", f"{tally.finite / max(tally.valid, 1):.1%}"),
        ("neither random nor made to depend on the type", f"{tally.compared}"),
        ("of these the same in float64", f"{tally.steady / max(tally.compared, 1):.2%}"),
        ("operators and nodes a model", f"{tally.nodes / tally.models:.1f}"),
        ("different operators", f"{len(tally.operators)} of {len(OPERATORS)}"),
        ("decode and build, ms a model", f"{tally.build / tally.models * 1000:.1f}"),
        ("seconds in children", f"{tally.seconds:.0f}"),
        (f"compiler lines, {layer}", f"{len(tally.lines)}" if layer else "not asked for"),
    )
    for row in rows:
        table.add_row(*row)
    console = Console()
    console.print(table)
    often = tally.operators.most_common()
    for title, part in (("most used", often[:12]), ("least used", often[-12:])):
        console.print(f"{title}: {', '.join(f'{name} {count}' for name, count in part)}")
    for title, found in (("not finite", tally.not_finite), ("not the same", tally.unsteady)):
        if found:
            worst = ", ".join(f"{name} {count}" for name, count in found.most_common(12))
            console.print(f"in models that are {title}: {worst}")


def main(
    target: str,
    count: int = 2000,
    models: str = "bytes",
    layer: Annotated[str, typer.Option(help="compile on this layer and count lines")] = "",
    seed: int = 1,
) -> None:
    """Look at many models and print what they are."""
    harness = base.load(target)
    if layer and layer not in harness.layers:
        raise typer.BadParameter(f"--layer is one of {', '.join(harness.layers)}")
    server = ForkServer(target)
    server.start()
    tally = Tally()
    try:
        for model in tqdm(
            drawn(Codec(harness.vocabulary), models, count, seed), unit="model", disable=None
        ):
            look(harness, server, model, layer, tally)
    finally:
        server.close()
    show(tally, layer)


if __name__ == "__main__":
    run_script(main)
