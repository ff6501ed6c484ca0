"""Turn JAX's own primitive harnesses into one-operator models, with their arguments.

    pip install absl-py        # what JAX's test utilities need beside JAX
    python tools/jax_source_tests.py harnesses/jax_xla/source_tests.json

The function of a harness is traced, and what it binds is written down: one primitive a line. The
first array of floats is the input, further ones become parameters. Where a harness traces to the
same lines for other numbers of rows, the first axis is the batch.
"""

from __future__ import annotations

import enum
import json
import re
import subprocess
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np
import typer
from jax._src.internal_test_util import test_harnesses
from jax.extend.core import Literal, primitives
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harnesses import source_tests  # noqa: E402
from harnesses.jax_xla.helpers import HELPERS  # noqa: E402
from harnesses.source_tests import Entry  # noqa: E402
from rondo.vocabulary import BATCHES  # noqa: E402

TRIED = (2, 3, 5, 1)
"""The batch sizes that an entry has to run for."""
ROWS = max(BATCHES)
"""Rows of a parameter that is cut to the batch: the largest batch of a call."""
KNOWN = "float32 int8 int16 int32 uint8 uint16 uint32 bool complex64".split()
"""Element types that need no 64-bit mode."""
MOST_NUMBERS, MOST_LINES, MOST_TEXT = 600, 8, 800
SAMPLES_TRIED, SAMPLES_KEPT = 60, 6
FLOATS = ("{h}", "jnp.abs({h}) + 0.1", "jax.nn.sigmoid({h})", "jnp.abs({h}) + 1.1")
WHOLE = ("jnp.abs({h} * 4).astype({dtype})", "({h} * 4).astype({dtype})")
TRUTHS = ("{h} > 0",)
COMPLEX = ("jax.lax.complex({h}, -{h})",)
PUBLIC = {primitives.__dict__[name]: name for name in dir(primitives) if name.endswith("_p")}


class Unfit(Exception):
    """A harness that no text can say, or that does not run."""


def _said(value: Any) -> str:
    """A primitive's parameter as source."""
    if isinstance(value, enum.Enum):
        return f"jax.lax.{type(value).__name__}.{value.name}"
    if isinstance(value, (np.dtype, type)) and not isinstance(value, bool):
        return f'np.dtype("{np.dtype(value).name}")'
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _made(type(value).__name__, value._asdict())
    if type(value) in (tuple, list):
        inside = ", ".join(map(_said, value))
        comma = "," if len(value) == 1 else ""
        return f"({inside}{comma})" if isinstance(value, tuple) else f"[{inside}]"
    if hasattr(value, "__dataclass_fields__"):
        return _made(type(value).__name__, asdict(value))
    if value in PUBLIC:
        return f"primitives.{PUBLIC[value]}"
    if type(value) in (bool, int, float, str, type(None)):
        return json.dumps(value) if isinstance(value, str) else repr(value)
    raise Unfit(type(value).__name__)


def _made(name: str, fields: dict[str, Any]) -> str:
    if not hasattr(jax.lax, name):
        raise Unfit(name)
    return f"jax.lax.{name}({', '.join(f'{k}={_said(v)}' for k, v in fields.items())})"


@dataclass(slots=True)
class Writer:
    """Writes a traced function as lines that bind one primitive each."""

    lines: list[str] = field(default_factory=list)
    names: dict[Any, str] = field(default_factory=dict)

    def run(self, closed: Any, arguments: list[str]) -> list[str]:
        """What a traced function returns for arguments of these texts, in real numbers."""
        self.names |= {v: _constant(np.asarray(c)) for v, c in _constants(closed)}
        self.names |= dict(zip(closed.jaxpr.invars, arguments, strict=True))
        for equation in closed.jaxpr.eqns:
            self._bind(equation)
        return [self._name(out) for out in closed.jaxpr.outvars]

    def _name(self, atom: Any) -> str:
        if not isinstance(atom, Literal):
            return self.names[atom]
        return f'np.asarray({np.asarray(atom.val).tolist()}, "{atom.aval.dtype.name}")'

    def _bind(self, equation: Any) -> None:
        inner = equation.params.get("jaxpr")
        if inner is not None and equation.primitive.name in ("jit", "pjit"):
            inside = Writer(self.lines)
            out = inside.run(inner, [self._name(a) for a in equation.invars])
            self.names |= dict(zip(equation.outvars, out, strict=True))
            return
        public = PUBLIC.get(equation.primitive)
        if public is None or len(self.lines) == MOST_LINES:
            raise Unfit(equation.primitive.name)
        made = [f"v{len(self.lines)}_{place}" for place in range(len(equation.outvars))]
        self.names |= dict(zip(equation.outvars, made, strict=True))
        said = [self._name(a) for a in equation.invars]
        said += [f"{key}={_said(value)}" for key, value in equation.params.items()]
        left = ", ".join(made) if equation.primitive.multiple_results else made[0]
        self.lines.append(f"{left} = primitives.{public}.bind({', '.join(said)})")


