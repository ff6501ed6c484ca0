"""Shrink a case that a user names: see that it fails, search, keep what is known for the next time.

The journal of verdicts lies beside the output, so that a search that was interrupted goes on; it is
removed when the search came to its own end.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec

from harnesses.base import Harness
from rondo.codec import Codec, digest
from rondo.errors import Interrupted, RondoError
from rondo.executor.client import ForkServer
from rondo.findings import Store, write_atomically
from rondo.oracle import FAILING, Oracle, Verdict
from rondo.shrink import Effect, Journal, Shrinker, Shrunk, effect
from rondo.tell import told
from rondo.testcase import TestCase
from rondo.triage import Triage


class Shrinking(msgspec.Struct, frozen=True):
    """What `rondo shrink` prints: where the small case is, how much plainer it is, what it does in
    words, and the findings or alarms that different failures became."""

    output: str
    effect: Effect
    told: tuple[str, ...]
    others: tuple[str, ...]


def run_shrink(
    harness: Harness,
    case: TestCase,
    output: Path,
    faults: tuple[str, ...],
    seconds: float,
    findings: Path,
) -> Shrinking:
    """Shrink a failing case into `output`; different failures that are met go to `findings`.

    Raises RondoError when the case does not fail.
    """
    codec = Codec(harness.vocabulary)
    server = ForkServer(harness.name, faults)
    oracle = Oracle(harness, server)
    try:
        verdict = oracle.judge(case)
        if verdict.kind not in FAILING:
            raise RondoError(
                f"the case does not fail: its verdict is {verdict.kind} {verdict.note}".rstrip(),
                "`rondo run` tells what each step does; --fault plants what it needs to fail",
            )
        path = output.with_name(f"{output.name}.{_key(harness, case, faults)}.journal")
        write_atomically(path, path.read_bytes() if path.exists() else b"")  # can it be written?
        journal = Journal(path)
        recheck = partial(oracle.recheck, patience=verdict.patience)
        shrunk = Shrinker(codec, recheck, case, verdict, seconds, journal).run()
        write_atomically(output, codec.encode(shrunk.case))
        if shrunk.complete:
            path.unlink(missing_ok=True)
        others = _others(harness, oracle, Store(findings), faults, shrunk)
        final = oracle.judge(shrunk.case, patience=verdict.patience)
    except KeyboardInterrupt:
        raise Interrupted(
            "shrinking was interrupted", "the same command goes on from what it has found so far"
        ) from None
    finally:
        server.close()
    return _told(harness, case, shrunk, final, output, others)


def _key(harness: Harness, case: TestCase, faults: tuple[str, ...]) -> str:
    """What verdicts depend on, in short: they are of no use to another search."""
    data = Codec(harness.vocabulary).encode(case)
    return digest(data + "\0".join([harness.name, *faults]).encode())[:8]


def _others(
    harness: Harness, oracle: Oracle, store: Store, faults: tuple[str, ...], shrunk: Shrunk
) -> tuple[str, ...]:
    if not shrunk.others:
        return ()
    triage = Triage(harness, oracle, store, faults, say=lambda text: None)
    names = []
    for other in shrunk.others:
        verdict = oracle.judge(other)
        if verdict.kind != "pass":
            dealt = triage.alarm(other, verdict, 0)
            names.append(f"{dealt.outcome}: {store.folder / dealt.name}")
    return tuple(names)


def _told(
    harness: Harness,
    case: TestCase,
    shrunk: Shrunk,
    final: Verdict,
    output: Path,
    others: tuple[str, ...],
) -> Shrinking:
    def lines(of: TestCase) -> int:
        return len(harness.emit(of).text.splitlines())

    words = told(shrunk.case, harness.emit(shrunk.case), final)
    return Shrinking(str(output), effect(case, shrunk, lines), tuple(words), others)
