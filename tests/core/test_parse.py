"""What a policy says is read, or refused under a name of its own and returned to it (G2, G4)."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

import remit
from remit import Call, Context, Final, Remit, RemitError, Reply, run
from remit.core.canon import MAX_BYTES
from remit.core.parse import SHOWN
from remit.core.run import Notice, Observation
from tests.core.given import ANY, TOOLS, begun, says

TOO_DEEP = '{"id":' + "[" * 64 + "]" * 64 + "}"


def look(args: Any) -> Call:
    return Call("look", args)


class Replies:
    """Says one thing, then ends; keeps what it was shown."""

    def __init__(self, said: Any) -> None:
        self.said = said
        self.shown: list[Context] = []

    def propose(self, context: Context) -> Any:
        self.shown.append(context)
        return self.said if context.turn == 1 else Final("done")


OK = Call("look", {"id": 1})
TWO = Reply((OK, OK))

REFUSED_CALLS = {
    "args.not_object": [
        pytest.param(look("[]"), id="a list"),
        pytest.param(look("5"), id="a number"),
        pytest.param(look('"{\\"id\\":1}"'), id="JSON inside JSON"),
        pytest.param(look(["id", 1]), id="a list given as data"),
        pytest.param(look(0), id="a zero given as data"),
        pytest.param(look("true"), id="true"),
    ],
    "args.malformed": [
        pytest.param(look('{"id": 1"}'), id="a stray quote"),
        pytest.param(look("id=1"), id="no JSON at all"),
        pytest.param(look('```json\n{"id":1}\n```'), id="a fence round it"),
    ],
    "args.truncated": [
        pytest.param(look('{"id":'), id="cut off"),
        pytest.param(Reply((look('{"id":'),), finish="length"), id="cut off, and said so"),
    ],
    "args.duplicate_key": [pytest.param(look('{"id":1,"id":2}'), id="a key twice")],
    "args.surrogate": [
        pytest.param(look('{"id":1,"note":"\\ud800"}'), id="an escaped lone surrogate"),
        pytest.param(look('{"id":1,"note":"\ud800"}'), id="a raw lone surrogate"),
        pytest.param(look({"id": 1, "note": "\ud800"}), id="a lone surrogate given as data"),
    ],
    "args.not_json": [
        pytest.param(look('{"id":NaN}'), id="NaN"),
        pytest.param(look({"id": float("inf")}), id="infinity given as data"),
        pytest.param(look({"id": (1,)}), id="a tuple given as data"),
        pytest.param(look(b'{"id":1}'), id="bytes"),
        pytest.param(look({1: 2}), id="a key that is a number"),
    ],
    "args.number_range": [pytest.param(look('{"id":1e999}'), id="a number beyond a double")],
    "args.too_deep": [pytest.param(look(TOO_DEEP), id="65 levels")],
    "args.too_large": [pytest.param(look({"id": 1, "note": "x" * MAX_BYTES}), id="a note beyond the limit")],
    "args.missing": [
        pytest.param(look(None), id="no arguments where one is required"),
        pytest.param(look(""), id="no text"),
        pytest.param(look("  \n"), id="blank text"),
        pytest.param(look("null"), id="null"),
        pytest.param(look({}), id="an empty object"),
    ],
    "args.unexpected": [pytest.param(look({"id": 1, "colour": "red"}), id="a field the tool does not have")],
    "args.type": [
        pytest.param(look({"id": "1"}), id="text for an integer"),
        pytest.param(look({"id": 1.0}), id="a float for an integer"),
        pytest.param(look({"id": True}), id="true for an integer"),
        pytest.param(look({"id": None}), id="none for an integer"),
        pytest.param(look({"id": 1, "note": 5}), id="a number for a text"),
    ],
    "call.unknown_tool": [
        pytest.param(Call("lok", {"id": 1}), id="a misspelt tool"),
        pytest.param(Call("Look", {"id": 1}), id="names match exactly"),
        pytest.param(Call("look ", {"id": 1}), id="to the last space"),
        pytest.param(Call("", {}), id="no name"),
        pytest.param(Call("*", {}), id="a wildcard is no name"),
    ],
    "call.not_text": [
        pytest.param(Call(5, {}), id="a number for a name"),  # type: ignore[arg-type]
        pytest.param(Call(None, {}), id="none for a name"),  # type: ignore[arg-type]
        pytest.param(Call("look\ud800", {}), id="a lone surrogate in a name"),
    ],
    "call.truncated": [
        pytest.param(Reply((Call("pay", {"amount": 1}),), finish="length"), id="a write in a reply that was cut off"),
    ],
    "reply.call_beside_final": [pytest.param(Reply((OK, Final("x"))), id="a call beside a final")],
    "reply.several_calls": [],
    "call.last_turn": [],
}
"""Calls that are proposed, and answered with one `invalid` observation."""

REJECTED = {
    "final.not_text": [
        pytest.param(Final(5), id="a number"),  # type: ignore[arg-type]
        pytest.param(Final("a\ud800"), id="a lone surrogate"),
    ],
    "final.empty": [pytest.param(Final(""), id="empty"), pytest.param(Final(" \n\t\u2003"), id="blank")],
    "final.too_large": [pytest.param(Final("x" * (MAX_BYTES + 1)), id="beyond the limit")],
    "final.truncated": [pytest.param(Reply((Final("half an ans"),), finish="length"), id="cut off")],
    "final.claims": [
        pytest.param(Final("x", claims=[{"quote": "a"}]), id="a quote of nothing"),
        pytest.param(Final("x", claims=[{"cites": "c1"}]), id="a citation without a quote"),
        pytest.param(Final("x", claims=[{"effect": "pay", "more": "1"}]), id="a field too many"),
        pytest.param(Final("x", claims=[{"effect": ""}]), id="an empty effect"),
        pytest.param(Final("x", claims=[{"effect": 5}]), id="an effect that is no text"),  # type: ignore[dict-item]
        pytest.param(Final("x", claims=[{"effect": "\ud800"}]), id="a lone surrogate"),
        pytest.param(Final("x", claims=["effect"]), id="a claim that is no object"),  # type: ignore[list-item]
        pytest.param(Final("x", claims={"effect": "pay"}), id="one claim outside a list"),  # type: ignore[arg-type]
        pytest.param(Final("x", claims=None), id="none"),  # type: ignore[arg-type]
    ],
    "reply.several_finals": [pytest.param(Reply((Final("x"), Final("x"))), id="two finals")],
    "reply.empty": [
        pytest.param(Reply(), id="nothing"),
        pytest.param(Reply((), finish="length"), id="nothing, cut off"),
    ],
}
"""Replies without a call: a notice tells the policy."""


@pytest.mark.guarantee("G2", "G4")
@pytest.mark.parametrize(
    ("code", "said"), [pytest.param(c, *p.values, id=f"{c}: {p.id}") for c, ps in REFUSED_CALLS.items() for p in ps]
)
def test_an_unusable_call_is_proposed_answered_once_and_returned_to_the_policy(code: str, said: Any) -> None:
    policy = Replies(said)
    outcome = run("t", policy=policy, remit=Remit(tools=ANY), tools=TOOLS)
    (seen,) = policy.shown[1].observations
    assert (seen.call, seen.status, seen.code) == ("c1", "invalid", code)
    assert seen.text.startswith(f"{code}: ")
    assert outcome.usage["calls"] == 0
    assert (outcome.status, outcome.usage["turns"]) == ("complete", 2)


@pytest.mark.guarantee("G4")
@pytest.mark.parametrize(
    ("code", "said"), [pytest.param(c, *p.values, id=f"{c}: {p.id}") for c, ps in REJECTED.items() for p in ps]
)
def test_a_reply_without_a_usable_proposal_is_rejected_and_returned_to_the_policy(code: str, said: Any) -> None:
    policy = Replies(said)
    outcome = run("t", policy=policy, remit=Remit(tools=ANY), tools=TOOLS)
    (notice,) = policy.shown[1].notices
    assert (notice.kind, notice.text.split(":")[0], notice.after) == ("rejected", code, 0)
    assert policy.shown[1].observations == ()
    assert (outcome.status, outcome.answer) == ("complete", "done")


@pytest.mark.guarantee("G4")
@pytest.mark.parametrize(
    ("said", "code"),
    [
        pytest.param(TWO, "reply.several_calls", id="two calls where one is asked"),
        pytest.param(Reply((OK, look("["), Call("lok"))), "reply.several_calls", id="three, two of them unusable"),
        pytest.param(Reply((OK, OK, Final("x"))), "reply.call_beside_final", id="two calls beside a final"),
        pytest.param(Reply((Final("x"), OK, Final("x"))), "reply.call_beside_final", id="a call among finals"),
    ],
)
def test_several_calls_in_one_reply_are_each_answered_once(said: Reply, code: str) -> None:
    policy = Replies(said)
    outcome = run("t", policy=policy, remit=Remit(tools=ANY), tools=TOOLS)
    calls = [item for item in said.items if isinstance(item, Call)]
    assert [(o.call, o.tool, o.status, o.code) for o in policy.shown[1].observations] == [
        (f"c{number}", call.tool, "invalid", code) for number, call in enumerate(calls, 1)
    ]
    assert (outcome.status, outcome.usage["calls"]) == ("complete", 0)


@pytest.mark.guarantee("G4", "G5")
def test_a_call_in_the_turn_kept_for_the_final_is_refused_by_name() -> None:
    outcome = run("t", policy=Replies(OK), remit=Remit(tools=ANY, turns=1, last_turn=True), tools=TOOLS)
    (seen,) = outcome.observations
    assert (seen.status, seen.code) == ("invalid", "call.last_turn")
    assert (outcome.status, outcome.reason, outcome.usage["calls"]) == ("budget_exhausted", "turns 1 of 1", 0)


@pytest.mark.parametrize(
    ("args", "canonical"),
    [
        pytest.param({"id": 1}, '{"id":1}', id="an object"),
        pytest.param('{"note":"b","id":1}', '{"id":1,"note":"b"}', id="text of one"),
        pytest.param(' { "id" : 1 } ', '{"id":1}', id="spaced text of one"),
        pytest.param('{"id":9007199254740993}', '{"id":9007199254740993}', id="an integer beyond a double"),
        pytest.param({"id": 2**70}, '{"id":1180591620717411303424}', id="an integer beyond 64 bits"),
    ],
)
def test_usable_arguments_are_kept_in_their_canonical_form(args: Any, canonical: str) -> None:
    state = begun()
    log = msgspec.json.encode(says(state, Call("look", args, "my-1"))).decode()
    assert log == (
        f'[{{"event":"proposed","call":"c1","tool":"look","args":{canonical},"ref":"my-1"}},'
        '{"event":"allowed","call":"c1","rule":"scope.look"}]'
    )


@pytest.mark.parametrize(
    "args", [None, "", " \n ", "null", "{}", {}], ids=["absent", "empty", "blank", "null", "{}", "an object"]
)
def test_no_text_means_no_arguments(args: Any) -> None:
    state = begun()
    says(state, Call("look", args))
    assert state.observations[0].args == "{}"


@pytest.mark.parametrize("ref", [5, "\ud800", ["a"], b"a"], ids=repr)
def test_an_id_of_the_policy_s_own_that_is_no_text_is_left_out(ref: Any) -> None:
    assert says(begun(), Call("look", {"id": 1}, ref))[0].ref is None  # type: ignore[union-attr]


def test_what_could_not_be_used_is_quoted_and_bounded() -> None:
    state = begun()
    proposed, _ = says(state, look("[" + "\ud800" * (SHOWN + 5)))
    assert proposed.text == "[" + "\\ud800" * (SHOWN - 1) + f"… ({SHOWN + 6} characters)"  # type: ignore[union-attr]
    assert state.observations[0].args is None


@pytest.mark.parametrize("finish", ["refusal", "filter"])
def test_what_stands_in_a_reply_that_was_declined_is_answered_and_not_run(finish: Any) -> None:
    outcome = run("t", policy=Replies(Reply((OK, OK), finish=finish)), remit=Remit(tools=ANY), tools=TOOLS)
    assert (outcome.status, outcome.reason) == ("declined", finish)
    assert [(o.status, o.text) for o in outcome.observations] == [
        ("not_run", "the model declined in the same reply")
    ] * 2


@pytest.mark.guarantee("G7")
@pytest.mark.parametrize(
    ("limits", "said", "reason"),
    [
        pytest.param({}, look("["), "3 unusable replies, the last `args.truncated`", id="by default three"),
        pytest.param({"max_invalid": 1}, Final(""), "1 unusable replies, the last `final.empty`", id="one is enough"),
        pytest.param({"max_invalid": 2}, TWO, "2 unusable replies, the last `reply.several_calls`", id="not calls"),
    ],
)
def test_a_run_ends_after_max_invalid_unusable_replies(limits: Any, said: Any, reason: str) -> None:
    class Always:
        def propose(self, context: Context) -> Any:
            return said

    outcome = run("t", policy=Always(), remit=Remit(tools=ANY, **limits), tools=TOOLS)
    assert (outcome.status, outcome.reason) == ("invalid_proposal", reason)
    assert outcome.usage["turns"] == limits.get("max_invalid", 3)


@pytest.mark.guarantee("G12")
@pytest.mark.parametrize(
    "said",
    [
        pytest.param(None, id="none"),
        pytest.param("answer: x", id="a text"),
        pytest.param({"tool": "look"}, id="a dict"),
        pytest.param([OK], id="a list"),
        pytest.param(Call, id="a class"),
        pytest.param(Reply(["look"]), id="an item that is no proposal"),  # type: ignore[list-item]
        pytest.param(Reply(None), id="no items"),  # type: ignore[arg-type]
        pytest.param(Reply(item for item in (OK,)), id="items that can be read once"),  # type: ignore[arg-type]
        pytest.param(Reply((OK,), finish="stopped"), id="an unknown finish"),  # type: ignore[arg-type]
        pytest.param(Reply((OK,), usage=5), id="usage that is none"),  # type: ignore[arg-type]
        pytest.param(Reply((OK,), raw=object()), id="a raw reply that is not JSON"),
        pytest.param(Reply((OK,), raw={"a": "\ud800"}), id="a raw reply that is not text"),
        pytest.param(Reply((OK,), finish="end"), id="an end beside a call"),
    ],
)
def test_a_policy_that_returns_no_reply_is_a_bug_recorded_and_raised(said: Any) -> None:
    store = remit.open_store(":memory:")
    with pytest.raises(RemitError) as raised:
        run("t", policy=Replies(said), remit=Remit(tools=ANY), tools=TOOLS, store=store, run_id="r1")
    assert raised.value.code == "policy.broken"
    assert b'"status":"failed"' in [*store.read("r1")][-1].events


CODE = re.compile(r'"((?:args|call|final|reply)\.[a-z0-9_]+)"')


def test_every_code_of_a_refusal_has_a_case_here() -> None:
    core = Path(remit.__file__).parent / "core"
    source = "".join((core / f"{name}.py").read_text("utf-8") for name in ("canon", "parse", "validate", "judge"))
    elsewhere = {"args.value", "args.not_utf8"}  # test_validate.py, test_canon.py: a policy's arguments are never bytes
    assert set(CODE.findall(source)) == REFUSED_CALLS.keys() | REJECTED.keys() | elsewhere


def test_a_notice_and_an_observation_keep_their_order() -> None:
    state = begun(max_invalid=5)
    says(state, Final(""))
    says(state, look("["))
    says(state, Final(" "))
    empty = "final.empty: the answer is empty"
    assert state.notices == [Notice("rejected", empty, 0), Notice("rejected", empty, 1)]
    assert state.observations == [
        Observation("c1", "look", None, "invalid", state.observations[0].text, "args.truncated")
    ]
