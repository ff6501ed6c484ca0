"""Write the seed corpus: `python tools/seed_corpus.py corpus/`.

Each architecture, and one operator of each family, called once. A single call leaves nothing
behind, so no seed holds a ready-made trigger of a stateful bug; the search has to build sequences
itself.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harnesses import base  # noqa: E402
from rondo.codec import Codec  # noqa: E402
from rondo.models.architectures import ARCHITECTURES  # noqa: E402
from rondo.models.operators import FAMILIES  # noqa: E402
from rondo.testcase import Call, Model, Operator, TestCase  # noqa: E402


def seeds() -> dict[str, bytes]:
    """File name -> bytes of every seed, the same for every target."""
    codec = Codec(base.load("toy").vocabulary)
    models = {f"architecture-{name}": Model(name) for name in ARCHITECTURES}
    for family, operators in FAMILIES.items():
        grown = tuple(Operator(name) for name in operators[:3])
        models[f"family-{family.replace(' ', '-')}"] = Model(operators=grown)
    return {
        f"seed-{name}": codec.encode(TestCase(model, (), (Call(),)))
        for name, model in models.items()
    }


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
