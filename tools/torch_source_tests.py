"""Turn torch's own tests into one-operator models: OpInfo and ModuleInfo, with their sample inputs.

    pip install expecttest        # what torch.testing needs beside torch
    python tools/torch_source_tests.py harnesses/torch_inductor/source_tests.json

Each sample becomes the text of a call on a float input `{h}`; other tensors become buffers. Where
the operator takes another kind of value (positive numbers, integers, a symmetric matrix), the first
of a few transformations that makes it run and stay finite is put in front. An entry is kept when it
runs for every batch size that is tried; an operator that fixes its first axis keeps that size. One
that reads memory nobody wrote gives something else for another filling of fresh memory and is left
out. Hashes and the allocator's own cache are fixed, so that the file is the same every time.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from msgspec.structs import replace
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harnesses import source_tests  # noqa: E402
from harnesses.source_tests import Entry  # noqa: E402
from harnesses.torch_inductor.helpers import HELPERS  # noqa: E402
from rondo.vocabulary import BATCHES  # noqa: E402

TRIED = (2, 3, 5, 1)
"""The batch sizes that an entry has to run for."""
ROWS = max(BATCHES)
"""Rows of a buffer that is cut to the batch: the largest batch of a call."""
MOST_NUMBERS, MOST_AXIS = 300, 12
LONGEST = 86
"""Of a line of a template: a program has it indented, with longer names, on 100 columns."""
SAMPLES_TRIED, SAMPLES_KEPT = 40, 2
FLOATS = (
    "{h}",
    "{h}.abs() + 0.1",
    "{h}.sigmoid()",
    "{h}.tanh()",
    "{h}.abs() + 1.1",
    "{h} @ {h}.mT + torch.eye({h}.shape[-2])",
    "{h}.tril() + 3 * torch.eye({h}.shape[-1])",
)
WHOLE = ("({h} * 4).to(torch.int64)", "({h} * 4).abs().to(torch.int64)", "({h} > 0).long()")
TRUTHS = ("{h} > 0",)
COMPLEX = ("torch.complex({h}, -{h})",)
FIXED = {"PYTHONHASHSEED": "0", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
"""What has to be in the environment when Python starts."""
PERTURB, FILLINGS = -6, (0x2A, 0x5B)
"""The number of glibc's option (mallopt(3), M_PERTURB) that fills fresh memory, and what with."""
SCALARS = (bool, int, float, str, type(None), slice, torch.dtype, torch.memory_format)


class Unfit(Exception):
    """A sample that no text can say, or that does not run."""


@dataclass(slots=True)
class Writer:
    """Writes one sample's call: the first tensor of floats, or the first at all, is the input, the
    others are buffers, cut to the batch where `rows` is set."""

    first: torch.Tensor
    rows: bool
    init: list[str] = field(default_factory=list)
    seen: bool = False

    def text(self, value: Any) -> str:
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, torch.Size):
            value = tuple(value)
        if type(value) in (list, tuple):
            inside = ", ".join(self.text(v) for v in value)
            if isinstance(value, list):
                return f"[{inside}]"
            return f"({inside}{',' if len(value) == 1 else ''})"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{k!r}: {self.text(v)}" for k, v in value.items()) + "}"
        if type(value) not in SCALARS or (isinstance(value, float) and not math.isfinite(value)):
            raise Unfit(type(value).__name__)
        return json.dumps(value) if isinstance(value, str) else repr(value)

    def _tensor(self, value: torch.Tensor) -> str:
        if value is self.first and not self.seen:
            self.seen = True
            return "{h}"
        if value.layout != torch.strided or value.is_quantized:
            raise Unfit("layout")
        name = "{n}" + (f"_{len(self.init) + 1}" if self.init else "")
        shape = list(value.shape)
        cut = self.rows and shape[:1] == [self.first.shape[0]]
        if cut:
            shape[0] = ROWS
        self.init.append(f'self.register_buffer("{name}", {_made(value, shape, len(self.init))})')
        return f"self.{name}" + ("[: {h}.shape[0]]" if cut else "")


def _made(value: torch.Tensor, shape: list[int], number: int) -> str:
    """An expression for a tensor of a shape, like a sample's."""
    if value.numel() > MOST_NUMBERS:
        raise Unfit("large")
    drawn = f"tensor({tuple(shape)}, {number + 11})"
    if value.dtype == torch.bool:
        return f"{drawn} > 0"
    if value.dtype.is_complex:
        return f"torch.complex({drawn}, tensor({tuple(shape)}, {number + 12}))"
    if not value.dtype.is_floating_point:
        if shape != list(value.shape):
            return f"torch.arange({math.prod(shape)}).reshape({tuple(shape)}) % {_bound(value)}"
        return f"torch.tensor({value.tolist()}, dtype={value.dtype})"
    low, high = (float(value.min()), float(value.max())) if value.numel() else (-1.0, 1.0)
    if low < 0:
        return drawn
    return f"{drawn}.sigmoid()" if high <= 1 else f"{drawn}.abs() + 0.1"


