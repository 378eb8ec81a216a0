"""The remit: every mistake is told at once by its key path, and what was written down cannot be changed later."""

from types import MappingProxyType
from typing import Any

import pytest

from remit import Remit, Toolbox
from remit.core.canon import encode
from remit.core.remit import Stuck, callable_name, load, mismatches, problems
from remit.core.rules import Rules
from remit.errors import Invalid
from tests.core.given import TOOLS

ONE: dict[str, Any] = {"tools": {"look": "any"}}
WHOLE = "must be a whole number of at least"


def a_check(answer: object) -> bool:
    return True


@pytest.mark.parametrize(
    ("document", "found"),
    [
        pytest.param(
            {}, ['tools: missing; name what the agent may use, for example tools = {lookup = "any"}'], id="empty"
        ),
        pytest.param({"tools": []}, ["tools: must be a table, not []"], id="tools that are a list"),
        pytest.param({"tools": "any"}, ["tools: must be a table, not 'any'"], id="tools that are one word"),
        pytest.param({"tools": {5: "any"}}, ["tools: 5 must be text"], id="a tool that is a number"),
        pytest.param(
            {"tools": {"a": "all", "b": {"x": "some"}, "c": {"x": 5}}},
            [
                "tools.a: must be \"any\" or a table of arguments, not 'all'",
                "tools.b.x: must be \"any\" or a list of exact values, not 'some'",
                'tools.c.x: must be "any" or a list of exact values, not 5',
            ],
            id="scopes, each by its path",
        ),
        pytest.param(
            {"tools": {"a": {"x": [1, float("nan")]}}},
            [
                "tools.a.x[1]: is not a JSON value: use only dict with text keys, list, str, int, finite float, "
                "bool, None"
            ],
            id="a value that is not JSON, by its place",
        ),
        pytest.param({**ONE, "turns": 0}, [f"turns: {WHOLE} 1, not 0"], id="no turns"),
        pytest.param({**ONE, "turns": True}, [f"turns: {WHOLE} 1, not True"], id="true turns"),
        pytest.param({**ONE, "turns": 1.0}, [f"turns: {WHOLE} 1, not 1.0"], id="turns with a fraction"),
        pytest.param({**ONE, "turns": "3"}, [f"turns: {WHOLE} 1, not '3'"], id="turns as text"),
        pytest.param({**ONE, "calls": -1}, [f"calls: {WHOLE} 0, not -1"], id="fewer than no calls"),
        pytest.param({**ONE, "max_refusals": None}, [f"max_refusals: {WHOLE} 0, not None"], id="not liftable"),
        pytest.param({**ONE, "max_invalid": 0}, [f"max_invalid: {WHOLE} 1, not 0"], id="no invalid replies"),
        pytest.param({**ONE, "result_bytes": 255}, [f"result_bytes: {WHOLE} 256, not 255"], id="too few bytes"),
        pytest.param(
            {**ONE, "seconds": float("inf")},
            ["seconds: must be a finite number greater than 0, not inf"],
            id="for ever",
        ),
        pytest.param({**ONE, "seconds": 0}, ["seconds: must be a finite number greater than 0, not 0"], id="no time"),
        pytest.param(
            {**ONE, "wall_seconds": False},
            ["wall_seconds: must be a finite number greater than 0, not False"],
            id="time that is false",
        ),
        pytest.param(
            {**ONE, "turn": 5}, ["turn: unknown key `turn`; did you mean turns or last_turn?"], id="a near name"
        ),
        pytest.param(
            {**ONE, "stuck": {"rul": "plain", "threshold": 0}},
            ["stuck.rul: unknown key `rul`; did you mean rule?", f"stuck.threshold: {WHOLE} 2, not 0"],
            id="two mistakes in one table",
        ),
        pytest.param(
            {**ONE, "stuck": {"rule": "progress", "threshold": 1}},
            [f"stuck.threshold: {WHOLE} 2, not 1"],
            id="too eager",
        ),
        pytest.param({**ONE, "stuck": {"rule": "plain", "threshold": 1}}, [], id="but not for the plain rule"),
        pytest.param(
            {**ONE, "gates": {"look": "maybe"}},
            ["gates.look: must be 'allow' or 'hold' or 'deny', not 'maybe'"],
            id="a gate ajar",
        ),
        pytest.param(
            {**ONE, "on_refusal": "ask"},
            ["on_refusal: must be 'stop' or 'continue', not 'ask'"],
            id="another way to go on",
        ),
        pytest.param({**ONE, "last_turn": 1}, ["last_turn: must be True or False, not 1"], id="1 is not true"),
        pytest.param(
            {**ONE, "last_turn": True, "turns": None},
            ["last_turn: needs a limit on turns, of which it is the last"],
            id="the last of no limit",
        ),
        pytest.param(
            {**ONE, "parallel": "in_order"}, ["parallel: must be 'refuse', not 'in_order'"], id="not built yet"
        ),
        pytest.param(
            {**ONE, "checks": ["cites", "site", {"command": []}, {"file": "a", "sha256": "zz"}, {"url": "x"}]},
            [
                'checks[1]: must be "cites", "effect", {command = […]}, {file = …} or a callable, not \'site\'',
                "checks[2].command: must be a list of texts, the program first, not []",
                "checks[3].sha256: must be 64 lower-case hex digits, not 'zz'",
                "checks[4]: must have `command` or `file`",
            ],
            id="checks, each by its place",
        ),
        pytest.param(
            {**ONE, "checks": "cites"}, ["checks: must be a list of checks, not 'cites'"], id="one check alone"
        ),
    ],
)
def test_every_mistake_is_told_by_its_key_path(document: dict[str, Any], found: list[str]) -> None:
    assert problems(document) == found


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({**ONE, "turns": 10**400}, id="turns beyond any run"),
        pytest.param({**ONE, "turns": 10**5000}, id="turns with more digits than Python writes"),
        pytest.param({**ONE, "seconds": 10**400}, id="seconds beyond a float"),
        pytest.param({"tools": {}, 7: 1}, id="a key that is a number"),
        pytest.param({**ONE, "stuck": {5: 1}}, id="a key inside that is a number"),
        pytest.param({**ONE, "checks": [{1: 2}]}, id="a check with such a key"),
        pytest.param({**ONE, "checks": [{"command": ["\ud800"]}]}, id="a lone surrogate in a command"),
        pytest.param({"tools": {"\ud800": "any"}}, id="a lone surrogate in a name"),
        pytest.param({"tools": {"a": {"\ud800": "any"}}}, id="a lone surrogate in an argument"),
        pytest.param(None, id="none"),
        pytest.param([], id="a list"),
        pytest.param("tools", id="a text"),
    ],
)
def test_whatever_is_given_is_told_and_never_a_traceback(document: Any) -> None:
    with pytest.raises(Invalid) as told:
        load(document)
    assert told.value.problems
    assert told.value.exit_code == 2


