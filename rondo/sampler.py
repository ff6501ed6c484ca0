"""The Metropolis-Hastings stage: chains of sequences that dwell where compiler behaviour is rare.

A chain keeps a model and its settings and moves through sequences of step records. Its target is

    pi(x)  proportional to  g(x) * v(x) * sum over the signatures s of x of 1 / N(s)

where g is the measure that sequences are drawn from (every length alike, every record by `draw`),
v says how much of a sequence the campaign has not tried, and N(s) counts how often it has seen s.
g and v cost no run, so a proposal is made of many free moves, each reversible under g and accepted
with min(1, v(x') / v(x)); what has been run then is accepted with min(1, w(x') / w(x)), w being the
sum (Metropolis et al. 1953, Hastings 1970; in two stages: the surrogate transition method of Liu
2001, section 9.4.3, and Christen and Fox 2005). The moves:

- *resample*: a record is drawn anew; there and back is the ratio of the two draws, which is g's;
- *insert* and *delete*: a drawn record at one of n + 1 places, against one of n + 1 records gone;
  at the shortest and the longest length the move that has nowhere to go stays where it is;
- *swap*: two records change places, which is its own inverse.

v and N change while the chain runs, so the target moves, slowly; a chain that has not met a new
signature for long starts again from a case that is rare by then. It keeps its model, so however
freely it moves it runs dry.
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
Weight = Callable[[Records], float]
"""The factor v of the target; 0 for what is not in its support."""


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


def wander(
    rng: random.Random, records: Records, draw: Drawn, most: int, weight: Weight, moves: int
) -> Records:
    """So many moves of a chain whose target is g * weight: as one move it is reversible under it,
    since it is one reversible move several times."""
    here = weight(records)
    for _ in range(moves):
        there = propose(rng, records, draw, most)
        value = here if there == records else weight(there)
        if value and rng.random() * here < value:
            records, here = there, value
    return records


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
