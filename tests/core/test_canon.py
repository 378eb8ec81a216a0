"""The door for values (G2): one canonical JSON for each value, and a named refusal for what has none."""

import json
from collections import OrderedDict
from decimal import Decimal
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.core.canon import GENESIS, MAX_BYTES, MAX_DEPTH, NotCanonical, admit, chain, digest, encode, parse

TEXT = st.text(st.characters(codec="utf-8"))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=20)
OBJECTS = st.dictionaries(TEXT, VALUES)


def nested(levels: int, inside: str = "") -> str:
    return "[" * levels + inside + "]" * levels


@pytest.mark.guarantee("G2")
@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        pytest.param('{"b":1,"a":2}', '{"a":2,"b":1}', id="keys are sorted"),
        pytest.param(
            '{"Z":1,"a":2,"é":3,"😀":4,"\\uffff":5}', '{"Z":1,"a":2,"é":3,"\uffff":5,"😀":4}', id="by code point"
        ),
        pytest.param(' { "a" : [ 1 , 2 ] } ', '{"a":[1,2]}', id="white space goes"),
        pytest.param('{"b":{"d":1,"c":2},"a":3}', '{"a":3,"b":{"c":2,"d":1}}', id="keys are sorted at every depth"),
        pytest.param('"\\u0061\\/\\u00e9"', '"a/é"', id="an escape that is not needed goes"),
        pytest.param('"\\ud83d\\ude00"', '"😀"', id="a surrogate pair is one character"),
        pytest.param('"\\u0000\\u001f"', '"\\u0000\\u001f"', id="controls stay escaped"),
        pytest.param('"e\\u0301"', '"e\u0301"', id="no normalization: what is sent is what runs"),
        pytest.param("1", "1", id="one"),
        pytest.param("1.0", "1.0", id="one as a float"),
        pytest.param("true", "true", id="true"),
        pytest.param("1E2", "100.0", id="a float has one form"),
        pytest.param("-0.0", "-0.0", id="minus zero keeps its sign"),
        pytest.param("9007199254740993", "9007199254740993", id="beyond a double's integers"),
        pytest.param("18446744073709551616", "18446744073709551616", id="beyond 64 bits"),
        pytest.param("-" + "9" * 4000, "-" + "9" * 4000, id="beyond any machine's integers"),
        pytest.param("1e-400", "0.0", id="what is nearest to zero is zero"),
        pytest.param(nested(MAX_DEPTH), nested(MAX_DEPTH), id="as deep as may be"),
        pytest.param('"' + "[{" * 200 + '"', '"' + "[{" * 200 + '"', id="brackets in a text are no depth"),
        pytest.param(
            nested(60, '"' + '\\"[' * 40 + '"'), nested(60, '"' + '\\"[' * 40 + '"'), id="nor after an escaped quote"
        ),
        pytest.param(
            '["\\\\",' + nested(60) + "]", '["\\\\",' + nested(60) + "]", id="a backslash escapes one character"
        ),
        pytest.param("[" + "[]," * 100 + "1]", "[" + "[]," * 100 + "1]", id="many side by side are not deep"),
    ],
)
def test_text_has_one_canonical_form(text: str, canonical: str) -> None:
    raw, value = parse(text)
    assert raw.decode() == canonical
    assert parse(text.encode()) == parse(raw) == (raw, value)


TOO_LONG = '"' + "x" * (MAX_BYTES - 1) + '"'


