"""The steps around a user's own model: what a call can deviate in, what can change in between.

Tables built from inspected `Facts`; what the torch target has already (grad modes, autocast,
callees, ambient events ...) is taken from its own tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from harnesses.arguments import shape_text
from harnesses.emission import CallPlan, Effect, put
from harnesses.event_text import EventTable, alike
from harnesses.torch_inductor.dimensions import EFFECTS
from harnesses.torch_inductor.events import EVENT_TEXT
from rondo.check.facts import Attribute, Axis, Facts, Leaf
from rondo.testcase import Event
from rondo.vocabulary import Dimension, EventKind, Value, values

AMBIENT_EVENTS = frozenset({"set_default_dtype", "collect_garbage", "drop_compiler_state"})
"""Shared events that fit any model."""

_AMBIENT = (
    EventKind("limit_recompiles", values("2", "1")),
    EventKind("set_autocast_dtype", values("float16", "bfloat16")),
    EventKind("set_grad_enabled", values("False", "True")),
)
_TRAINING = (
    EventKind("optimizer_step", values("sgd")),
    EventKind("clear_gradients", values("all")),
    EventKind("load_state", values("halved")),
    EventKind("convert_model", values("bfloat16", "float64", "float16", "float32")),
)
_CALLEES = "model again again_dynamic copy second method in_place".split()
_FUNCTION_CALLEES = "model again again_dynamic".split()
_DTYPES = "as_given float64 bfloat16 float16".split()
_LAYOUTS = {
    "transposed": "{x} = {x}.transpose(-1, -2).contiguous().transpose(-1, -2)",
    "sliced": "{x} = torch.cat([{x}, {x}])[len({x}) :]",
    "strided": "{x} = {x}.repeat_interleave(2, 0)[::2]",
    "expanded": "{x} = {x}[:1].expand({x}.shape)",
    "channels_last": "{x} = {x}.to(memory_format=torch.channels_last)",
}
_ALIASES = {
    "same": ("{y} = {x}",),
    "overlapping": ("pool = torch.cat([{x}, {y}[:1]])", "{x}, {y} = pool[:-1], pool[1:]"),
    "view": ("{y} = {x}[:]",),
}

_OWN_TEXT = EventTable(
    {
        **alike("set_attribute", "set {t} to {v}", "{o}.{n} = {v}"),
        **alike("set_mode", "put the model in {v} mode", "s.model.{v}()"),
        **alike("submodule_mode", "put {t} in {v} mode", "{o}.{v}()"),
        **alike(
            "change_parameter",
            "change the parameter {t} in place",
            "with torch.no_grad():",
            '    s.model.get_parameter("{t}").mul_(1.5)',
        ),
        **alike(
            "freeze_parameter",
            "toggle requires_grad of {t}",
            'parameter = s.model.get_parameter("{t}")',
            "parameter.requires_grad_(not parameter.requires_grad)",
        ),
        **alike(
            "change_buffer", "change the buffer {t} in place", 's.model.get_buffer("{t}").add_(1)'
        ),
        **alike(
            "convert_model", "convert the model and its inputs to {v}", "s.model.to(torch.{v})"
        ),
        **alike(
            "optimizer_step",
            "take a step of SGD",
            "torch.optim.SGD(s.model.parameters(), 0.01).step()",
        ),
    }
)


def _named(name: str, options: list[str], mechanisms: bool = False, weight: int = 1) -> Dimension:
    return Dimension(name, tuple(map(Value, options)), mechanisms=mechanisms, weight=weight)


def dimensions(facts: Facts) -> tuple[Dimension, ...]:
    """What a call of this model can deviate in, sizes first: a byte reaches 24 names."""
    found = [
        _named(f"size_{axis.name}", ["as_given", *map(str, axis.others)]) for axis in facts.axes
    ]
    floats = [leaf for leaf in facts.leaves if leaf.floating]
    laid_out, alike_leaves = _laid_out(facts), _alike(facts)
    found += [
        _named("wrapper", ["none", "function", "closure", "nested"], True),
        _named("callee", _CALLEES if facts.module else _FUNCTION_CALLEES, True),
        _named("grad_mode", ["grad", "no_grad", "inference"], weight=2),
        _named("autocast", ["off", "bfloat16", "float16"]),
        _named("values", ["own", "first_step"]),
        _named("thread", ["main", "other"]),
        _named("backward", ["none", "sum", "twice"]),
    ]
    if floats:
        given = floats[0].dtype
        found.append(_named("dtype", [d for d in _DTYPES if d != given]))
        found.append(_named("requires_grad", ["no", "yes"]))
    if laid_out is not None:
        forms = [n for n in _LAYOUTS if n != "channels_last" or len(laid_out.shape) == 4]
        found.append(_named("layout", ["as_given", *forms]))
    if alike_leaves is not None:
        found.append(_named("alias", ["distinct", *_ALIASES], True, 3))
    if scalars := list(_scalars(facts)):
        found.append(_named("scalar", ["as_given", *scalars], weight=4))
    return tuple(found)


def events(facts: Facts) -> tuple[EventKind, ...]:
    """What can change between calls of this model."""
    lists = {
        "set_attribute": [v for a in facts.attributes for v in _settable(a)],
        "set_mode": ["eval", "train"] if facts.module else [],
        "submodule_mode": [f"{path}={mode}" for path in facts.switches for mode in _MODES],
        "change_parameter": list(facts.parameters),
        "freeze_parameter": list(facts.parameters),
        "change_buffer": list(facts.buffers),
    }
    own = [
        EventKind(name, tuple(map(Value, found)), mechanisms=name == "set_attribute")
        for name, found in lists.items()
        if found
    ]
    return (*own, *(_TRAINING if facts.parameters else ()), *_AMBIENT)


_MODES = ("eval", "train")


def _settable(attribute: Attribute) -> list[str]:
    return [f"{attribute.label}={value}" for value in (*attribute.others, attribute.given)]


def _scalars(facts: Facts) -> Iterator[str]:
    for leaf in facts.leaves:
        if leaf.kind == "scalar" and leaf.dtype in _OTHER_SCALARS:
            yield from (f"{leaf.name}={v}" for v in _OTHER_SCALARS[leaf.dtype](leaf.text))


_OTHER_SCALARS: Mapping[str, Callable[[str], list[str]]] = {
    "bool": lambda text: [str(text != "True")],
    "int": lambda text: [repr(int(text) + n) for n in (1, 2, 3)],
    "float": lambda text: [repr(float(text) + n) for n in (1.0, 2.0, 3.0)],
}


def _laid_out(facts: Facts) -> Leaf | None:
    """The tensor whose layout varies."""
    return next((leaf for leaf in facts.leaves if len(leaf.shape) > 1), None)


def _alike(facts: Facts) -> tuple[Leaf, Leaf] | None:
    """The first two tensors that can be one."""
    tensors = [leaf for leaf in facts.leaves if leaf.kind == "tensor" and leaf.shape]
    for i, first in enumerate(tensors):
        for second in tensors[i + 1 :]:
            if (first.shape, first.dtype) == (second.shape, second.dtype):
                return first, second
    return None


def effects(facts: Facts) -> Mapping[tuple[str, str], Effect]:
    """What each deviation does to a call: torch's own table, and what this model adds."""
    found = dict(EFFECTS)
    for axis in facts.axes:
        for size in axis.others:
            found[f"size_{axis.name}", str(size)] = _size_effect(facts, axis, size)
    for name in (*_DTYPES[1:], "float32"):
        found["dtype", name] = Effect(f"floating inputs in {name}", put(dtype=name))
    if laid_out := _laid_out(facts):
        for name in _LAYOUTS:
            says = f"{laid_out.name} {name.replace('_', ' ')}"
            found["layout", name] = Effect(says, put(layout=name))
    if pair := _alike(facts):
        words = {"same": "is", "view": "is a view of", "overlapping": "overlaps in memory with"}
        for name, verb in words.items():
            says = f"{pair[1].name} {verb} {pair[0].name}"
            found["alias", name] = Effect(says, put(alias=name))
    for scalar in _scalars(facts):
        found["scalar", scalar] = Effect(scalar.replace("=", " "), put(scalar=scalar))
    return found


