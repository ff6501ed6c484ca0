"""The search: which case runs next, and what is learned from the case that ran.

Between libFuzzer, whose custom mutator and crossover it is, and the parts that make cases:
structured mutation, the Metropolis-Hastings chains, what has been tried, and learned yields.
Everything is drawn from the seed that libFuzzer hands over.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from rondo.chains import Chains, Score
from rondo.codec import Codec
from rondo.generate import any_operator, bounded, random_case
from rondo.mutate import MUTATORS, NEW_CASE, cross, mutate
from rondo.novelty import CANDIDATES, Tried
from rondo.options import Options
from rondo.oracle import Verdict
from rondo.promise import Promise
from rondo.signature import signatures
from rondo.testcase import TestCase
from rondo.yields import Weighted, Yields, work

STEERED_SHARE = 0.8
"""How often a mutant is freed of the causes of known findings: what is known teaches little, but
something new may hide behind it."""
TWICE_SHARE = 1 / 3
"""How often a mutant is the work of two mutators."""
KEEN_SHARE, KEENNESS = 0.5, 3
"""How often cheap candidates are weighed by what their operators promise too, and to which power:
it then differs between them by as much as what they try. The other half tries what promises little:
new behaviour of the compiler is a guess at bugs, and many faults need none."""
COSTLY_SHARE, MOST_COSTLY = 0.5, 0.5
"""How much of the work goes to cases whose compiles cost seconds (on PyTorch one in eight, and a
quarter of the time), and how many of the cases at most, where they end before they compile."""
VARIED_SHARE = 1 / 12
"""How many of the cheap cases are about operators too, as costly ones are. Chains and promises go
where behaviour is new and leave operators out: on PyTorch, in half an hour of them, 30 of 235 on
one layer, whose lines a search without them saw."""
CHAIN, CROSS = "chain", "cross"
_OWN = {CHAIN: 40.0, CROSS: 4.0, "random": 1.0, "bytes": 1.0}
"""What makes cases beside the mutators of `rondo.mutate`, with its weight among them."""
_ROUNDS = 20
_DRAWS = 8 * CANDIDATES
"""So many draws at most for a dozen candidates that cost alike."""
CLIMBS = 24
"""So many mutations are tried on the best of them."""
Names = tuple[str, ...]
Freed = Callable[[TestCase], TestCase]
"""Frees a case of the causes of known findings."""
Made = tuple[TestCase, Names]
"""A case, and the mutators that made it in turn."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A case that libFuzzer was handed, and by which mutators it was made."""

    data: bytes = b""
    mutators: Names = ()


@dataclass(frozen=True, slots=True)
class Aim:
    """What a case is to be about: the layer whose compiles cost seconds, and operators rather than
    changes."""

    costly: bool = False
    varied: bool = False