@pytest.mark.guarantee("G2")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param('{"a":1,"a":1}', "args.duplicate_key", id="a key twice, even with one value"),
        pytest.param('{"a":1,"\\u0061":2}', "args.duplicate_key", id="a key twice, once escaped"),
        pytest.param('{"x":[0,{"y":{"a":1,"b":2,"a":3}}]}', "args.duplicate_key", id="a key twice, deep inside"),
        pytest.param('{"":1,"":2}', "args.duplicate_key", id="the empty key twice"),
        pytest.param('{"a":NaN}', "args.not_json", id="NaN"),
        pytest.param('{"a":Infinity}', "args.not_json", id="infinity"),
        pytest.param("[-Infinity]", "args.not_json", id="minus infinity"),
        pytest.param("[1e400]", "args.number_range", id="a number beyond a double"),
        pytest.param("[-1e400]", "args.number_range", id="a number below a double"),
        pytest.param('{"a":"\\ud800"}', "args.surrogate", id="an escaped high surrogate alone"),
        pytest.param('{"a":"\\udc00"}', "args.surrogate", id="an escaped low surrogate alone"),
        pytest.param('{"a":"\\ud800\\ud800"}', "args.surrogate", id="two high surrogates"),
        pytest.param('{"a":"\\udc00\\ud800"}', "args.surrogate", id="a pair in the wrong order"),
        pytest.param('{"\\ud800":1}', "args.surrogate", id="an escaped surrogate in a key"),
        pytest.param('{"a":"\ud800"}', "args.surrogate", id="a raw surrogate"),
        pytest.param(nested(MAX_DEPTH + 1), "args.too_deep", id="one level too deep"),
        pytest.param(nested(100_000), "args.too_deep", id="far too deep"),
        pytest.param('{"a":' * 65 + "1" + "}" * 65, "args.too_deep", id="objects one level too deep"),
        pytest.param("[" * 100, "args.too_deep", id="too deep, and cut off"),
        pytest.param(TOO_LONG, "args.too_large", id="one byte too large"),
        pytest.param('"' + "é" * (MAX_BYTES // 2) + '"', "args.too_large", id="the limit is in bytes"),
        pytest.param('{"a":1}}', "args.malformed", id="a bracket too many"),
        pytest.param('{"a":1} {"b":2}', "args.malformed", id="two values"),
        pytest.param("{'a':1}", "args.malformed", id="single quotes"),
        pytest.param("{a:1}", "args.malformed", id="a bare key"),
        pytest.param('{"path": n.md"}', "args.malformed", id="a quote that is missing"),
        pytest.param('{"a": n"}', "args.malformed", id="a literal that is none"),
        pytest.param("[nul]", "args.malformed", id="a literal too short"),
        pytest.param("[1,]", "args.malformed", id="a comma too many"),
        pytest.param("[01]", "args.malformed", id="a leading zero"),
        pytest.param("[+1]", "args.malformed", id="a plus sign"),
        pytest.param("[1.]", "args.malformed", id="no digits after the point"),
        pytest.param("[.5]", "args.malformed", id="no digits before the point"),
        pytest.param("[True]", "args.malformed", id="a Python literal"),
        pytest.param('"a\nb"', "args.malformed", id="a raw control in a text"),
        pytest.param('{"a":1}//c', "args.malformed", id="a comment"),
        pytest.param('"\\x41"', "args.malformed", id="an escape JSON does not have"),
        pytest.param('{"a":"b', "args.truncated", id="cut inside a text"),
        pytest.param('{"a":', "args.truncated", id="cut before a value"),
        pytest.param("[" + "9" * 5000 + "]", "args.not_json", id="more digits than Python reads"),
    ],
)
def test_text_without_a_canonical_form_is_refused_by_name(text: str, code: str) -> None:
    with pytest.raises(NotCanonical) as refused:
        parse(text)
    assert refused.value.code == code
    assert "\n" not in str(refused.value)


@pytest.mark.guarantee("G2")
@pytest.mark.parametrize("text", ["\ufeff{}", '\ufeff{"a":1}', "1\0"], ids=ascii)
def test_text_that_only_another_encoding_would_excuse_is_malformed(text: str) -> None:
    with pytest.raises(NotCanonical) as refused:
        parse(text)
    assert refused.value.code == "args.malformed"


@pytest.mark.guarantee("G2")
@pytest.mark.parametrize("data", [b'{"a":"\xff"}', b'"\xed\xa0\x80"', b'"\xc0\x80"', '"é"'.encode("latin-1")])
def test_bytes_that_are_not_utf_8_are_refused(data: bytes) -> None:
    with pytest.raises(NotCanonical) as refused:
        parse(data)
    assert refused.value.code == "args.not_utf8"


@pytest.mark.guarantee("G2")
def test_text_at_the_limit_of_size_is_admitted() -> None:
    text = TOO_LONG[:-2] + '"'
    assert len(text) == MAX_BYTES
    assert parse(text)[0] == text.encode()


WHOLE = '{"a": [1.5e-3, true, false, null, "x\\u00e9\\n\\ud83d\\ude00é"], "b": {"c": -12.25E+3, "d\\\\": "\\""}}'


@pytest.mark.guarantee("G2")
@pytest.mark.parametrize("length", range(1, len(WHOLE)))
def test_text_cut_anywhere_is_called_cut(length: int) -> None:
    parse(WHOLE)
    with pytest.raises(NotCanonical) as refused:
        parse(WHOLE[:length])
    assert refused.value.code == "args.truncated"


class Level(IntEnum):
    HIGH = 3


class Word(str):
    pass


@pytest.mark.guarantee("G2")
@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        pytest.param({"b": 1, "a": [None, True]}, b'{"a":[null,true],"b":1}', id="plain data"),
        pytest.param(OrderedDict(b=1, a=2), b'{"a":2,"b":1}', id="a dict of another kind"),
        pytest.param({"n": 2**70}, b'{"n":1180591620717411303424}', id="a big integer"),
        pytest.param([1, 1.0, True, -0.0], b"[1,1.0,true,-0.0]", id="four values that Python calls two"),
        pytest.param(Level.HIGH, b"3", id="a named integer"),
    ],
)
def test_a_python_value_is_admitted_as_a_private_copy(value: Any, canonical: bytes) -> None:
    raw, copy = admit(value)
    assert (raw, copy) == (canonical, parse(canonical)[1])
    assert copy is not value or isinstance(copy, int)


