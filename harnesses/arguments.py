"""The arguments of a call that targets build alike: sizes, the second tensor in its relation to the
first, lists, scalars and optional arguments.

A harness gives `Builder` an expression for new values of a shape; the effects of its table (and of
`plain_effects`) have put into the call's plan what differs from plain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harnesses.emission import CallPlan, Effect, put
from rondo.vocabulary import LENGTHS

Fresh = Callable[[CallPlan, list[int], str], str]
"""(plan, sizes, seed) -> an expression for new values."""

NAMES = {
    "tensor": "y",
    "scalar": "k",
    "list": "items",
    "numbers": "numbers",
    "optional": "bias",
    "function": "fn",
}
"""Argument -> its name in the model's signature."""

VISIBLE = ("x", "y", "items", "bias")
"""The arguments that a call could change."""

_PROFILES = (
    ("zeros", "all zeros", " * 0"),
    ("ones", "all ones", " * 0 + 1"),
    ("large", "large", " * 100"),
    ("tiny", "tiny", " * 0.0001"),
)
_SCALARS = "2.5 3.5 1.0 1 True 2 3 0 0.0 7 -1 False".split()
_NUMBERS = ("3, 4", "5, 6, 7", "1.5, 2.5")


def plain_effects(word: str) -> dict[str, dict[str, Effect]]:
    """The effects that only set what `Builder` reads; `word` is what the target calls a tensor."""
    return {
        "length": {str(n): Effect(f"sequence length {n}", put(length=str(n))) for n in LENGTHS[1:]},
        "structure": {"keyword": Effect("all arguments by keyword", put(structure="keyword"))},
        "items": {
            "one": Effect(f"a list of one {word}", put(items="[a]")),
            "three": Effect(f"a list of three {word}s", put(items="[a, b, a + b]")),
            "tuple": Effect("a tuple in place of the list", put(items="(a, b)")),
            "same_twice": Effect(f"a list with the same {word} twice", put(items="[a, a]")),
            "same_list": Effect(
                "the same list object as before", put(items='s.kept("items", lambda: [a, b])')
            ),
        },
        "optional": {
            "given": Effect(f"the optional {word} is given", put(optional="given")),
            "is_input": Effect(
                f"the optional {word} is the input itself", put(optional="is_input")
            ),
        },
        "scalar": {
            text: Effect(f"the scalar argument is {text}", put(scalar=text)) for text in _SCALARS
        },
        "numbers": {
            text: Effect(f"the list of numbers is [{text}]", put(numbers=text)) for text in _NUMBERS
        },
        "profile": {
            name: Effect(f"the input is {says}", put(profile=suffix))
            for name, says, suffix in _PROFILES
        },
        "values": {
            "first_step": Effect("with the values of the first step", put(seed="1")),
            "previous_tensors": Effect(f"with the {word} of the call before", put(previous="yes")),
        },
        "bad_call": {
            "bad_shape": Effect("with an input of a wrong shape, which raises", put(bad="shape")),
            "bad_type": Effect("with None for the input, which raises", put(bad="type")),
        },
    }


def sizes(plan: CallPlan, batch: int) -> list[int]:
    """The input's shape at a batch size, with the plan's sequence length."""
    known = {"B": batch, "T": int(plan.fields.get("length", "4"))}
    return [known[s] if isinstance(s, str) else s for s in plan.graph.input_shape]


def shape_text(entries: list[int]) -> str:
    """A shape as source."""
    return f"({', '.join(map(str, entries))}{',' if len(entries) == 1 else ''})"


def bracketed(expression: str) -> str:
    """An expression that a method call or an index can follow."""
    return f"({expression})" if " " in expression.split(")")[-1] else expression


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds arguments as lines; `pool` makes what two overlapping arguments are slices of, `kept`
    says whether functions are the same object in every step."""

    fresh: Fresh
    pool: Fresh
    kept: bool = False

    def lines(self, plan: CallPlan) -> list[str]:
        """The lines that set up the arguments beside the input, in the signature's order."""
        made: list[str] = []
        for argument in plan.graph.arguments:
            made += getattr(self, f"_{argument}")(plan)
        return made

    def wrong_shape(self, plan: CallPlan, seed: str) -> str:
        """An input that no model takes."""
        shape = sizes(plan, plan.batch)
        return self.fresh(plan, [*shape[:-1], shape[-1] + 1], seed)

    def _tensor(self, plan: CallPlan) -> list[str]:
        alias = plan.fields.get("alias", "")
        seed = str(plan.step + 101)
        if alias == "overlapping" and not plan.fields.get("bad"):
            rows, *row = sizes(plan, plan.batch)
            pool = self.pool(plan, [rows + 1, *row], seed)
            return [f"pool = {pool}", "x, y = pool[:-1], pool[1:]"]
        if alias and not plan.fields.get("bad"):
            return ["y = x" if alias == "same" else "y = x[:]"]
        return [f"y = {self.fresh(plan, sizes(plan, plan.batch), seed)}"]

    def _scalar(self, plan: CallPlan) -> list[str]:
        form = plan.fields.get("scalar_form", "{k}")
        return [f"k = {form.format(k=plan.fields.get('scalar', '1.5'))}"]

    def _list(self, plan: CallPlan) -> list[str]:
        shape = sizes(plan, plan.batch)
        made = [
            f"{name} = {self.fresh(plan, shape, str(plan.step + 201 + i))}"
            for i, name in enumerate("ab")
        ]
        return [*made, f"items = {plan.fields.get('items', '[a, b]')}"]

    def _numbers(self, plan: CallPlan) -> list[str]:
        return [f"numbers = [{plan.fields.get('numbers', '1, 2')}]"]

    def _optional(self, plan: CallPlan) -> list[str]:
        given = {"": "None", "is_input": "x"}
        fresh = self.fresh(plan, sizes(plan, plan.batch), str(plan.step + 301))
        return [f"bias = {given.get(plan.fields.get('optional', ''), fresh)}"]

    def _function(self, plan: CallPlan) -> list[str]:
        chosen = plan.fields.get("function", "make_fn(1.5)")
        return [f'fn = s.kept("{chosen}", lambda: {chosen})' if self.kept else f"fn = {chosen}"]


def given_lines(plan: CallPlan, builder: Builder, first: list[str]) -> list[str]:
    """The lines of all arguments: `first` makes the input, unless it is a slice of what the second
    tensor is a slice of too, and does more with it."""
    shared = plan.fields.get("alias") == "overlapping" and "tensor" in plan.graph.arguments
    if not shared or plan.fields.get("bad"):
        return first + builder.lines(plan)
    return builder.lines(plan) + [line for line in first if not line.startswith("x = ")]
