"""Test cases as JSON that people read and write by hand; the bytes of `rondo.codec` stay the truth.

    {
      "format": 3,
      "model": {"architecture": "mlp", "seed": 7, "operators": [{"kind": "read_float", "a": 3}]},
      "settings": {"backend": "inductor"},
      "steps": [
        {"call": 3, "with": {"grad_mode": "no_grad"}},
        {"event": "set_float_attribute", "target": 0, "value": "2.5"}
      ]
    }

A call says its batch size and how it deviates from the plain call. A model can name one of the
framework's own tests as its "test". What is left out has its plain value. `rondo show` and the
findings store use this form.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from rondo.codec import FORMAT, Codec
from rondo.errors import FormatError
from rondo.models.architectures import ARCHITECTURES
from rondo.models.graph import Graph
from rondo.models.grow import grow
from rondo.models.operators import RECORDS
from rondo.testcase import Call, Deviation, Event, Model, Operator, SourceTest, Step, TestCase
from rondo.vocabulary import BATCHES

Byte = Annotated[int, Meta(ge=0, le=255)]
Knob = Annotated[int, Meta(ge=0, le=15)]


class _Operator(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    kind: str
    a: Byte = 0
    b: Byte = 0
    c: Byte = 0


class _Model(Struct, frozen=True, forbid_unknown_fields=True):
    architecture: str = Model().architecture
    width: Knob = 0
    depth: Knob = 0
    seed: Byte = 0
    operators: tuple[_Operator, ...] = ()
    test: str | UnsetType = UNSET


class _Step(Struct, frozen=True, forbid_unknown_fields=True):
    """A call when `call` is there, an event when `event` is; msgspec has no such union."""

    call: int | UnsetType = UNSET
    deviations: dict[str, str] | UnsetType = msgspec.field(default=UNSET, name="with")
    event: str | UnsetType = UNSET
    target: Byte | UnsetType = UNSET
    value: str | UnsetType = UNSET


class _Version(Struct, frozen=True):
    format: int


class _Case(_Version, frozen=True, forbid_unknown_fields=True):
    model: _Model = _Model()
    settings: dict[str, str] = {}
    steps: tuple[_Step, ...] = ()


def to_json(case: TestCase) -> str:
    """A test case as indented JSON that ends in a newline."""
    model = case.model
    operators = tuple(_Operator(o.kind, o.a, o.b, o.c) for o in model.operators)
    form = _Case(
        FORMAT,
        _Model(
            model.architecture,
            model.width,
            model.depth,
            model.seed,
            operators,
            model.test.name if model.test else UNSET,
        ),
        dict(case.settings),
        tuple(_form(step) for step in case.steps),
    )
    return msgspec.json.format(msgspec.json.encode(form), indent=2).decode() + "\n"


def from_json(text: str | bytes, codec: Codec) -> TestCase:
    """The canonical test case that a JSON text describes, for the codec's target.

    Raises FormatError, with what could have been meant, for text that is not JSON, another
    version, an unknown name, or a step that the model cannot take.
    """
    form = _parsed(text)
    operators = tuple(_operator(o) for o in form.model.operators)
    architecture = _known(form.model.architecture, ARCHITECTURES, "architecture")
    m = form.model
    model = Model(architecture, m.width, m.depth, m.seed, operators, _test(m.test, codec))
    graph = grow(model)
    steps = tuple(_step(s, n, graph, codec) for n, s in enumerate(form.steps, 1))
    case = TestCase(model, tuple(_setting(p, codec) for p in form.settings.items()), steps)
    return codec.decode(codec.encode(case))


def _form(step: Step) -> _Step:
    if isinstance(step, Event):
        return _Step(event=step.kind, target=step.target, value=step.value)
    pairs = {d.dimension: d.value for d in step.deviations}
    return _Step(call=step.batch, deviations=pairs or UNSET)


def _parsed(text: str | bytes) -> _Case:
    try:
        version = msgspec.json.decode(text, type=_Version).format
        if version != FORMAT:
            raise FormatError(
                f"this test case has format {version}, this Rondo reads format {FORMAT}",
                "use the version of Rondo that wrote it",
            )
        return msgspec.json.decode(text, type=_Case)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FormatError(
            f"this is not a test case as JSON: {error}",
            f'it looks like {{"format": {FORMAT}, "model": {{...}}, "settings": {{...}}, '
            '"steps": [...]}',
        ) from error


def _test(name: str | UnsetType, codec: Codec) -> SourceTest | None:
    if name is UNSET:
        return None
    tests = {test.name: test for test in codec.vocabulary.tests}
    return tests[_known(name, tests, "test of the framework's own")]


def _operator(form: _Operator) -> Operator:
    return Operator(_known(form.kind, RECORDS, "operator"), form.a, form.b, form.c)


def _setting(pair: tuple[str, str], codec: Codec) -> tuple[str, str]:
    table = {s.name: s.values for s in codec.vocabulary.settings}
    name = _known(pair[0], table, "setting")
    return name, _known(pair[1], table[name], f"value of {name}")


def _step(form: _Step, number: int, graph: Graph, codec: Codec) -> Step:
    where = f" (step {number})"
    if isinstance(form.call, int) and form.event is UNSET:
        return _call(form, form.call, where, graph, codec)
    if isinstance(form.event, str) and form.call is UNSET:
        return _event(form, form.event, where, graph, codec)
    raise FormatError(
        f'a step has either "call" or "event"{where}',
        '{"call": 2, "with": {...}} or {"event": NAME, "target": 0, "value": VALUE}',
    )


def _call(form: _Step, batch: int, where: str, graph: Graph, codec: Codec) -> Call:
    if form.target is not UNSET or form.value is not UNSET:
        raise FormatError(f'a call has no "target" and no "value"{where}', 'use "with"')
    if batch not in BATCHES:
        sizes = ", ".join(str(size) for size in sorted(BATCHES))
        raise FormatError(f"no call has a batch of {batch}{where}", f"sizes: {sizes}")
    table = codec.vocabulary.dimension
    found = []
    for name, value in (form.deviations or {}).items():
        options = table[_known(name, table, "dimension", where)].deviations(graph.traits)
        others = (d.name for d in table.values() if d.deviations(graph.traits))
        _carried(name, options, others, where)
        found.append(Deviation(name, _known(value, options, f"deviation of {name}", where)))
    return Call(batch, tuple(found))


def _event(form: _Step, name: str, where: str, graph: Graph, codec: Codec) -> Event:
    if form.deviations is not UNSET:
        raise FormatError(f'an event has no "with"{where}', 'use "target" and "value"')
    table = codec.vocabulary.event
    kind = table[_known(name, table, "event", where)]
    options = kind.options(graph.traits)
    _carried(name, options, (e.name for e in table.values() if e.options(graph.traits)), where)
    value = options[0] if form.value is UNSET else form.value
    target = 0 if form.target is UNSET else form.target
    return Event(name, target, _known(value, options, f"value of {name}", where))


def _carried(name: str, options: Collection[str], others: Iterable[str], where: str) -> None:
    if not options:
        raise FormatError(
            f"this model carries nothing that {name} acts on{where}",
            f"it has: {', '.join(others)}",
        )


def _known(name: str, table: Collection[str], what: str, where: str = "") -> str:
    if name in table:
        return name
    near = difflib.get_close_matches(name, table, n=3, cutoff=0.5)
    advice = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(table)}"
    raise FormatError(f"there is no {what} {name!r}{where}", advice)
