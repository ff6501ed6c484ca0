"""The Atheris glue: one libFuzzer target whose input is a test case.

`run(target)` is what `rondo.start` calls. Each input is decoded, judged by the oracle and
reported to libFuzzer as features; alarms go to triage. The driver imports no framework.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import FrameType

from harnesses import base
from rondo.admission import Admission, Stability
from rondo.campaign import CaseRecord, Progress
from rondo.codec import MAX_BYTES, Codec, digest, files_under, read_case_bytes, read_filled
from rondo.errors import Interrupted, RondoError, say
from rondo.executor.client import ForkServer
from rondo.executor.protocol import Executor
from rondo.feedback import Feedback
from rondo.findings import Store
from rondo.jobs import apart
from rondo.memory import Memory
from rondo.options import HANDED_ON, Options, flags_of, handed_on, parse, started_by_libfuzzer
from rondo.oracle import FAILING, Limits, Oracle, Verdict
from rondo.search import Search
from rondo.shrink import same_failure
from rondo.statistics import Statistics
from rondo.tell import told
from rondo.testcase import TestCase
from rondo.triage import Triage, Triaged

_SLOW_SECONDS = 3600
_LEAST_ROOM = 1 << 20
"""Bytes on the disk of the corpus: a case has less than four hundred."""
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
        self._executor: Executor | None = None
        self._pid = os.getpid()
        self._inputs = 0
        self._last = _last_input(options)
        self._minimises = bool(options.flag("minimize_crash_internal_step"))
        self._merges = bool(options.flag("merge_inner"))
        self._wanted: Verdict | None = None
        self.progress = Progress(options.corpus, options.log)
        self.search = Search(self.codec, options, self._steered)
        self._memory = Memory(options.findings, harness.name)
        given = (a for a in options.libfuzzer if a.startswith("-"))
        flags = (*given, *flags_of(options))
        self._statistics = Statistics(options.findings, harness.name, flags)
        self._stability = Stability()
        self._saving = False

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
            _PROCESS_START + (options.total_seconds or math.inf),
        )
        self.admission = Admission(
            self.feedback,
            self.oracle,
            self._stability,
            options.signature,
            options.coverage,
            self._merges,
        )
        self.search.chains.counts.seen = self._memory.read()
        if self._minimises:
            self._replay(self.codec.decode(options.files[0].read_bytes()))
        for data in [] if options.replays else self.store.left_behind():
            self.progress.say("taking up a case that an earlier run did not finish")
            self._dealt(data)

    def one(self, data: bytes) -> None:
        """Deal with one input of libFuzzer's."""
        if self._executor is None:
            self.start()
        self._inputs += 1
        _check_room(self.options)
        self._dealt(data)

    def _dealt(self, data: bytes) -> None:
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
        origin = self.search.origin(encoded)
        admitted = self.admission.report(case, encoded, verdict, bool(origin))
        seconds = time.monotonic() - before
        self.search.learn(case, encoded, verdict, admitted.features, seconds)
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
            verdict.seconds + admitted.seconds,
            dict(verdict.arm_seconds),
            verdict.runs,
            admitted.traced,
            triaged.outcome,
            triaged.name,
            origin,
            admitted.features,
        )
        self.progress.count(verdict, record)
        self.progress.show(self._features())
        if self._statistics.due:
            self._save()
        self._end_if_due(triaged)

    def _save(self) -> None:
        """Write down what the campaign has learned and what it did; merging is no campaign."""
        idle = self._executor is None or self._merges or self.options.replays
        if idle or self._saving:  # a signal may come while it saves
            return
        self._saving = True
        self._memory.save(self.search.chains.counts.seen)
        self._statistics.write(self.progress, self.feedback, self._stability, self.search)
        self._saving = False

    def _save_or_say(self) -> None:
        try:
            self._save()
        except RondoError as error:
            say(error)

    def _steered(self, case: TestCase) -> TestCase:
        return case if self._executor is None else self.triage.steered(case)

    def _features(self) -> str:
        found = f"{self.feedback.behaviours} behaviour, {self.feedback.lines} lines"
        stable = self._stability.stable_share
        return f"{found} | stable {'-' if stable is None else f'{stable:.1%}'}"

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
            self._save()
            self.finish(1)
        limit = self.options.total_seconds
        late = 0 < limit <= time.monotonic() - _PROCESS_START + 0.5
        over = late or 0 < self.options.cases <= self.progress.cases
        if over or self._inputs == self._last:
            self._save()
            print(self.progress.summary(self._features(), self.options.findings), file=sys.stderr)
            if over:
                self.finish(0)

    def fail(self, error: RondoError | OSError) -> None:
        """End the process over an error, with what the campaign has learned written down."""
        code = say(error)
        if self.progress.cases:
            self._save_or_say()
        self.finish(code)

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
        summary = self.progress.summary(self._features(), self.options.findings)
        print(f"\n{summary}", file=sys.stderr)
        self._save_or_say()
        if self._executor is not None:
            self._executor.abandon()
            self._executor = None
        self.finish(Interrupted.exit_code)


