"""Bytes to test cases and back: total, canonical and versioned.

    [header 8 bytes][n_ops 1 byte][operator records, 4 bytes each][step records, 8 bytes each ...]

The header is `[format][architecture][width and depth][seed]` and four settings; the last 16 values
of the architecture's byte, with the knobs, number one of the framework's own tests instead. Every
byte string decodes (what is missing reads as zeros, values wrap around their tables), and
`decode(encode(case)) == case`. A record means the same wherever it stands, so libFuzzer's own
mutators and crossover keep their meaning. A call is `[kind][batch]` and three `[dimension][value]`
pairs; an event is `[kind][target][value]`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from rondo.errors import FormatError
from rondo.models.architectures import ARCHITECTURES
from rondo.models.grow import grow
from rondo.models.operators import RECORDS
from rondo.testcase import NOTHING, Call, Deviation, Event, Model, Operator, Step, TestCase
from rondo.vocabulary import BATCHES, DIMENSION_SLOTS, EVENT_SLOTS, Applying, Vocabulary

FORMAT = 3
HEADER = 8
MAX_OPERATORS = 40
MAX_STEPS = 24
MAX_BYTES = HEADER + 1 + 4 * MAX_OPERATORS + 8 * MAX_STEPS

_PLAIN_BELOW = 256 - DIMENSION_SLOTS
_EVENT_FROM = 256 - EVENT_SLOTS
_REPLAY_FROM = _EVENT_FROM - 16
_ARCHITECTURES = tuple(ARCHITECTURES)
_NOTHING_BELOW, _TEST_FROM = 128, 240
_BATCH_WEIGHTS = (128, 24, 16, 16, 32, 6, 8, 8, 6, 6, 6)
_BATCH_OF_BYTE = tuple(
    size for size, weight in zip(BATCHES, _BATCH_WEIGHTS, strict=True) for _ in range(weight)
)


class Codec:
    """The byte format with one target's vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def decode(self, data: bytes) -> TestCase:
        """The test case that `data` stands for; never fails."""
        head = data[:HEADER].ljust(HEADER, b"\0")
        count = _operator_count(data[HEADER] if len(data) > HEADER else 0)
        start = HEADER + 1
        stop = start + 4 * count
        records = data[start:stop].ljust(4 * count, b"\0")
        operators = tuple(_operator(records[i : i + 4]) for i in range(0, 4 * count, 4))
        model = self._model(head, operators)
        return TestCase(model, self._settings(head[4:8]), self._steps(model, data[stop:]))

    def encode(self, case: TestCase) -> bytes:
        """The canonical bytes of a test case.

        Raises FormatError where the case says what its model or this target cannot.
        """
        try:
            return b"".join(self._encoded(case))
        except (ValueError, KeyError, IndexError) as error:
            raise FormatError(
                f"this test case does not fit the target: {error}",
                "decode it from bytes with this target's vocabulary, or correct the JSON",
            ) from error

    def canonical(self, data: bytes) -> bytes:
        """The canonical bytes of whatever `data` stands for."""
        return self.encode(self.decode(data))

    def cut(self, data: bytes, size: int) -> bytes:
        """Canonical bytes of at most `size`: steps are left out from the end, then operators."""
        case = self.decode(data)
        encoded = self.encode(case)
        while len(encoded) > size and (case.steps or case.model.operators):
            if case.steps:
                case = case.with_steps(case.steps[:-1])
            else:
                case = case.with_operators(case.model.operators[:-1])
            encoded = self.encode(case)
        return encoded if len(encoded) <= size else b""

    def normal(self, case: TestCase) -> TestCase:
        """The nearest case whose events and deviations its model carries, in canonical form."""
        return self.decode(self.encode(self.fitted(case)))

    def fitted(self, case: TestCase) -> TestCase:
        """The case without the events and deviations that its model does not carry."""
        applying = self.applying(case.model)
        steps = tuple(s for s in (self._fitted(step, case, applying) for step in case.steps) if s)
        return case.with_steps(steps[:MAX_STEPS])

    def applying(self, model: Model) -> Applying:
        """What a model's steps can deviate in and change."""
        return self.vocabulary.applying(grow(model).traits)

    def _fitted(self, step: Step, case: TestCase, applying: Applying) -> Step | None:
        if isinstance(step, Call):
            own = applying.deviations
            kept = [d for d in step.deviations if d.value in own.get(d.dimension, ())]
            return step if len(kept) == len(step.deviations) else Call(step.batch, tuple(kept))
        options = applying.options.get(step.kind, ())
        if not options:
            return None
        targets = self.targets(case.model, step.kind)
        value = step.value if step.value in options else options[0]
        return Event(step.kind, step.target % targets, value)

    def targets(self, model: Model, kind: str) -> int:
        """How many carriers an event can act on; one where it needs none."""
        return len(grow(model).targets(self.vocabulary.event[kind].needs)) or 1

    def _model(self, head: bytes, operators: tuple[Operator, ...]) -> Model:
        tests = self.vocabulary.tests
        if head[1] >= _TEST_FROM and tests:
            number = (head[1] - _TEST_FROM) << 8 | head[2]
            return Model(seed=head[3], operators=operators, test=tests[number % len(tests)])
        return Model(_architecture(head[1]), head[2] >> 4, head[2] & 15, head[3], operators)

    def _start(self, model: Model) -> tuple[int, int]:
        """The bytes of what a model starts from, and of its knobs."""
        if model.test is None:
            return _architecture_byte(model.architecture), (
                model.width & 15
            ) << 4 | model.depth & 15
        number = self.vocabulary.tests.index(model.test)
        return _TEST_FROM + (number >> 8), number & 255

    def _settings(self, head: bytes) -> tuple[tuple[str, str], ...]:
        table = self.vocabulary.settings
        picked = [(s, s.pick(byte)) for s, byte in zip(table, head, strict=True)]
        return tuple((s.name, value) for s, value in picked if value != s.values[0])

    def _steps(self, model: Model, data: bytes) -> tuple[Step, ...]:
        applying = self.applying(model)
        steps: list[Step] = []
        for i in range(0, min(len(data), 8 * MAX_STEPS), 8):
            record = data[i : i + 8].ljust(8, b"\0")
            steps.append(self._step(model, applying, record, steps))
        return tuple(steps)

    def _step(self, model: Model, applying: Applying, record: bytes, before: list[Step]) -> Step:
        if record[0] >= _EVENT_FROM:
            event = self._event(model, applying, record)
            if event is not None:
                return event
        elif record[0] >= _REPLAY_FROM:
            calls = [step for step in before if isinstance(step, Call)]
            if calls:
                return calls[record[1] % len(calls)]
        return self._call(applying, record)

    def _call(self, applying: Applying, record: bytes) -> Call:
        found: dict[str, str] = {}
        for slot in range(2, 8, 2):
            if record[slot] < _PLAIN_BELOW:
                continue
            name = self._dimension(applying, record[slot] - _PLAIN_BELOW)
            options = applying.deviations.get(name, ())
            if options:
                found.setdefault(name, options[record[slot + 1] % len(options)])
        order = self.vocabulary.order
        pairs = sorted(found.items(), key=lambda pair: order[pair[0]])
        return Call(_BATCH_OF_BYTE[record[1]], tuple(Deviation(*pair) for pair in pairs))

    def _dimension(self, applying: Applying, slot: int) -> str:
        """The first dimension from `slot` on that the model can deviate in."""
        ring = self.vocabulary.dimension_ring
        for offset in range(len(ring)):
            name = ring[(slot + offset) % len(ring)]
            if name in applying.deviations:
                return name
        return ring[slot]

    def _event_name(self, applying: Applying, slot: int) -> str | None:
        ring = self.vocabulary.event_ring
        for offset in range(len(ring)):
            name = ring[(slot + offset) % len(ring)]
            if name in applying.options:
                return name
        return None

    def _event(self, model: Model, applying: Applying, record: bytes) -> Event | None:
        name = self._event_name(applying, record[0] - _EVENT_FROM)
        if name is None:
            return None
        options = applying.options[name]
        return Event(name, record[1] % self.targets(model, name), options[record[2] % len(options)])

    def _encoded(self, case: TestCase) -> Iterator[bytes]:
        model = case.model
        chosen = dict(case.settings)
        names = {s.name for s in self.vocabulary.settings}
        if unknown := set(chosen) - names:
            raise KeyError(f"unknown setting {sorted(unknown)[0]!r}")
        settings = [s.byte(chosen.get(s.name, s.values[0])) for s in self.vocabulary.settings]
        yield bytes([FORMAT, *self._start(model), model.seed, *settings])
        if len(model.operators) > MAX_OPERATORS or len(case.steps) > MAX_STEPS:
            raise ValueError(f"more than {MAX_OPERATORS} operators or {MAX_STEPS} steps")
        yield bytes([len(model.operators)])
        for op in model.operators:
            yield bytes([RECORDS.index(op.kind), op.a, op.b, op.c])
        applying = self.applying(model)
        for step in case.steps:
            yield self._record(model, applying, step)

    def _record(self, model: Model, applying: Applying, step: Step) -> bytes:
        if isinstance(step, Event):
            if step.kind not in applying.options:
                raise ValueError(f"the model carries nothing for {step.kind}")
            value = applying.options[step.kind].index(step.value)
            if step.target >= self.targets(model, step.kind):
                raise ValueError(f"the model has no carrier {step.target} for {step.kind}")
            slot = self.vocabulary.event_ring.index(step.kind)
            return bytes([_EVENT_FROM + slot, step.target, value, 0, 0, 0, 0, 0])
        record = [0, _BATCH_OF_BYTE.index(step.batch)]
        for deviation in step.deviations:
            slot = self.vocabulary.dimension_ring.index(deviation.dimension)
            options = applying.deviations.get(deviation.dimension, ())
            record += [_PLAIN_BELOW + slot, options.index(deviation.value)]
        if len(record) > 8:
            raise ValueError("a call deviates in at most three dimensions")
        return bytes(record).ljust(8, b"\0")


