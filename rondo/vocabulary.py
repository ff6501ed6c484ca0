"""The words a test case can use: settings, invocation dimensions and events, as plain tables.

A harness hands its `Vocabulary` to the codec, which turns bytes into names and back. The shared
part below has fixed places in the byte format, so that the same bytes mean the same step on every
target; what one framework alone has goes to the harness's own part of the table.

A *trait* is something a model carries (an argument, an attribute, a rank). A dimension or an event
applies to a model when the model has the trait it `needs`, so a decoded step is hardly ever a
no-op.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from rondo.testcase import Event, SourceTest, Step

BATCHES = (2, 3, 4, 5, 1, 0, 7, 8, 16, 17, 33)
"""Batch sizes, plainest first; a call names one by its index."""

BATCH = "batch"
"""What a call's batch size is called where it stands beside the dimensions."""

LENGTHS = (4, 3, 2, 5, 1, 7, 8, 16, 17)
"""Sequence lengths, plainest first."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a dimension or event; it applies to models that carry trait `needs`."""

    name: str
    needs: str = ""


def values(*names: str) -> tuple[Value, ...]:
    """Values from `name` or `name@trait` strings."""
    pairs = (name.partition("@") for name in names)
    return tuple(Value(head, trait) for head, _, trait in pairs)


@lru_cache(maxsize=256)
def _equal_literals(names: tuple[str, ...], value: str) -> tuple[str, ...]:
    literals = {}
    for name in names:
        with suppress(ValueError, SyntaxError):
            literals[name] = ast.literal_eval(name)
    if value not in literals:
        return ()
    wanted = literals[value]
    return tuple(n for n, v in literals.items() if v == wanted and type(v) is not type(wanted))


OTHER = "other"
"""A value that no event sets."""
ARGUMENT = "arg."
"""What the traits start with that a model has by taking an argument."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One way in which a call can deviate from the plain call; `values[0]` is the plain value."""

    name: str
    values: tuple[Value, ...]
    needs: str = ""
    weight: int = 1
    mechanisms: bool = False
    """Whether different values exercise different mechanisms, so that they tell findings apart."""
    context: bool = False
    """Whether it is often worth being the same in all calls of a sequence, as training is."""
    operators: tuple[str, ...] = ()
    """Operators whose result it touches: a model with one of them draws it more often."""
    kin: tuple[tuple[str, ...], ...] = ()
    """Groups of values that do the same to different arguments."""

    def twins(self, value: str, traits: Iterable[str] = ()) -> tuple[str, ...]:
        """The values that a cache with too weak a key takes for this one: equal as Python literals,
        but of another type, or the same done to another argument of a model with these traits."""
        equal = _equal_literals(tuple(v.name for v in self.values[1:]), value)
        applying = self.deviations(traits)
        kin = [v for group in self.kin if value in group for v in group if v in applying]
        return (*equal, *(v for v in kin if v != value))

    def deviations(self, traits: Iterable[str]) -> tuple[str, ...]:
        """The values other than the plain one that apply to a model with these traits."""
        if self.needs and self.needs not in traits:
            return ()
        return tuple(v.name for v in self.values[1:] if not v.needs or v.needs in traits)

    def own(self, traits: Iterable[str]) -> tuple[str, ...]:
        """Those of the deviations that are about an argument which not every model takes."""
        named = {v.name: v.needs or self.needs for v in self.values}
        return tuple(v for v in self.deviations(traits) if named[v].startswith(ARGUMENT))


@dataclass(frozen=True, slots=True)
class EventKind:
    """One kind of change of program state between calls, acting on a carrier of trait `needs`."""

    name: str
    values: tuple[Value, ...] = (Value("default"),)
    needs: str = ""
    weight: int = 1
    mechanisms: bool = False
    """Whether different values exercise different mechanisms, so that they tell findings apart."""
    operators: tuple[str, ...] = ()
    """Operators whose result it touches: a model with one of them draws it more often."""
    holds: str = ""
    """What holds before the first event of this kind, where an event sets what holds until another
    one does; nothing where each acts anew."""

    def options(self, traits: Iterable[str]) -> tuple[str, ...]:
        """The values that apply to a model with these traits."""
        if self.needs and self.needs not in traits:
            return ()
        return tuple(v.name for v in self.values if not v.needs or v.needs in traits)


