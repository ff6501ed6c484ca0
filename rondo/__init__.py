"""Rondo: a coverage-guided, stateful fuzzer for deep-learning compilers."""

__version__ = "0.1.0"
