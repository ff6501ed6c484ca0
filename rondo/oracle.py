"""Three arms, one verdict: eager, compiled from empty state, compiled with state kept.

The lazy order spends compile time only where it can teach: `eager` and `retained` share a child;
only a disagreement pays for the second eager run (is the case deterministic?), the float64
reference, the `reset` arm (is a fresh compile right?) and the confirmation (is it the compiler's
state, with the same program state before the exposing step?).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import msgspec

from harnesses.base import Harness, Program
from rondo.compare import Difference, handed_on, step_difference
from rondo.executor.protocol import (
    EAGER,
    NEVER,
    RETAINED,
    Arm,
    Executor,
    Job,
    Outcome,
    StepRecord,
)
from rondo.testcase import TestCase

SYMPTOM_OF_DEATH = {"crash": "crash", "hang": "hang", "memory": "memory"}
FAILING = frozenset({"stateful", "reset_only", "stateless"})
"""Verdicts on cases that fail deterministically."""
LEAST_PATIENCE, PATIENCE = 15.0, 5.0
"""How long a case that hung is waited for when it runs again: so many seconds at least, and so many
times what a fresh compile of the step took."""
SURVIVES = "a reset of the compiler through its API does not help, a fresh process does"
ROUNDED = "the step follows from how earlier ones rounded the state"
AGAIN = Arm("eager again", NEVER)
WIDE = Arm("float64", NEVER, wide=True)
Behaviour = tuple[tuple[int, tuple[str, ...]], ...]
"""What the compiler did in the retained arm: (step, events) for each call, in order."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the oracle says of a test case.

    `kind` is pass, stateful, stateless, reset_only, nondeterministic, invalid or documented;
    `known` names the finding that explains it, in which case the other arms were not needed;
    `seconds` is the wall time of all `runs` children; `patience` is for how many seconds it is
    enough to wait for a child of a case that hangs, and 0 for other cases.
    """

    kind: str
    difference: Difference | None = None
    note: str = ""
    behaviour: Behaviour = ()
    reset_behaviour: tuple[str, ...] = ()
    known: str = ""
    arm_seconds: tuple[tuple[str, float], ...] = ()
    seconds: float = 0.0
    runs: int = 0
    patience: float = 0.0

    @property
    def symptom(self) -> str:
        """The symptom of its difference, or the empty string."""
        return self.difference.symptom if self.difference else ""


@dataclass(frozen=True, slots=True)
class Limits:
    """Wall seconds and megabytes above the server's own that one child may take."""

    seconds: float = 120.0
    megabytes: int = 4096


Explains = Callable[[Difference], str]
"""Given the first difference of a case, the name of the known finding behind it or nothing."""