@dataclass(frozen=True, slots=True)
class Setting:
    """One part of the compile configuration: `weights[i]` of 256 byte values choose `values[i]`."""

    name: str
    values: tuple[str, ...]
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.values) != len(self.weights) or sum(self.weights) != 256:
            raise ValueError(f"setting {self.name}: one weight a value, 256 in all")

    def pick(self, byte: int) -> str:
        """The value that `byte` (0 to 255) stands for."""
        for value, weight in zip(self.values, self.weights, strict=True):
            byte -= weight
            if byte < 0:
                return value
        return self.values[-1]

    def byte(self, value: str) -> int:
        """The smallest byte that stands for `value`."""
        return sum(self.weights[: self.values.index(value)])


SHARED_DIMENSIONS = (
    Dimension("length", values(*(str(n) for n in LENGTHS)), needs="sequence"),
    Dimension(
        "dtype", values("float32", "float64", "bfloat16", "float16", "int64@takes.int"), "floats"
    ),
    Dimension(
        "layout",
        values("contiguous", "transposed", "sliced", "strided", "expanded", "channels_last@images"),
    ),
    Dimension("requires_grad", values("no", "yes"), needs="floats", context=True),
    Dimension("grad_mode", values("grad", "no_grad", "inference"), weight=2),
    Dimension("autocast", values("off", "bfloat16", "float16", "disabled")),
    Dimension("mode", values("train", "eval"), weight=2),
    Dimension("backward", values("none", "sum", "twice", "first_output"), weight=2, context=True),
    Dimension(
        "alias",
        values("distinct", "same", "overlapping", "view"),
        needs="arg.tensor",
        weight=3,
        mechanisms=True,
    ),
    Dimension("structure", values("positional", "keyword"), needs="floats"),
    Dimension(
        "items", values("two", "one", "three", "tuple", "same_twice", "same_list"), "arg.list", 2
    ),
    Dimension("optional", values("none", "given", "is_input"), needs="arg.optional", weight=2),
    Dimension(
        "scalar",
        values("1.5", "2.5", "3.5", "1.0", "1", "True", "2", "3", "0", "0.0", "7", "-1", "False"),
        needs="arg.scalar",
        weight=4,
    ),
    Dimension(
        "function", values("by_default", "other_default", "other_code"), needs="arg.function"
    ),
    Dimension("profile", values("normal", "zeros", "ones", "large", "tiny", "repeated")),
    Dimension("values", values("own", "first_step", "previous_tensors")),
    Dimension("rng", values("seeded", "first_step_seed", "python_advanced", "advanced")),
    Dimension(
        "callee",
        values("model", "again", "again_dynamic", "copy", "second", "method", "in_place", "eager"),
        weight=2,
        mechanisms=True,
    ),
    Dimension("thread", values("main", "other")),
    Dimension("bad_call", values("no", "bad_shape", "bad_type")),
)
"""What a call can deviate in on every target; order is part of the byte format."""