def _bound(value: torch.Tensor) -> int:
    return max(1, int(value.max()) + 1) if value.numel() else 1


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _tensors(entry)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _first(arguments: Any) -> torch.Tensor:
    """The tensor that becomes the input."""
    found = [t for t in _tensors(arguments) if t.dim() and t.numel()]
    floats = [t for t in found if t.dtype.is_floating_point]
    if not found:
        raise Unfit("no tensor with axes")
    first = (floats or found)[0]
    if first.numel() > MOST_NUMBERS or max(first.shape) > MOST_AXIS or first.dim() > 5:
        raise Unfit("large")
    return first


def _domains(first: torch.Tensor) -> tuple[str, ...]:
    if first.dtype.is_floating_point:
        return FLOATS
    if first.dtype.is_complex:
        return COMPLEX
    return TRUTHS if first.dtype == torch.bool else WHOLE


def _program(entry: Entry) -> type[torch.nn.Module]:
    """The model's class, as emission will write it."""
    fields = {"h": "x", "n": "test1", "y": "y"}
    init = [line.format(**fields) for line in entry.init]
    body = [line.format(**fields) for line in entry.lines]
    text = ["class Model(torch.nn.Module):", "    def __init__(self):"]
    text += [f"        {line}" for line in ["super().__init__()", *init]]
    text += ["    def forward(self, x):", *(f"        {line}" for line in [*body, "return y"])]
    names: dict[str, Any] = {"torch": torch}
    exec("\n".join([HELPERS["tensor"], *text]), names)
    made = names["Model"]
    made.tensor = names["tensor"]
    return made  # type: ignore[no-any-return]


def _results(entry: Entry, batch: int, seed: int, drawn: int = 0) -> list[torch.Tensor]:
    """What a fresh model gives for the input of a seed, `drawn` being the seed of what the operator
    draws.

    Raises Unfit where it changes its input or depends on what is in fresh memory.
    """
    one, other = (_filled(filling, entry, batch, seed, drawn) for filling in FILLINGS)
    if not all(map(_same, one, other)):
        raise Unfit("reads memory that nobody wrote")
    return one


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.layout != torch.strided or one.is_quantized:
        return True  # dropped as no plain result
    return torch.equal(one.nan_to_num(), other.nan_to_num())


def _filled(filling: int, entry: Entry, batch: int, seed: int, drawn: int) -> list[torch.Tensor]:
    ctypes.CDLL(None).mallopt(PERTURB, filling)
    made = _program(entry)
    sizes = [batch if size == "B" else size for size in entry.shape]
    torch.manual_seed(0)
    model = made()
    torch.manual_seed(drawn)
    x = made.tensor(sizes, seed)  # type: ignore[attr-defined]
    before = x.clone()
    out = list(_tensors(model(x)))
    if not torch.equal(x, before):
        raise Unfit("changes its input")
    return out


def _plain(value: torch.Tensor) -> bool:
    strided = value.layout == torch.strided and not value.is_quantized and value.numel() < 5000
    return strided and not value.dtype.is_complex and bool(torch.isfinite(value.double()).all())


def _sound(entry: Entry) -> bool:
    """Whether an entry runs for every batch, with finite plain tensors as its result."""
    batches = TRIED if entry.shape[0] == "B" else (0,)
    try:
        found = [_results(entry, batch, seed) for batch in batches for seed in (1, 2)]
    except Exception:
        return False  # whatever it raises: such a text does not run
    return all(out and all(map(_plain, out)) for out in found)


def _random(entry: Entry) -> bool:
    """Whether the result depends on what the framework's generator draws."""
    pairs = zip(_results(entry, 2, 1, 5), _results(entry, 2, 1, 6), strict=True)
    return not all(torch.equal(left, right) for left, right in pairs)


def _resolved(name: str) -> str:
    """The public name of an operator."""
    for root in ("torch", "torch.Tensor", ""):
        found: Any = torch
        full = f"{root}.{name}" if root else name
        for part in full.split(".")[1:]:
            found = getattr(found, part, None)
        if callable(found):
            return full
    raise Unfit(f"no {name} in torch")


def _entry(name: str, first: torch.Tensor, writer: Writer, call: str, domain: str) -> Entry:
    """An entry whose operator reads the input, or what `domain` makes of it."""
    source = "{h}" if first.dim() > 1 else "{h}.sum(0)"
    part = domain.replace("{h}", source)
    shape: tuple[int | str, ...] = (*first.shape,) if first.dim() > 1 else ("B", *first.shape)
    if writer.rows:
        shape = ("B", *shape[1:])
    lines = [f"{{y}} = {call}"] if part == "{h}" else [f"part = {part}"]
    if part != "{h}":
        lines.append("{y} = " + call.replace("{h}", "part"))
    carries = ("buffer",) if any("register_buffer" in line for line in writer.init) else ()
    return Entry(name, shape, tuple(lines), tuple(writer.init), carries)