def _executor(harness: base.Harness, options: Options) -> Executor:
    if options.executor == "inprocess":
        from rondo.executor.inprocess import InProcess

        return InProcess(harness, options.faults)
    base.require(harness)
    server = ForkServer(harness.name, options.faults)
    server.start()
    return server


def _last_input(options: Options) -> int:
    """Which input is the last with `-runs`, since libFuzzer does not say; -1 without it. First come
    an empty input, one byte where there is no corpus, and every file of the corpus that holds
    something, however few runs are asked for."""
    runs = int(options.flag("runs", "-1"))
    return runs if runs < 0 else max(runs, 1 + max(1, sum(map(_size, _inputs(options)))))


def _size(file: Path) -> bool:
    return file.stat().st_size > 0


def _inputs(options: Options) -> Iterator[Path]:
    """The files that were given, and those in the folders that were."""
    for argument in options.positional:
        path = Path(argument)
        yield from [path] if path.is_file() else files_under(path)


def _check_inputs(options: Options) -> None:
    read = read_filled if options.replays else read_case_bytes
    for file in _inputs(options):
        read(file)


def _check_writable(options: Options) -> None:
    """libFuzzer does not say that it cannot keep what it finds."""
    if options.corpus and not os.access(options.corpus, os.W_OK):
        raise RondoError(
            f"the corpus folder {options.corpus} cannot be written",
            "put a folder that can be written before it: new cases go to the first one",
        )


def _check_room(options: Options) -> None:
    """On a full disk libFuzzer keeps empty files, and does not say so."""
    if options.corpus is None:
        return
    disk = os.statvfs(options.corpus)
    if disk.f_bavail * disk.f_frsize < _LEAST_ROOM:
        raise RondoError(
            f"the disk of the corpus folder {options.corpus} is full",
            f"leave {_LEAST_ROOM >> 10} kB at least: new cases would be kept as empty files",
        )


def run(target: str) -> None:
    """Run a target's campaign with the command line of this process; does not return."""
    script = Path(sys.argv[0])
    try:
        options = parse(str(script), sys.argv[1:])
        harness = base.load(target, options.undocumented)
        if options.executor == "fork":
            base.require(harness)
        if not options.flag("help"):
            _check_inputs(options)
        options.findings.mkdir(parents=True, exist_ok=True)
        _check_writable(options)
        _check_room(options)
        if options.several and not started_by_libfuzzer():
            apart(options.findings, queued=bool(options.flag("jobs")))
        fuzzer = Fuzzer(harness, options)
    except (RondoError, OSError) as error:
        sys.exit(say(error))
    os.environ[HANDED_ON] = json.dumps(flags_of(options))
    _fuzz(fuzzer, handed_on(script, options))


def _fuzz(fuzzer: Fuzzer, arguments: list[str]) -> None:
    import atheris

    if not fuzzer.options.several:  # libFuzzer waits for drivers: `rondo.jobs` listens
        fuzzer.listen()

    def one(data: bytes) -> None:
        try:
            fuzzer.one(data)
        except (RondoError, OSError) as error:
            fuzzer.fail(error)

    defaults = {
        "verbosity": "0",
        "max_len": str(MAX_BYTES),
        "report_slow_units": str(_SLOW_SECONDS),
        "handle_int": "0",
        "handle_term": "0",
        # Without other drivers there is nothing to reload; what shows nothing new would run twice.
        "reload": "1" if fuzzer.options.flag("jobs") or fuzzer.options.flag("workers") else "0",
        "artifact_prefix": f"{fuzzer.options.findings}/libfuzzer-",
    }
    for flag, value in defaults.items():
        if not fuzzer.options.flag(flag):
            arguments.append(f"-{flag}={value}")
    hooks = {"custom_mutator": fuzzer.search.mutant, "custom_crossover": fuzzer.search.crossed}
    if fuzzer.options.mutator != "structured":
        del hooks["custom_crossover"]
    atheris.Setup(arguments, one, internal_libfuzzer=True, **hooks)
    atheris.Fuzz()
