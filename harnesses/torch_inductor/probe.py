"""Inspection of a user's model, in a child: what it takes, and what may be changed around it.

Called by the program that `own_model.py` emits; gives `rondo.check.facts.Facts` as JSON.
"""

from __future__ import annotations

import inspect
import itertools
import keyword
import math
import traceback
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

import msgspec
import torch
from torch.utils._pytree import tree_flatten_with_path

from rondo.check.facts import Attribute, Axis, Facts, Leaf

_PLAIN = (bool, int, float, str, type(None))
_RESERVED = set(
    "s f out torch random sys copy gc tensor backward reseed factory State STEPS COMPILE pool run "
    "inner other config parameter state model np".split()
)
_SETUP = set("__init__ extra_repr __repr__ reset_parameters __setstate__ __getstate__".split())
_MOST_AXES, _MOST_ATTRIBUTES, _MOST_TRACE = 40, 24, 1600
_IMPORTING = {"exec_module", "import_module"}
"""The functions that the text of a factory imports the module with."""
_ADVICE = "the factory returns (model, inputs), or give --input name:shape:dtype"


def examine(factory: Callable[[], Any]) -> str:
    """Facts about what a factory makes, as JSON; what goes wrong is told in them."""
    return msgspec.json.encode(_examined(factory)).decode()


def _examined(factory: Callable[[], Any]) -> Facts:
    try:
        made = factory()
    except Exception as error:
        return Facts(_why_none(error), _trace(error))
    form, model, args, kwargs = _arranged(made)
    if not callable(model):
        kind = type(model).__name__
        return Facts(f"the factory gives {kind}, which is no module and no function; {_ADVICE}")
    try:
        out = model(*args, **kwargs)
    except Exception as error:
        missing = "" if args or kwargs else f"; {_ADVICE}"
        return Facts(f"the model raises in eager mode: {_said(error)}{missing}", _trace(error))
    return _facts(form, model, out, _Arguments(model, form, args, kwargs))


def _facts(form: str, model: Any, out: Any, arguments: _Arguments) -> Facts:
    module = model if isinstance(model, torch.nn.Module) else torch.nn.Module()
    tensors = [*module.parameters(), *module.buffers()]
    devices = {t.device.type for t in tensors} - {"cpu"}
    if devices:
        return Facts(f"the model is on {', '.join(sorted(devices))}: only the CPU is checked")
    return Facts(
        name=getattr(model, "__name__", type(model).__name__),
        module=isinstance(model, torch.nn.Module),
        form=form,
        leaves=tuple(arguments.leaves),
        positional=tuple(arguments.positional),
        keywords=tuple(arguments.keywords),
        axes=tuple(_axes(arguments.leaves))[:_MOST_AXES],
        attributes=tuple(_attributes(module))[:_MOST_ATTRIBUTES],
        switches=tuple(_switches(module)),
        parameters=_ends([n for n, p in module.named_parameters() if p.is_floating_point()]),
        buffers=_ends([n for n, b in module.named_buffers() if b.is_floating_point()]),
        numbers=sum(t.numel() for t in tensors),
        unseen=tuple(_unseen(out)),
    )


def _arranged(made: Any) -> tuple[str, Any, tuple[Any, ...], dict[str, Any]]:
    """The form of what a factory gave, the model, and the arguments of its plain call."""
    if not isinstance(made, (tuple, list)) or not made:
        return "alone", made, (), {}
    model, *rest = made
    if len(rest) == 2 and isinstance(rest[0], (tuple, list)) and _named(rest[1]):
        return "several", model, tuple(rest[0]), rest[1]
    if len(rest) != 1:
        return "several", model, tuple(rest), {}
    if _named(rest[0]):
        return "pair", model, (), rest[0]
    return (
        ("pair", model, tuple(rest[0]), {}) if _listed(rest[0]) else ("one", model, (rest[0],), {})
    )


def _listed(value: Any) -> bool:
    return type(value) in (tuple, list)


def _named(value: Any) -> bool:
    return type(value) is dict and all(isinstance(k, str) and k.isidentifier() for k in value)


