"""`rondo check` on models as users have them: what is found, and what is told of the others."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rondo.check.run import Checked, OneServer, Wishes, check_on
from rondo.check.source import parse_input, parse_source
from rondo.errors import RondoError, SetupError
from rondo.testing import assert_stateless

ROOT = Path(__file__).resolve().parents[2]
FILE = "tests/frameworks/own_models.py"

pytestmark = pytest.mark.framework


@pytest.fixture(scope="module")
def server() -> Iterator[OneServer]:
    """One warmed server for all models."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    running = OneServer("torch_inductor")
    running.start()
    yield running
    running.close()


@pytest.fixture
def checked(server: OneServer, tmp_path: Path):
    """Check a factory of `own_models.py`."""

    def run(name: str, *inputs: str, **wishes: Any) -> Checked:
        source = parse_source(f"{FILE}:{name}", ROOT)
        source = source.with_inputs(tuple(map(parse_input, inputs)))
        plain = {"seconds": 6, "child_seconds": 250, "layers": ("eager",), "findings": tmp_path}
        asked = Wishes(**{**plain, **wishes})
        return check_on(server, source, asked, print, print)

    return run


@pytest.mark.parametrize("name", ["transformer", "images", "recurrent", "function", "printing"])
def test_a_sound_model_has_no_finding(checked, name: str) -> None:
    result = checked(name)
    assert result.judged > 0
    assert not result.findings and not result.others


def test_what_may_vary_is_found_by_trying(checked) -> None:
    result = checked("transformer", seconds=1)
    refused = dict(result.refused)
    fixed = [what for what in refused if what.startswith("tokens.shape")]
    assert fixed == ["tokens.shape[0]: 0", "tokens.shape[1]: 0"], "a view with -1 takes no zero"
    assert any(what.startswith("set_attribute blocks.0.heads") for what in refused)
    result = checked("recurrent", seconds=1)
    assert "RuntimeError" in dict(result.refused)["x.shape[2]: 5, 8, 7, 1, 0"]


def test_a_stateful_bug_is_a_finding_with_a_repro(checked, tmp_path: Path) -> None:
    result = checked("overlapping", seconds=60, layers=("aot_eager",))
    assert [f.identity["changes"] for f in result.findings] == [("alias=overlapping",)]
    found = result.findings[0]
    assert len(found.sentences) == 2 and found.exposing == 1
    repro = tmp_path / found.name / "repro.py"
    assert "import rondo" not in repro.read_text()
    assert subprocess.run([sys.executable, repro], timeout=250).returncode == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("raising", r"the factory raises FileNotFoundError: weights.pt(?s:.*)in raising"),
        ("nonsense", "the factory gives int, which is no module"),
        ("broken", r"the model raises in eager mode: RuntimeError(?s:.*)in forward"),
        ("images_alone", "the model raises in eager mode: TypeError.*--input name:shape"),
        ("gone", "own_models.py:gone: module .* has no attribute 'gone'"),
    ],
)
def test_what_cannot_be_checked_is_told(checked, name: str, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        checked(name)


def test_a_module_that_cannot_be_imported_is_told(server: OneServer, tmp_path: Path) -> None:
    (tmp_path / "broken_file.py").write_text("def f(:\n")
    source = parse_source("broken_file.py:f", tmp_path)
    with pytest.raises(SetupError, match="the module cannot be imported: SyntaxError") as caught:
        check_on(server, source, Wishes(findings=tmp_path), print, print)
    assert "importlib" not in caught.value.advice


def test_a_nondeterministic_model_is_no_alarm(checked) -> None:
    with pytest.raises(RondoError, match="two plain eager calls differ"):
        checked("noisy")


def test_a_sequence_that_is_nondeterministic_is_not_judged(checked) -> None:
    result = checked("moody", seconds=12)
    assert not result.findings and result.judged > 0
    assert result.verdicts["nondeterministic"] > 0
    assert all("not judgeable" in text for text in result.others)


def test_a_model_over_the_memory_limit_is_told_the_limit(checked) -> None:
    with pytest.raises(SetupError, match=r"more than 500 MB(?s:.*)--memory"):
        checked("hungry", megabytes=500)


def test_inputs_can_come_from_the_command_line(checked) -> None:
    result = checked("images_alone", "image:2x3x8x8", seconds=1)
    assert result.facts.leaves[0].shape == (2, 3, 8, 8)


@pytest.mark.slow
def test_assert_stateless_holds_and_fails(tmp_path: Path) -> None:
    import torch

    from tests.frameworks import own_models

    wishes: dict[str, Any] = {"findings": tmp_path, "layers": ("aot_eager",)}
    result = assert_stateless(own_models.Images(), torch.randn(2, 3, 8, 8), seconds=1, **wishes)
    assert result.judged > 0
    with pytest.raises(AssertionError, match=r"overlaps in memory(?s:.*)repro.py"):
        assert_stateless(own_models.overlapping, seconds=60, **wishes)


@pytest.mark.parametrize(
    "factory", [("my_model.py:make",), ("my_model.py:Net", "x:3x8:float32")], ids=["make", "Net"]
)
def test_the_example_of_the_readme_works(server, tmp_path: Path, factory: tuple[str, ...]) -> None:
    section = (ROOT / "README.md").read_text().partition("## Your own model")[2]
    example = section.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "my_model.py").write_text(example)
    source = parse_source(factory[0], tmp_path)
    source = source.with_inputs(tuple(map(parse_input, factory[1:])))
    asked = Wishes(seconds=2, layers=("eager",), findings=tmp_path / "findings")
    result = check_on(server, source, asked, print, print)
    assert result.judged and not result.findings
    labels = {attribute.label for attribute in result.facts.attributes}
    assert {"skip", "drop.p"} <= labels