SHARED_EVENTS = (
    EventKind(
        "set_float_attribute", values("2.5", "3.5", "0.5", "0.0"), "attr.float", 2, holds=OTHER
    ),
    EventKind("set_int_attribute", values("3", "5", "1", "0"), "attr.int", 2, holds=OTHER),
    EventKind("set_bool_attribute", values("True", "False"), "attr.bool", 2, holds=OTHER),
    EventKind("retype_attribute", values("True", "1", "1.0"), "attr.int", holds=OTHER),
    EventKind("change_list_attribute", values("append", "pop", "set", "rebind"), "attr.list", 2),
    EventKind("change_dict_attribute", values("set", "add", "rebind"), "attr.dict", 2),
    EventKind("set_enum_attribute", values("B", "A"), "attr.enum", 2, holds="A"),
    EventKind("change_tensor_attribute", values("rebind", "mutate"), "attr.tensor", 2, True),
    EventKind("set_object_attribute", values("2.5", "3.5", "0.5"), "attr.object", 2, holds=OTHER),
    EventKind("set_property", values("2.5", "3.5"), "attr.property", 2, holds=OTHER),
    EventKind("set_class_attribute", values("2.5", "10.0", "1.0"), "attr.class", 2, holds=OTHER),
    EventKind("set_global", values("2.5", "10.0", "1.0"), "global.value", 2, holds=OTHER),
    EventKind(
        "replace_global_function", values("minus", "half"), "global.function", 2, holds=OTHER
    ),
    EventKind("set_closure_cell", values("2.5", "10.0"), "closure", 2, holds=OTHER),
    EventKind("set_default_argument", values("2.5", "10.0"), "default", 2, holds=OTHER),
    EventKind("replace_method", values("instance", "class", "code"), "method", 2, True),
    EventKind(
        "replace_object_method", values("instance", "class", "code"), "method.object", 2, True
    ),
    EventKind("replace_submodule", values("tanh", "identity"), "block", 2, holds=OTHER),
    EventKind("change_parameter", values("mutate", "rebind", "double"), "parameter", 1, True),
    EventKind("optimizer_step", values("sgd"), "parameter"),
    EventKind("load_state", values("halved"), "state"),
    EventKind("freeze_parameter", values("toggle"), "parameter", 2),
    EventKind("tie_parameters", values("shared"), "parameters"),
    EventKind("change_buffer", values("mutate", "rebind"), "buffer", 2, True),
    EventKind("add_forward_hook", values("root", "submodule@submodule"), "", 1),
    EventKind("add_forward_pre_hook", values("root", "submodule@submodule"), "", 1),
    EventKind("remove_hook", values("last"), "", 1),
    EventKind("submodule_mode", values("eval", "train"), "submodule", holds="train"),
    EventKind("advance_python_rng", values("seed", "draw"), "rng.object"),
    EventKind("set_default_dtype", values("float64", "float32"), "", 1, holds="float32"),
    EventKind("set_matmul_precision", values("medium", "high", "highest"), "", 1, holds="highest"),
    EventKind("collect_garbage", values("dropped"), "", 1),
    EventKind("drop_compiler_state", values("in_memory", "all"), "", 2, True),
)
"""What can change between calls on every target; order is part of the byte format."""

DIMENSION_SLOTS = 96
EVENT_SLOTS = 128


def _ring(shared: list[str], own: list[str], size: int) -> tuple[str, ...]:
    """Fixed places: shared names fill the first three quarters, the harness's own the rest."""
    split = size * 3 // 4
    own = own or shared
    first = [shared[i % len(shared)] for i in range(split)]
    return tuple(first + [own[i % len(own)] for i in range(size - split)])


def _repeated(entries: Iterable[Dimension | EventKind]) -> list[str]:
    """Names in the order of the table, then again as often as their weights ask."""
    table = list(entries)
    rounds = max((e.weight for e in table), default=0)
    return [e.name for turn in range(rounds) for e in table if e.weight > turn]


