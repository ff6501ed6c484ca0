"""What each event does to program state: its lines, and the words for it.

`{n}` is the carrier's stem, `{v}` the event's value.
"""

from __future__ import annotations

from harnesses.event_text import Entry, EventTable, alike, each

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

_ENTRIES: Entry = {
    **{kind: alike(kind, "Set {n} to {v}.", line)[kind] for kind, line in _SET.items()},
    **each(
        "change_list_attribute",
        append=("Append to list attribute {n}.", "s.model.{n}.append(2.5)"),
        pop=("Pop from list attribute {n}.", "s.model.{n}.pop() if s.model.{n} else None"),
        set=("Set the first item of list attribute {n}.", "s.model.{n}[:1] = [3.5]"),
        rebind=("Set list attribute {n} to a new list.", "s.model.{n} = [2.5, 0.5]"),
    ),
    **each(
        "change_dict_attribute",
        set=("Change a value in dict attribute {n}.", 's.model.{n}["a"] = 2.5'),
        add=("Add a key to dict attribute {n}.", 's.model.{n}["b"] = 2.5'),
        rebind=("Set dict attribute {n} to a new dict.", 's.model.{n} = {{"a": 3.5}}'),
    ),
    **each(
        "change_tensor_attribute",
        rebind=(
            "Set tensor attribute {n} to a new tensor.",
            's.model.{n} = toy.Array(np.full((1,), 2.5, "float32"))',
        ),
        mutate=("Change tensor attribute {n} in place.", "s.model.{n}.add_(1.0)"),
    ),
    **each(
        "replace_method",
        instance=("Give the instance another method {n}.", "s.model.{n} = lambda h: h - 3"),
        code=(
            "Give method {n} other code.",
            "Model.{n}.__code__ = (lambda self, h: h - 5).__code__",
        ),
        **{"class": ("Give the class another method {n}.", "Model.{n} = lambda self, h: h * 4")},
    ),
    **each(
        "replace_object_method",
        instance=(
            "Give the object of class {n} another method.",
            "s.model.in_{n}.act = lambda h: h - 3",
        ),
        code=(
            "Give the method of class {n} other code.",
            "{n}.act.__code__ = (lambda self, h: h - 5).__code__",
        ),
        **{"class": ("Give class {n} another method.", "{n}.act = lambda self, h: h * 4")},
    ),
    **each(
        "replace_submodule",
        tanh=("Put a tanh behind sub-module {n}.", "s.model.{n} = Tanh(s.model.{n})"),
        identity=(
            "Wrap sub-module {n} in one that passes its result on.",
            "s.model.{n} = Wrapped(s.model.{n})",
        ),
    ),
    **each(
        "change_parameter",
        mutate=(
            "Change the parameters of {n} in place.",
            'for value in s.owned("{n}").values():',
            "    value.add_(0.5)",
        ),
        rebind=("Replace the parameters of {n} by new ones.", 's.rebind("{n}", "float32")'),
        double=("Replace the parameters of {n} by float64 ones.", 's.rebind("{n}", "float64")'),
    ),
    **each(
        "change_buffer",
        mutate=(
            "Change the buffers of {n} in place.",
            'for value in s.owned("{n}", toy.Buffer).values():',
            "    value.add_(0.5)",
        ),
        rebind=(
            "Replace the buffers of {n} by new ones.",
            's.rebind("{n}", "float32", toy.Buffer)',
        ),
    ),
    **each(
        "load_state",
        halved=(
            "Load a state in which every parameter and buffer is halved.",
            "s.model.load_state({{k: v * 0.5 for k, v in s.model.state().items()}})",
        ),
    ),
    **each(
        "add_forward_hook",
        root=(
            "Add a forward hook to the model.",
            "s.hooked = [*s.hooked, s.model.hooks]",
            "s.model.hooks.append(hook)",
        ),
        submodule=(
            "Add a forward hook to a sub-module.",
            "s.hooked = [*s.hooked, s.submodule().hooks]",
            "s.submodule().hooks.append(hook)",
        ),
    ),
    **each(
        "add_forward_pre_hook",
        root=(
            "Add a forward pre-hook to the model.",
            "s.hooked = [*s.hooked, s.model.pre_hooks]",
            "s.model.pre_hooks.append(pre_hook)",
        ),
        submodule=(
            "Add a forward pre-hook to a sub-module.",
            "s.hooked = [*s.hooked, s.submodule().pre_hooks]",
            "s.submodule().pre_hooks.append(pre_hook)",
        ),
    ),
    **each(
        "remove_hook",
        last=("Remove the hook that was added last.", "if s.hooked:", "    s.hooked.pop().pop()"),
    ),
    **each(
        "advance_python_rng",
        seed=("Seed random object {n} again.", "s.model.{n}.stream.seed(7)"),
        draw=("Draw from random object {n}.", "s.model.{n}.random()"),
    ),
    **each(
        "collect_garbage",
        dropped=(
            "Drop the compiled objects and collect garbage.",
            "s.made.clear()",
            "gc.collect(1)",
        ),
    ),
    **each(
        "drop_compiler_state",
        in_memory=(
            "Drop the compiler's in-memory state; what is on disk stays.",
            "toy.drop_memory()",
        ),
        all=("Drop all compiler state.", "toy.reset()"),
    ),
    **each(
        "replace_global_function",
        **{
            value: (
                "Replace global function {n}.",
                f'globals()["{{n}}"] = lambda h: {body}',
            )
            for value, body in _REPLACED.items()
        },
    ),
    **alike("submodule_mode", "Put sub-module {n} in {v} mode.", "s.model.{n}.{v}()"),
    **alike("set_default_dtype", "Make {v} the default dtype.", 'toy.set_default_dtype("{v}")'),
    **alike(
        "set_matmul_precision",
        "Set the matmul precision to {v}.",
        'toy.set_matmul_precision("{v}")',
    ),
}

HAPPENINGS = EventTable(_ENTRIES)
"""The text of every kind of event that the toy framework has."""
