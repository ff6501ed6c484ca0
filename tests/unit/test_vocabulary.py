"""What the tables of the vocabulary say of their values."""

from __future__ import annotations

import random

from harnesses import jax_xla, torch_inductor
from rondo.codec import Codec
from rondo.generate import Draw
from rondo.testcase import Call, Deviation, Model, Operator

VOCABULARY = torch_inductor.HARNESS.vocabulary


def test_equal_values_of_other_types_are_twins() -> None:
    scalar = VOCABULARY.dimension["scalar"]
    assert set(scalar.twins("1")) == {"1.0", "True"}
    assert set(scalar.twins("0.0")) == {"0", "False"}
    assert scalar.twins("2.5") == scalar.twins("7") == ()


def test_words_and_sizes_have_no_twins() -> None:
    assert VOCABULARY.dimension["mode"].twins("eval") == ()
    assert VOCABULARY.dimension["length"].twins("3") == ()


def test_a_changed_call_often_keeps_the_value_and_changes_its_type() -> None:
    draw = Draw(random.Random(1), Codec(VOCABULARY), Model(operators=(Operator("typed_scalar"),)))
    step = Call(2, (Deviation("scalar", "True"),))
    found = [draw.changed(step).get("scalar", "1.5") for _ in range(200)]
    assert sum(value in ("1", "1.0") for value in found) > 60
    plain = [draw.changed(Call(2)).get("scalar", "1.5") for _ in range(200)]
    assert plain.count("1.5") > 60


def test_the_same_done_to_another_argument_is_a_twin_where_the_model_takes_it() -> None:
    transform = jax_xla.HARNESS.vocabulary.dimension["transform"]
    traits = ("floats", "arg.tensor")
    assert set(transform.twins("jvp_x", traits)) == {"jvp_y", "jvp_both"}
    assert transform.twins("jvp_x", ("floats",)) == ()
    assert transform.twins("linearize", traits) == ()
