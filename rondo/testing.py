"""For a project's own test suite: `assert_stateless` is `rondo check` with a budget, as a test.

    from rondo.testing import assert_stateless

    def test_my_model_has_no_stateful_bug():
        assert_stateless("my_package.models:make", seconds=60)

What is checked is built anew in child processes, never forked from the test's own process: such a
child would inherit compiled code, threads and caches, and its verdict would mean nothing.
So a factory is imported by name, and a live model is pickled.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rondo.check.run import Checked, Wishes, check
from rondo.check.show import headline, told
from rondo.check.source import (
    Source,
    file_source,
    module_source,
    parse_source,
    pickled_source,
)
from rondo.errors import SetupError
from rondo.findings import write_atomically


def assert_stateless(
    model: str | Callable[..., Any],
    *inputs: Any,
    seconds: float = 30.0,
    findings: Path | str = "findings",
    **wishes: Any,
) -> Checked:
    """Fail when calls of a compiled model depend on the calls before, where eager calls do not.

    `model` is a factory that gives the model and its example inputs, as "module:factory",
    "path.py:factory" or a function without inputs; or, with `inputs` one by one, a module or a
    function itself. `seconds` is the time to play sequences in, after some ten seconds of
    preparation; a finding is shrunk and confirmed beyond it. `wishes` are further fields of
    `Wishes`, such as `layers=("eager",)`. Gives what was checked.

    Raises AssertionError with each difference in words and the path of its repro; RondoError when
    the model cannot be checked, for instance because it cannot be pickled.
    """
    folder = Path(findings)
    source = _source(model, inputs, folder)
    asked = Wishes(seconds=seconds, least=seconds, findings=folder, **wishes)
    result = check(source, asked, _quiet, _quiet)
    if result.findings:
        raise AssertionError("\n".join([f"{source.label}:", *told(result, folder)]))
    if not result.judged or result.unconfirmed:
        raise SetupError(f"{source.label}: {headline(result)}", "; ".join(result.others))
    return result


def _quiet(text: str) -> None:
    pass


def _source(model: str | Callable[..., Any], inputs: tuple[Any, ...], folder: Path) -> Source:
    if isinstance(model, str):
        return parse_source(model, Path.cwd())
    if inputs or not inspect.isfunction(model):
        return _pickled(model, inputs, folder)
    label = f"{model.__module__}:{model.__qualname__}"
    if "<" in model.__qualname__:  # made inside another function: no child can import it
        made = model()
        model, *rest = made if isinstance(made, tuple) else (made,)
        return _pickled(model, rest[0] if len(rest) == 1 else tuple(rest), folder)
    if model.__module__ != "__main__" and _importable(model.__module__):
        return module_source(model.__module__, model.__name__, label)
    return file_source(Path(inspect.getfile(model)), model.__name__, label)


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _pickled(model: Any, inputs: Any, folder: Path) -> Source:
    label = getattr(model, "__qualname__", type(model).__qualname__)
    try:
        data = pickle.dumps((model, inputs))
    except Exception as error:
        raise SetupError(
            f"{label} cannot be pickled for a child process: {error}",
            'give a factory that makes it, as a function or as "module:factory"',
        ) from error
    path = folder.resolve() / "models" / f"{hashlib.sha256(data).hexdigest()[:16]}.pickle"
    write_atomically(path, data)
    return pickled_source(path, label)
