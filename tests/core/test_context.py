"""What a policy is shown: everything that it needs, and nothing by which it could change the run (G11, G12)."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from remit import Call, Context, Final, Remit, Reply, Toolbox, ToolError, run
from remit.core.context import context, permitted
from remit.core.run import Notice, Observation, Run, View
from remit.runtime.ports import Decision, HeldCall
from tests.core.given import ANY, TOOLS, begun, runs, says

BROKEN = (AttributeError, TypeError, ValueError)


def shown(state: Run, turn: int = 1) -> Context:
    return context(state, turn, permitted(state.remit, TOOLS))


def test_the_context_is_the_task_what_happened_and_what_is_left() -> None:
    state = begun(turns=5, calls=4, seconds=60, tools={"pay": "any", "look": "any"}, max_invalid=9)
    runs(state, Call("look", {"id": 1}, "my-1"), text="seen", us=1_500_000)
    says(state, Final(""))
    context = shown(state, 3)
    assert (context.task, context.turn, context.last) == ("t", 3, False)
    assert context.observations == [Observation("c1", "look", '{"id":1}', "ok", "seen", None, "my-1")]
    assert context.notices == [Notice("rejected", "final.empty: the answer is empty", 1)]
    assert {tool.name: tool.schema["required"] for tool in context.tools} == {"pay": ["amount"], "look": ["id"]}
    assert (context.turns_left, context.calls_left, context.seconds_left) == (2, 3, 58.5)


def test_what_is_left_of_a_limit_that_was_lifted_is_infinite() -> None:
    context = shown(begun(turns=None, calls=None, seconds=None))
    assert (context.turns_left, context.calls_left, context.seconds_left) == (float("inf"),) * 3


@pytest.mark.guarantee("G11", "G12")
def test_a_policy_is_shown_no_remit_no_principal_no_check_and_no_reference() -> None:
    secret = "the expected answer"

    def reference(answer: Any) -> bool:
        return secret in answer.text

    seen: list[str] = []

    class Looks:
        def propose(self, context: Context) -> Call | Final:
            seen.append(repr(context) + repr(msgspec.to_builtins(context.tools)))
            return Call("look", {"id": 1}) if context.turn == 1 else Final("x")

    run(
        "t",
        policy=Looks(),
        remit=Remit(
            tools={"look": {"id": [1, 77_777]}}, checks=[reference, {"file": "golden.txt", "contains": secret}]
        ),
        tools=TOOLS,
        principal="somebody@example.org",
        subject="the subject",
        parent="r0",
    )
    assert Context.__struct_fields__ == (
        "task", "turn", "last", "observations", "notices", "tools", "turns_left", "calls_left", "seconds_left",
    )  # fmt: skip
    for word in (secret, "golden", "reference", "somebody", "subject", "r0", "77777", "checks", "sha256"):
        assert not any(word in text for text in seen)


@pytest.mark.guarantee("G12")
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda c: setattr(c, "turn", 0), id="set a field"),
        pytest.param(lambda c: setattr(c.observations[0], "text", ""), id="set a field of an observation"),
        pytest.param(lambda c: setattr(c.notices[0], "text", ""), id="set a field of a notice"),
        pytest.param(lambda c: setattr(c.tools[0], "name", ""), id="set a field of a tool"),
        pytest.param(lambda c: c.observations.append(1), id="append an observation"),
        pytest.param(lambda c: c.observations.__setitem__(0, 1), id="replace an observation"),
        pytest.param(lambda c: c.observations.clear(), id="forget"),
        pytest.param(lambda c: c.tools.append(1), id="append a tool"),
        pytest.param(lambda c: c.observations.__delitem__(0), id="delete an observation"),
    ],
)
def test_a_policy_cannot_change_what_it_is_shown(change: Any) -> None:
    state = begun(max_invalid=9)
    runs(state, Call("look", {"id": 1}), text="seen")
    says(state, Final(""))
    context = shown(state)
    before = repr(context)
    with pytest.raises(BROKEN):
        change(context)
    assert repr(context) == before


@pytest.mark.guarantee("G12")
def test_a_policy_that_rewrites_a_schema_it_was_shown_widens_nothing() -> None:
    class Widens:
        def propose(self, context: Context) -> Call | Final:
            for tool in context.tools:
                tool.schema.clear()
            return Call("look", {"id": "x"}) if context.turn == 1 else Final("x")

    box = Toolbox()
    box.read(name="look")(lookup)
    before = box["look"].declared
    outcome = run("t", policy=Widens(), remit=Remit(tools={"look": "any"}), tools=box)
    assert [(o.status, o.code) for o in outcome.observations] == [("invalid", "args.type")]
    assert box["look"].declared == before
    assert box["look"].schema["required"] == ["id"]


def lookup(id: int) -> str:
    return f"{id}"


@pytest.mark.guarantee("G2")
def test_arguments_that_a_policy_changes_after_it_proposed_them_run_as_they_were() -> None:
    ran: list[Any] = []
    box = Toolbox()

    @box.read
    def take(items: list[str]) -> str:
        ran.append(list(items))
        items.append("added by the tool")
        return "ok"

    class Changes:
        def __init__(self) -> None:
            self.items = ["a"]

        def propose(self, context: Context) -> Call | Final:
            if context.turn == 1:
                return Call("take", {"items": self.items})
            return Final("x")

    policy = Changes()

    def meanwhile(held: HeldCall) -> Decision:
        policy.items.append("b")
        return Decision(True, "a")

    outcome = run(
        "t", policy=policy, remit=Remit(tools={"take": "any"}, gates={"take": "hold"}), tools=box,
        ask=meanwhile,
    )  # fmt: skip
    assert ran == [["a"]]
    assert policy.items == ["a", "b"]
    assert outcome.observations[0].args == '{"items":["a"]}'


def test_an_earlier_context_does_not_grow_with_the_run() -> None:
    kept: list[Context] = []

    class Keeps:
        def propose(self, context: Context) -> Call | Final:
            kept.append(context)
            return Call("look", {"id": context.turn}) if context.turn < 4 else Final("x")

    run("t", policy=Keeps(), remit=Remit(tools=ANY), tools=TOOLS)
    assert [len(context.observations) for context in kept] == [0, 1, 2, 3]


def test_a_tool_outside_the_remit_is_not_shown() -> None:
    assert [view.name for view in permitted(begun(tools={"look": "any"}).remit, TOOLS)] == ["look"]


ITEMS = View([0, 1, 2, 3, 4], 3)


@pytest.mark.parametrize(
    ("get", "then"),
    [
        pytest.param(lambda v: list(v), [0, 1, 2], id="all"),
        pytest.param(lambda v: (len(v), bool(v)), (3, True), id="its size"),
        pytest.param(lambda v: (v[0], v[2], v[-1], v[-3]), (0, 2, 2, 0), id="one"),
        pytest.param(
            lambda v: (v[:], v[1:], v[-2:], v[::-1], v[5:]), ((0, 1, 2), (1, 2), (1, 2), (2, 1, 0), ()), id="some"
        ),
        pytest.param(lambda v: (2 in v, 3 in v, v.index(2), v.count(0)), (True, False, 2, 1), id="what is in it"),
        pytest.param(lambda v: list(reversed(v)), [2, 1, 0], id="backwards"),
        pytest.param(
            lambda v: (v == [0, 1, 2], v == (0, 1, 2), v == [0], v == "abc"), (True, True, False, False), id="="
        ),
        pytest.param(lambda v: isinstance(v, Sequence), True, id="a sequence"),
        pytest.param(lambda v: repr(v), "(0, 1, 2)", id="as text"),
    ],
)
def test_a_view_is_a_tuple_of_the_first_items(get: Any, then: Any) -> None:
    assert get(ITEMS) == then


@pytest.mark.parametrize("index", [3, 4, -4, 100])
def test_a_view_has_nothing_beyond_its_size(index: int) -> None:
    with pytest.raises(IndexError):
        ITEMS[index]


def test_a_view_cannot_be_hashed() -> None:
    with pytest.raises(TypeError):
        hash(ITEMS)


def test_a_tool_s_own_error_reaches_the_policy_as_its_text_alone() -> None:
    box = Toolbox()

    @box.read
    def fails() -> str:
        raise ToolError("locked")

    seen: list[Any] = []

    class Looks:
        def propose(self, context: Context) -> Call | Final | Reply:
            seen.extend(context.observations)
            return Call("fails") if context.turn == 1 else Final("x")

    run("t", policy=Looks(), remit=Remit(tools={"fails": "any"}), tools=box)
    assert seen == [Observation("c1", "fails", "{}", "error", "locked")]