class Search:
    """Makes mutants for one driver; `steered` frees a case of the causes of known findings."""

    def __init__(self, codec: Codec, options: Options, steered: Freed) -> None:
        self._codec = codec
        self._options = options
        self._steered = steered
        self._handed = Mutant()
        self.tried = Tried(codec.vocabulary)
        self.promise = Promise()
        self.chains = Chains(codec, self._worth)
        own = {name: weight for name, (_, weight) in MUTATORS.items()}
        self.yields = Yields({**own, **_OWN})
        self._work = {False: 0.0, True: 0.0}  # by whether compiles cost seconds

    def mutant(self, data: bytes, max_size: int, seed: int) -> bytes:
        """libFuzzer's custom mutator: the canonical bytes of a changed case."""
        return self.crossed(data, b"", max_size, seed)

    def crossed(self, data: bytes, other: bytes, max_size: int, seed: int) -> bytes:
        """libFuzzer's custom crossover, called as often as the mutator, which is more than it is
        worth: events of a second case mostly find nothing to act on in the first one's model. So
        crossing is one mutator among many, for those calls that have a second parent."""
        make = _KINDS[self._options.mutator]
        self._handed = make(self, random.Random(seed), data, other, max_size)
        return self._handed.data

    def origin(self, encoded: bytes) -> Names:
        """Which mutators made the case that runs now; none for one of the corpus.

        libFuzzer runs a mutant before it asks for the next, or not at all.
        """
        return self._handed.mutators if self._handed.data == encoded else ()

    def learn(
        self, case: TestCase, encoded: bytes, verdict: Verdict, features: int, seconds: float
    ) -> None:
        """A case has run, has shown so many new features, and has taken so many seconds."""
        costly = self._codec.vocabulary.costly(case.settings)
        done = work(verdict.behaviour, costly)
        self._work[costly] += done
        names = self.origin(encoded)
        self.yields.observe(names, features, done, seconds)
        ended = verdict.difference.step + 1 if verdict.difference else len(case.steps)
        self.tried.record(case.with_steps(case.steps[:ended]))  # what comes after was not judged
        shown, draw = signatures(verdict), random.Random(zlib.crc32(encoded))
        new = len(set(shown) - self.chains.counts.seen.keys())
        self.promise.learn(case, new, done, costly)
        self.chains.observe(case, encoded, shown, draw, bool(names), done)

    def _worth(self, case: TestCase) -> float:
        """How much a chain's case tries that is rare; nothing with the cause of a known finding."""
        if self._steered(case) != case:
            return 0.0
        return self.tried.score(case) if self._options.novelty else 1.0

    def _promising(self, case: TestCase) -> float:
        """How much a case tries that is rare, by how much new behaviour its operators promise."""
        return self.tried.score(case) * self.promise.factor(case) ** KEENNESS

    def _structured(self, rng: random.Random, data: bytes, other: bytes, most: int) -> Mutant:
        aim = self._aim(rng)
        chained = self._options.mcmc and not aim.varied
        if chained and self._weighted(CHAIN).drawn(rng) == CHAIN:
            asked = self.chains.propose(rng)
            if asked and len(asked) <= most:
                return Mutant(asked, (CHAIN,))
        free = self._steered if rng.random() < STEERED_SHARE else _as_it_is
        made = self._made(rng, data, other, free, aim)
        for _ in range(_ROUNDS):
            for case, names in self._ranked(rng, made, free, aim):
                found = self._codec.encode(case)
                if len(found) <= most and found != data:
                    return Mutant(found, names)
        return Mutant(self._sized(data, most))

    def _aim(self, rng: random.Random) -> Aim:
        """What the next case is to be about; minimising a case wants what is near it."""
        if self._options.replays:
            return Aim()
        if self._owing() and rng.random() < MOST_COSTLY:
            return Aim(costly=True, varied=True)
        return Aim(varied=self._options.novelty and rng.random() < VARIED_SHARE)

    def _owing(self) -> bool:
        """Whether costly cases have had less of the work than is their due."""
        owed = COSTLY_SHARE * sum(self._work.values())
        return self._codec.vocabulary.layered and self._work[True] < owed

    def _ranked(
        self, rng: random.Random, made: Iterator[Made], free: Freed, aim: Aim
    ) -> list[Made]:
        """Candidates that are all costly or all not, best first: what costs more is shorter and has
        less to show, and must not be starved for it."""
        if not self._options.novelty or self._options.replays:
            return [next(made)]
        vocabulary = self._codec.vocabulary
        drawn = islice(made, _DRAWS)
        fitting = (one for one in drawn if vocabulary.costly(one[0].settings) == aim.costly)
        alike = list(islice(fitting, CANDIDATES))
        keen = self._options.signature and not aim.varied and rng.random() < KEEN_SHARE
        score = self._promising if keen else partial(self.tried.score, varied=aim.varied)
        ranked = sorted(alike or [next(made)], key=lambda pair: -score(pair[0]))
        case, names = ranked[0]
        return [(self._climbed(rng, case, free, score), names), *ranked]

    def _climbed(self, rng: random.Random, case: TestCase, free: Freed, score: Score) -> TestCase:
        """The case after those of some more mutations that make it better: the search goes uphill
        where that costs no compile. Who made the case is paid for it: these only polish it."""
        best, costly = score(case), self._codec.vocabulary.costly(case.settings)
        small = self.yields.weighted([name for name in MUTATORS if name != NEW_CASE])
        for _ in range(CLIMBS):
            name = small.drawn(rng)
            changed = free(mutate(rng, self._codec, case, (name,)))
            value = score(changed)
            if value > best and self._codec.vocabulary.costly(changed.settings) == costly:
                case, best = changed, value
        return case

    def _made(
        self, rng: random.Random, data: bytes, other: bytes, free: Freed, aim: Aim
    ) -> Iterator[Made]:
        """What mutators make of a case, without end, and which mutators did. All of it as costly
        and varied as is asked for: of what is drawn, too little is to choose among."""
        case = self._codec.decode(data)
        plain = self._weighted()
        mutators = self._weighted(CROSS) if other else plain
        while True:
            names: Names = (mutators.drawn(rng),)
            if names == (CROSS,):
                made = cross(rng, self._codec, case, self._codec.decode(other))
            else:
                names += (plain.drawn(rng),) if rng.random() < TWICE_SHARE else ()
                made = mutate(rng, self._codec, case, names)
            yield free(self._varied(rng, made, aim.costly) if aim.varied else made), names

    def _varied(self, rng: random.Random, case: TestCase, costly: bool) -> TestCase:
        """The case with every other operator drawn from all kinds alike, most of which have no
        state; where asked for through the whole compiler, whose last layer is about these: state
        can be looked for where compiles cost less. Cut to what is worth its time there."""
        drawn = (o if rng.random() < 0.5 else any_operator(rng) for o in case.model.operators)
        case = self._codec.fitted(case.with_operators(tuple(drawn)))
        if costly:
            case = replace(case, settings=self._codec.vocabulary.whole(case.settings))
        return bounded(rng, self._codec, case)

    def _weighted(self, *beside: str) -> Weighted:
        """The mutators, and what is named beside them, by what has been learned."""
        return self.yields.weighted((*MUTATORS, *beside))

    def _random(self, rng: random.Random, data: bytes, other: bytes, most: int) -> Mutant:
        drawn = self._codec.encode(random_case(rng, self._codec))
        return Mutant(self._sized(drawn, most), ("random",))

    def _bytes(self, rng: random.Random, data: bytes, other: bytes, most: int) -> Mutant:
        import atheris

        mutated = self._codec.canonical(atheris.Mutate(data, most))
        return Mutant(self._sized(mutated, most), ("bytes",))

    def _sized(self, data: bytes, most: int) -> bytes:
        """At most `most` bytes: steps that are over are left out."""
        return data if len(data) <= most else self._codec.cut(data, most)


def _as_it_is(case: TestCase) -> TestCase:
    return case


_KINDS = {"structured": Search._structured, "random": Search._random, "bytes": Search._bytes}
