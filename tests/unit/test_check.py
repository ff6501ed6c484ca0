"""Checking one's own model without a framework: where it comes from, what is planned, what eager
trials leave, and the emitted programs."""

from __future__ import annotations

import random
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from harnesses.base import Wanted
from harnesses.torch_inductor.own_model import TorchModel, inputs_expression, probe_program
from rondo import cli, testing
from rondo.check.facts import Attribute, Axis, Facts, Leaf
from rondo.check.plan import drawn, planned
from rondo.check.run import Checked, Wishes
from rondo.check.show import headline, uncovered
from rondo.check.source import Input, Source, factory_text, parse_input, parse_source
from rondo.check.trial import Trial, Trials, left_out, refusals
from rondo.codec import Codec
from rondo.errors import SetupError
from rondo.executor.protocol import Death, Job, Observation, Outcome, StepRecord
from rondo.findings import Finding
from rondo.oracle import Limits
from rondo.testcase import Call, Deviation, Event, TestCase
from rondo.testing import assert_stateless

SOURCE = Source("mine:make", ("/models",), "mine", "make")
FACTS = Facts(
    name="Net",
    module=True,
    form="pair",
    leaves=(
        Leaf("x", "[0]", "tensor", "float32", (4, 3), floating=True),
        Leaf("y", "[1]", "tensor", "float32", (4, 3), floating=True),
        Leaf("k", "[2]", "scalar", "float", text="2.0"),
        Leaf("cache", "[3]", "other", "Cache"),
    ),
    positional=("x", "y", "k", "cache"),
    axes=(
        Axis("x_0", ((0, 0),), 4, (5, 8, 1)),
        Axis("x_1", ((0, 1),), 3, (4, 1)),
        Axis("x_0_y_0", ((0, 0), (1, 0)), 4, (5, 8, 1)),
    ),
    attributes=(
        Attribute("", "skip", "False", ("True",)),
        Attribute("layers.0.drop", "p", "0.1", ("0.05", "0.2")),
    ),
    switches=("layers.0.drop",),
    parameters=("layers.0.weight",),
    numbers=12,
)
TARGET = TorchModel(SOURCE, FACTS)
FUNCTION = TorchModel(SOURCE, Facts(name="f", form="several", leaves=FACTS.leaves))
SETTINGS = (("backend", "aot_eager"),)
PLANNED = [sequence.case for sequence in planned(TARGET.vocabulary, SETTINGS)]


def told(deviations: dict[str, str]) -> Call:
    return Call(deviations=tuple(Deviation(*pair) for pair in deviations.items()))


