"""The chains of a campaign: between libFuzzer, which asks for the next input, and `rondo.sampler`.

A proposal is handed to libFuzzer as a mutant; when its run comes back the chain decides. Each chain
starts from a case whose behaviour is rare by then, and starts again when it has run dry.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

from rondo.codec import Codec, records_of, replay_record
from rondo.generate import Draw, longest
from rondo.sampler import Chain, Counts, Drawn, Records, wander
from rondo.testcase import Model, TestCase

CHAINS = 4
DRY = 4
"""A chain that has met no new signature for so many proposals starts again."""
KEPT = 256
_TRIES = 3
MOVES = 24
"""So many free moves make a proposal: each costs 0.4 ms."""
_SHARPNESS = 4
"""How far a free move prefers what is untried: the power of the score."""
_REPLAYED, _EVENTS = 0.25, 0.4
Score = Callable[[TestCase], float]
"""How much a case tries that is rare; 0 for a case that is not to be run."""


@dataclass(slots=True)
class Moves:
    """What all chains together have proposed, accepted, and how often they started again."""

    proposed: int = 0
    accepted: int = 0
    restarts: int = 0


class Chains:
    """Several chains over one corpus; `score` is what free moves go by."""

    def __init__(self, codec: Codec, score: Score) -> None:
        self.counts = Counts()
        self._codec = codec
        self._score = score
        self._chains: list[tuple[bytes, Chain]] = []
        self._met: deque[tuple[bytes, tuple[str, ...], float]] = deque(maxlen=KEPT)
        self._asked = b""
        self._asking: Chain | None = None
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
        head, chain = self._chains[place]
        if chain.dry >= DRY:
            head, chain = self._chains[place] = self._started(rng)
            self.moves.restarts += 1
        start = self._codec.decode(head)
        most = longest(self._codec, start.settings)
        draw = self.drawing(start.model)
        for _ in range(_TRIES):
            records = wander(rng, chain.records, draw, most, partial(self._weight, head), MOVES)
            data = self._codec.encode(self._codec.decode(head + b"".join(records)))
            if records != chain.records and self._weight(head, records):
                chain.pending = records
                self._asked, self._asking = data, chain
                return data
            chain.dry += 1
        return b""

    def _weight(self, head: bytes, records: Records) -> float:
        """The factor of a chain's target that costs no run."""
        return self._score(self._codec.decode(head + b"".join(records))) ** _SHARPNESS

    def observe(
        self,
        data: bytes,
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
        if self._asking is not None and data == self._asked:
            self.moves.proposed += 1
            self.moves.accepted += self._asking.decide(rng, signatures, self.counts)
            self._asking = None
        if signatures:
            self._met.append((data, signatures, work))

    def drawing(self, model: Model) -> Drawn:
        """The measure that records of a model's sequences are drawn from."""
        return _drawing(self._codec, model)

    def _started(self, rng: random.Random) -> tuple[bytes, Chain]:
        """A chain at a case drawn by how rare its behaviour is, for what it costs to run."""
        weights = [self.counts.weight(signatures) / work for _, signatures, work in self._met]
        data, signatures, _ = rng.choices(list(self._met), weights)[0]
        head = self._codec.head(self._codec.decode(data))
        return head, Chain(records_of(data[len(head) :]), signatures)


@lru_cache(maxsize=64)
def _drawing(codec: Codec, model: Model) -> Drawn:
    """The measure that records are drawn from: events, calls, and repetitions of earlier calls."""

    def draw(rng: random.Random) -> bytes:
        choice = rng.random()
        if choice < _REPLAYED:
            return replay_record(rng.randrange(8))
        steps = Draw(rng, codec, model)
        events = steps.events() if choice < _REPLAYED + _EVENTS else []
        return codec.record(model, events[0] if events else steps.call())

    return draw
