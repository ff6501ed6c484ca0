"""The Metropolis-Hastings stage: chains of cases that dwell where compiler behaviour is rare.

The target of a chain is

    pi(x)  proportional to  g(x) * v(x) * sum over the signatures s of x of 1 / N(s)

where g is the measure that cases are drawn from, v says how much of a case the campaign has not
tried, and N(s) counts how often it has seen s. g and v cost no run, so a proposal is made of many
free moves, each reversible under g and accepted with min(1, v(x') / v(x)); what has been run then
is accepted with min(1, w(x') / w(x)), w being the sum (Metropolis et al. 1953, Hastings 1970; in
two stages: the surrogate transition method of Liu 2001, section 9.4.3, and Christen and Fox 2005).

What a move may be is the caller's: whatever is drawn from g anew, and `propose`, which is
reversible where every length of a sequence is alike and every item is drawn by `draw`:

- *resample*: an item is drawn anew; there and back is the ratio of the two draws, which is g's;
- *insert* and *delete*: a drawn item at one of n + 1 places, against one of n + 1 items gone; at
  the shortest and the longest length the move that has nowhere to go stays where it is;
- *swap*: two items change places, which is its own inverse.

v and N change while a chain runs, so the target moves, slowly; a chain that has not met a new
signature for long starts again from a case that is rare by then.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import fsum
from typing import Generic, TypeVar

Item = TypeVar("Item")
State = TypeVar("State")


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


def propose(
    rng: random.Random, items: tuple[Item, ...], draw: Callable[[random.Random], Item], most: int
) -> tuple[Item, ...]:
    """One move from a sequence of 1 to `most` items."""
    size = len(items)
    at, other = rng.randrange(size), rng.randrange(size)
    place = rng.randint(0, size)
    drawn = draw(rng)
    grown = (*items[:place], drawn, *items[place:]) if size < most else items
    cut = items[:at] + items[at + 1 :] if size > 1 else items
    swapped = list(items)
    swapped[at], swapped[other] = swapped[other], swapped[at]
    resampled = (*items[:at], drawn, *items[at + 1 :])
    return rng.choice((resampled, resampled, grown, cut, tuple(swapped)))


def wander(
    rng: random.Random,
    state: State,
    move: Callable[[random.Random, State], State],
    weight: Callable[[State], float],
    moves: int,
) -> State:
    """So many moves of a chain whose target is g * weight, 0 being outside its support: as one move
    it is reversible under it, since it is one reversible move several times."""
    here = weight(state)
    for _ in range(moves):
        there = move(rng, state)
        value = here if there == state else weight(there)
        if value and rng.random() * here < value:
            state, here = there, value
    return state


@dataclass(slots=True)
class Chain(Generic[State]):
    """One chain: where it stands, the signatures seen there, and how many proposals ago it met a
    signature for the first time."""

    state: State
    signatures: tuple[str, ...]
    dry: int = 0
    pending: State | None = None

    def decide(self, rng: random.Random, signatures: tuple[str, ...], counts: Counts) -> bool:
        """Accept or reject what was proposed, whose run has shown `signatures`."""
        assert self.pending is not None
        here = counts.weight(self.signatures)
        ratio = counts.weight(signatures) / here if here else 1.0
        moved = rng.random() < ratio
        if moved:
            self.state, self.signatures = self.pending, signatures
        new = any(counts.seen[s] <= 1 for s in signatures)
        self.dry = 0 if new else self.dry + 1
        self.pending = None
        return moved
