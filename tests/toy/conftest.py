"""A clean toy server for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harnesses.toy import HARNESS
from rondo.executor.client import ForkServer
from rondo.oracle import Oracle


@pytest.fixture(scope="session")
def toy_oracle() -> Iterator[Oracle]:
    """The oracle of the toy target, without faults."""
    server = ForkServer("toy")
    server.start()
    yield Oracle(HARNESS, server)
    server.close()