def _architecture(byte: int) -> str:
    if byte < _NOTHING_BELOW:
        return NOTHING
    return _ARCHITECTURES[(byte - _NOTHING_BELOW) % len(_ARCHITECTURES)]


def _architecture_byte(name: str) -> int:
    place = _ARCHITECTURES.index(name)
    return _NOTHING_BELOW + place if place else 0


def _operator_count(byte: int) -> int:
    return byte if byte <= MAX_OPERATORS else 1 + byte % 6


def _operator(record: bytes) -> Operator:
    return Operator(RECORDS[record[0] % len(RECORDS)], record[1], record[2], record[3])


def files_under(folder: Path) -> list[Path]:
    """The files of a folder and of those in it, by name."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def read_case_bytes(path: Path) -> bytes:
    """The bytes of a stored test case.

    Raises FormatError for a file that is truncated or written in another version of the format.
    """
    data = path.read_bytes()
    if data and len(data) <= HEADER:
        raise FormatError(
            f"{path} has {len(data)} bytes: a test case has more than {HEADER}",
            "it is truncated, or no test case at all: move it out of the folder",
        )
    if data and data[0] != FORMAT:
        raise FormatError(
            f"{path} is not a test case of format {FORMAT} (its first byte is {data[0]})",
            "`rondo corpus adopt SOURCE TARGET` reads arbitrary bytes as this format",
        )
    if data and _torn(data):
        raise FormatError(
            f"{path} ends in the middle of a record",
            "the file is truncated; take it from the findings or the corpus again",
        )
    return data


def read_filled(path: Path) -> bytes:
    """The bytes of a stored test case that is to be looked at by itself; raises FormatError for an
    empty one too, which a corpus may well hold."""
    data = read_case_bytes(path)
    if not data:
        raise FormatError(f"{path} is empty", "give a test case: a corpus or a finding has some")
    return data


def _torn(data: bytes) -> bool:
    rest = len(data) - HEADER - 1 - 4 * _operator_count(data[HEADER])
    return rest < 0 or rest % 8 != 0


def digest(data: bytes) -> str:
    """A short stable name for a test case's bytes."""
    return hashlib.sha256(data).hexdigest()[:16]
