"""What each mutator's cases have yielded, and the weights that the search learns from it.

A weight is the mutator's own, times how its yield compares with that of all: features per unit of
work, older cases counting ever less, since what is easy to find is found soon. The factor stays
between a floor and a ceiling, so that no mutator dies and none takes over: what finds features is
a guess at what finds bugs. This is a bandit that matches probabilities to pay, as AFL's schedulers
and EXP3 do, kept simple enough to read off the statistics.

Work is counted, not timed, so that a seed leads to the same cases on every machine: one unit for a
child, and for each compile what it costs on the target's layers. Seconds are kept for the eye.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import msgspec

from rondo.oracle import Behaviour
from rondo.signature import reaction

FLOOR, CEILING = 0.25, 4.0
_DECAY = 0.995
_DOUBT = 60.0
"""Units of work for which a mutator is taken to be like the others."""
_CHEAP, _COSTLY = 1.0, 20.0
"""A compile, in units of a child (0.1 s on PyTorch), on the first layers and on the last one."""


class Yield(msgspec.Struct, frozen=True):
    """What the statistics say of one mutator: its cases, the new features that they showed, the
    seconds that they took, and its share of the weights now."""

    cases: int
    features: float
    seconds: float
    share: float


@dataclass(slots=True)
class _Account:
    weight: float
    cases: int = 0
    features: float = 0.0
    seconds: float = 0.0
    paid: float = 0.0
    work: float = 0.0

    def learned(self, rate: float) -> float:
        """The weight, given the features per unit of work of all mutators together."""
        if not rate:
            return self.weight
        own = (self.paid + _DOUBT * rate) / (self.work + _DOUBT)
        return self.weight * min(max(own / rate, FLOOR), CEILING)


class Weighted:
    """Names with weights, to draw from."""

    def __init__(self, names: Sequence[str], weights: Sequence[float]) -> None:
        self._names = names
        self._sums = list(accumulate(weights))

    def drawn(self, rng: random.Random) -> str:
        """One of the names."""
        return rng.choices(self._names, cum_weights=self._sums)[0]

    def shares(self) -> list[float]:
        """Each name's part of the weights."""
        return [(b - a) / self._sums[-1] for a, b in pairwise([0.0, *self._sums])]


def work(behaviour: Behaviour, costly: bool) -> float:
    """The work that a case was, in units of one child: from what the compiler did in it."""
    compiles = sum(reaction(events) in ("compiled", "recompiled") for _, events in behaviour)
    return 1.0 + compiles * (_COSTLY if costly else _CHEAP)


class Yields:
    """Accounts of all mutators; `weights` gives each its weight before anything is learned."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._accounts = {name: _Account(weight) for name, weight in weights.items()}

    def observe(
        self, names: Sequence[str], features: int, work_done: float, seconds: float
    ) -> None:
        """A case has run that these mutators made together: each earns an equal part."""
        for name in names:
            account, part = self._accounts[name], 1 / len(names)
            account.cases += 1
            account.features += features * part
            account.seconds += seconds * part
            account.paid = _DECAY * account.paid + features * part
            account.work = _DECAY * account.work + work_done * part

    def weighted(self, names: Sequence[str]) -> Weighted:
        """These mutators by what has been learned so far."""
        done = sum(account.work for account in self._accounts.values())
        paid = sum(account.paid for account in self._accounts.values())
        weights = [self._accounts[name].learned(paid / done if done else 0.0) for name in names]
        return Weighted(names, weights)

    def report(self) -> dict[str, Yield]:
        """What the statistics say, by mutator; those that were never used are left out."""
        used = [name for name, account in self._accounts.items() if account.cases]
        shares = self.weighted(used).shares()
        accounts = [self._accounts[name] for name in used]
        return {
            name: Yield(a.cases, a.features, a.seconds, share)
            for name, a, share in zip(used, accounts, shares, strict=True)
        }
