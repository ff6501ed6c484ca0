"""Make a failing case small: fewer steps, plainer calls, a smaller model, a plainer configuration.

Every candidate is judged in a fresh child and kept when it fails in the same way (verdict, symptom
and role) and is smaller in shortlex order of its encoded bytes. The order of passes is that of the
design: steps, deviations and sizes, events, the model, the configuration; then again until nothing
helps or time is up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rondo.codec import Codec
from rondo.errors import FormatError
from rondo.oracle import Verdict
from rondo.testcase import Call, Event, Model, TestCase
from rondo.vocabulary import BATCHES

Judge = Callable[[TestCase], Verdict]


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The smallest case found with its verdict, how many cases were tried, and whether the search
    came to its own end."""

    case: TestCase
    verdict: Verdict
    tried: int
    complete: bool


def same_failure(first: Verdict, second: Verdict) -> bool:
    """Whether two verdicts show the same failure, as far as one run can tell."""
    if first.kind != second.kind or first.difference is None or second.difference is None:
        return False
    return first.difference.kind == second.difference.kind


class Shrinker:
    """Shrinks one failing case; owns every judgement that it asks for."""

    def __init__(
        self, codec: Codec, judge: Judge, case: TestCase, verdict: Verdict, seconds: float
    ) -> None:
        self._codec = codec
        self._judge = judge
        self._case = case
        self._verdict = verdict
        self._wanted = verdict
        self._deadline = time.monotonic() + seconds
        self._seen: dict[bytes, bool] = {codec.encode(case): True}
        self._tried = 0

    def run(self) -> Shrunk:
        """Shrink until nothing helps or time is up."""
        complete = False
        while not complete and time.monotonic() < self._deadline:
            before = self._case
            for candidates in _PASSES:
                self._pass(candidates)
            complete = self._case == before
        return Shrunk(self._case, self._verdict, self._tried, complete)

    def _pass(self, candidates: Callable[[TestCase, Codec], Iterator[TestCase]]) -> None:
        """Try a pass's candidates, starting anew from each success."""
        progress = True
        while progress:
            progress = False
            for candidate in candidates(self._case, self._codec):
                if time.monotonic() > self._deadline:
                    return
                if self._improves(candidate):
                    progress = True
                    break

    def _improves(self, candidate: TestCase) -> bool:
        try:
            fitted = self._codec.normal(candidate)
            data = self._codec.encode(fitted)
        except FormatError:
            return False
        if _shortlex(data) >= _shortlex(self._codec.encode(self._case)) or data in self._seen:
            return False
        self._tried += 1
        verdict = self._judge(fitted)
        fails = same_failure(self._wanted, verdict)
        self._seen[data] = fails
        if fails:
            self._case, self._verdict = fitted, verdict
        return fails


def _shortlex(data: bytes) -> tuple[int, bytes]:
    return len(data), data


def _without_steps(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """Chunks of steps left out, large chunks first, from the end."""
    count = len(case.steps)
    size = count // 2
    while size:
        for start in range(count - size, -1, -size):
            yield case.with_steps(case.steps[:start] + case.steps[start + size :])
        size //= 2


def _calls_first(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """A call moved ahead of the event before it: plain set-up, event, exposing call."""
    for index in range(len(case.steps) - 1):
        first, second = case.steps[index : index + 2]
        if isinstance(first, Event) and isinstance(second, Call):
            moved = (*case.steps[:index], second, first, *case.steps[index + 2 :])
            yield case.with_steps(moved)


def _plain_everywhere(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """One dimension, or the batch, made plain in all calls at once."""
    calls = [step for step in case.steps if isinstance(step, Call)]
    for name in sorted({d.dimension for step in calls for d in step.deviations}):
        yield case.with_steps(
            tuple(_without(s, name) if isinstance(s, Call) else s for s in case.steps)
        )
    yield case.with_steps(
        tuple(replace(s, batch=BATCHES[0]) if isinstance(s, Call) else s for s in case.steps)
    )


def _without(step: Call, name: str) -> Call:
    return Call(step.batch, tuple(d for d in step.deviations if d.dimension != name))


def _plainer_calls(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """One call made plain, or without one deviation, or at a plainer batch size."""
    for index, step in enumerate(case.steps):
        if not isinstance(step, Call):
            continue
        smaller = [Call(step.batch)] if len(step.deviations) > 1 else []
        smaller += [_without(step, d.dimension) for d in step.deviations]
        smaller += [Call(b, step.deviations) for b in BATCHES[: BATCHES.index(step.batch)]]
        for plainer in smaller:
            yield case.with_steps((*case.steps[:index], plainer, *case.steps[index + 1 :]))


def _simpler_values(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """Earlier values of events and deviations, first targets."""
    for index, step in enumerate(case.steps):
        for simpler in _simpler_step(step, codec):
            yield case.with_steps((*case.steps[:index], simpler, *case.steps[index + 1 :]))


def _simpler_step(step: Call | Event, codec: Codec) -> Iterator[Call | Event]:
    if isinstance(step, Event):
        names = [v.name for v in codec.vocabulary.event[step.kind].values]
        if step.target:
            yield replace(step, target=0)
        for value in names[: names.index(step.value)]:
            yield replace(step, value=value)
        return
    for place, deviation in enumerate(step.deviations):
        names = [v.name for v in codec.vocabulary.dimension[deviation.dimension].values]
        for value in names[1 : names.index(deviation.value)]:
            changed = list(step.deviations)
            changed[place] = replace(deviation, value=value)
            yield Call(step.batch, tuple(changed))


def _smaller_models(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """The architecture dropped, operators left out, knobs at zero."""
    model = case.model
    if model.architecture != "nothing":
        yield replace(case, model=Model("nothing", operators=model.operators))
    count = len(model.operators)
    size = max(count // 2, 1) if count else 0
    while size:
        for start in range(count - size, -1, -size):
            yield case.with_operators(model.operators[:start] + model.operators[start + size :])
        size //= 2
    plain = Model(model.architecture, operators=model.operators)
    if model != plain:
        yield replace(case, model=plain)
    for index, operator in enumerate(model.operators):
        bare = type(operator)(operator.kind)
        if operator != bare:
            operators = (*model.operators[:index], bare, *model.operators[index + 1 :])
            yield case.with_operators(operators)


def _plainer_settings(case: TestCase, codec: Codec) -> Iterator[TestCase]:
    """All settings plain, one plain, or at an earlier value."""
    if len(case.settings) > 1:
        yield replace(case, settings=())
    table = {setting.name: setting.values for setting in codec.vocabulary.settings}
    for name, value in case.settings:
        others = tuple(pair for pair in case.settings if pair[0] != name)
        yield replace(case, settings=others)
        for earlier in table[name][1 : table[name].index(value)]:
            changed = tuple((n, earlier if n == name else v) for n, v in case.settings)
            yield replace(case, settings=changed)


_PASSES = (
    _without_steps,
    _plainer_settings,
    _smaller_models,
    _plain_everywhere,
    _plainer_calls,
    _calls_first,
    _simpler_values,
)
