"""Bytes to test cases and back, and the JSON form."""

from __future__ import annotations

import json
import random

import pytest

from rondo.codec import FORMAT, HEADER, MAX_BYTES, Codec, digest, read_case_bytes
from rondo.errors import FormatError
from rondo.jsonform import from_json, to_json
from rondo.testcase import Call, Deviation, Event, Model, Operator, TestCase

RANDOM_CASES = 10_000
EXAMPLE = TestCase(
    Model("mlp", 1, 2, 7, (Operator("read_float", 3), Operator("scale_scalar"))),
    (("backend", "whole"),),
    (
        Call(3, (Deviation("grad_mode", "no_grad"), Deviation("scalar", "2.5"))),
        Event("set_float_attribute", 0, "3.5"),
        Call(3, (Deviation("colour", "blue"),)),
        Event("paint", 0, "twice"),
    ),
)


def random_inputs(count: int, seed: int) -> list[bytes]:
    """Random bytes, short ones more often, up to longer than any case."""
    draw = random.Random(seed)
    longest = MAX_BYTES + 16
    return [draw.randbytes(int(longest * draw.random() ** 2)) for _ in range(count)]


@pytest.mark.parametrize("seed", range(10))
def test_every_byte_string_decodes_and_is_canonical(codec: Codec, seed: int) -> None:
    steps = 0
    for data in random_inputs(RANDOM_CASES // 10, seed):
        case = codec.decode(data)
        encoded = codec.encode(case)
        assert codec.decode(encoded) == case
        assert len(encoded) <= MAX_BYTES
        steps += len(case.steps)
    assert steps > RANDOM_CASES // 10, "random bytes give sequences, not single steps"


def test_encoding_again_changes_nothing(codec: Codec) -> None:
    for data in random_inputs(300, seed=8):
        assert codec.canonical(codec.canonical(data)) == codec.canonical(data)


def test_an_example_survives_bytes(codec: Codec) -> None:
    assert codec.decode(codec.encode(EXAMPLE)) == EXAMPLE


def test_every_prefix_of_a_case_decodes(codec: Codec) -> None:
    data = codec.encode(EXAMPLE)
    for length in range(len(data) + 1):
        assert codec.canonical(codec.canonical(data[:length])) == codec.canonical(data[:length])


def test_missing_bytes_read_as_zeros(codec: Codec) -> None:
    assert codec.decode(b"") == TestCase()
    data = codec.encode(EXAMPLE)
    record = len(data) - 8
    assert codec.decode(data[: record + 3]) == codec.decode(data[: record + 3] + bytes(5))


def test_a_record_means_the_same_wherever_it_stands(codec: Codec) -> None:
    draw = random.Random(2)
    for data in random_inputs(300, seed=3):
        case = codec.decode(data)
        encoded = codec.encode(case)
        order = list(range(len(case.steps)))
        draw.shuffle(order)
        start = len(encoded) - 8 * len(order)
        records = [encoded[start + 8 * i : start + 8 * i + 8] for i in order]
        moved = codec.decode(encoded[:start] + b"".join(records))
        assert moved == case.with_steps(tuple(case.steps[i] for i in order))


def test_dropping_a_record_drops_its_step_alone(codec: Codec) -> None:
    encoded = codec.encode(EXAMPLE)
    start = len(encoded) - 8 * len(EXAMPLE.steps)
    for i in range(len(EXAMPLE.steps)):
        cut = encoded[: start + 8 * i] + encoded[start + 8 * i + 8 :]
        assert codec.decode(cut).steps == EXAMPLE.steps[:i] + EXAMPLE.steps[i + 1 :]


def test_unsupported_words_are_never_decoded(codec: Codec) -> None:
    for data in random_inputs(500, seed=4):
        for step in codec.decode(data).steps:
            if isinstance(step, Event):
                assert step.kind != "tie_parameters"
                continue
            assert step.get("thread", "main") == "main"
            assert step.get("autocast", "off") != "float16"


def test_events_act_on_what_the_model_carries(codec: Codec) -> None:
    for data in random_inputs(500, seed=5):
        case = codec.decode(data)
        assert codec.normal(case) == case


@pytest.mark.parametrize(
    "step",
    [
        Event("set_int_attribute", 0, "3"),
        Event("set_float_attribute", 9, "3.5"),
        Event("no_such_event"),
        Call(6),
        Call(2, (Deviation("grad_mode", "grad"),)),
        Call(2, tuple(Deviation("grad_mode", "no_grad") for _ in range(4))),
    ],
)
def test_what_does_not_fit_is_refused_with_advice(codec: Codec, step: Call | Event) -> None:
    with pytest.raises(FormatError) as caught:
        codec.encode(EXAMPLE.with_steps((step,)))
    assert caught.value.advice


def test_a_file_of_another_version_is_refused(codec: Codec, tmp_path) -> None:
    path = tmp_path / "case.bin"
    data = codec.encode(EXAMPLE)
    path.write_bytes(data)
    assert read_case_bytes(path) == data
    path.write_bytes(bytes([FORMAT + 1]) + data[1:])
    with pytest.raises(FormatError, match=f"not a test case of format {FORMAT}") as caught:
        read_case_bytes(path)
    assert "corpus adopt" in caught.value.advice


def test_a_truncated_file_is_refused(codec: Codec, tmp_path) -> None:
    path = tmp_path / "case.bin"
    for length in range(1, HEADER + 1):
        path.write_bytes(codec.encode(EXAMPLE)[:length])
        with pytest.raises(FormatError, match="truncated"):
            read_case_bytes(path)


def test_a_digest_tells_cases_apart(codec: Codec) -> None:
    seen = {codec.canonical(data) for data in random_inputs(500, seed=6)}
    assert len({digest(data) for data in seen}) == len(seen)


def test_json_round_trip(codec: Codec) -> None:
    for data in random_inputs(300, seed=7):
        case = codec.decode(data)
        assert from_json(to_json(case), codec) == case


def test_json_reads_as_the_docstring_says() -> None:
    document = json.loads(to_json(EXAMPLE))
    assert document["format"] == FORMAT
    assert document["settings"] == {"backend": "whole"}
    assert document["model"]["operators"] == [
        {"kind": "read_float", "a": 3},
        {"kind": "scale_scalar"},
    ]
    assert document["steps"][:2] == [
        {"call": 3, "with": {"grad_mode": "no_grad", "scalar": "2.5"}},
        {"event": "set_float_attribute", "target": 0, "value": "3.5"},
    ]


def test_json_in_another_order_is_the_same_case(codec: Codec) -> None:
    document = json.loads(to_json(EXAMPLE))
    turned = dict(reversed(document["steps"][0]["with"].items()))
    document["steps"][0]["with"] = turned
    assert from_json(json.dumps(document), codec) == EXAMPLE


def test_json_may_leave_out_what_is_plain(codec: Codec) -> None:
    text = '{"format": 3, "model": {"operators": [{"kind": "read_float"}]}, "steps": [%s]}'
    case = from_json(text % '{"call": 2}, {"event": "set_float_attribute"}', codec)
    assert case.steps == (Call(2), Event("set_float_attribute", 0, "2.5"))


@pytest.mark.parametrize(
    ("part", "value", "message", "advice"),
    [
        ("format", 2, "format 2", "version of Rondo"),
        ("format", "one", "not a test case as JSON", "looks like"),
        ("title", "x", "unknown field `title`", "looks like"),
        ("model", {"architecture": "mpl"}, "no architecture 'mpl'", "did you mean mlp"),
        ("model", {"operators": [{"kind": "rleu"}]}, "no operator 'rleu'", "relu"),
        ("model", {"width": 16}, "model.width", "looks like"),
        ("settings", {"bakend": "plain"}, "no setting 'bakend'", "backend"),
        ("settings", {"backend": "full"}, "no value of backend 'full'", "plain, whole"),
        ("steps", [{"call": 6}], "batch of 6 (step 1)", "sizes: 0, 1, 2"),
        ("steps", [{"call": 2, "with": {"gradmode": "x"}}], "dimension 'gradmode'", "grad_mode"),
        ("steps", [{"call": 2, "with": {"grad_mode": "x"}}], "grad_mode 'x'", "no_grad"),
        ("steps", [{"call": 2, "with": {"items": "one"}}], "nothing that items", "grad_mode"),
        ("steps", [{"call": 2, "value": "x"}], 'no "target"', "with"),
        ("steps", [{"call": 2}, {"event": "pant"}], "event 'pant' (step 2)", "paint"),
        ("steps", [{"event": "paint", "value": "thrice"}], "value of paint 'thrice'", "twice"),
        ("steps", [{"event": "paint", "with": {}}], 'no "with"', "target"),
        ("steps", [{"event": "paint", "target": 9}], "carrier 9", "correct the JSON"),
        ("steps", [{"event": "set_list", "call": 2}], "either", "call"),
        ("steps", [{}], "either", "call"),
    ],
)
def test_json_that_is_wrong_is_refused_with_advice(
    codec: Codec, part: str, value: object, message: str, advice: str
) -> None:
    document = {"format": FORMAT, part: value}
    with pytest.raises(FormatError) as caught:
        from_json(json.dumps(document), codec)
    assert message in caught.value.what
    assert advice in caught.value.advice


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff\xfe", b'{"model": {}}'])
def test_text_that_is_no_case_is_refused(codec: Codec, text: bytes) -> None:
    with pytest.raises(FormatError, match="not a test case as JSON"):
        from_json(text, codec)
