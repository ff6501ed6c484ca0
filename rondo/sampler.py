"""The Metropolis-Hastings stage: chains of sequences that dwell where compiler behaviour is rare.

A chain keeps a model and its settings and moves through sequences of step records. Its target is

    pi(x)  proportional to  g(x) * sum over the signatures s of x of 1 / N(s)

where N(s) counts how often the campaign has seen s, and g is the measure that sequences are drawn
from: every length alike, every record by `draw`. Each move is reversible under g, so a proposal is
accepted with min(1, w(x') / w(x)), w being the sum (Metropolis et al. 1953, Hastings 1970):

- *resample*: a record is drawn anew; there and back is the ratio of the two draws, which is g's;
- *insert* and *delete*: a drawn record at one of n + 1 places, against one of n + 1 records gone;
  at the shortest and the longest length the move that has nowhere to go stays where it is;
- *swap*: two records change places, which is its own inverse.

N grows while the chain runs, so the target moves, slowly; a chain that has not met a new signature
for long starts again from a case that is rare by then. It keeps its model, so however freely it
moves it runs dry.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import fsum

Records = tuple[bytes, ...]
Drawn = Callable[[random.Random], bytes]
"""Draws one record of the measure g."""


class Counts:
    """N(s): how often each signature has been seen in the campaign."""

    def __init__(self, seen: Iterable[tuple[str, int]] = ()) -> None:
        self.seen: Counter[str] = Counter(dict(seen))

    def record(self, signatures: Iterable[str]) -> None:
        """Count each signature of a case once."""
        self.seen.update(set(signatures))

    def weight(self, signatures: Iterable[str]) -> float:
        """The sum of 1 / N(s) over the distinct signatures of a case; a new one counts 1."""
        return fsum(1 / max(self.seen[s], 1) for s in set(signatures))


def propose(rng: random.Random, records: Records, draw: Drawn, most: int) -> Records:
    """One move from a sequence of 1 to `most` records, reversible under g."""
    move = _MOVES[rng.randrange(len(_MOVES))]
    return move(rng, records, draw, most)


def _resample(rng: random.Random, records: Records, draw: Drawn, most: int) -> Records:
    at = rng.randrange(len(records))
    return (*records[:at], draw(rng), *records[at + 1 :])


def _insert(rng: random.Random, records: Records, draw: Drawn, most: int) -> Records:
    if len(records) >= most:
        return records
    at = rng.randint(0, len(records))
    return (*records[:at], draw(rng), *records[at:])


def _delete(rng: random.Random, records: Records, draw: Drawn, most: int) -> Records:
    if len(records) <= 1:
        return records
    at = rng.randrange(len(records))
    return records[:at] + records[at + 1 :]


def _swap(rng: random.Random, records: Records, draw: Drawn, most: int) -> Records:
    a, b = rng.randrange(len(records)), rng.randrange(len(records))
    moved = list(records)
    moved[a], moved[b] = moved[b], moved[a]
    return tuple(moved)


_MOVES = (_resample, _resample, _insert, _delete, _swap)


@dataclass(slots=True)
class Chain:
    """One chain: where it stands, the signatures seen there, and how many proposals ago it met a
    signature for the first time."""

    records: Records
    signatures: tuple[str, ...]
    dry: int = 0
    pending: Records | None = field(default=None)

    def decide(self, rng: random.Random, signatures: tuple[str, ...], counts: Counts) -> bool:
        """Accept or reject what was proposed, whose run has shown `signatures`."""
        assert self.pending is not None
        here = counts.weight(self.signatures)
        ratio = counts.weight(signatures) / here if here else 1.0
        moved = rng.random() < ratio
        if moved:
            self.records, self.signatures = self.pending, signatures
        new = any(counts.seen[s] <= 1 for s in signatures)
        self.dry = 0 if new else self.dry + 1
        self.pending = None
        return moved