Say = Callable[[Writer], str]
"""The text of a call, written by a writer."""


def _fitted(name: str, first: torch.Tensor, say: Say) -> Entry | None:
    """The first sound form of a sample: with a batch that varies if it can be."""
    for rows in (True, False):
        writer = Writer(first, rows)
        call = say(writer)
        if not writer.seen:
            raise Unfit("the input is not read")
        for domain in _domains(first):
            for form in (call, f"torch.view_as_real({call})"):
                entry = _entry(name, first, writer, form, domain)
                short = all(len(line) <= LONGEST for line in [*entry.init, *entry.lines])
                if short and _sound(entry):
                    return entry
    return None


def _said(function: str, args: Any, kwargs: dict[str, Any]) -> Say:
    def say(writer: Writer) -> str:
        texts = [writer.text(a) for a in args]
        texts += [f"{key}={writer.text(value)}" for key, value in kwargs.items()]
        return f"{function}({', '.join(texts)})"

    return say


def _kept(found: Iterator[tuple[str, torch.Tensor, Say]]) -> Iterator[Entry]:
    """Up to so many sound entries of different text, those with two axes or more first."""
    texts: set[str] = set()
    tried = list(enumerate(islice(found, SAMPLES_TRIED)))
    for number, (name, first, say) in sorted(tried, key=lambda sample: sample[1][1].dim() < 2):
        if len(texts) == SAMPLES_KEPT:
            return
        try:
            entry = _fitted(f"{name} #{number}", first, say)
        except Unfit:
            continue
        if entry and entry.lines[-1] not in texts:
            texts.add(entry.lines[-1])
            yield entry


def _op_samples(info: Any) -> Iterator[tuple[str, torch.Tensor, Say]]:
    dtype = next(
        (d for d in (torch.float32, torch.int64, torch.bool, torch.complex64) if d in info.dtypes),
        None,
    )
    if dtype is None or (info.name.endswith("_") and not info.name.endswith("__")):
        return
    name = f"OpInfo {info.name}" + (f" {info.variant_test_name}" if info.variant_test_name else "")
    for sample in info.sample_inputs("cpu", dtype):
        args = [sample.input, *sample.args]
        try:
            say = _said(_resolved(info.name), args, sample.kwargs)
            yield name, _first([args, sample.kwargs]), say
        except Unfit:
            continue


def _module_samples(info: Any) -> Iterator[tuple[str, torch.Tensor, Say]]:
    made = info.module_inputs_func(info, "cpu", torch.float32, requires_grad=False, training=True)
    for sample in made:
        forward, built = sample.forward_input, sample.constructor_input
        if forward is None:
            continue
        try:
            first = _first([forward.args, forward.kwargs])
        except Unfit:
            continue
        yield f"ModuleInfo {info.name}", first, _module_said(info, built, forward)


def _module_said(info: Any, built: Any, forward: Any) -> Say:
    constructor = _said(f"torch.{info.name}", built.args, built.kwargs)

    def say(writer: Writer) -> str:
        writer.init.append("self.{n} = " + constructor(Writer(writer.first, False)))
        return _said("self.{n}", forward.args, forward.kwargs)(writer)

    return say


def _is_path(name: str) -> bool:
    """Whether a parameter's name is an attribute's path: those of a sequence have numbers in it."""
    return all(part.isidentifier() for part in name.split("."))


def _finished(entry: Entry) -> Entry:
    """The entry with what it carries and whether it draws numbers."""
    carries, parameter = entry.carries, ""
    torch.manual_seed(0)
    model = _program(entry)()
    if isinstance(getattr(model, "test1", None), torch.nn.Module):
        carries = ("submodule",)
        names = [n for n, _ in model.test1.named_parameters() if _is_path(n)]  # type: ignore[union-attr]
        if names:
            carries, parameter = ("parameter", *carries), f".{names[0]}"
    return replace(entry, carries=carries, parameter=parameter, random=_random(entry))


def main(output: Annotated[Path, typer.Argument(help="the data file to write")]) -> None:
    """Write the data file of every test that can be said."""
    if any(os.environ.get(name) != value for name, value in FIXED.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | FIXED)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    entries: list[Entry] = []
    for info in tqdm(op_db):
        entries += _kept(_op_samples(info))
    for info in tqdm([info for info in module_db if not info.name.startswith("nn.Lazy")]):
        entries += _kept(_module_samples(info))
    source_tests.write(output, map(_finished, tqdm(entries)))
    operators = {entry.name.partition(" #")[0] for entry in entries}
    print(f"{len(entries)} entries of {len(operators)} tests (torch {torch.__version__})")


if __name__ == "__main__":
    typer.run(main)