class _Arguments:
    """The leaves of a plain call's arguments, and the expressions that put them together."""

    def __init__(
        self, model: Any, form: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.leaves: list[Leaf] = []
        both = form == "several" and bool(kwargs)
        names = _parameters(model)
        self.positional = []
        for i, value in enumerate(args):
            path = "" if form == "one" else f"[0][{i}]" if both else f"[{i}]"
            hint = names[i] if i < len(names) else f"x{i}"
            self.positional.append(self._expression(value, path, hint))
        self.keywords = [
            f"{key}={self._expression(value, _below('[1]' if both else '', key), key)}"
            for key, value in kwargs.items()
        ]

    def _expression(self, value: Any, path: str, hint: str) -> str:
        if _listed(value):
            parts = [
                self._expression(entry, f"{path}[{i}]", f"{hint}_{i}")
                for i, entry in enumerate(value)
            ]
            inside = ", ".join(parts)
            if type(value) is list:
                return f"[{inside}]"
            return f"({inside},)" if len(parts) == 1 else f"({inside})"
        if _named(value):
            entries = []
            for key, entry in value.items():
                inner = self._expression(entry, _below(path, key), f"{hint}_{key}")
                entries.append(f'"{key}": {inner}')
            return f"{{{', '.join(entries)}}}"
        leaf = _leaf(value, path, self._name(hint))
        self.leaves.append(leaf)
        return leaf.name

    def _name(self, hint: str) -> str:
        taken = {leaf.name for leaf in self.leaves} | _RESERVED
        name = hint if not keyword.iskeyword(hint) else f"{hint}_in"
        numbered = (f"{name}_{i}" for i in itertools.count(2))
        return next(n for n in itertools.chain([name], numbered) if n not in taken)


def _below(path: str, key: str) -> str:
    return f'{path}["{key}"]'


def _parameters(model: Any) -> list[str]:
    """The names of the positional parameters of what a call runs."""
    called = model.forward if isinstance(model, torch.nn.Module) else model
    try:
        found = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _leaf(value: Any, path: str, name: str) -> Leaf:
    plain = isinstance(value, torch.Tensor) and value.layout == torch.strided
    if plain and type(value) in (torch.Tensor, torch.nn.Parameter) and value.device.type == "cpu":
        dtype = str(value.dtype).removeprefix("torch.")
        floating = value.is_floating_point()
        shape = tuple(value.shape)
        return Leaf(name, path, "tensor", dtype, shape, "", floating, value.requires_grad)
    number = not isinstance(value, float) or math.isfinite(value)
    if type(value) in _PLAIN and number:
        return Leaf(name, path, "scalar", type(value).__name__, text=repr(value))
    return Leaf(name, path, "other", type(value).__name__)


def _axes(leaves: list[Leaf]) -> Iterator[Axis]:
    """Every axis alone, then axes of equal size: all of them, those of one place, and pairs."""
    single = [
        (i, axis, size)
        for i, leaf in enumerate(leaves)
        for axis, size in enumerate(leaf.shape)
        if leaf.kind == "tensor" and size > 0
    ]
    groups = {((i, axis),): size for i, axis, size in single}
    for size in sorted({size for *_, size in single}):
        alike = tuple((i, axis) for i, axis, n in single if n == size)
        groups.setdefault(alike, size)
        groups.setdefault(tuple(m for m in alike if m[1] == 0), size)
        for pair in itertools.combinations(alike, 2):
            if pair[0][0] != pair[1][0]:
                groups.setdefault(pair, size)
    for members, size in groups.items():
        if members:
            name = "_".join(f"{leaves[i].name}_{axis}" for i, axis in members)
            yield Axis(name, members, size, _ladder(size))


def _ladder(size: int) -> tuple[int, ...]:
    """Other sizes, those first that a user meets first: neighbours, the double, one and none."""
    return tuple(n for n in dict.fromkeys((size + 1, 2 * size, size + 3, 1, 0)) if n != size)


def _attributes(module: torch.nn.Module) -> Iterator[Attribute]:
    """Plain attributes that the code of their class reads; at most two carriers of each."""
    seen: dict[tuple[type, str], int] = {}
    for path, child in module.named_modules():
        codes = list(_codes(type(child)))
        read = {name for code in codes for name in code.co_names}
        for name, value in vars(child).items():
            key = type(child), name
            if name == "training" or name[0] == "_" or name not in read or seen.get(key, 0) > 1:
                continue
            others = _others(value, codes)
            if others:
                seen[key] = seen.get(key, 0) + 1
                yield Attribute(path, name, repr(value), tuple(map(repr, others)))


def _others(value: Any, codes: list[CodeType]) -> tuple[Any, ...]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return value + 1, value + 2, value + 3
    if isinstance(value, float):
        return (value / 2, value * 2, value / 4) if value else (0.5, 1.0, 0.25)
    if isinstance(value, str):
        words = [c for code in codes for c in code.co_consts if isinstance(c, str)]
        return tuple(w for w in dict.fromkeys(words) if w.isidentifier() and w != value)[:3]
    return ()


def _codes(cls: type) -> Iterator[CodeType]:
    """The code of a module class's own functions, but for those that only set it up."""
    for base in cls.__mro__:
        if base is torch.nn.Module:
            return
        for name, entry in vars(base).items():
            function = entry.fget if isinstance(entry, property) else entry
            if name not in _SETUP and isinstance(function, FunctionType):
                yield from _inner(inspect.unwrap(function).__code__)


def _inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _inner(constant)


def _switches(module: torch.nn.Module) -> Iterator[str]:
    """The first sub-module of each class that looks at its training flag."""
    seen: set[type] = set()
    for path, child in module.named_modules():
        reads = any("training" in code.co_names for code in _codes(type(child)))
        if path and reads and type(child) not in seen:
            seen.add(type(child))
            yield path


def _ends(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*names[:1], *names[-1:]]))


def _unseen(out: Any) -> Iterable[str]:
    for path, leaf in tree_flatten_with_path(out)[0]:
        if not isinstance(leaf, (torch.Tensor, *_PLAIN)):
            yield f"out{''.join(map(str, path))} ({type(leaf).__name__})"


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip()[:300]}"


def _why_none(error: Exception) -> str:
    """Why there is no model: the module, the factory's name in it, or the factory itself."""
    inside = [frame.name for frame in traceback.extract_tb(error.__traceback__)][2:3]
    if not inside and isinstance(error, AttributeError):
        return str(error)
    what = "the module cannot be imported:" if {*inside} & _IMPORTING else "the factory raises"
    return f"{what} {_said(error)}"


def _trace(error: Exception) -> str:
    """The end of a traceback from the user's own code on."""
    told = traceback.TracebackException.from_exception(error)
    own = [i for i, f in enumerate(told.stack) if f.filename in (__file__, "<rondo_case>")]
    del told.stack[: own[-1] + 1 if own else 0]
    while told.stack and "importlib" in told.stack[0].filename:
        del told.stack[0]
    return "".join(told.format())[-_MOST_TRACE:].rstrip()
