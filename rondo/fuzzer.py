"""The Atheris glue: one libFuzzer target whose input is a test case.

`run(target)` is what the scripts in `fuzz/` call. Each input is decoded, judged by the oracle and
reported to libFuzzer as features; alarms go to triage. The driver imports no framework.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import zlib
from functools import partial
from pathlib import Path
from types import FrameType

from harnesses import base
from rondo.campaign import CaseRecord, Progress
from rondo.chains import Chains
from rondo.codec import MAX_BYTES, Codec, digest, read_case_bytes
from rondo.errors import RondoError
from rondo.executor.client import ForkServer
from rondo.executor.protocol import Executor
from rondo.feedback import Feedback
from rondo.findings import Store
from rondo.generate import random_case
from rondo.mutate import cross, mutate
from rondo.options import Options, handed_on, parse
from rondo.oracle import FAILING, Limits, Oracle, Verdict
from rondo.shrink import same_failure
from rondo.signature import features, signatures
from rondo.tell import told
from rondo.testcase import TestCase
from rondo.triage import Triage, Triaged

TRACED_NEW = 3
TRACED_SHARE = 64
"""One in so many runs is traced: of those that show a new signature, and of the others. A traced
run costs two to three plain ones, and signatures come in families that run the same lines. A run
that takes seconds is traced as much less often, so that tracing keeps to its share of the time."""
CROSSED_SHARE = 0.2
CHAIN_SHARE = 0.3
"""How often a mutant is what a Metropolis-Hastings chain wants to see."""
STEERED_SHARE = 0.8
"""How often a mutant is freed of the causes of known findings: what is known teaches little, but
something new may hide behind it."""
_SLOW_SECONDS = 3600
_PROCESS_START = time.monotonic()


class Failing(Exception):
    """Raised to libFuzzer by a failing case that is replayed or minimised."""


class Fuzzer:
    """Everything that one driver process holds; started with the first input, so that the parents
    of `-jobs`, `-fork` and `-merge` stay light.

    While libFuzzer merges, every case is traced, so that no file's lines depend on the files before
    it, and alarms are left alone.
    """

    def __init__(self, harness: base.Harness, options: Options) -> None:
        self.harness = harness
        self.options = options
        self.codec = Codec(harness.vocabulary)
        self.feedback = Feedback()
        self.store = Store(options.findings)
        folders = [Path(a) for a in options.positional if Path(a).is_dir()]
        self._corpus = folders[0] if folders else None
        self._executor: Executor | None = None
        self._pid = os.getpid()
        self._inputs = 0
        self._minimises = bool(options.flag("minimize_crash_internal_step"))
        self._merges = bool(options.flag("merge_inner"))
        self._wanted: Verdict | None = None
        self.progress = Progress(self._corpus, options.log)

    def listen(self) -> None:
        """End with a summary at Ctrl-C and at a request to end."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._interrupted)

    def start(self) -> None:
        """Start the executor, and pick up what a driver that died was running."""
        options = self.options
        if not options.replays:
            print(f"warming {self.harness.name} ...", file=sys.stderr, flush=True)
        self._executor = _executor(self.harness, options)
        limits = Limits(options.seconds, options.megabytes)
        self.oracle = Oracle(self.harness, self._executor, limits, options.oracle == "full")
        self.triage = Triage(
            self.harness,
            self.oracle,
            self.store,
            options.faults,
            options.shrink_seconds,
            options.seconds,
            self.progress.say,
        )
        self.chains = Chains(self.codec, lambda case: self.triage.steered(case) == case)
        if self._minimises:
            self._replay(self.codec.decode(options.files[0].read_bytes()))
        for data in [] if options.replays else self.store.left_behind():
            self.progress.say("taking up a case that an earlier run did not finish")
            self.one(data)

    def one(self, data: bytes) -> None:
        """Deal with one input."""
        if self._executor is None:
            self.start()
        self._inputs += 1
        case = self.codec.decode(data)
        if case.calls:
            self._one(case)
        elif not self.options.replays:
            self._end_if_due(Triaged(""))

    def _one(self, case: TestCase) -> None:
        before = time.monotonic()
        encoded = self.codec.encode(case)
        if self.options.replays:
            self._replay(case)
            return
        self.store.begin(encoded)
        verdict = self.oracle.judge(case, explains=partial(self.triage.explains, case))
        traced = self._report(case, encoded, verdict)
        self.chains.observe(encoded, signatures(verdict), random.Random(zlib.crc32(encoded)))
        seconds = time.monotonic() - before
        triaged = Triaged("")
        if verdict.kind not in ("pass", "invalid") and not self._merges:
            triaged = self.triage.alarm(case, verdict, self.progress.cases)
        self.store.end()
        record = CaseRecord(
            self.progress.cases,
            digest(encoded),
            verdict.kind,
            verdict.symptom,
            seconds,
            verdict.seconds + traced,
            dict(verdict.arm_seconds),
            verdict.runs,
            traced > 0,
            triaged.outcome,
            triaged.name,
        )
        self.progress.count(verdict, record)
        self.progress.show(self._features())
        self._end_if_due(triaged)

    def _report(self, case: TestCase, encoded: bytes, verdict: Verdict) -> float:
        """Report features; the child seconds that a traced run took, when one could teach."""
        new = False
        if self.options.signature:
            new = self.feedback.behaviour(features(case, verdict))
        if not self.options.coverage or verdict.kind == "invalid":
            return 0.0
        interval = (TRACED_NEW if new else TRACED_SHARE) * max(1, round(verdict.seconds))
        if zlib.crc32(encoded) % interval and not self._merges:
            return 0.0
        before = time.monotonic()
        self.feedback.compiler_lines(self.oracle.trace(case))
        return time.monotonic() - before

    def _features(self) -> str:
        return f"{self.feedback.behaviours} behaviour, {self.feedback.lines} lines"

    def _replay(self, case: TestCase) -> None:
        """Judge a case given as a file: the exit code tells whether it fails.

        While libFuzzer minimises, an input counts as crashing when it fails like the file that it
        started from.
        """
        if self._minimises:
            verdict = self.oracle.judge(case)
            if self._wanted is None:
                self._wanted = verdict
            elif same_failure(self._wanted, verdict):
                raise Failing(f"{verdict.kind} {verdict.symptom}")
            return
        verdict = self.oracle.judge(case)
        print("\n".join(told(case, self.harness.emit(case), verdict)), flush=True)
        if verdict.kind in FAILING:
            self.finish(1)

    def _end_if_due(self, triaged: Triaged) -> None:
        if self.options.stop_on_finding and triaged.outcome == "new":
            self.finish(1)
        limit = self.options.total_seconds
        runs = int(self.options.flag("runs", "-1"))
        late = 0 < limit <= time.monotonic() - _PROCESS_START + 0.5
        # Atheris runs one input of its own, and libFuzzer does not say which run is its last.
        if late or self._inputs in (runs - 1, runs):
            print(self.progress.summary(self._features(), self.options.findings), file=sys.stderr)
            if late:
                self.finish(0)

    def finish(self, code: int) -> None:
        """End the process; libFuzzer has written its corpus already."""
        if self._executor is not None:
            self._executor.close()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._pid:
            os._exit(1)
        print(
            f"\n{self.progress.summary(self._features(), self.options.findings)}", file=sys.stderr
        )
        if self._executor is not None:
            self._executor.abandon()
            self._executor = None
        self.finish(130)

    def mutate(self, data: bytes, max_size: int, seed: int) -> bytes:
        """libFuzzer's custom mutator: the canonical bytes of a changed case."""
        rng = random.Random(seed)
        if self.options.mutator == "bytes":
            import atheris

            return self._sized(self.codec.canonical(atheris.Mutate(data, max_size)), max_size)
        if self.options.mutator == "random":
            return self._sized(self.codec.encode(random_case(rng, self.codec)), max_size)
        if self.options.mcmc and self._executor is not None and rng.random() < CHAIN_SHARE:
            asked = self.chains.propose(rng)
            if asked and len(asked) <= max_size:
                return asked
        case = self.codec.decode(data)
        for _ in range(20):
            mutated = mutate(rng, self.codec, case)
            if self._executor is not None and rng.random() < STEERED_SHARE:
                mutated = self.triage.steered(mutated)
            found = self.codec.encode(mutated)
            if len(found) <= max_size and found != data:
                return found
        return self._sized(data, max_size)

    def cross(self, first: bytes, second: bytes, max_size: int, seed: int) -> bytes:
        """libFuzzer's custom crossover: the steps of two cases on the first one's model.

        libFuzzer calls it as often as the mutator, which is more than it is worth: events of the
        second case mostly find nothing to act on in the first one's model.
        """
        rng = random.Random(seed)
        if rng.random() > CROSSED_SHARE:
            return self.mutate(first, max_size, seed)
        crossed = cross(rng, self.codec, self.codec.decode(first), self.codec.decode(second))
        return self._sized(self.codec.encode(crossed), max_size)

    def _sized(self, data: bytes, max_size: int) -> bytes:
        """At most `max_size` bytes: steps that are over are left out."""
        return data if len(data) <= max_size else self.codec.cut(data, max_size)


