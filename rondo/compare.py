"""How one step of an arm differs from the same step of the eager arm: exceptions first, then
everything that a user can see.

Below the oracle, which says which arms to compare; `rondo.numerics` says when two values are the
same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harnesses.base import ADDED, MISSING, Harness, Shown
from rondo.executor.protocol import Observation, StepRecord
from rondo.numerics import coarsest, difference, magnitude, reference_at

SYMPTOM_OF_ROLE = {
    "output": "wrong_result",
    "gradient": "wrong_gradient",
    "input": "wrong_state",
    "parameter": "wrong_state",
    "buffer": "wrong_state",
    "attribute": "wrong_state",
    "rng": "wrong_state",
}
_ROLES = tuple(SYMPTOM_OF_ROLE)
_KEPT_ROLES = frozenset({"gradient", "parameter", "buffer", "attribute"})
"""What a step hands on to the steps after it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first thing that differs from eager execution: at which step, with which symptom, where
    (`role:path`), how, whether there is an array at that place, and what the float64 reference
    has there where one was made."""

    step: int
    symptom: str
    where: str
    detail: str
    array: bool = False
    reference: str = ""

    @property
    def shown(self) -> Shown:
        """Where a repro has to look."""
        role, _, path = self.where.partition(":")
        return Shown(role, path, self.array, self.detail)

    @property
    def kind(self) -> tuple[str, str]:
        """What makes two differences alike: the symptom and the role."""
        return self.symptom, self.where.partition(":")[0]


def handed_on(record: StepRecord) -> frozenset[Observation]:
    """What a step leaves to the steps after it, arguments that it may have changed included."""
    return frozenset(o for o in record.observations if o.role in _KEPT_ROLES | {"input"})


def step_difference(
    harness: Harness,
    eager: StepRecord,
    got: StepRecord,
    wide: StepRecord | None = None,
    before: Iterable[StepRecord] = (),
) -> Difference | None:
    """How a step differs from the same step of the eager arm, given the float64 reference and the
    eager steps `before` it: gradients and other state keep the rounding of the narrowest type that
    any step so far has computed in, what a step returns has that of its own.
    """
    if raised := _exception_difference(harness, eager, got):
        return raised
    references = _by_place(wide.observations) if wide and not wide.error else {}
    expected = _by_place(eager.observations)
    actual = _by_place(got.observations)
    own = coarsest(seen.dtype for seen in eager.observations)
    kept = coarsest((own, *(seen.dtype for record in before for seen in record.observations)))
    largest = _largest_gradient(references)
    for role, path in _places(expected, actual):
        if eager.error and role in ("output", "input"):
            continue
        place = (role, path)
        ours, theirs = expected.get(place), actual.get(place)
        precision = kept if role in _KEPT_ROLES else own
        neighbours = largest if role == "gradient" else 0.0
        detail = _observed(ours, theirs, references.get(place), precision, neighbours)
        if detail:
            array = ours is not None and ours.kind != ""
            reference = reference_at(ours, theirs, references.get(place)) if ours and theirs else ""
            symptom, where = SYMPTOM_OF_ROLE[role], f"{role}:{path}"
            return Difference(eager.step, symptom, where, detail, array, reference)
    return None


def _exception_difference(
    harness: Harness, eager: StepRecord, got: StepRecord
) -> Difference | None:
    if got.error and not eager.error:
        page = harness.documented(got.error, got.message)
        symptom = "documented" if page else "exception"
        detail = page or f"{got.error[0]}: {_said(got.message)}"
        return Difference(eager.step, symptom, f"exception:{got.error[0]}", detail)
    if eager.error and not got.error:
        detail = f"no exception instead of {eager.error[0]}"
        return Difference(eager.step, "missing_exception", "exception:", detail)
    if eager.error and not harness.same_exception(eager.error, got.error):
        detail = f"{got.error[0]} instead of {eager.error[0]}"
        return Difference(eager.step, "exception", f"exception:{got.error[0]}", detail)
    return None


def _said(message: str) -> str:
    """An exception's first line, and the second where the first only announces it."""
    first, *others = message.splitlines() or [""]
    return " ".join([first, *others[: first.endswith(":")]])[:160]


def _by_place(seen: tuple[Observation, ...]) -> dict[tuple[str, str], Observation]:
    return {(o.role, o.path): o for o in seen}


def _places(
    expected: dict[tuple[str, str], Observation], actual: dict[tuple[str, str], Observation]
) -> Iterator[tuple[str, str]]:
    """Every place that either side saw, outputs first."""
    places = dict.fromkeys([*expected, *actual])
    yield from sorted(places, key=lambda place: _ROLES.index(place[0]))


def _largest_gradient(seen: dict[tuple[str, str], Observation]) -> float:
    """The magnitude of the largest gradient of a step: others are made of it."""
    return max((magnitude(o) for (role, _), o in seen.items() if role == "gradient"), default=0.0)


def _observed(
    expected: Observation | None,
    actual: Observation | None,
    wide: Observation | None,
    precision: str,
    neighbours: float,
) -> str:
    if expected is None or actual is None:
        return MISSING if actual is None else ADDED
    return difference(expected, actual, wide, precision, neighbours)