@dataclass(frozen=True, slots=True)
class Said:
    """A harness as text for some number of rows: the lines that read the input as `part`, what they
    return, and the shapes of further parameters."""

    lines: tuple[str, ...]
    out: tuple[str, ...]
    parameters: tuple[tuple[int, ...], ...]


def _constants(closed: Any) -> Iterator[tuple[Any, Any]]:
    return zip(closed.jaxpr.constvars, closed.consts, strict=True)


def _given(harness: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays that a harness is called with."""
    return [np.asarray(a) for a in harness.dyn_args_maker(np.random.RandomState(0))]


def _input(given: list[np.ndarray[Any, Any]]) -> int:
    """Which argument becomes the input."""
    for number, value in enumerate(given):
        if 0 < value.ndim <= 5 and 0 < value.size <= MOST_NUMBERS:
            return number
    raise Unfit("no input")


def _drawn(value: np.ndarray[Any, Any]) -> bool:
    """Whether an argument beside the input becomes a parameter: what is whole and short is exact,
    as indices are."""
    return value.dtype.kind in "fVc" or value.size > 40


def _traced(harness: Any, rows: int | None, domain: str) -> Said:
    """The text of a harness; raises whatever tracing it for so many rows raises."""
    given = _given(harness)
    place = _input(given)
    arguments: list[str] = []
    parameters: list[tuple[int, ...]] = []
    shapes = []
    for number, value in enumerate(given):
        shape = value.shape
        if rows is not None and shape[:1] == given[place].shape[:1]:
            shape = (rows, *shape[1:])
        shapes.append(jax.ShapeDtypeStruct(shape, value.dtype))
        if number == place:
            arguments.append("part")
        elif shape != value.shape or _drawn(value):
            cut = "[: part.shape[0]]" if rows is not None and shape[:1] == (rows,) else ""
            arguments.append(_parameter(f"w{len(parameters)}", value.dtype, cut, domain))
            parameters.append((ROWS, *shape[1:]) if cut else shape)
        else:
            arguments.append(_constant(value))
    writer = Writer()
    closed = jax.make_jaxpr(harness.dyn_fun)(*shapes)
    out = writer.run(closed, arguments)
    pairs = zip(out, closed.jaxpr.outvars, strict=True)
    real = [f"jnp.stack([{o}.real, {o}.imag])" if _complex(v) else o for o, v in pairs]
    return Said(tuple(writer.lines), tuple(real), tuple(parameters))


def _complex(variable: Any) -> bool:
    return bool(np.issubdtype(variable.aval.dtype, np.complexfloating))


def _constant(value: np.ndarray[Any, Any]) -> str:
    if value.size > 40 or value.dtype.kind not in "fiub":
        raise Unfit("a large constant")
    return f'jnp.asarray({value.tolist()}, "{jax.dtypes.canonicalize_dtype(value.dtype).name}")'


def _parameter(key: str, dtype: Any, cut: str, domain: str) -> str:
    """A parameter as the text that reads it, in the domain of the input and of its element type."""
    text = key + cut
    if dtype.kind == "b":
        return f"{text} > 0"
    if dtype.kind in "iu":
        return f'jnp.abs({text} * 4).astype("{jax.dtypes.canonicalize_dtype(dtype).name}")'
    if dtype.kind == "c":
        return f"jax.lax.complex({text}, -{text})"
    source = text if domain == "{h}" else f"({domain.replace('{h}', text)})"
    return f"{source}.astype(part.dtype)"


def _formatted(lines: list[str]) -> list[str]:
    """The lines as a formatter has them in a function, braces escaped for a template."""
    text = "\n".join(["def forward(part):", *(f"    {line}" for line in lines), ""])
    command = ["ruff", "format", "--isolated", "--line-length=100", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    body = [line.removeprefix("    ") for line in done.stdout.splitlines()[1:]]
    return [line.replace("{", "{{").replace("}", "}}") for line in body]


def _entry(harness: Any, varies: bool, domain: str) -> Entry:
    given = _given(harness)
    first = given[_input(given)].shape
    said = _traced(harness, 2 if varies else None, domain)
    if varies and any(_traced(harness, rows, domain).lines != said.lines for rows in TRIED):
        raise Unfit("other lines for other rows")
    whole = len(first) > 1
    row = first[1:] if whole else first
    shape: tuple[int | str, ...] = ("B", *row) if varies or not whole else first
    source = "{h}" if whole else "{h}.sum(0)"
    dtype = jax.dtypes.canonicalize_dtype(harness.dtype).name
    part = domain.replace("{h}", source).replace("{dtype}", f'"{dtype}"')
    weights = [f'["w{n}"] = normal(rng, {size})' for n, size in enumerate(said.parameters)]
    init = ['params["{n}"] = {{}}'] if weights else []
    init += [f'params["{{n}}"]{weight}' for weight in weights]
    out = said.out[0] if len(said.out) == 1 else f"({', '.join(said.out)})"
    read = [f'w{n} = params["{{n}}"]["w{n}"]' for n in range(len(weights))]
    body = _formatted([*said.lines, f"out = {out}"])
    lines = [f"part = {part}", *read, *body[:-1], body[-1].replace("out = ", "{y} = ")]
    carries = ("parameter",) if weights else ()
    return Entry(harness.fullname, shape, tuple(lines), tuple(init), carries)


def _sound(entry: Entry) -> bool:
    """Whether an entry runs for every batch with finite plain arrays as its result."""
    fields = {"h": "x", "n": "test1", "y": "y"}
    init = [line.format(**fields) for line in entry.init]
    body = [line.format(**fields) for line in entry.lines]
    names: dict[str, Any] = {"jax": jax, "jnp": jax.numpy, "np": np, "primitives": primitives}
    text = [
        HELPERS["normal"],
        "def forward(params, x):",
        *(f"    {line}" for line in [*body, "return y"]),
    ]
    exec("\n".join(text), names)
    try:
        for batch in TRIED if entry.shape[0] == "B" else (0,):
            names["params"], names["rng"] = {}, np.random.default_rng(0)
            exec("\n".join(init), names)
            sizes = [batch if size == "B" else size for size in entry.shape]
            x = jax.numpy.asarray(np.random.default_rng(1).standard_normal(sizes), "float32")
            out = jax.tree.leaves(names["forward"](names["params"], x))
            if not out or not all(_plain(leaf) for leaf in out):
                return False
    except Exception:
        return False  # whatever it raises: such a text does not run
    return True


def _plain(value: Any) -> bool:
    return (
        value.dtype.name in KNOWN
        and value.size < 5000
        and bool(np.isfinite(np.asarray(value, "float64")).all())
    )


def _domains(harness: Any) -> tuple[str, ...]:
    dtype = np.dtype(harness.dtype)
    if dtype.name not in KNOWN:
        return ()
    return {"f": FLOATS, "b": TRUTHS, "c": COMPLEX}.get(dtype.kind, WHOLE)


def _fitted(harness: Any, refused: Counter[str]) -> Entry | None:
    """The first sound form of a harness; why others could not be said is counted in `refused`."""
    for varies in (True, False):
        for domain in _domains(harness):
            try:
                entry = _entry(harness, varies, domain)
            except Exception as error:  # whatever tracing raises: it cannot be said so
                refused[type(error).__name__] += 1
                continue
            if len("".join(entry.lines)) < MOST_TEXT and _sound(entry):
                return entry
    return None


def _kept(harnesses: list[Any], refused: Counter[str]) -> Iterator[Entry]:
    texts: set[tuple[str, ...]] = set()
    for harness in islice(harnesses, SAMPLES_TRIED):
        if len(texts) == SAMPLES_KEPT:
            return
        entry = _fitted(harness, refused)
        if entry and tuple(entry.lines) not in texts:
            texts.add(tuple(entry.lines))
            yield entry


def main(output: Annotated[Path, typer.Argument(help="the data file to write")]) -> None:
    """Write the data file of every harness that can be said."""
    warnings.filterwarnings("ignore")
    groups: dict[str, list[Any]] = defaultdict(list)
    for harness in test_harnesses.all_harnesses:
        if _domains(harness):
            groups[harness.group_name].append(harness)
    refused: Counter[str] = Counter()
    entries = [e for name in tqdm(sorted(groups)) for e in _kept(groups[name], refused)]
    source_tests.write(output, entries)
    text = " ".join(line for entry in entries for line in entry.lines)
    bound = set(re.findall(r"primitives\.(\w+_p)\.bind", text))
    print(f"{len(entries)} entries, {len(bound)} primitives (jax {jax.__version__})")
    print(f"forms that could not be said: {dict(refused.most_common())}")


if __name__ == "__main__":
    typer.run(main)
