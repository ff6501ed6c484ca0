"""One warmed torch server for all tests of this folder; they are skipped without torch."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from harnesses.torch_inductor import HARNESS
from rondo.executor.client import ForkServer
from rondo.oracle import Oracle


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    """A fork server of the torch target."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    running = ForkServer("torch_inductor")
    running.start()
    yield running
    running.close()


@pytest.fixture(scope="session")
def oracle(server: ForkServer) -> Oracle:
    """The oracle of the torch target."""
    return Oracle(HARNESS, server)
