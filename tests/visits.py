"""What the chains visit, against uniform choice: shared by the toy's test and a framework's."""

from __future__ import annotations

import random
from dataclasses import dataclass

from rondo.chains import Chains
from rondo.codec import Codec
from rondo.generate import random_case
from rondo.novelty import Tried
from rondo.oracle import Oracle
from rondo.signature import signatures
from rondo.testcase import NOTHING, TestCase


@dataclass(frozen=True)
class Visits:
    """Of as many cases: how many that chains asked for, and how many that are one move from any
    case met, show behaviour that was rare when the chains started."""

    chains: int
    uniform: int


def visits(oracle: Oracle, codec: Codec, seed: int, warm: int, asked: int) -> Visits:
    """Let chains start from `warm` random cases on the first layer of the compiler, and ask."""
    rng, tried = random.Random(seed), Tried(codec.vocabulary)
    chains = Chains(codec, tried.score)
    met = _starts(rng, codec, warm)
    for one in met:
        chains.observe(one, codec.encode(one), signatures(oracle.recheck(one)), rng)
        tried.record(one)
    rare = {name for name, count in chains.counts.seen.items() if count <= 2}
    visited = uniform = 0
    for _ in range(asked):
        data = chains.propose(rng)
        one = codec.decode(data)
        found = signatures(oracle.recheck(one))
        chains.observe(one, data, found, rng)
        tried.record(one)
        visited += not rare.isdisjoint(found)
        moved = chains.moved(rng, rng.choice(met))
        uniform += not rare.isdisjoint(signatures(oracle.recheck(moved)))
    return Visits(visited, uniform)


def _starts(rng: random.Random, codec: Codec, count: int) -> list[TestCase]:
    """Random cases where chains may stand."""
    found: list[TestCase] = []
    vocabulary = codec.vocabulary
    first = vocabulary.settings[0].values[0]
    while len(found) < count:
        one = random_case(rng, codec)
        if vocabulary.layer(one.settings) == first and one.model.start == NOTHING:
            found.append(one)
    return found
