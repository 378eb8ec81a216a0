"""Arguments against a schema: strict, with each mistake named by a code and its path."""

from typing import Any

import pytest

from remit.core.validate import ArgumentError, Validator

INTEGER: dict[str, Any] = {"type": "integer"}
NOTE = {
    "type": "object",
    "properties": {"id": INTEGER, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["id"],
    "additionalProperties": False,
}
WHOLE = "is not of type integer (write it without a fraction)"


@pytest.mark.parametrize(
    ("args", "error"),
    [
        pytest.param({"id": 1}, None, id="fits"),
        pytest.param({"id": 2**70}, None, id="an integer beyond 64 bits"),
        pytest.param({"id": -(10**400)}, None, id="an integer beyond any float"),
        pytest.param({}, ("args.missing", '"id" is a required property'), id="missing"),
        pytest.param({"id": True}, ("args.type", 'id: true is not of type "integer"'), id="true is no integer"),
        pytest.param({"id": "1"}, ("args.type", 'id: "1" is not of type "integer"'), id="text is no integer"),
        pytest.param({"id": None}, ("args.type", 'id: null is not of type "integer"'), id="null is no integer"),
        pytest.param({"id": 1.5}, ("args.type", f'id: 1.5 is not of type "integer"; id: 1.5 {WHOLE}'), id="a fraction"),
        pytest.param({"id": 1.0}, ("args.type", f"id: 1.0 {WHOLE}"), id="nor is a float without one"),
        pytest.param({"id": -0.0}, ("args.type", f"id: -0.0 {WHOLE}"), id="nor is minus zero"),
        pytest.param(
            {"id": 1, "colour": "red"},
            ("args.unexpected", "Additional properties are not allowed ('colour' was unexpected)"),
            id="a field too many",
        ),
        pytest.param(
            {"id": 1, "tags": ["a", 5]}, ("args.type", 'tags.1: 5 is not of type "string"'), id="the path leads to it"
        ),
        pytest.param(
            {"id": "a", "tags": [1]},
            ("args.type", 'id: "a" is not of type "integer"; tags.0: 1 is not of type "string"'),
            id="every mistake is told",
        ),
    ],
)
def test_arguments_fit_or_are_told_why_not(args: Any, error: tuple[str, str] | None) -> None:
    assert Validator(NOTE).problem(args) == (None if error is None else ArgumentError(*error))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        pytest.param(INTEGER, 1, id="at the top"),
        pytest.param({"properties": {"a": INTEGER}}, {"a": 1}, id="in a field"),
        pytest.param({"properties": {"type": INTEGER}}, {"type": 1}, id="in a field named like a keyword"),
        pytest.param({"properties": {"enum": INTEGER}}, {"enum": 1}, id="in a field named like one that holds data"),
        pytest.param(
            {"properties": {"properties": {"properties": {"a": INTEGER}}}}, {"properties": {"a": 1}}, id="deeper still"
        ),
        pytest.param({"patternProperties": {"^x": INTEGER}}, {"x1": 1}, id="in a field by pattern"),
        pytest.param({"additionalProperties": INTEGER}, {"a": 1}, id="in any other field"),
        pytest.param({"unevaluatedProperties": INTEGER}, {"a": 1}, id="in a field nothing else looked at"),
        pytest.param({"items": INTEGER}, [1], id="in a list"),
        pytest.param({"prefixItems": [INTEGER]}, [1], id="at a place in a list"),
        pytest.param({"anyOf": [INTEGER, {"type": "null"}]}, 1, id="as one of several"),
        pytest.param({"oneOf": [INTEGER, {"type": "string"}]}, 1, id="as exactly one of several"),
        pytest.param({"allOf": [{"type": "number"}, INTEGER]}, 1, id="as all of several"),
        pytest.param({"type": ["integer", "null"]}, 1, id="in a list of types"),
        pytest.param({"$ref": "#/$defs/n", "$defs": {"n": INTEGER}}, 1, id="behind a reference"),
        pytest.param({"$ref": "#/$defs/const", "$defs": {"const": INTEGER}}, 1, id="behind an awkward name"),
        pytest.param({"if": {"const": 0}, "else": INTEGER}, 1, id="on a condition"),
        pytest.param(
            {"dependentSchemas": {"a": {"properties": {"b": INTEGER}}}}, {"a": 0, "b": 1}, id="beside another"
        ),
        pytest.param({"contains": INTEGER}, [1], id="somewhere in a list"),
    ],
)
def test_an_integer_is_written_without_a_fraction_wherever_it_stands(schema: dict[str, Any], value: Any) -> None:
    def as_float(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: as_float(inner) for key, inner in part.items()}
        return [as_float(inner) for inner in part] if isinstance(part, list) else float(part)

    validator = Validator(schema)
    assert validator.problem(value) is None
    assert validator.problem(as_float(value)) is not None


