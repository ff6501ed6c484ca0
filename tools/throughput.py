"""How many cases a second, against the same programs run bare in one warmed process?

    python tools/throughput.py torch_inductor --layer eager --steps 6 --cases 100
    python tools/throughput.py torch_inductor --layer inductor --steps 4 --cases 15

Judged is what a campaign does: all arms that the oracle asks for, in children. Bare is the floor:
the compiled calls alone, one program after the other in this process, with the framework's reset
between two, nothing observed and nothing compared. Each has a kernel store of its own, which is
empty when the first pass begins and warm in the second, over the same cases.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Annotated
from unittest.mock import patch

import typer
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harnesses import base  # noqa: E402
from rondo.cli_shared import run_script  # noqa: E402
from rondo.codec import Codec  # noqa: E402
from rondo.executor.client import ForkServer  # noqa: E402
from rondo.generate import random_case  # noqa: E402
from rondo.oracle import Oracle  # noqa: E402
from rondo.testcase import TestCase  # noqa: E402

_DRAWS = 2000
"""So many draws at most for one case."""


def drawn(codec: Codec, layer: str, steps: int, count: int, seed: int) -> list[TestCase]:
    """Random cases of so many steps on one layer of the target."""
    layers = codec.vocabulary.settings[0].values
    if layer not in layers:
        raise typer.BadParameter(f"--layer is one of {', '.join(layers)}")
    rng = random.Random(seed)
    found: list[TestCase] = []
    for _ in range(_DRAWS * count):
        case = random_case(rng, codec)
        if len(case.steps) == steps and codec.vocabulary.layer(case.settings) == layer:
            found.append(case)
        if len(found) == count:
            return found
    raise typer.BadParameter(f"cases of {steps} steps on {layer} are not drawn: fewer --steps")


@contextmanager
def fresh_store() -> Iterator[None]:
    """What starts in here has a kernel store of its own, empty at first."""
    folder = tempfile.TemporaryDirectory(prefix="rondo-throughput-")
    with folder as path, patch.dict(os.environ, RONDO_CACHE=path):
        yield


def run_bare(runtime: base.Runtime, text: str) -> None:
    """The compiled calls of a program, in this process."""
    runtime.reset()
    with runtime.ambient():
        module = runtime.load(text, "rondo_bare")
        module.reseed(0)
        state = module.State(True)
        for index, step in enumerate(module.STEPS):
            module.reseed(index + 1)
            with suppress(Exception):  # programs may raise: the oracle's matter, not this one's
                step(state)


def measure(
    harness: base.Harness, oracle: Oracle, runtime: base.Runtime, given: list[TestCase]
) -> tuple[float, float]:
    """The seconds of all cases judged, and run bare; one of each in turn, so that both meet the
    same machine."""
    judged = bare = 0.0
    for case in tqdm(given, unit="case", disable=None):
        start = time.monotonic()
        oracle.judge(case)
        between = time.monotonic()
        run_bare(runtime, harness.emit(case).text)
        judged += between - start
        bare += time.monotonic() - between
    return judged, bare


def main(
    target: str,
    layer: Annotated[str, typer.Option(help="a value of the target's first setting")],
    steps: Annotated[int, typer.Option(min=1, help="steps of each case")] = 6,
    count: Annotated[int, typer.Option("--cases", min=1)] = 100,
    seed: int = 1,
) -> None:
    """Judge cases and run them bare, with cold and with warm kernels, and print the ratios."""
    harness = base.load(target)
    base.require(harness)
    given = drawn(Codec(harness.vocabulary), layer, steps, count, seed)
    with ExitStack() as stack:
        stack.enter_context(fresh_store())
        runtime = harness.runtime()
        stack.callback(runtime.close)
        runtime.warm_up()
        stack.enter_context(fresh_store())
        server = ForkServer(target)
        stack.callback(server.close)
        server.start()
        for kernels in ("cold", "warm"):
            judged, bare = measure(harness, Oracle(harness, server), runtime, given)
            print(
                f"{kernels} kernels: {count / judged:.2f} cases/s judged,"
                f" {count / bare:.2f} bare: {judged / bare:.2f} times the floor"
            )


if __name__ == "__main__":
    run_script(main)
