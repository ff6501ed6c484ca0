"""One warmed server a framework for all tests of this folder; skipped without the framework."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harnesses import base
from rondo.executor.client import ForkServer
from rondo.oracle import Limits, Oracle


@contextmanager
def serving(target: str, *faults: str) -> Iterator[ForkServer]:
    """A warmed server."""
    package = base.load(target).package
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    server = ForkServer(target, faults)
    server.start()
    try:
        yield server
    finally:
        server.close()


@contextmanager
def judging(target: str, *faults: str, limits: Limits | None = None) -> Iterator[Oracle]:
    """An oracle with a server of its own."""
    with serving(target, *faults) as server:
        yield Oracle(base.load(target), server, limits)


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    """The oracle of the torch target."""
    with judging("torch_inductor") as running:
        yield running


@pytest.fixture(scope="session")
def jax_oracle() -> Iterator[Oracle]:
    """The oracle of the JAX target."""
    with judging("jax_xla") as running:
        yield running
