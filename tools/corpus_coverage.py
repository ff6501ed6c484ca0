"""Which compiler lines, and how many signatures, does each corpus reach?

    python tools/corpus_coverage.py torch_inductor full.corpus plain.corpus

Plays every case of each corpus once, all of them traced: fuzzers are compared by what the inputs
reach that they hand over. What a campaign counts itself is less where it kept a case for what it
did and did not trace it (`tools/tracing_loss.py` says how much less).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harnesses import base  # noqa: E402
from rondo.cli_shared import run_script  # noqa: E402
from rondo.codec import Codec, files_under, read_case_bytes  # noqa: E402
from rondo.errors import RondoError  # noqa: E402
from rondo.executor.client import ForkServer  # noqa: E402
from rondo.feedback import line_names  # noqa: E402
from rondo.oracle import Oracle, Verdict  # noqa: E402
from rondo.signature import signatures  # noqa: E402
from rondo.testcase import TestCase  # noqa: E402


@dataclass(frozen=True, slots=True)
class Reach:
    """What the cases of one corpus reach."""

    corpus: str
    cases: int
    lines: frozenset[str]
    signatures: frozenset[str]


def cases_of(corpus: Path, codec: Codec) -> list[TestCase]:
    """The cases of a corpus that call something.

    Raises RondoError where there is none, FormatError for a file that is no case.
    """
    decoded = (codec.decode(read_case_bytes(file)) for file in files_under(corpus))
    if not (found := [case for case in decoded if case.calls]):
        raise RondoError(f"{corpus} holds no case", "give the corpus folder of a campaign")
    return found


def reach(oracle: Oracle, corpus: str, cases: list[TestCase]) -> Reach:
    """Play the cases, traced."""
    lines, shown = set[str](), set[str]()
    for case in tqdm(cases, desc=corpus, unit="case", disable=None):
        behaviour, ran = oracle.rerun(case, traced=True)
        lines.update(line_names(ran))
        shown.update(signatures(Verdict("pass", behaviour=behaviour)))
    return Reach(corpus, len(cases), frozenset(lines), frozenset(shown))


def as_markdown(found: list[Reach]) -> str:
    """A row for each corpus; `alone` counts what no other one reaches."""
    rows = ["| corpus | cases | lines | alone | signatures | alone |", "|---|---|---|---|---|---|"]
    for one in found:
        others = [other for other in found if other is not one]
        lines = one.lines.difference(*(other.lines for other in others))
        shown = one.signatures.difference(*(other.signatures for other in others))
        cells = (one.cases, len(one.lines), len(lines), len(one.signatures), len(shown))
        rows.append(f"| {one.corpus} | {' | '.join(map(str, cells))} |")
    return "\n".join(rows)


def played(target: str, corpora: Iterable[Path]) -> list[Reach]:
    """What each corpus reaches on a target."""
    harness = base.load(target)
    base.require(harness)
    codec = Codec(harness.vocabulary)
    given = [(str(corpus), cases_of(corpus, codec)) for corpus in corpora]
    server = ForkServer(target)
    try:
        server.start()
        oracle = Oracle(harness, server)
        return [reach(oracle, name, cases) for name, cases in given]
    finally:
        server.close()


def main(
    target: str,
    corpora: Annotated[
        list[Path], typer.Argument(exists=True, file_okay=False, help="corpus folders")
    ],
) -> None:
    """Play corpora with every case traced and print what each reaches, alone and in all."""
    print(as_markdown(played(target, corpora)))


if __name__ == "__main__":
    run_script(main)