# --- where a model comes from


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models", "does not name a factory"),
        ("models:", "does not name a factory"),
        ("models:a b", "does not name a factory"),
        ("gone/models.py:make", "there is no file"),
        ("no_such_module_anywhere:make", "there is no module 'no_such_module_anywhere'"),
    ],
)
def test_a_factory_that_cannot_be_is_told(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        parse_source(text, tmp_path)


@pytest.mark.parametrize("text", ["own_zoo:make", "own_zoo.py:make", "random.py:make"])
def test_the_text_of_a_factory_makes_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    for name in ("own_zoo.py", "random.py"):
        (tmp_path / name).write_text("import sys\n\ndef make():\n    return 'model', __name__\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    source = parse_source(text, tmp_path)
    scope: dict[str, object] = {}
    exec("import importlib.util, sys\n" + "\n".join(factory_text(source, "")), scope)
    assert scope["factory"]() == ("model", source.module)  # type: ignore[operator]
    assert source.module != "random", "the standard library stays what it is"


def test_inputs_of_the_command_line() -> None:
    assert parse_input("x:2x16:int64") == Input("x", (2, 16), "int64")
    assert parse_input("x:3") == Input("x", (3,), "float32")
    assert parse_input("k:") == Input("k", ())
    text = probe_program(SOURCE.with_inputs((Input("x", (2, 16)),))).text
    assert 'return module.make(), {"x": example((2, 16), 0, torch.float32)}' in text
    for wrong in ("x", "x:2y3", "1x:2", "for:2"):
        with pytest.raises(SetupError, match="not an input"):
            parse_input(wrong)


# --- what is planned


def test_every_planned_sequence_goes_through_bytes() -> None:
    codec = Codec(TARGET.vocabulary)
    for case in PLANNED:
        assert codec.normal(case) == case
    assert len(set(PLANNED)) == len(PLANNED) > 40


def test_the_plan_walks_sizes_and_scalars_over_three_values() -> None:
    walks = [[d for s in c.steps for d in s.deviations] for c in PLANNED[:5]]
    assert [d.value for d in walks[0]] == ["k=3.0", "k=4.0", "k=5.0"]
    assert ["5", "8", "1"] in [[d.value for d in found] for found in walks]


def test_an_attribute_takes_every_value_and_its_own_again() -> None:
    wanted = [Event("set_attribute", 0, f"layers.0.drop.p={v}") for v in ("0.05", "0.2", "0.1")]
    found = [[s for s in case.steps if isinstance(s, Event)] for case in PLANNED]
    assert wanted in found


def test_random_sequences_follow_their_seed_and_fit() -> None:
    codec = Codec(TARGET.vocabulary)
    first, second, other = (
        [s.case for s in islice(drawn(random.Random(seed), codec, SETTINGS), 20)]
        for seed in (1, 1, 2)
    )
    assert first == second != other
    assert all(codec.normal(case) == case for case in first)
    assert {s.batch for case in first for s in case.steps if isinstance(s, Call)} == {2}


# --- the programs


@pytest.mark.parametrize("own", [TARGET, FUNCTION], ids=["module", "function"])
def test_programs_are_valid_and_deterministic(own: TorchModel) -> None:
    for sequence in planned(own.vocabulary, SETTINGS):
        program = own.emit(sequence.case)
        compile(program.text, "program", "exec")
        assert program == own.emit(sequence.case)
        assert len(program.sentences) == len(sequence.case.steps)


def test_a_program_calls_the_factory_and_says_what_it_does() -> None:
    steps = (
        told({"size_x_0_y_0": "5", "scalar": "k=3.0"}),
        Event("set_attribute", 0, "layers.0.drop.p=0.2"),
        Event("convert_model", 0, "bfloat16"),
        told({"alias": "overlapping", "grad_mode": "no_grad"}),
    )
    program = TARGET.emit(TestCase(settings=SETTINGS, steps=steps))
    assert program.sentences == (
        "Call: x.shape[0] and y.shape[0] 5, k 3.0",
        "Set layers.0.drop.p to 0.2",
        "Convert the model and its inputs to bfloat16",
        "Call: y overlaps in memory with x, under no_grad",
    )
    for line in (
        'COMPILE = {"backend": "aot_eager"}',
        "    return module.make()",
        "        self.model, self.inputs = factory()",
        "    x = tensor(s.inputs[0], (5, 3), 1)",
        "    k = 3.0",
        "    cache = s.inputs[3]",
        "    out = f(x, y, k, cache)",
        '    s.model.get_submodule("layers.0.drop").p = 0.2',
        "    y = tensor(s.inputs[1], (4, 3), 4, torch.bfloat16)",
        "    x, y = pool[:-1], pool[1:]",
    ):
        assert line in program.text.splitlines(), line


def test_the_repro_of_a_function_has_no_model_to_look_into() -> None:
    text = FUNCTION.repro(TestCase(steps=(Call(), Call())), Wanted(1, "title"))
    compile(text, "repro", "exec")
    assert 's.compiled("model", s.function, **COMPILE)' in text
    assert "self.function, *self.inputs = factory()" in text
    assert "rondo" not in text


# --- eager trials


class Refusing:
    """An executor whose eager arm raises, or differs from run to run, in some steps."""

    def __init__(
        self,
        raising: tuple[str, ...] = (),
        unstable: tuple[str, ...] = (),
        killing: tuple[str, ...] = (),
    ) -> None:
        self._raising = raising
        self._unstable = unstable
        self._killing = killing
        self._runs = 0

    def run(self, job: Job) -> Outcome:
        self._runs += 1
        bodies = job.text.split("def step_")[1:]
        records = [self._record(i, body) for i, body in enumerate(bodies)]
        for i, body in enumerate(bodies):
            if any(mark in body for mark in self._killing):
                return Outcome({"eager": records[:i]}, Death("memory", "500 MB", "eager", i))
        return Outcome({"eager": records})

    def _record(self, index: int, body: str) -> StepRecord:
        if any(mark in body for mark in self._raising):
            return StepRecord("eager", index, error=("ValueError",), message="wrong")
        odd = self._runs % 2 and any(mark in body for mark in self._unstable)
        return StepRecord(
            "eager", index, (Observation("output", "out", "int", data=b"12"[: 1 + odd]),)
        )


def tried(**marks: tuple[str, ...]) -> Trial:
    executor = Refusing(**marks)
    return Trials(TARGET, FACTS, executor, Limits()).run()  # type: ignore[arg-type]


def test_what_eager_execution_refuses_is_left_out_and_told() -> None:
    alone = ("x.shape[0] 5", "x.shape[0] 8", "x.shape[0] 1")
    trial = tried(raising=(*(f"Call: {text}" for text in alone), ".p = 0.2", "float64"))
    left = left_out(TARGET, FACTS, trial)
    kept = TARGET.restricted(left).vocabulary
    assert "size_x_0" not in kept.dimension and "size_x_0_y_0" in kept.dimension
    assert "layers.0.drop.p=0.2" not in kept.event["set_attribute"].options(())
    told = dict(refusals(FACTS, trial, left))
    assert told["dtype: float64"] == "eager raises ValueError: wrong"
    assert "set_attribute layers.0.drop.p: 0.2" in told
    assert not any("shape[0]" in what for what in told), "it may change together with another"


def test_axes_that_may_change_alone_are_not_changed_together_too() -> None:
    facts = Facts(
        leaves=FACTS.leaves,
        positional=FACTS.positional,
        axes=(*FACTS.axes, Axis("y_0", ((1, 0),), 4, (5, 8, 1))),
    )
    left = left_out(TorchModel(SOURCE, facts), facts, Trial())
    assert left == {"size_x_0_y_0"}


def test_a_plain_call_that_differs_from_run_to_run_is_the_end_of_it() -> None:
    assert "two plain eager calls differ" in tried(unstable=("factory's inputs",)).unusable


def test_what_is_unstable_in_part_is_left_out() -> None:
    trial = tried(unstable=("torch.no_grad()",))
    assert not trial.unusable
    assert trial.refused == {"grad_mode=no_grad": "eager execution differs from run to run"}


def test_what_kills_an_eager_child_is_left_out() -> None:
    trial = tried(killing=("float64", "x.shape[0] 8"))
    assert not trial.unusable
    assert trial.refused["dtype=float64"] == "eager execution: memory (500 MB)"
    assert {"size_x_0=8", "convert_model=float64"} <= set(trial.refused)
    assert "memory" in tried(killing=("factory's inputs",)).unusable


# --- words, and the command line


def test_the_headline_claims_what_was_measured() -> None:
    result = Checked(FACTS, calls=9)
    result.verdicts["nondeterministic"] = 3
    assert headline(result) == "3 sequences, 9 calls, none of which can be judged"
    result.verdicts["pass"] = 1
    assert headline(result) == "4 sequences, 9 calls, no difference"
    result.others["stateless: Call"] = 1
    assert headline(result).endswith("no stateful difference")
    assert ("hooks", "hooks are neither added nor removed") in list(uncovered(result))


def test_the_command_line_tells_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, message in (
        (["gone.py:make"], "there is no file"),
        (["json:loads", "--input", "x"], "not an input"),
        (["json:loads", "--target", "nonsense"], "there is no target 'nonsense'"),
        (["json:loads", "--target", "toy"], "target toy cannot check one's own model"),
    ):
        monkeypatch.setattr(sys, "argv", ["rondo", "check", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 2
        assert message in capsys.readouterr().err


def test_a_live_model_that_cannot_be_pickled_is_told(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot be pickled"):
        assert_stateless(lambda x: x, 1.0, findings=tmp_path)


def net() -> tuple[str, int]:
    """A factory that a child can import."""
    return "model", 3


def test_a_test_helper_gives_a_child_something_to_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Source] = []

    def checking(source: Source, wishes: Wishes, *_: object) -> Checked:
        seen.append(source)
        return Checked(FACTS, verdicts=Counter({"pass": int(wishes.least)}))

    monkeypatch.setattr(testing, "check", checking)

    def local() -> tuple[str, int]:
        return net()

    for model, *inputs in ((net,), (local,), (len, [1, 2])):
        assert assert_stateless(model, *inputs, seconds=3, findings=tmp_path).judged == 3
    function, closure, live = seen
    assert (function.module, function.attribute) == (__name__, "net")
    for source, given in ((closure, ("model", 3)), (live, (len, ([1, 2],)))):
        scope: dict[str, object] = {}
        exec("import pickle, sys\n" + "\n".join(factory_text(source, "")), scope)
        assert scope["factory"]() == given  # type: ignore[operator]


def test_a_finding_is_an_assertion_error_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = ("Call with the factory's inputs, reordered", "Call: k 3.0")
    finding = Finding(
        "wrong-1", "t", "stateful", "wrong_result", {}, 1, "output:out", "4 instead of 5", told, (),
        (9, 2), 5, (3, 3), {}, 1, 0.0,
    )  # fmt: skip
    result = Checked(FACTS, verdicts=Counter({"stateful": 1}), findings=[finding])
    monkeypatch.setattr(testing, "check", lambda *_: result)
    with pytest.raises(AssertionError) as raised:
        assert_stateless(net, findings=tmp_path)
    for words in ("step 2 of 2 is wrong", "2. Call: k 3.0", "4 instead of 5", "wrong-1/repro.py"):
        assert words in str(raised.value)


def test_an_input_of_a_type_that_torch_does_not_have_is_refused() -> None:
    with pytest.raises(SetupError, match="torch has no type float99"):
        inputs_expression((Input("x", (2,), "float99"),))
