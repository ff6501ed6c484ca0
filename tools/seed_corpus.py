"""Write the seed corpus: `python tools/seed_corpus.py corpus/`.

Generic patterns, not bugs: each architecture; each kind of edit; each operator; each way in
which a call can deviate and each kind of event, before a model's only call; an event done and
undone between two calls; a call between two others (A B A); a walk along sizes; one call more than
a usual limit. What a model carries never differs between two of its calls, so no seed is a
ready-made trigger of a bug in that: the search has to join model and pattern.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harnesses import base  # noqa: E402
from rondo.codec import Codec  # noqa: E402
from rondo.models.architectures import ARCHITECTURES  # noqa: E402
from rondo.models.grow import grow  # noqa: E402
from rondo.models.operators import EDITS, FAMILIES, FAMILY, OPERATORS  # noqa: E402
from rondo.testcase import Call, Deviation, Event, Model, Operator, Step, TestCase  # noqa: E402
from rondo.vocabulary import (  # noqa: E402
    BATCHES,
    SHARED_EVENTS,
    EventKind,
    Vocabulary,
)

PLAIN = Call()
STATELESS = Model(operators=(Operator("linear"), Operator("tanh")))
LIMIT = 9
"""One more than the entries that compilers keep for one function."""
TOGETHER = 5
"""Operators in one seed."""
UNDONE = {
    "set_default_dtype": ("float64", "float32"),
    "set_matmul_precision": ("medium", "highest"),
}
"""Events on no carrier, with the values that change something and change it back."""


def _models() -> dict[str, TestCase]:
    """Each architecture, and one of each family of operators, called once."""
    found = {f"architecture-{name}": Model(name) for name in ARCHITECTURES}
    for edit, name in zip(EDITS, ("mlp", "lenet", "transformer", "lstm"), strict=True):
        found[f"{edit}-{name}"] = Model(name, operators=(Operator(edit, 3, 7),))
    ordinary = [name for name in OPERATORS if name not in FAMILY]
    found |= {f"operators-{grown[0]}": _grown(grown) for grown in _groups(ordinary)}
    for family, operators in FAMILIES.items():
        for start in range(0, len(operators), 3):
            grown = tuple(Operator(name, 1) for name in operators[start : start + 3])
            found[f"family-{family.replace(' ', '-')}-{start:02}"] = Model(operators=grown)
    return {name: TestCase(model, (), (PLAIN,)) for name, model in found.items()}


def _grown(names: Sequence[str]) -> Model:
    return Model(operators=tuple(Operator(name, 1) for name in names))


def _groups(names: list[str]) -> Iterable[list[str]]:
    """Operators a few at a time, as many as fit one after the other: a seed costs a compile."""
    group: list[str] = []
    for name in names:
        wanted = [*group, name]
        there = {node.op for node in grow(_grown(wanted)).nodes}
        if group and (len(wanted) > TOGETHER or not set(wanted) <= there):
            yield group
            wanted = [name]
        group = wanted
    yield group


def _carrier(needs: str) -> Model | None:
    """The smallest model that carries a trait: of one operator, or an architecture."""
    if not needs:
        return STATELESS
    grown = (Model(operators=(Operator(name),)) for name in OPERATORS)
    twice = Model(operators=(Operator("scale_weight"), Operator("scale_weight")))
    started = (Model(name) for name in ARCHITECTURES)
    fits = (m for m in (*grown, twice, *started) if needs in grow(m).traits)
    return next(fits, None)


def _of_event(kind: EventKind) -> Iterable[tuple[str, TestCase]]:
    model = _carrier(kind.needs)
    options = kind.options(grow(model).traits) if model else ()
    if model is not None and options:
        event = Event(kind.name, 0, options[0])
        yield f"event-{kind.name}", TestCase(model, (), (event, PLAIN))


def _undone(vocabulary: Vocabulary) -> Iterable[tuple[str, TestCase]]:
    """Call, change an ambient mode, change it back, call."""
    for name, values in UNDONE.items():
        if name in vocabulary.event:
            steps = (PLAIN, *(Event(name, 0, value) for value in values), PLAIN)
            yield f"undone-{name}", TestCase(STATELESS, (), steps)


def _patterns(vocabulary: Vocabulary) -> dict[str, TestCase]:
    """Sequences on a model without state: deviations, A B A, walks, more calls than a limit."""
    found: dict[str, tuple[Step, ...]] = {
        "batches-up": tuple(Call(size) for size in sorted(BATCHES)),
        "batches-down": tuple(Call(size) for size in sorted(BATCHES, reverse=True)),
        "batches-aba": (Call(2), Call(3), Call(2)),
        "same-call": (PLAIN,) * LIMIT,
        "past-a-limit": tuple(Call(BATCHES[i % len(BATCHES)]) for i in range(LIMIT)),
    }
    traits = grow(STATELESS).traits
    for dimension in vocabulary.dimension.values():
        for value in dimension.deviations(traits):
            name = f"deviation-{dimension.name}-{value}"
            found[name] = (Call(2, (Deviation(dimension.name, value),)),)
    return {name: TestCase(STATELESS, (), steps) for name, steps in found.items()}


def seeds() -> dict[str, bytes]:
    """File name -> bytes of every seed, the same for every target."""
    shared = Vocabulary(base.load("toy").vocabulary.settings)
    codec = Codec(shared)
    found = _models() | _patterns(shared) | dict(_undone(shared))
    for kind in SHARED_EVENTS:
        found |= dict(_of_event(kind))
    return {f"seed-{name}": codec.encode(codec.normal(case)) for name, case in found.items()}


def main(
    folder: Annotated[Path, typer.Argument(help="the corpus folder")] = ROOT / "corpus",
) -> None:
    """Write the seeds, replacing older ones."""
    for old in folder.glob("seed-*"):
        old.unlink()
    for name, data in seeds().items():
        (folder / name).write_bytes(data)
    print(f"{len(seeds())} seeds in {folder}")


if __name__ == "__main__":
    typer.run(main)
