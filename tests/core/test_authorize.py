"""Scopes: deny by default; exact names and exact values; each refusal names its rule (G12)."""

from typing import Any

import pytest

from remit import Call, Remit, ScriptedPolicy, Toolbox, run
from remit.core.authorize import authorize
from remit.core.events import Ended, Refused
from remit.core.fold import fold
from remit.core.rules import Rules
from remit.core.spec import ToolSpec
from remit.stores.memory import MemoryStore
from tests.core.given import begun, says

BIG = 9_007_199_254_740_993


@pytest.mark.guarantee("G12")
@pytest.mark.parametrize(
    ("scope", "args", "rule"),
    [
        pytest.param("any", {}, None, id="any arguments: none"),
        pytest.param("any", {"id": 1, "x": [1]}, None, id="any arguments: some"),
        pytest.param({"id": "any"}, {"id": "anything"}, None, id="any value"),
        pytest.param({"id": "any"}, {}, None, id="any value may be left out"),
        pytest.param({"id": [1, 2]}, {"id": 2}, None, id="one of the values"),
        pytest.param({"id": [1]}, {"id": 3}, "scope.t.id", id="not one of the values"),
        pytest.param({"id": [1]}, {"id": True}, "scope.t.id", id="true is not 1"),
        pytest.param({"id": [1]}, {"id": 1.0}, "scope.t.id", id="1.0 is not 1"),
        pytest.param({"id": [1]}, {"id": "1"}, "scope.t.id", id="text is not a number"),
        pytest.param({"id": [0.0]}, {"id": -0.0}, "scope.t.id", id="minus zero is not zero"),
        pytest.param({"id": [False]}, {"id": 0}, "scope.t.id", id="zero is not false"),
        pytest.param({"id": [BIG]}, {"id": BIG}, None, id="a big integer to the last digit"),
        pytest.param({"id": [BIG]}, {"id": BIG - 1}, "scope.t.id", id="the next big integer is another"),
        pytest.param({"id": ["A"]}, {"id": "a"}, "scope.t.id", id="case matters"),
        pytest.param({"id": ["é"]}, {"id": "e\u0301"}, "scope.t.id", id="so does how a letter is made"),
        pytest.param({"id": ["a"]}, {"id": "a "}, "scope.t.id", id="so does a space"),
        pytest.param({"id": ["*"]}, {"id": "a"}, "scope.t.id", id="a star is a star"),
        pytest.param({"id": [[1, 2]]}, {"id": [1, 2]}, None, id="a whole list as one value"),
        pytest.param({"id": [[1, 2]]}, {"id": 1}, "scope.t.id", id="its members are other values"),
        pytest.param({"id": [{"a": 1, "b": 2}]}, {"id": {"b": 2, "a": 1}}, None, id="an object in any order"),
        pytest.param({"id": [None]}, {"id": None}, None, id="null, where it is written"),
        pytest.param({"id": []}, {"id": 1}, "scope.t.id", id="no value at all"),
        pytest.param({"id": [1]}, {}, "scope.t.id", id="what is limited must be given"),
        pytest.param({"id": [1]}, {"id": 1, "x": 1}, "scope.t", id="an argument that is not written"),
        pytest.param({}, {}, None, id="no arguments, and none permitted"),
        pytest.param({}, {"id": 1}, "scope.t", id="an argument where none is permitted"),
        pytest.param({"id": [1], "to": ["x"]}, {"id": 1, "to": "y"}, "scope.t.to", id="every limit counts"),
    ],
)
def test_a_scope_permits_what_is_written_and_nothing_else(scope: Any, args: dict[str, Any], rule: str | None) -> None:
    refused = authorize(Rules(Remit(tools={"t": scope})), "c1", "t", args)
    assert (refused and refused.rule) == rule


@pytest.mark.guarantee("G12")
@pytest.mark.parametrize("tool", ["other", "T", "t ", " t", "tt", "", "*", "any"])
def test_a_tool_that_the_remit_does_not_name_is_refused(tool: str) -> None:
    assert authorize(Rules(Remit(tools={"t": "any"})), "c1", tool, {}) == Refused(
        call="c1", rule="scope", reason=f"the remit does not name the tool `{tool}`"
    )


@pytest.mark.guarantee("G12")
def test_no_tool_is_permitted_where_none_is_named() -> None:
    assert authorize(Rules(Remit(tools={})), "c1", "t", {}) is not None


@pytest.mark.guarantee("G12")
def test_a_refusal_says_what_was_asked_for_and_what_limits_it() -> None:
    state = begun(tools={"look": {"id": [1]}})
    says(state, Call("look", {"id": 2}))
    assert state.observations[0].text == "scope.look.id: 2 is not among the values permitted for `id`"


@pytest.mark.guarantee("G12")
def test_of_a_tool_that_is_not_permitted_not_even_the_schema_is_told() -> None:
    box = Toolbox()

    @box.read
    def hidden(secret_name: str) -> str:
        return secret_name

    @box.read
    def shown() -> str:
        return ""

    state = begun(box, tools={"shown": "any"})
    says(state, Call("hidden", {"x": 1}), tools=box)
    (seen,) = state.observations
    assert (seen.status, seen.text) == ("refused", "scope: the remit does not name the tool `hidden`")


@pytest.mark.guarantee("G7", "G12")
@pytest.mark.parametrize(
    ("limits", "proposals", "then"),
    [
        pytest.param({}, 1, ("denied", "scope: the remit does not name the tool `pay`"), id="a refusal ends the run"),
        pytest.param({"on_refusal": "continue"}, 3, None, id="or is told to the policy, at most max_refusals times"),
        pytest.param(
            {"on_refusal": "continue"},
            4,
            ("denied", "scope: the remit does not name the tool `pay`"),
            id="then it ends",
        ),
        pytest.param({"on_refusal": "continue", "max_refusals": 0}, 1, ("denied", None), id="none may be enough"),
    ],
)
def test_a_refusal_ends_the_run_or_is_told(limits: Any, proposals: int, then: tuple[str, str | None] | None) -> None:
    state = begun(tools={"look": "any"}, **limits)
    for _ in range(proposals):
        assert state.halt is None
        says(state, Call("pay", {"amount": 1}))
    halt = state.halt and (state.halt.status, state.halt.reason if then and then[1] else None)
    assert (halt, state.refusals) == (then, proposals)


@pytest.mark.guarantee("G12")
def test_a_guard_that_breaks_blocks_the_call_and_is_raised() -> None:
    def breaks(args: object) -> None:
        raise ZeroDivisionError("a bug in the guard")

    ran: list[str] = []
    box, store = Toolbox(), MemoryStore()

    @box.read
    def look() -> str:
        ran.append("look")
        return ""

    broken = Toolbox()
    schema = box["look"].schema
    broken.add(ToolSpec(name="look", effect="read", schema=schema, problem=breaks), box.runners["look"])
    with pytest.raises(ZeroDivisionError):
        run("t", policy=ScriptedPolicy([Call("look")]), remit=Remit(tools={"look": "any"}), tools=broken, store=store,
            run_id="r1")  # fmt: skip
    state = fold("r1", store.read("r1"))
    assert ran == []
    assert [(o.status, o.text) for o in state.observations] == [
        ("not_run", "not run: ZeroDivisionError: a bug in the guard")
    ]
    assert state.ended == Ended(status="failed", reason="ZeroDivisionError: a bug in the guard")