@pytest.mark.guarantee("G2")
def test_what_is_done_to_the_value_later_does_not_reach_the_copy() -> None:
    inner = ["a"]
    raw, copy = admit({"x": inner})
    inner.append("b")
    assert (raw, copy) == (b'{"x":["a"]}', {"x": ["a"]})


class Unsound:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def _circle() -> list[Any]:
    circle: list[Any] = []
    circle.append(circle)
    return circle


@pytest.mark.guarantee("G2")
@pytest.mark.parametrize(
    ("value", "code"),
    [
        pytest.param(float("nan"), "args.not_json", id="NaN"),
        pytest.param({"a": [float("inf")]}, "args.not_json", id="infinity inside"),
        pytest.param((1, 2), "args.not_json", id="a tuple"),
        pytest.param({"a": {1, 2}}, "args.not_json", id="a set"),
        pytest.param({1: "a"}, "args.not_json", id="a key that is a number"),
        pytest.param({"a": {None: 1}}, "args.not_json", id="a key that is none"),
        pytest.param(b"bytes", "args.not_json", id="bytes"),
        pytest.param([Word("a")], "args.not_json", id="a text of another kind"),
        pytest.param(Decimal("1.5"), "args.not_json", id="a decimal"),
        pytest.param(object(), "args.not_json", id="any object"),
        pytest.param({"a": Unsound()}, "args.not_json", id="an object that equals everything"),
        pytest.param(10**5000, "args.not_json", id="more digits than Python writes"),
        pytest.param("\ud800", "args.surrogate", id="a lone surrogate"),
        pytest.param({"\udfff": 1}, "args.surrogate", id="a lone surrogate in a key"),
        pytest.param(_circle(), "args.too_deep", id="a list that holds itself"),
        pytest.param(json.loads(nested(MAX_DEPTH + 1)), "args.too_deep", id="one level too deep"),
        pytest.param("x" * (MAX_BYTES - 1), "args.too_large", id="one byte too large"),
    ],
)
def test_a_python_value_that_is_not_json_is_refused_by_name(value: object, code: str) -> None:
    with pytest.raises(NotCanonical) as refused:
        admit(value)
    assert refused.value.code == code


@pytest.mark.guarantee("G2")
def test_a_python_value_at_both_limits_is_admitted() -> None:
    assert admit(json.loads(nested(MAX_DEPTH)))[0] == nested(MAX_DEPTH).encode()
    assert len(admit("x" * (MAX_BYTES - 2))[0]) == MAX_BYTES


@pytest.mark.guarantee("G2")
@given(VALUES)
def test_canonical_text_is_its_own_canonical_text(value: Any) -> None:
    raw, copy = admit(value)
    assert parse(raw) == (raw, copy)
    assert admit(copy) == (raw, copy)
    assert parse(raw.decode()) == (raw, copy)


@pytest.mark.guarantee("G2")
@given(VALUES)
def test_however_a_value_is_written_it_is_one_value(value: Any) -> None:
    """Another writer, with its own escapes, spaces and order of keys, changes nothing: the digest is the same."""
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)):
        assert parse(text) == admit(value)


@pytest.mark.guarantee("G2")
@given(VALUES, VALUES)
def test_two_values_share_a_canonical_text_only_if_they_are_one(one: Any, other: Any) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (encode(one) == encode(other)) == same


@pytest.mark.guarantee("G2")
@given(OBJECTS)
def test_only_the_order_of_keys_may_differ_from_what_was_sent(value: dict[str, Any]) -> None:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    raw, copy = parse(text)
    assert copy == value
    assert list(copy) == list(value)
    assert json.loads(raw) == json.loads(text)


@pytest.mark.guarantee("G2")
@given(st.text(alphabet='{}[]",:\\u0eE+-.1tfnd8 a\0\ud800\ufeff'))
def test_any_text_is_admitted_or_refused_and_never_anything_else(text: str) -> None:
    try:
        raw, value = parse(text)
    except NotCanonical:
        return
    assert (raw, value) == parse(raw)
    assert json.loads(text) == value


@pytest.mark.guarantee("G9")
def test_a_record_s_digest_depends_on_each_part_of_it() -> None:
    whole = (GENESIS, "r1", 1, 5, b"[]")
    others = [
        (digest_of, run, seq, at, events)
        for digest_of in (GENESIS, b"\1" * 32)
        for run in ("r1", "r2")
        for seq in (1, 2)
        for at in (5, 6)
        for events in (b"[]", b"[{}]")
    ]
    assert len({chain(*other) for other in others}) == len(others) == 32
    assert chain(*whole) in {chain(*other) for other in others}


def test_a_digest_names_its_algorithm() -> None:
    assert digest(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
