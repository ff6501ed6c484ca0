"""What each event does to program state: its lines, and the words for it.

`{n}` is the carrier's stem, `{v}` the event's value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Happening:
    """The text of one event."""

    says: str
    lines: tuple[str, ...]


def _happening(says: str, *lines: str) -> Happening:
    return Happening(says, lines)


_SET = {
    "set_float_attribute": "s.model.{n} = {v}",
    "set_int_attribute": "s.model.{n} = {v}",
    "set_bool_attribute": "s.model.{n} = {v}",
    "retype_attribute": "s.model.{n} = {v}",
    "set_enum_attribute": "s.model.{n} = Choice.{v}",
    "set_object_attribute": "s.model.{n}.gain = {v}",
    "set_property": "s.model.{n} = {v}",
    "set_class_attribute": "{n}.rate = {v}",
    "set_global": 'globals()["{n}"] = {v}',
    "set_closure_cell": "{n}.__closure__[0].cell_contents = {v}",
    "set_default_argument": "{n}.__defaults__ = ({v},)",
}

_REPLACED = {"minus": "h - 1", "half": "h * 0.5"}

_TABLE: dict[tuple[str, str], Happening] = {
    ("change_list_attribute", "append"): _happening(
        "Append to list attribute {n}.", "s.model.{n}.append(2.5)"
    ),
    ("change_list_attribute", "pop"): _happening(
        "Pop from list attribute {n}.", "s.model.{n}.pop() if s.model.{n} else None"
    ),
    ("change_list_attribute", "set"): _happening(
        "Set the first item of list attribute {n}.", "s.model.{n}[:1] = [3.5]"
    ),
    ("change_list_attribute", "rebind"): _happening(
        "Set list attribute {n} to a new list.", "s.model.{n} = [2.5, 0.5]"
    ),
    ("change_dict_attribute", "set"): _happening(
        "Change a value in dict attribute {n}.", 's.model.{n}["a"] = 2.5'
    ),
    ("change_dict_attribute", "add"): _happening(
        "Add a key to dict attribute {n}.", 's.model.{n}["b"] = 2.5'
    ),
    ("change_dict_attribute", "rebind"): _happening(
        "Set dict attribute {n} to a new dict.", 's.model.{n} = {{"a": 3.5}}'
    ),
    ("change_tensor_attribute", "rebind"): _happening(
        "Set tensor attribute {n} to a new tensor.",
        's.model.{n} = toy.Array(np.full((1,), 2.5, "float32"))',
    ),
    ("change_tensor_attribute", "mutate"): _happening(
        "Change tensor attribute {n} in place.", "s.model.{n}.add_(1.0)"
    ),
    ("replace_method", "instance"): _happening(
        "Give the instance another method {n}.", "s.model.{n} = lambda h: h - 3"
    ),
    ("replace_method", "class"): _happening(
        "Give the class another method {n}.", "Model.{n} = lambda self, h: h * 4"
    ),
    ("replace_method", "code"): _happening(
        "Give method {n} other code.",
        "Model.{n}.__code__ = (lambda self, h: h - 5).__code__",
    ),
    ("replace_object_method", "instance"): _happening(
        "Give the object of class {n} another method.", "s.model.in_{n}.act = lambda h: h - 3"
    ),
    ("replace_object_method", "class"): _happening(
        "Give class {n} another method.", "{n}.act = lambda self, h: h * 4"
    ),
    ("replace_object_method", "code"): _happening(
        "Give the method of class {n} other code.",
        "{n}.act.__code__ = (lambda self, h: h - 5).__code__",
    ),
    ("replace_submodule", "tanh"): _happening(
        "Put a tanh behind sub-module {n}.",
        "s.model.{n} = Tanh(s.model.{n})",
    ),
    ("replace_submodule", "identity"): _happening(
        "Wrap sub-module {n} in one that passes its result on.",
        "s.model.{n} = Wrapped(s.model.{n})",
    ),
    ("change_parameter", "mutate"): _happening(
        "Change the parameters of {n} in place.",
        'for value in s.owned("{n}").values():',
        "    value.add_(0.5)",
    ),
    ("change_parameter", "rebind"): _happening(
        "Replace the parameters of {n} by new ones.",
        's.rebind("{n}", "float32")',
    ),
    ("change_parameter", "double"): _happening(
        "Replace the parameters of {n} by float64 ones.",
        's.rebind("{n}", "float64")',
    ),
    ("change_buffer", "mutate"): _happening(
        "Change the buffers of {n} in place.",
        'for value in s.owned("{n}", toy.Buffer).values():',
        "    value.add_(0.5)",
    ),
    ("change_buffer", "rebind"): _happening(
        "Replace the buffers of {n} by new ones.",
        's.rebind("{n}", "float32", toy.Buffer)',
    ),
    ("load_state", "halved"): _happening(
        "Load a state in which every parameter and buffer is halved.",
        "s.model.load_state({{k: v * 0.5 for k, v in s.model.state().items()}})",
    ),
    ("add_forward_hook", "root"): _happening(
        "Add a forward hook to the model.",
        "s.hooked = [*s.hooked, s.model.hooks]",
        "s.model.hooks.append(hook)",
    ),
    ("add_forward_hook", "submodule"): _happening(
        "Add a forward hook to a sub-module.",
        "s.hooked = [*s.hooked, s.submodule().hooks]",
        "s.submodule().hooks.append(hook)",
    ),
    ("add_forward_pre_hook", "root"): _happening(
        "Add a forward pre-hook to the model.",
        "s.hooked = [*s.hooked, s.model.pre_hooks]",
        "s.model.pre_hooks.append(pre_hook)",
    ),
    ("add_forward_pre_hook", "submodule"): _happening(
        "Add a forward pre-hook to a sub-module.",
        "s.hooked = [*s.hooked, s.submodule().pre_hooks]",
        "s.submodule().pre_hooks.append(pre_hook)",
    ),
    ("remove_hook", "last"): _happening(
        "Remove the hook that was added last.",
        "if s.hooked:",
        "    s.hooked.pop().pop()",
    ),
    ("advance_python_rng", "seed"): _happening(
        "Seed random object {n} again.", "s.model.{n}.stream.seed(7)"
    ),
    ("advance_python_rng", "draw"): _happening(
        "Draw from random object {n}.", "s.model.{n}.random()"
    ),
    ("collect_garbage", "dropped"): _happening(
        "Drop the compiled objects and collect garbage.", "s.made.clear()", "gc.collect(1)"
    ),
    ("drop_compiler_state", "in_memory"): _happening(
        "Drop the compiler's in-memory state; what is on disk stays.", "toy.drop_memory()"
    ),
    ("drop_compiler_state", "all"): _happening("Drop all compiler state.", "toy.reset()"),
}


def _rows() -> Iterator[tuple[tuple[str, str], Happening]]:
    yield from _TABLE.items()
    for value, body in _REPLACED.items():
        yield (
            ("replace_global_function", value),
            _happening("Replace global function {n}.", f'globals()["{{n}}"] = lambda h: {body}'),
        )
    for mode in ("eval", "train"):
        yield (
            ("submodule_mode", mode),
            _happening(f"Put sub-module {{n}} in {mode} mode.", f"s.model.{{n}}.{mode}()"),
        )
    for dtype in ("float64", "float32"):
        yield (
            ("set_default_dtype", dtype),
            _happening(f"Make {dtype} the default dtype.", f'toy.set_default_dtype("{dtype}")'),
        )
    for precision in ("medium", "high", "highest"):
        yield (
            ("set_matmul_precision", precision),
            _happening(
                f"Set the matmul precision to {precision}.",
                f'toy.set_matmul_precision("{precision}")',
            ),
        )


HAPPENINGS = dict(_rows())
"""Events whose text depends on the value, by kind and value."""


def happening(kind: str, value: str) -> Happening:
    """The text of an event, with fields {n} and {v}."""
    if kind in _SET:
        return _happening("Set {n} to {v}.", _SET[kind])
    return HAPPENINGS[kind, value]