def _size_effect(facts: Facts, axis: Axis, size: int) -> Effect:
    places = [f"{facts.leaves[i].name}.shape[{place}]" for i, place in axis.members]

    def apply(plan: CallPlan) -> None:
        for i, place in axis.members:
            plan.fields[f"size {i} {place}"] = str(size)

    return Effect(f"{' and '.join(places)} {size}", apply)


def event_step(facts: Facts, step: Event) -> tuple[str, list[str]]:
    """The sentence and the lines of an event."""
    table = _OWN_TEXT if step.kind in _OWN_TEXT.entries else EVENT_TEXT
    place, _, value = step.value.rpartition("=")
    path, name = (place.rpartition(".")[0::2]) if step.kind == "set_attribute" else (place, "")
    fields = {"t": place or value, "v": value, "n": name, "o": _owner(path), "p": "", "p2": ""}
    return table.filled(step, fields)


def _owner(path: str) -> str:
    if not path:
        return "s.model"
    plain = all(part.isidentifier() for part in path.split("."))
    return f"s.model.{path}" if plain else f's.model.get_submodule("{path}")'


def add_inputs(plan: CallPlan, facts: Facts) -> None:
    """Put the lines that build the arguments, and the arguments themselves, into the plan."""
    lines = [_LEAF_LINE[leaf.kind](plan, place, leaf) for place, leaf in enumerate(facts.leaves)]
    laid_out, pair = _laid_out(facts), _alike(facts)
    if laid_out and (layout := plan.fields.get("layout")):
        lines.append(_LAYOUTS[layout].format(x=laid_out.name))
    if pair and (alias := plan.fields.get("alias")):
        lines += [text.format(x=pair[0].name, y=pair[1].name) for text in _ALIASES[alias]]
    wanted = plan.fields.get("requires_grad")
    lines += [
        f"{leaf.name}.requires_grad_()"
        for leaf in facts.leaves
        if leaf.requires_grad or (wanted and leaf.floating)
    ]
    plan.inputs += lines
    plan.positional = list(facts.positional)
    plan.keywords = list(facts.keywords)


def _tensor_line(plan: CallPlan, place: int, leaf: Leaf) -> str:
    sizes = [int(plan.fields.get(f"size {place} {a}", n)) for a, n in enumerate(leaf.shape)]
    shift = plan.fields.get("seed", str(plan.step + 1))
    dtype = plan.fields.get("dtype", "") if leaf.floating else ""
    cast = f", torch.{dtype}" if dtype else ""
    return f"{leaf.name} = tensor(s.inputs{leaf.path}, {shape_text(sizes)}, {shift}{cast})"


def _scalar_line(plan: CallPlan, place: int, leaf: Leaf) -> str:
    name, _, value = plan.fields.get("scalar", "").partition("=")
    return f"{leaf.name} = {value if name == leaf.name else leaf.text}"


def _other_line(plan: CallPlan, place: int, leaf: Leaf) -> str:
    return f"{leaf.name} = s.inputs{leaf.path}"


_LEAF_LINE: Mapping[str, Callable[[CallPlan, int, Leaf], str]] = {
    "tensor": _tensor_line,
    "scalar": _scalar_line,
    "other": _other_line,
}
