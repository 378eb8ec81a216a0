"""Gates and decisions: what waits for a person, and what a yes is good for (G1, G3)."""

from typing import Any

import pytest

from remit import Call, Toolbox
from remit.core import judge
from remit.core.canon import encode
from remit.core.events import Allowed, Approved, Denied, Held, Interrupted, Observed, Refused, Started, Unsettled
from remit.core.hold import bound, gate
from remit.core.recover import recover
from remit.core.rules import Rules
from remit.core.run import Run
from remit.core.spec import ToolSpec
from remit.core.todo import Judge, Question, Settle, Start, resting, todo
from remit.errors import IllegalMove
from tests.core.given import AT, TOOLS, again, begun, record, says

SHIP = Call("ship", {"to": "a"})
PAY = Call("pay", {"amount": 1})


@pytest.mark.parametrize(
    ("tool", "gates", "then"),
    [
        pytest.param("look", {}, ("allow", "scope.look"), id="a read runs"),
        pytest.param("fetch", {}, ("allow", "scope.fetch"), id="an egress runs"),
        pytest.param("pay", {}, ("allow", "scope.pay"), id="a write runs"),
        pytest.param("ship", {}, ("hold", "consequential"), id="a consequential write waits"),
        pytest.param("look", {"look": "hold"}, ("hold", "gate.look"), id="the remit may hold a read"),
        pytest.param("ship", {"ship": "allow"}, ("allow", "gate.ship"), id="the remit may open a gate"),
        pytest.param("ship", {"ship": "deny"}, ("deny", "gate.ship"), id="or close it"),
        pytest.param("ship", {"look": "allow"}, ("hold", "consequential"), id="of that tool alone"),
    ],
)
def test_a_gate_is_the_remit_s_word_before_the_tool_s_own(tool: str, gates: Any, then: tuple[str, str]) -> None:
    assert gate(Rules(begun(gates=gates).remit), TOOLS[tool]) == then


@pytest.mark.guarantee("G1", "G3")
def test_a_call_that_waits_does_not_start_and_asks_a_person() -> None:
    state = begun(principal="somebody")
    held = says(state, SHIP)[-1]
    assert held == Held(call="c1", rule="consequential", digest=bound(state, TOOLS["ship"], '{"to":"a"}'))
    assert todo(state) == Question(state.open["c1"])
    assert resting(state) == ("awaiting_approval", "c1 ship waits for a person")
    with pytest.raises(IllegalMove, match="`started` cannot happen while it is held"):
        record(state, [Started(call="c1")])


def test_a_closed_gate_refuses_by_its_rule() -> None:
    state = begun(gates={"pay": "deny"})
    refused = Refused(call="c1", rule="gate.pay", reason="the remit closes the gate of `pay`")
    assert says(state, PAY)[1:] == [
        refused,
        Observed(call="c1", status="refused", code="gate.pay", text=f"gate.pay: {refused.reason}"),
    ]


@pytest.mark.guarantee("G1", "G3")
def test_a_yes_starts_exactly_the_call_that_was_held() -> None:
    state = begun()
    says(state, SHIP)
    digest = state.open["c1"].digest
    assert record(state, judge.decide(state.open["c1"], True, "a"), AT + 5) == [
        Approved(call="c1", by="a", digest=digest)
    ]
    assert todo(state) == Judge(state.open["c1"])
    assert again(state) == [Allowed(call="c1", rule="approval")]
    assert todo(state) == Start(state.open["c1"])
    assert judge.start(state, TOOLS, state.open["c1"]) == Started(call="c1", effect_id="r1.c1")
    assert state.waiting_us == 5


def test_a_no_is_told_to_the_policy_with_its_reason() -> None:
    state = begun(on_refusal="continue")
    says(state, SHIP)
    assert record(state, judge.decide(state.open["c1"], False, "a", "not on a Friday")) == [
        Denied(call="c1", by="a", reason="not on a Friday"),
        Observed(call="c1", status="denied", text="denied by a: not on a Friday"),
    ]
    assert (state.refusals, state.halt) == (1, None)


@pytest.mark.guarantee("G7")
def test_a_no_ends_the_run_where_the_remit_says_stop() -> None:
    state = begun()
    says(state, SHIP)
    record(state, judge.decide(state.open["c1"], False, "a", "no"))
    assert state.halt == ("denied", "by a: no")


def boxed(**changed: Any) -> dict[str, ToolSpec]:
    """The same tools, but `ship` is another in one way."""
    spec = TOOLS["ship"]
    same = {"effect": spec.effect, "schema": spec.schema, "consequential": True}
    return {**TOOLS.specs, "ship": ToolSpec(**{"name": "ship", **same, **changed})}


WIDER = {"type": "object", "properties": {"to": {}}, "additionalProperties": True}