@pytest.mark.guarantee("G12")
def test_no_remit_no_run() -> None:
    with pytest.raises(TypeError):
        Remit()  # type: ignore[call-arg]
    with pytest.raises(Invalid) as told:
        Remit(tools={}, turns=0, calls=True)
    assert told.value.problems == [f"turns: {WHOLE} 1, not 0", f"calls: {WHOLE} 0, not True"]
    assert str(told.value).startswith("remit: 2 problems\n  turns: ")


def test_what_is_not_written_has_a_finite_limit() -> None:
    remit = Remit(tools={})
    limits = (remit.turns, remit.calls, remit.seconds, remit.wall_seconds, remit.result_bytes)
    assert limits == (20, 50, 600.0, 7_776_000.0, 51_200)
    assert (remit.on_refusal, remit.max_refusals, remit.max_invalid, remit.parallel) == ("stop", 3, 3, "refuse")


@pytest.mark.parametrize("word", ["none", None])
@pytest.mark.parametrize("key", ["turns", "calls", "seconds", "wall_seconds", "result_bytes"])
def test_a_limit_is_lifted_only_where_that_is_written(key: str, word: Any) -> None:
    assert getattr(load({**ONE, key: word}), key) is None


def test_only_the_word_none_lifts_a_limit_and_only_a_limit() -> None:
    with pytest.raises(Invalid):
        load({**ONE, "turns": "None"})
    with pytest.raises(Invalid):
        load({**ONE, "max_invalid": "none"})


FULL = Remit(
    tools={"look": {"id": [1, 2.5, None, "a"], "note": "any"}, "pay": "any"},
    turns=None,
    calls=7,
    calls_per_tool={"pay": 1},
    seconds=1.5,
    gates={"pay": "hold"},
    on_refusal="continue",
    last_turn=False,
    stuck=Stuck(rule="plain", threshold=3),
    checks=["cites", {"command": ["make"], "timeout": 5}, {"file": "a", "exists": True}, a_check],
)


def test_the_document_gives_the_remit_back() -> None:
    again = load(FULL.document)
    assert again.document == FULL.document
    assert again.digest(TOOLS) == FULL.digest(TOOLS)
    assert FULL.document["checks"][-1] == {"callable": callable_name(a_check)}