def _executor(harness: base.Harness, options: Options) -> Executor:
    if options.executor == "inprocess":
        from rondo.executor.inprocess import InProcess

        return InProcess(harness, options.faults)
    base.require(harness)
    server = ForkServer(harness.name, options.faults)
    server.start()
    return server


def _check_corpus(options: Options) -> None:
    for argument in options.positional:
        path = Path(argument)
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file():
                read_case_bytes(file)


def run(target: str) -> None:
    """Run a target's campaign with the command line of this process; does not return."""
    script = Path(sys.argv[0])
    try:
        options = parse(str(script), sys.argv[1:])
        harness = base.load(target, options.undocumented)
        if options.executor == "fork":
            base.require(harness)
        if not options.flag("help"):
            _check_corpus(options)
        options.findings.mkdir(parents=True, exist_ok=True)
        fuzzer = Fuzzer(harness, options)
    except (RondoError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    _fuzz(fuzzer, handed_on(script, options))


def _fuzz(fuzzer: Fuzzer, arguments: list[str]) -> None:
    import atheris

    fuzzer.listen()

    def one(data: bytes) -> None:
        try:
            fuzzer.one(data)
        except (RondoError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            fuzzer.finish(2)

    defaults = {
        "verbosity": "0",
        "max_len": str(MAX_BYTES),
        "report_slow_units": str(_SLOW_SECONDS),
        "handle_int": "0",
        "handle_term": "0",
        "artifact_prefix": f"{fuzzer.options.findings}/libfuzzer-",
    }
    for flag, value in defaults.items():
        if not fuzzer.options.flag(flag):
            arguments.append(f"-{flag}={value}")
    hooks = {"custom_mutator": fuzzer.mutate, "custom_crossover": fuzzer.cross}
    if fuzzer.options.mutator != "structured":
        del hooks["custom_crossover"]
    atheris.Setup(arguments, one, internal_libfuzzer=True, **hooks)
    atheris.Fuzz()