@pytest.mark.guarantee("G3")
@pytest.mark.parametrize(
    ("now", "rule"),
    [
        pytest.param(boxed(), None, id="nothing changed"),
        pytest.param(boxed(description="other words"), None, id="words are not what was approved"),
        pytest.param(boxed(source=["./other.sh"]), "approval", id="another program"),
        pytest.param(boxed(schema=WIDER), "approval", id="another schema"),
        pytest.param(boxed(schema={"type": "object", "maxProperties": 0}), "args.value", id="one it does not fit"),
        pytest.param({}, "call.unknown_tool", id="the tool is gone"),
    ],
)
def test_the_world_is_judged_again_after_a_yes(now: dict[str, ToolSpec], rule: str | None) -> None:
    state = begun()
    says(state, SHIP)
    record(state, judge.decide(state.open["c1"], True, "a"))
    verdict, *seen = record(state, judge.judge(state, now, state.open["c1"], {"to": "a"}))
    if rule is None:
        assert verdict == Allowed(call="c1", rule="approval")
    else:
        assert isinstance(verdict, Refused)
        assert verdict.rule == rule
        assert [(o.status, o.code) for o in seen if isinstance(o, Observed)] == [("refused", rule)]


def digest_of(run: Run, tool: str = "ship", args: str = '{"to":"a"}', box: Any = TOOLS) -> str:
    return bound(run, box[tool], args)


@pytest.mark.guarantee("G3")
def test_a_decision_is_bound_to_everything_that_was_shown() -> None:
    base = begun(principal="p")
    other_run = begun(principal="p")
    other_run.id = "r2"
    digests = {
        digest_of(base),
        digest_of(base, args='{"to":"b"}'),
        digest_of(base, tool="pay"),
        digest_of(base, box=boxed(source=["x"])),
        digest_of(base, box=boxed(schema=WIDER)),
        digest_of(begun(principal="q")),
        digest_of(begun(principal=None)),
        digest_of(begun(principal="p", turns=7)),
        digest_of(other_run),
    }
    assert len(digests) == 9
    assert digest_of(begun(principal="p")) == digest_of(base)


@pytest.mark.guarantee("G3")
def test_a_yes_to_another_digest_is_illegal() -> None:
    state = begun()
    says(state, SHIP)
    with pytest.raises(IllegalMove, match="is not the call that was held"):
        record(state, [Approved(call="c1", by="a", digest="sha256:" + "0" * 64)])


@pytest.mark.guarantee("G3")
def test_a_yes_is_spent_by_the_start_and_not_by_another_one() -> None:
    """A read that was approved and then lost to a crash does not run again on the same yes."""
    box = Toolbox()

    @box.read
    def once() -> str:
        return ""

    state = begun(box, gates={"once": "hold"})
    says(state, Call("once"), tools=box)
    record(state, judge.decide(state.open["c1"], True, "a"))
    again(state, box)
    record(state, [judge.start(state, box, state.open["c1"])])
    assert record(state, recover(state)) == [
        Observed(call="c1", status="interrupted", text="the process ended while it ran")
    ]


@pytest.mark.guarantee("G3")
def test_a_second_yes_to_the_same_call_is_illegal() -> None:
    state = begun()
    says(state, SHIP)
    yes = judge.decide(state.open["c1"], True, "a")
    record(state, yes)
    with pytest.raises(IllegalMove, match="`approved` cannot happen while it is approved"):
        record(state, yes)


@pytest.mark.guarantee("G6")
def test_after_a_crash_a_read_starts_again_and_a_write_is_asked_about() -> None:
    state = begun()
    says(state, Call("look", {"id": 1}))
    record(state, [judge.start(state, TOOLS, state.open["c1"])])
    assert record(state, recover(state)) == [Interrupted(call="c1")]
    record(state, [judge.start(state, TOOLS, state.open["c1"]), Observed(call="c1", status="ok")])
    says(state, PAY)
    assert record(state, [judge.start(state, TOOLS, state.open["c2"])]) == [Started(call="c2", effect_id="r1.c2")]
    assert record(state, recover(state)) == [Unsettled(call="c2", cause="the process ended while it ran")]
    assert recover(state) == []
    assert todo(state) == Settle(state.open["c2"])
    assert resting(state) == ("uncertain", "the outcome of c2 pay is unknown")


@pytest.mark.guarantee("G2", "G3")
@pytest.mark.parametrize(
    ("one", "other"), [("1", "true"), ("1", "1.0"), ("0", "false"), ("0", "-0.0"), ('"1"', "1"), ("null", '""')]
)
def test_a_decision_on_one_value_is_none_on_its_look_alike(one: str, other: str) -> None:
    state = begun()
    assert digest_of(state, args=f'{{"to":{one}}}') != digest_of(state, args=f'{{"to":{other}}}')
    assert encode(1) != encode(True)
