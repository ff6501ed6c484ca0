"""Where a user's model comes from: `module:factory`, `path/to/file.py:factory`, or a pickled pair.

The driver imports none of it. `factory_text` is the function that emitted programs call, in a
child, to make the model and its example inputs.
"""

from __future__ import annotations

import importlib.util
import json
import keyword
import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from rondo.errors import SetupError

_FORMS = "give module:factory or path/to/file.py:factory"
_INPUT = re.compile(r"(?P<name>[^:]+):(?P<shape>[\dx,]*)(?::(?P<dtype>\w+))?")
_INPUT_FORM = "an input is name:shape:dtype, such as x:2x16:float32 or ids:2x16:int64"


@dataclass(frozen=True, slots=True)
class Input:
    """An example tensor, passed to the model by keyword; `dtype` is the framework's name."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"


@dataclass(frozen=True, slots=True)
class Source:
    """A factory as a child finds it.

    `label` is what to call it; `folders` go to the front of the import path. The factory is
    `attribute` of the module `module`, which is loaded from `file` where that is not empty; with
    `pickled`, that file holds what the factory would return. `inputs` are given beside the model.
    """

    label: str
    folders: tuple[str, ...]
    module: str = ""
    attribute: str = ""
    file: str = ""
    pickled: str = ""
    inputs: tuple[Input, ...] = ()

    def with_inputs(self, inputs: tuple[Input, ...]) -> Source:
        """The same factory, which gives a model alone, with example inputs."""
        return replace(self, inputs=inputs)


def parse_source(text: str, folder: Path) -> Source:
    """The factory that `text` names, relative to `folder`.

    Raises SetupError for another form, a file that is not there, or an unknown module.
    """
    place, colon, attribute = text.rpartition(":")
    if not colon or not place or not attribute.isidentifier():
        raise SetupError(f"{text!r} does not name a factory", _FORMS)
    if place.endswith(".py") or "/" in place:
        return _from_file(text, folder / place, attribute)
    top = place.partition(".")[0]
    here = (folder / top).is_dir() or (folder / f"{top}.py").is_file()
    if not here and importlib.util.find_spec(top) is None:
        raise SetupError(
            f"there is no module {top!r} in {folder} or among the installed packages", _FORMS
        )
    return Source(text, (str(folder),), place, attribute)


def file_source(path: Path, attribute: str, label: str = "") -> Source:
    """The factory `attribute` of a file."""
    return _from_file(label or f"{path}:{attribute}", path, attribute)


def _from_file(label: str, path: Path, attribute: str) -> Source:
    """A file is imported by its name where nothing else has that name, else loaded as it is."""
    file = path.resolve()
    if not file.is_file():
        raise SetupError(f"there is no file {path}", _FORMS)
    name, folder = re.sub(r"\W", "_", file.stem), str(file.parent)
    taken = name in sys.stdlib_module_names or name in sys.modules or not _is_name(file.stem)
    found = None if taken else importlib.util.find_spec(name)
    if taken or (found is not None and found.origin != str(file)):
        return Source(label, (folder,), f"own_{name}", attribute, str(file))
    return Source(label, (folder,), name, attribute)


def module_source(module: str, attribute: str, label: str) -> Source:
    """A factory in a module that this process can import, and a child with the same path."""
    return Source(label, _own_path(), module, attribute)


def pickled_source(path: Path, label: str) -> Source:
    """A model and its inputs that were pickled to a file."""
    return Source(label, _own_path(), pickled=str(path))


def _own_path() -> tuple[str, ...]:
    """This process's import path without what every interpreter of the installation has."""
    folders = [os.path.abspath(p) for p in sys.path if os.path.isdir(p or ".")]
    return tuple(p for p in folders if not p.startswith((sys.prefix, sys.base_prefix)))


def parse_input(text: str) -> Input:
    """An example input from `name:shape:dtype`; sizes are joined by x, none for a single number.

    Raises SetupError for text of another form.
    """
    found = _INPUT.fullmatch(text)
    if found is None or not _is_name(found["name"]):
        raise SetupError(f"{text!r} is not an input", _INPUT_FORM)
    sizes = [part for part in re.split("[x,]", found["shape"]) if part]
    return Input(found["name"], tuple(map(int, sizes)), found["dtype"] or "float32")


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def factory_text(source: Source, inputs: str) -> list[str]:
    """The lines of `factory()`; `inputs` is the expression of the inputs given beside the model."""
    body = [f"sys.path[:0] = {json.dumps(source.folders)}"]
    if source.pickled:
        path = json.dumps(source.pickled)
        body += [f'with open({path}, "rb") as file:', "    return pickle.load(file)"]
    else:
        made = f"module.{source.attribute}()"
        body += [*_module_lines(source)]
        body += [f"return {made}, {inputs}" if source.inputs else f"return {made}"]
    documentation = '"""The model under test, and its inputs."""'
    return ["def factory():", f"    {documentation}", *(f"    {line}" for line in body)]


def _module_lines(source: Source) -> list[str]:
    if not source.file:
        return [f'module = importlib.import_module("{source.module}")']
    return [
        f'module = sys.modules.get("{source.module}")',
        "if module is None:",
        f"    path = {json.dumps(source.file)}",
        f'    spec = importlib.util.spec_from_file_location("{source.module}", path)',
        "    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)",
        "    spec.loader.exec_module(module)",
    ]


IMPORTS = {
    "importlib.util": "import importlib.util",
    "importlib.import_module": "import importlib",
    "pickle.": "import pickle",
    "sys.": "import sys",
}
"""What the text of a factory may need: mark -> import line."""
