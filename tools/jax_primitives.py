"""How many of JAX's primitives do models and the calls on them bind?

    python tools/jax_primitives.py --cases 300

Each operator, each architecture and each of JAX's own tests is called once, plainly and under
differentiation, then random cases are played step by step, in children of this process. The table
says how many different primitives each source bound, and how many all of them together.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import random
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from jax._src import core
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harnesses import base  # noqa: E402
from rondo.codec import Codec  # noqa: E402
from rondo.generate import random_case  # noqa: E402
from rondo.models.architectures import ARCHITECTURES  # noqa: E402
from rondo.models.operators import OPERATORS  # noqa: E402
from rondo.testcase import Call, Deviation, Model, Operator, TestCase  # noqa: E402

_CASES_A_CHILD = 100
_SOURCES = ("tests", "operators", "architectures", "random cases")


def drawn(codec: Codec, cases: int, seed: int) -> Iterator[tuple[str, TestCase]]:
    """(source, case) pairs."""
    models = {
        "tests": [Model(test=test) for test in codec.vocabulary.tests],
        "operators": [Model(operators=(Operator(kind),)) for kind in OPERATORS],
        "architectures": [Model(name, 1, 1) for name in ARCHITECTURES],
    }
    plain, derived = Call(2), Call(2, (Deviation("transform", "grad_x"),))
    for source, made in models.items():
        for model in made:
            yield source, codec.normal(TestCase(model, (), (plain, derived)))
    rng = random.Random(seed)
    for _ in range(cases):
        yield "random cases", random_case(rng, codec)


def _set_up() -> None:
    """As a campaign's server does it: two devices, and what JAX logs is not for a terminal."""
    base.load("jax_xla").runtime()
    logging.disable(logging.CRITICAL)


def bound(text: str) -> set[str]:
    """The names of the primitives that a program's steps bind, those of steps that raise too."""
    found: set[str] = set()
    original = core.Primitive.bind

    def noting(self: core.Primitive, *args: Any, **params: Any) -> Any:
        found.add(self.name)
        return original(self, *args, **params)

    module = types.ModuleType("case")
    sys.modules["case"] = module
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings(action="ignore"))
        core.Primitive.bind = noting
        stack.callback(setattr, core.Primitive, "bind", original)
        exec(compile(text, "case", "exec"), module.__dict__)
        state = module.State(True)
        for step in module.STEPS:
            with contextlib.suppress(Exception):  # some steps are meant to raise
                step(state)
    return found


def main(
    cases: Annotated[int, typer.Option(help="random cases, beside one of everything")] = 300,
    seed: int = 1,
) -> None:
    """Count the primitives and print a table."""
    harness = base.load("jax_xla")
    given = list(drawn(Codec(harness.vocabulary), cases, seed))
    texts = [harness.emit(case).text for _, case in given]
    by_source: dict[str, set[str]] = {source: set() for source in _SOURCES}
    context = multiprocessing.get_context("spawn")  # JAX's threads do not survive a fork
    with context.Pool(1, _set_up, maxtasksperchild=_CASES_A_CHILD) as pool:
        found = tqdm(pool.imap(bound, texts), total=len(texts), unit="case", disable=None)
        for (source, _), names in zip(given, found, strict=True):
            by_source[source] |= names
    table = Table("bound by", "primitives")
    for source, names in by_source.items():
        table.add_row(source, str(len(names)))
    table.add_row("all of them", str(len(set().union(*by_source.values()))))
    Console().print(table)
    print(", ".join(sorted(set().union(*by_source.values()))))


if __name__ == "__main__":
    typer.run(main)