@pytest.mark.parametrize(
    ("schema", "value", "fits"),
    [
        pytest.param({"type": "number"}, 1.0, True, id="a number may have a fraction"),
        pytest.param({"type": ["integer", "number"]}, 1.5, True, id="either is a number"),
        pytest.param({"const": {"type": "integer"}}, {"type": "integer"}, True, id="data in const is no schema"),
        pytest.param({"enum": [{"type": "integer"}]}, {"type": "integer"}, True, id="data in enum is no schema"),
        pytest.param({"enum": [1]}, True, False, id="true is not 1"),
        pytest.param({"const": 1}, True, False, id="true is not the constant 1"),
        pytest.param({"type": "string", "maxLength": 2}, "é😀", True, id="a length is in characters"),
        pytest.param({"type": "string", "format": "date"}, "2024-02-30", False, id="a format is checked"),
        pytest.param({"type": "integer", "maximum": 2**64}, 2**64 + 1, False, id="bounds of big integers are exact"),
        pytest.param({"type": "integer", "maximum": 2**64}, 2**64, True, id="to the last digit"),
    ],
)
def test_other_rules_are_those_of_the_standard(schema: dict[str, Any], value: Any, fits: bool) -> None:
    assert (Validator(schema).problem(value) is None) == fits


def test_a_mistake_of_another_kind_is_a_wrong_value() -> None:
    found = Validator({"type": "object", "properties": {"n": {"minimum": 0}}}).problem({"n": -1})
    assert found == ArgumentError("args.value", "n: -1 is less than the minimum of 0")


def test_what_is_told_is_bounded() -> None:
    found = Validator({"type": "array", "items": INTEGER}).problem(["x" * 10_000] * 100)
    assert found is not None
    assert len(found.text) < 3_000


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"$ref": "https://example.com/a.json"}, id="a reference over the network"),
        pytest.param({"$ref": "file:///etc/hostname"}, id="a reference to a file"),
        pytest.param({"$dynamicRef": "https://example.com/a"}, id="a dynamic one"),
        pytest.param({"$id": "https://example.com/a", "items": {"$ref": "b.json"}}, id="a relative one"),
        pytest.param({"$ref": "#/$defs/nowhere"}, id="a reference to nothing"),
        pytest.param({"type": "whole"}, id="an unknown type"),
        pytest.param({"properties": []}, id="fields that are no object"),
        pytest.param({"minLength": -1}, id="a length below zero"),
        pytest.param({"pattern": "("}, id="a pattern that is none"),
        pytest.param({"pattern": "(?=a)a"}, id="a pattern that looks ahead"),
        pytest.param({"pattern": r"(a)\1"}, id="a pattern that looks back"),
    ],
)
def test_a_schema_that_cannot_be_checked_here_and_in_linear_time_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a JSON Schema 2020-12 that can be checked offline"):
        Validator(schema)


def test_a_pattern_takes_time_in_proportion_to_the_text() -> None:
    """An engine that tries one way after the other would not come back before the universe ends."""
    assert Validator({"pattern": "^(a|a|aa)+$"}).problem("a" * 20_000 + "b") is not None


def test_the_schema_that_was_given_is_left_as_it_was() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    Validator(schema)
    assert schema == {"type": "object", "properties": {"a": {"type": "integer"}}}
