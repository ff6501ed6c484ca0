"""The chain's distribution is the one that it claims, and rare behaviour is visited more."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise, product

from scipy.stats import chisquare

from rondo.sampler import Chain, Counts, propose, wander

Records = tuple[bytes, ...]
LETTERS = (b"a", b"b", b"c")
ODDS = (0.5, 0.3, 0.2)
MOST = 3
SPACE = [w for n in range(1, MOST + 1) for w in product(LETTERS, repeat=n)]


def draw(rng: random.Random) -> bytes:
    return rng.choices(LETTERS, ODDS)[0]


def shown(records: Records) -> tuple[str, ...]:
    """Two letters next to each other are a signature, and so is the length."""
    pairs = {(a + b).decode() for a, b in pairwise(records)}
    return (f"length {len(records)}", *sorted(pairs))


def fixed_counts() -> Counts:
    rng = random.Random(5)
    names = {name for records in SPACE for name in shown(records)}
    return Counts((name, rng.randint(1, 30)) for name in sorted(names))


def untried(records: Records) -> float:
    """A factor that needs no run; words that end in b are not in the support."""
    return 0.0 if records[-1] == b"b" else 1.0 + 3 * records.count(b"a")


def move(rng: random.Random, records: Records) -> Records:
    """A word drawn anew, or a move from one to the next."""
    if rng.random() < 0.3:
        return tuple(draw(rng) for _ in range(rng.randint(1, MOST)))
    return propose(rng, records, draw, MOST)


def visits(seed: int, steps: int, counts: Counts, thin: int) -> Counter[Records]:
    """Where a chain stands after each `thin` steps."""
    rng = random.Random(seed)
    chain = Chain((b"a",), shown((b"a",)))
    seen: Counter[Records] = Counter()
    for number in range(steps):
        chain.pending = wander(rng, chain.state, move, untried, number % 4)
        chain.decide(rng, shown(chain.pending), counts)
        if number % thin == 0:
            seen[chain.state] += 1
    return seen


def target(counts: Counts) -> dict[Records, float]:
    odds = dict(zip(LETTERS, ODDS, strict=True))
    mass = {}
    for records in SPACE:
        mass[records] = counts.weight(shown(records)) * untried(records)
        for letter in records:
            mass[records] *= odds[letter]
    total = sum(mass.values())
    return {records: value / total for records, value in mass.items()}


def test_the_chain_samples_its_target() -> None:
    counts = fixed_counts()
    wanted = target(counts)
    seen = visits(1, 120_000, counts, thin=30)
    total = sum(seen.values())
    inside = [records for records in SPACE if wanted[records]]
    assert set(seen) <= set(inside)
    expected = [wanted[records] * total for records in inside]
    found = chisquare([seen[records] for records in inside], expected)
    assert found.pvalue > 0.001, found


def test_the_test_of_the_target_can_fail() -> None:
    counts = fixed_counts()
    wanted = target(Counts())
    seen = visits(1, 120_000, counts, thin=30)
    total = sum(seen.values())
    inside = [records for records in SPACE if wanted[records]]
    expected = [wanted[records] * total for records in inside]
    assert chisquare([seen[records] for records in inside], expected).pvalue < 1e-6


def test_a_case_counts_each_of_its_signatures_once() -> None:
    counts = Counts()
    counts.record(["x", "x", "y"])
    counts.record(["x"])
    assert counts.weight(["x", "x"]) == 1 / 2
    assert counts.weight(["x", "y", "new"]) == 1 / 2 + 1 + 1
