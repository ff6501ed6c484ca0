"""The chains of a campaign: between libFuzzer, which asks for the next input, and `rondo.sampler`.

A proposal is handed to libFuzzer as a mutant; when its run comes back the chain decides. Each chain
starts from a case whose behaviour is rare by then, and starts again when it has run dry. It keeps
the settings; what it draws anew are whole sequences, and operators. Architectures are left to other
mutants: on PyTorch, chains on them showed 0.06 new signatures a second, on operators alone 0.78.

Whole sequences, because what is rare about a behaviour mostly is the model: on PyTorch, after a
campaign's first 400 cases, new sequences on models of rare behaviour showed 0.97 new signatures a
second, fresh cases 0.42, and a few changed steps of a rare case 0.24.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from rondo.codec import Codec
from rondo.generate import AT_ONCE_SHARE, bounded, random_operator, random_steps
from rondo.sampler import Chain, Counts, propose, wander
from rondo.testcase import NOTHING, TestCase

CHAINS = 4
DRY = 3
"""A chain that has met no new signature for so many proposals starts again."""
KEPT = 256
_TRIES = 3
MOVES = 12
"""So many free moves make a proposal: each costs half a millisecond."""
_SHARPNESS = 4
"""How far a free move prefers what is untried: the power of the score."""
_OPERATORS, _MOST_OPERATORS = 0.5, 8
"""How often a move changes an operator too; a larger model keeps its own."""
Score = Callable[[TestCase], float]
"""How much a case tries that is rare; 0 for a case that is not to be run."""


@dataclass(slots=True)
class Moves:
    """What all chains together have proposed, accepted, and how often they started again."""

    proposed: int = 0
    accepted: int = 0
    restarts: int = 0


class Chains:
    """Several chains over one corpus; `score` is what free moves go by. Where compiles cost
    seconds, for their layer or their model, is no place to dwell: that time goes to what has not
    been there yet."""

    def __init__(self, codec: Codec, score: Score) -> None:
        self.counts = Counts()
        self._codec = codec
        self._score = score
        self._chains: list[Chain[TestCase]] = []
        self._met: deque[tuple[TestCase, tuple[str, ...], float]] = deque(maxlen=KEPT)
        self._asked = b""
        self._asking: Chain[TestCase] | None = None
        self.moves = Moves()

    def propose(self, rng: random.Random) -> bytes:
        """The bytes that one of the chains wants to see run, or none while there is no case yet.

        What was proposed before and has not run by now never will, and is forgotten.
        """
        self._asking = None
        if not self._met:
            return b""
        if len(self._chains) < CHAINS:
            self._chains.append(self._started(rng))
        place = rng.randrange(len(self._chains))
        if self._chains[place].dry >= DRY:
            self._chains[place] = self._started(rng)
            self.moves.restarts += 1
        chain = self._chains[place]
        for _ in range(_TRIES):
            case = wander(rng, chain.state, self.moved, self._weight, MOVES)
            if case != chain.state:
                chain.pending = case
                self._asked, self._asking = self._codec.encode(case), chain
                return self._asked
            chain.dry += 1
        return b""

    def moved(self, rng: random.Random, case: TestCase) -> TestCase:
        """One move: the sequence is drawn anew, on the model as it is or with another operator."""
        operators = case.model.operators
        if 0 < len(operators) <= _MOST_OPERATORS and rng.random() < _OPERATORS:
            operators = propose(rng, operators, random_operator, _MOST_OPERATORS)
        grown = case.with_operators(operators)
        drawn = grown.with_steps(random_steps(rng, self._codec, grown.model, AT_ONCE_SHARE))
        return self._codec.normal(bounded(rng, self._codec, drawn))

    def _weight(self, case: TestCase) -> float:
        """The factor of a chain's target that costs no run."""
        return self._score(case) ** _SHARPNESS

    def observe(
        self,
        case: TestCase,
        encoded: bytes,
        signatures: tuple[str, ...],
        rng: random.Random,
        mutant: bool = True,
        work: float = 1.0,
    ) -> None:
        """A case has run, which was so much work: count what it showed, and let the chain that
        asked for it decide.

        A case of the corpus was counted when it was found as a mutant.
        """
        if mutant:
            self.counts.record(signatures)
        if self._asking is not None and encoded == self._asked:
            self.moves.proposed += 1
            self.moves.accepted += self._asking.decide(rng, signatures, self.counts)
            self._asking = None
        costly = self._codec.vocabulary.costly(case.settings)
        if signatures and not costly and case.model.start == NOTHING:
            self._met.append((case, signatures, work))

    def _started(self, rng: random.Random) -> Chain[TestCase]:
        """A chain at a case drawn by how rare its behaviour is, for what it costs to run."""
        weights = [self.counts.weight(signatures) / work for _, signatures, work in self._met]
        case, signatures, _ = rng.choices(list(self._met), weights)[0]
        return Chain(case, signatures)