class Oracle:
    """Judges test cases of one target with one executor."""

    def __init__(
        self, harness: Harness, executor: Executor, limits: Limits | None = None, full: bool = False
    ) -> None:
        self._harness = harness
        self._executor = executor
        self._limits = limits or Limits()
        self._full = full
        self._runs = 0
        self._seconds = 0.0
        self._wait = self._limits.seconds

    def judge(
        self, case: TestCase, explains: Explains | None = None, patience: float = 0.0
    ) -> Verdict:
        """The verdict on a test case.

        `explains` may name a known finding behind a first disagreement, which ends the matter;
        `patience` is that of an earlier verdict.
        """
        self._runs, self._seconds = 0, 0.0
        self._wait = patience or self._limits.seconds
        program = self._harness.emit(case)
        first = self._run_both(program, RETAINED)
        verdict = self._first_look(program, first, explains)
        return replace(
            verdict,
            behaviour=_behaviour(program, first),
            arm_seconds=_arm_seconds(first),
            seconds=self._seconds,
            runs=self._runs,
            patience=self._wait if verdict.symptom == "hang" else 0.0,
        )

    def look(self, case: TestCase) -> Verdict:
        """A glance at the first two arms alone: pass, invalid, documented or an alarm as yet
        unconfirmed (`stateful`)."""
        self._wait = self._limits.seconds
        return self._glance(self._harness.emit(case))[0]

    def recheck(self, case: TestCase, patience: float = 0.0) -> Verdict:
        """The three arms alone: enough to guide a search that ends with a full `judge`.

        A `stateful` verdict has no confirmation and no float64 reference behind it; `patience` is
        that of the verdict which the search started from.
        """
        self._wait = patience or self._limits.seconds
        program = self._harness.emit(case)
        verdict, first = self._glance(program)
        if verdict.kind == "stateful" and verdict.difference is not None:
            verdict = self._against_reset(program, first, verdict.difference, {}, confirm=False)
        return replace(verdict, behaviour=_behaviour(program, first))

    def _glance(self, program: Program) -> tuple[Verdict, Outcome]:
        first = self._run_both(program, RETAINED)
        return self._first_look(program, first, lambda _: "unconfirmed"), first

    def layer(self, case: TestCase) -> str:
        """The layer of the compiler that a case goes through."""
        return self._harness.vocabulary.layer(case.settings)

    def rerun(
        self, case: TestCase, stop_after: int = -1, traced: bool = False
    ) -> tuple[Behaviour, dict[str, tuple[int, ...]]]:
        """What the compiler does when a case runs again, up to step `stop_after` (-1: all), and
        its lines by file where it is traced."""
        self._wait = self._limits.seconds
        program = self._harness.emit(case)
        arm = Arm(RETAINED.name, 0, stop_after=stop_after, traced=traced)
        arms = (EAGER, arm) if self._harness.eager_shares_process else (arm,)
        outcome = self._run(program, *arms)
        return _behaviour(program, outcome), outcome.lines

    def _job(self, program: Program, *arms: Arm) -> Job:
        raising = tuple(sorted(program.raising))
        return Job(program.text, arms, raising, self._wait, self._limits.megabytes)

    def _run(self, program: Program, *arms: Arm) -> Outcome:
        self._runs += 1
        outcome = self._executor.run(self._job(program, *arms))
        self._seconds += outcome.seconds
        return outcome

    def _run_both(self, program: Program, compiled: Arm) -> Outcome:
        """The eager arm, then a compiled one: in one child, or in two where eager execution goes
        through the compiler's caches."""
        if self._harness.eager_shares_process:
            return self._run(program, EAGER, compiled)
        jobs = (self._job(program, EAGER), self._job(program, compiled))
        eager, other = self._executor.run_both(*jobs)
        self._runs += 2
        self._seconds += max(eager.seconds, other.seconds)
        if self._invalid(program, eager):
            return eager
        return msgspec.structs.replace(
            other, arms={**eager.arms, **other.arms}, seconds=max(eager.seconds, other.seconds)
        )

    def _reset_arm(self, k: int) -> Arm:
        """The arm that compiles step k from empty state."""
        before = -1 if self._harness.eager_shares_process else k
        return Arm("reset", k, reset_before=before, stop_after=k)

    def _first_look(self, program: Program, first: Outcome, explains: Explains | None) -> Verdict:
        if trouble := self._invalid(program, first):
            return Verdict("invalid", note=trouble)
        found = self._difference(first, "retained", {})
        if found is None:
            return self._look_at_reset(program, first) if self._full else Verdict("pass")
        if found.symptom == "documented":
            return Verdict("documented", replace(found, symptom="exception"), found.detail)
        if explains is not None and (name := explains(found)):
            return Verdict("stateful", found, known=name)
        return self._second_look(program, first, found)

    def _invalid(self, program: Program, outcome: Outcome) -> str:
        if outcome.trouble:
            return outcome.trouble
        if not program.calls:
            return "no step calls the model"
        if outcome.death and outcome.death.arm in ("", "eager"):
            return f"eager execution: {outcome.death.kind} ({outcome.death.detail})"
        for record in outcome.arms.get("eager", ()):
            if record.error and record.step not in program.raising:
                return f"step {record.step + 1}: {record.error[0]}: {record.message}"
        return ""

    def _second_look(self, program: Program, first: Outcome, found: Difference) -> Verdict:
        """Is the disagreement real: deterministic, and beyond rounding?"""
        second = self._run(program, AGAIN, WIDE)
        again = second.arms.get(AGAIN.name, [])
        shaky = self._first_difference(first.arms["eager"], again, {})
        if shaky is not None:
            return Verdict("nondeterministic", shaky, "two eager runs differ")
        wide = {record.step: record for record in second.arms.get(WIDE.name, ())}
        real = self._difference(first, "retained", wide)
        if real is None:
            return Verdict("pass", note="equal by the float64 reference")
        return self._against_reset(program, first, real, wide)

    def _against_reset(
        self,
        program: Program,
        first: Outcome,
        found: Difference,
        wide: dict[int, StepRecord],
        confirm: bool = True,
    ) -> Verdict:
        k = found.step
        reset = self._run(program, self._reset_arm(k))
        wrong = self._difference_at(k, first, reset, "reset", wide)
        if wrong is not None:
            note = "the reset arm is wrong too" + (
                "" if wrong.kind == found.kind else ", otherwise"
            )
            return Verdict("stateless", found, note)
        if found.symptom == "hang":
            self._wait = min(self._wait, max(LEAST_PATIENCE, PATIENCE * reset.seconds))
        last = reset.arms["reset"][-1].behaviour
        if not confirm:
            return Verdict("stateful", found, reset_behaviour=last)
        return self._confirm(program, first, found, wide, last)

    def _confirm(
        self,
        program: Program,
        first: Outcome,
        found: Difference,
        wide: dict[int, StepRecord],
        reset_behaviour: tuple[str, ...],
    ) -> Verdict:
        """Again with state kept: it must be wrong again. Then with state emptied through the
        framework's API before the exposing step, from the same program state.

        The reset arm, in a fresh process, has proved a fresh compile right. So if emptying does not
        help, what the earlier calls left behind outlives the framework's own reset, provided that
        the program state was the same to the bit: it may have been the same but for rounding, and
        then other numbers are right for the state that the step was given.
        """
        k = found.step
        again = self._run(program, Arm("retained", 0, stop_after=k))
        repeated = self._difference_at(k, first, again, "retained", wide)
        if repeated is None or repeated.kind != found.kind:
            return Verdict("nondeterministic", found, "the retained arm did not repeat it")
        rewound = self._run(program, Arm("rewound", 0, reset_before=k, stop_after=k))
        still = self._difference_at(k, first, rewound, "rewound", wide)
        if still is not None and found.array and not same_state(first, k):
            return Verdict("pass", note=ROUNDED)
        note = SURVIVES if still is not None else ""
        return Verdict("stateful", found, note, reset_behaviour=reset_behaviour)

    def _look_at_reset(self, program: Program, first: Outcome) -> Verdict:
        """Full mode: is a fresh compile of one of the later calls wrong where state helps?"""
        calls = [k for k in program.calls if k not in program.raising]
        if not calls or len(program.text) % 4:
            return Verdict("pass")
        k = calls[len(program.text) // 4 % len(calls)]
        reset = self._run(program, self._reset_arm(k))
        wrong = self._difference_at(k, first, reset, "reset", {})
        if wrong is None or wrong.symptom == "documented":
            return Verdict("pass")
        second = self._run(program, AGAIN, WIDE)
        wide = {record.step: record for record in second.arms.get(WIDE.name, ())}
        wrong = self._difference_at(k, first, reset, "reset", wide)
        return Verdict("reset_only", wrong) if wrong else Verdict("pass")

    def _difference(
        self, outcome: Outcome, arm: str, wide: dict[int, StepRecord]
    ) -> Difference | None:
        """The first difference of an arm from the eager arm of the same outcome, or its death."""
        found = self._first_difference(outcome.arms["eager"], outcome.arms.get(arm, []), wide)
        died = outcome.death
        if found is None and died is not None and died.arm == arm:
            return Difference(died.step, SYMPTOM_OF_DEATH[died.kind], died.kind, died.detail)
        return found

    def _first_difference(
        self, eager: list[StepRecord], got: list[StepRecord], wide: dict[int, StepRecord]
    ) -> Difference | None:
        for record in got:
            k = record.step
            found = step_difference(self._harness, eager[k], record, wide.get(k), eager[:k])
            if found is not None:
                return found
        return None

    def _difference_at(
        self,
        k: int,
        first: Outcome,
        outcome: Outcome,
        arm: str,
        wide: dict[int, StepRecord],
    ) -> Difference | None:
        """How step k of an arm differs from the eager arm of the first outcome."""
        eager = first.arms["eager"]
        if outcome.trouble:
            return Difference(k, "exception", "executor", outcome.trouble)
        if outcome.death is not None:
            died = outcome.death
            return Difference(k, SYMPTOM_OF_DEATH[died.kind], died.kind, died.detail)
        record = outcome.arms[arm][k]
        return step_difference(self._harness, eager[k], record, wide.get(k), eager[:k])


def same_state(first: Outcome, k: int) -> bool:
    """Whether what the steps before step k handed on is the same to the bit in eager execution and
    in the retained arm."""
    pairs = zip(first.arms["eager"][:k], first.arms.get(RETAINED.name, ())[:k], strict=True)
    return all(handed_on(eager) == handed_on(got) for eager, got in pairs)


def _behaviour(program: Program, outcome: Outcome) -> Behaviour:
    retained = outcome.arms.get(RETAINED.name, ())
    return tuple((r.step, r.behaviour) for r in retained if r.step in program.calls)


def _arm_seconds(outcome: Outcome) -> tuple[tuple[str, float], ...]:
    return tuple(
        (name, sum(record.seconds for record in records)) for name, records in outcome.arms.items()
    )
