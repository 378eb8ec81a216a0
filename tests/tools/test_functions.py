"""Functions as tools: what their annotations become, and what arguments reach them."""

import datetime
import enum
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import pytest

from remit import Call, Final, Remit, RemitError, ScriptedPolicy, Toolbox, run


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: int = 0


tools = Toolbox()


@tools.read
def plain(text: str, number: int = 3, *, ratio: float = 0.5) -> list[Any]:
    """Says what it was given."""
    return [text, number, ratio]


@tools.read
def limited(name: Annotated[str, msgspec.Meta(max_length=3)], level: Literal["low", "high"] = "low") -> str:
    return f"{name} {level}"


@tools.read
def typed(on: datetime.date, at: Point, colour: Colour = Colour.RED) -> str:
    assert isinstance(on, datetime.date)
    assert isinstance(at, Point)
    assert isinstance(colour, Colour)
    return f"{on:%d.%m.} {at.x},{at.y} {colour.value}"


@tools.write
def pay(amount: int, *, effect_id: str) -> str:
    return f"{amount} {effect_id}"


@tools.read(
    schema={"type": "object", "properties": {"q": {"$ref": "#/$defs/Q"}}, "required": ["q"], "$defs": {
        "Q": {"type": "object", "properties": {"limit": {"type": "integer"}}, "required": ["limit"]}}}
)  # fmt: skip
def given(**args: Any) -> Any:
    return args


def call(tool: str, args: dict[str, Any] | str) -> tuple[str, str | None, str]:
    remit = Remit(tools=dict.fromkeys(tools, "any"))
    outcome = run("t", policy=ScriptedPolicy([Call(tool, args), Final("x")]), remit=remit, tools=tools, run_id="r")
    seen = outcome.observations[0]
    return seen.status, seen.code, seen.text


@pytest.mark.parametrize(
    ("tool", "args", "then"),
    [
        pytest.param("plain", {"text": "a"}, '["a",3,0.5]', id="defaults are the function's own"),
        pytest.param("plain", {"text": "a", "ratio": 1}, '["a",3,1]', id="a whole number is a number"),
        pytest.param("plain", {"text": "a", "number": 2**80}, f'["a",{2**80},0.5]', id="big integers stay exact"),
        pytest.param("limited", {"name": "abc", "level": "high"}, "abc high", id="constraints that hold"),
        pytest.param("typed", {"on": "2026-02-28", "at": {"x": 1}}, "28.02. 1,0 red", id="types are converted"),
        pytest.param("pay", {"amount": 5}, "5 r.c1", id="the effect id is given, not asked for"),
        pytest.param("given", '{"q": {"limit": 5}}', '{"q":{"limit":5}}', id="a schema of its own"),
    ],
)
def test_arguments_that_fit_reach_the_function(tool: str, args: dict[str, Any] | str, then: str) -> None:
    assert call(tool, args) == ("ok", None, then)


@pytest.mark.guarantee("G2", "G4")
@pytest.mark.parametrize(
    ("tool", "args", "code"),
    [
        ("plain", {}, "args.missing"),
        ("plain", {"text": "a", "colour": "red"}, "args.unexpected"),
        ("plain", {"text": 1}, "args.type"),
        ("plain", {"text": "a", "number": "1"}, "args.type"),
        ("plain", {"text": "a", "number": True}, "args.type"),
        ("plain", {"text": "a", "number": 1.0}, "args.type"),
        ("plain", {"text": None}, "args.type"),
        ("plain", '{"text": "a", "text": "b"}', "args.duplicate_key"),
        ("plain", '"{\\"text\\": \\"a\\"}"', "args.not_object"),
        ("plain", "{'text': 'a'}", "args.malformed"),
        ("plain", '{"text": "a"', "args.truncated"),
        ("limited", {"name": "abcd"}, "args.value"),
        ("limited", {"name": "a", "level": "middle"}, "args.value"),
        ("typed", {"on": "2026-02-30", "at": {"x": 1}}, "args.value"),
        ("typed", {"on": "2026-02-28", "at": {"x": 1.0}}, "args.type"),
        ("pay", {"amount": 5, "effect_id": "mine"}, "args.unexpected"),
        ("given", {"q": {"limit": "5"}}, "args.type"),
        ("given", {"q": {}}, "args.missing"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_under_their_own_name(
    tool: str, args: dict[str, Any] | str, code: str
) -> None:
    status, got, text = call(tool, args)
    assert (status, got) == ("invalid", code)
    assert text.startswith(f"{code}: ")


def test_the_schema_is_the_annotations_and_is_closed() -> None:
    assert tools["plain"].schema == {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "number": {"type": "integer"},
            "ratio": {"type": "number"},
        },
        "required": ["text"],
        "additionalProperties": False,
    }
    assert "effect_id" not in tools["pay"].schema["properties"]
    assert tools["plain"].description == "Says what it was given."


def test_a_registered_function_is_still_a_function() -> None:
    assert plain("a", ratio=1.0) == ["a", 3, 1.0]


def no_annotation(x) -> None: ...  # type: ignore[no-untyped-def]
def several(*xs: int) -> None: ...
def not_json(x: object, y: complex) -> None: ...
def fine(x: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "options", "says"),
    [
        pytest.param(no_annotation, {}, "x: has no annotation", id="a parameter without annotation"),
        pytest.param(several, {}, "xs: a tool takes named arguments only", id="star arguments"),
        pytest.param(not_json, {}, "annotations", id="a type that JSON cannot carry"),
        pytest.param(fine, {"timeout": 0}, "timeout: must be a finite number", id="a timeout of nothing"),
        pytest.param(fine, {"timeout": float("nan")}, "timeout: must be", id="a timeout that is no number"),
        pytest.param(fine, {"poll": 1}, "poll: must be", id="a poll that never repeats"),
        pytest.param(fine, {"idempotent": True}, "idempotent: only a write", id="an idempotent read"),
        pytest.param(fine, {"speed": 3}, "speed: unknown option", id="an unknown option"),
        pytest.param(fine, {"name": "a\nb"}, "name: must be", id="a name with a line break"),
        pytest.param(fine, {"schema": {"type": "objekt"}}, "schema: ", id="a schema that is none"),
        pytest.param(
            fine, {"schema": {"type": "object", "$ref": "https://example.org/x"}}, "schema: ", id="a remote reference"
        ),
    ],
)
def test_a_declaration_that_cannot_be_enforced_is_refused(function: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(RemitError, match=says):
        Toolbox().read(**options)(function)


def test_two_tools_cannot_have_one_name() -> None:
    box = Toolbox()
    box.read(fine)
    with pytest.raises(RemitError, match="another tool has this name"):
        box.write(name="fine")(plain.function)
