"""The search on a real compiler: rare behaviour is visited more."""

from __future__ import annotations

import pytest

from harnesses.torch_inductor import HARNESS
from rondo.codec import Codec
from rondo.oracle import Oracle
from tests.visits import visits


@pytest.mark.framework
def test_chains_visit_rare_behaviour_more_than_uniform_choice(oracle: Oracle) -> None:
    found = visits(oracle, Codec(HARNESS.vocabulary), seed=11, warm=50, asked=50)
    assert found.chains > 1.2 * found.uniform > 0
