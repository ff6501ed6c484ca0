"""The search on a real compiler: rare behaviour is visited more."""

from __future__ import annotations

import pytest

from harnesses.torch_inductor import HARNESS
from rondo.codec import Codec
from rondo.oracle import Oracle
from tests.visits import visits


@pytest.mark.framework
def test_chains_visit_rare_behaviour_more_than_uniform_choice(oracle: Oracle) -> None:
    codec = Codec(HARNESS.vocabulary)
    found = [visits(oracle, codec, seed, warm=40, asked=40) for seed in (11, 13)]
    assert sum(v.chains for v in found) > 1.2 * sum(v.uniform for v in found) > 0
