"""The frameworks' own tests in the byte format, in JSON, and as graphs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harnesses import jax_xla, torch_inductor, toy
from harnesses.base import Harness
from rondo.codec import Codec
from rondo.errors import FormatError
from rondo.jsonform import from_json, to_json
from rondo.models.grow import grow
from rondo.testcase import Call, Model, Operator, SourceTest, TestCase

HARNESSES = (torch_inductor.HARNESS, jax_xla.HARNESS)


@pytest.mark.parametrize("harness", HARNESSES, ids=lambda h: h.name)
def test_every_test_has_a_name_of_its_own_and_bytes(harness: Harness) -> None:
    codec, tests = Codec(harness.vocabulary), harness.vocabulary.tests
    assert len({t.name for t in tests}) == len(tests) <= 16 * 256
    for test in tests:
        case = TestCase(Model(seed=3, test=test), (), (Call(3),))
        assert codec.decode(codec.encode(case)) == case


def test_enough_of_them_can_be_said() -> None:
    names = {t.name.partition(" #")[0] for t in torch_inductor.HARNESS.vocabulary.tests}
    assert len(names) >= 450
    assert len(jax_xla.HARNESS.vocabulary.tests) >= 150


@pytest.mark.parametrize("harness", HARNESSES, ids=lambda h: h.name)
def test_a_case_names_its_test(harness: Harness) -> None:
    codec, test = Codec(harness.vocabulary), harness.vocabulary.tests[-1]
    case = TestCase(Model(test=test), (), (Call(2),))
    assert test.name in to_json(case)
    assert from_json(to_json(case), codec) == case
    assert test.name in harness.emit(case).text


def test_an_unknown_test_is_told_with_the_nearest() -> None:
    codec = Codec(torch_inductor.HARNESS.vocabulary)
    text = to_json(TestCase(Model(test=codec.vocabulary.tests[0]), (), (Call(2),)))
    wrong = text.replace(codec.vocabulary.tests[0].name, codec.vocabulary.tests[0].name + "x")
    with pytest.raises(FormatError, match="no test of the framework's own"):
        from_json(wrong, codec)


def test_a_target_without_tests_reads_the_bytes_as_an_architecture() -> None:
    data = bytes([2, 250, 7, 0, 0, 0, 0, 0, 0]) + bytes(8)
    assert Codec(toy.HARNESS.vocabulary).decode(data).model.test is None


def test_the_test_comes_after_the_operators_that_keep_the_shape() -> None:
    test = SourceTest("OpInfo add #0", ("B", 4), ("buffer",))
    kept = grow(Model(operators=(Operator("read_float"),), test=test))
    assert kept.nodes[-1].inputs == (kept.nodes[0].name,)
    assert kept.targets("buffer") == (kept.nodes[-1].stem,)
    changed = grow(replace(Model(test=test), operators=(Operator("sum_last"),)))
    assert changed.nodes[-1].inputs == ("x",)
    assert len(changed.outputs) == 2
