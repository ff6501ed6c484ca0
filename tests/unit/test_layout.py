"""What stands where: the core imports no framework, modules stay small and say what they are."""

from __future__ import annotations

import ast
import pkgutil
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest

import rondo

ROOT = Path(__file__).resolve().parents[2]
CORE = sorted((ROOT / "rondo").rglob("*.py"))
FRAMEWORKS = {"torch", "jax", "jaxlib", "tensorflow", "paddle", "keras", "flax"}
MODULES = ["rondo", *(m.name for m in pkgutil.walk_packages(rondo.__path__, "rondo."))]
MAX_LINES = 400


def imported(tree: ast.AST) -> set[str]:
    """The top-level names of everything imported anywhere in a module, functions included."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("path", CORE, ids=lambda p: str(p.relative_to(ROOT)))
def test_core_module(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert not imported(tree) & FRAMEWORKS
    assert ast.get_docstring(tree), "a module's docstring says where it sits"
    assert len(text.splitlines()) < MAX_LINES


def test_the_walk_sees_imports_inside_functions() -> None:
    assert imported(ast.parse("def f():\n    import torch.nn\n    from jax import x")) == {
        "torch",
        "jax",
    }


def test_importing_the_whole_core_imports_no_framework() -> None:
    program = (
        "import importlib, sys\n"
        f"for name in {MODULES!r}: importlib.import_module(name)\n"
        f"print(sorted(set(sys.modules) & {FRAMEWORKS!r}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_every_dependency_has_a_tested_pin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = chain.from_iterable(project["optional-dependencies"].values())
    wanted = [*project["dependencies"], *extras]
    names = {re.split(r"[<>=\[]", line)[0].lower() for line in wanted} - {"rondo"}
    pins = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line[0] != "#"]
    assert all(re.fullmatch(r"[a-z0-9._-]+==[0-9][0-9a-z.]*", pin) for pin in pins)
    assert names <= {pin.partition("==")[0] for pin in pins}


def test_every_target_has_a_script_and_every_script_a_target() -> None:
    targets = {p.parent.name for p in (ROOT / "harnesses").glob("*/__init__.py")}
    assert {p.stem for p in (ROOT / "fuzz").glob("*.py")} == targets