@pytest.mark.parametrize(
    "same",
    [
        pytest.param(Remit(tools={"a": {"x": ("1", "2")}}, checks=(("cites"),)), id="tuples"),
        pytest.param(
            Remit(tools=MappingProxyType({"a": MappingProxyType({"x": ["1", "2"]})}), checks=["cites"]), id="views"
        ),
    ],
)
def test_a_remit_is_what_it_says_and_not_how_it_was_built(same: Remit) -> None:
    plain = Remit(tools={"a": {"x": ["1", "2"]}}, checks=["cites"])
    assert same.document == plain.document
    assert same.digest(TOOLS) == plain.digest(TOOLS)
    assert Rules(same).scopes == Rules(plain).scopes


@pytest.mark.guarantee("G12")
def test_what_its_maker_changes_later_changes_nothing() -> None:
    tools: dict[str, Any] = {"look": {"id": [1]}}
    gates: dict[str, Any] = {"look": "hold"}
    remit = Remit(tools=tools, gates=gates)
    before = encode(remit.document)
    tools["pay"] = "any"
    tools["look"]["id"].append(2)
    gates.clear()
    assert encode(remit.document) == before
    assert Rules(remit).scopes == {"look": {"id": frozenset([b"1"])}}
    assert (set(remit.tools), dict(remit.gates)) == ({"look"}, {"look": "hold"})
    with pytest.raises(TypeError):
        remit.tools["pay"] = "any"  # type: ignore[index]
    with pytest.raises(AttributeError):
        remit.turns = 99  # type: ignore[misc]


def box(**options: Any) -> Toolbox:
    made = Toolbox()

    def look(id: int) -> str:
        return ""

    made.write(**options)(look)
    return made


@pytest.mark.guarantee("G3")
@pytest.mark.parametrize(
    ("options", "same"),
    [
        pytest.param({}, True, id="the same tool"),
        pytest.param({"description": "other words"}, True, id="other words for it"),
        pytest.param({"consequential": True}, False, id="of consequence"),
        pytest.param({"idempotent": True}, False, id="idempotent"),
        pytest.param({"poll": 5}, False, id="to be polled"),
        pytest.param({"schema": {"type": "object"}}, False, id="with another schema"),
    ],
)
def test_the_digest_covers_what_the_tools_declare(options: Any, same: bool) -> None:
    remit = Remit(tools={"look": "any"})
    assert (remit.digest(box(**options)) == remit.digest(box())) is same


def test_the_digest_covers_every_key_of_the_remit() -> None:
    changes: dict[str, Any] = {
        "tools": {"look": {"id": [1]}}, "turns": 1, "calls": 1, "calls_per_tool": {"look": 1}, "seconds": 1.0,
        "wall_seconds": 1.0, "gates": {"look": "deny"}, "on_refusal": "continue", "max_refusals": 1, "max_invalid": 1,
        "last_turn": True, "stuck": Stuck(threshold=9), "checks": ["cites"], "result_bytes": 300,
    }  # fmt: skip
    assert set(changes) == set(Remit.__struct_fields__) - {"parallel"}  # which has only one value yet
    digests = {Remit(**{**ONE, key: value}).digest(TOOLS) for key, value in changes.items()}
    assert len(digests | {Remit(**ONE).digest(TOOLS)}) == len(changes) + 1


@pytest.mark.guarantee("G12")
@pytest.mark.parametrize(
    ("limits", "found"),
    [
        pytest.param({"tools": {"look": {"id": [1]}, "pay": "any"}}, [], id="all is there"),
        pytest.param({"tools": {"lok": "any"}}, ["tools.lok: unknown tool `lok`; did you mean look?"], id="a tool"),
        pytest.param(
            {"tools": {"zzz": "any"}},
            ["tools.zzz: unknown tool `zzz`; known: fetch, look, pay, ship, wait"],
            id="nothing near",
        ),
        pytest.param(
            {"tools": {"look": {"ids": [1]}}},
            ["tools.look.ids: unknown argument `ids`; did you mean id?"],
            id="an argument",
        ),
        pytest.param(
            {"tools": {"look": "any"}, "gates": {"pai": "deny", "pay": "deny"}, "calls_per_tool": {"loook": 1}},
            [
                "calls_per_tool.loook: unknown tool `loook`; did you mean look?",
                "gates.pai: unknown tool `pai`; did you mean pay?",
            ],
            id="a limit or a gate for what is no tool",
        ),
    ],
)
def test_a_remit_names_only_what_its_tools_have(limits: Any, found: list[str]) -> None:
    assert mismatches(Remit(**limits), TOOLS) == found


def test_a_scope_may_name_any_argument_of_an_open_schema() -> None:
    assert mismatches(Remit(tools={"look": {"x": "any"}}), box(schema={"type": "object"})) == []