@dataclass(frozen=True, slots=True)
class Applying:
    """What applies to models of one set of traits: of each dimension the values other than the
    plain one, of each event the values; names that have none are left out."""

    deviations: Mapping[str, tuple[str, ...]]
    options: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Vocabulary:
    """The tables of one target.

    `unsupported` names shared dimensions and events, or `name=value` pairs, that this target does
    not have: decoding goes on to the nearest entry that it has. `undocumented` names those that it
    has but documents not to honour; they are left out too, unless asked for.
    """

    settings: tuple[Setting, Setting, Setting, Setting]
    """The first setting chooses the layer of the compiler, from the cheapest to the whole."""
    dimensions: tuple[Dimension, ...] = ()
    events: tuple[EventKind, ...] = ()
    unsupported: frozenset[str] = field(default_factory=frozenset)
    undocumented: frozenset[str] = field(default_factory=frozenset)
    tests: tuple[SourceTest, ...] = ()
    """The framework's own tests that a model can be; the order is part of the byte format."""

    def with_undocumented(self) -> Vocabulary:
        """The same tables with what the target documents not to honour."""
        return replace(self, undocumented=frozenset())

    @cached_property
    def _left_out(self) -> frozenset[str]:
        return self.unsupported | self.undocumented

    @property
    def layered(self) -> bool:
        """Whether there are layers of which the last is the whole compiler."""
        return len(self.settings[0].values) > 1

    def layer(self, settings: tuple[tuple[str, str], ...]) -> str:
        """The layer of the compiler that these settings choose."""
        return dict(settings).get(self.settings[0].name, self.settings[0].values[0])

    def costly(self, settings: tuple[tuple[str, str], ...]) -> bool:
        """Whether these settings run the whole compiler, where each compile costs seconds."""
        return self.layered and self.layer(settings) == self.settings[0].values[-1]

    def whole(self, settings: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        """These settings with the last layer: the whole compiler."""
        first = self.settings[0]
        rest = tuple(pair for pair in settings if pair[0] != first.name)
        return ((first.name, first.values[-1]), *rest)

    def idle(self, event: Event, before: Sequence[Step]) -> bool:
        """Whether an event sets what holds already, after these steps."""
        same = (event.kind, event.target)
        earlier = (
            s for s in reversed(before) if isinstance(s, Event) and (s.kind, s.target) == same
        )
        holds = self.event[event.kind].holds
        return bool(holds) and event.value == next((s.value for s in earlier), holds)

    def _values(self, name: str, table: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(v for v in table if f"{name}={v.name}" not in self._left_out)

    @cached_property
    def dimension(self) -> Mapping[str, Dimension]:
        """Every dimension of the target by name, in the order of the format."""
        return {
            d.name: replace(d, values=self._values(d.name, d.values))
            for d in SHARED_DIMENSIONS + self.dimensions
            if d.name not in self._left_out
        }

    @cached_property
    def event(self) -> Mapping[str, EventKind]:
        """Every kind of event of the target by name, in the order of the format."""
        return {
            e.name: replace(e, values=self._values(e.name, e.values))
            for e in SHARED_EVENTS + self.events
            if e.name not in self._left_out
        }

    @cached_property
    def order(self) -> Mapping[str, int]:
        """The place of each dimension in the format."""
        return {name: place for place, name in enumerate(self.dimension)}

    @cached_property
    def applying(self) -> Callable[[frozenset[str]], Applying]:
        """What applies to a model, by its traits: asked far more often than models change."""
        return lru_cache(maxsize=1024)(self._applying)

    def _applying(self, traits: frozenset[str]) -> Applying:
        deviations = {name: d.deviations(traits) for name, d in self.dimension.items()}
        options = {name: e.options(traits) for name, e in self.event.items()}
        return Applying(
            {name: found for name, found in deviations.items() if found},
            {name: found for name, found in options.items() if found},
        )

    @cached_property
    def dimension_ring(self) -> tuple[str, ...]:
        """Slot of a dimension byte -> name (before the model's traits are looked at)."""
        return _ring(_repeated(SHARED_DIMENSIONS), _repeated(self.dimensions), DIMENSION_SLOTS)

    @cached_property
    def event_ring(self) -> tuple[str, ...]:
        """Slot of an event byte -> name (before the model's traits are looked at)."""
        return _ring(_repeated(SHARED_EVENTS), _repeated(self.events), EVENT_SLOTS)
