"""What comes from outside is bounded and honest in the log, and an end that is due is not forgotten."""

import pytest

from remit import Call, Final, Remit, Reply, ScriptedPolicy, Toolbox, run
from remit.core import judge
from remit.core.canon import MAX_BYTES
from remit.core.events import AnyEvent, Ended, Observed, Settled, Unsettled
from remit.core.fold import FOLD
from remit.core.run import Run
from remit.core.todo import Note, Settle, todo
from remit.errors import PolicyError
from remit.runtime.agent import beginning
from remit.stores.memory import MemoryStore

tools = Toolbox()


@tools.write
def put() -> str:
    return "done"


@tools.read
def look() -> str:
    return "seen"


REMIT = Remit(tools={"put": "any", "look": "any"})


def test_an_answer_an_id_and_a_claim_have_a_size() -> None:
    long = "x" * (MAX_BYTES + 1)
    script: list[Call | Final | Reply] = [
        Call("look", id=long),
        Final(long),
        Final("x", [{"effect": long}]),
        Final("short"),
    ]
    outcome = run("t", policy=ScriptedPolicy(script), remit=REMIT, tools=tools)
    assert (outcome.status, outcome.answer) == ("complete", "short")
    assert sum(len(record.events) for record in outcome.records) < 10_000
    assert [code in b"".join(r.events for r in outcome.records) for code in (b"final.too_large", b"final.claims")] == [
        True, True,
    ]  # fmt: skip


@pytest.mark.parametrize("raw", [{"x": float("nan")}, {1: 2}, "\ud800"], ids=["NaN", "a key", "a surrogate"])
def test_a_raw_reply_that_the_log_would_have_to_change_is_a_bug_of_the_policy(raw: object) -> None:
    with pytest.raises(PolicyError, match="cannot be recorded"):
        run("t", policy=ScriptedPolicy([Reply([Final("x")], raw=raw)]), remit=REMIT, tools=tools, store=MemoryStore())


def started() -> Run:
    """A run in which a write was started."""
    state = Run("r")
    take(state, beginning("t", REMIT, tools))
    for event in judge.reply(state, tools, Call("put"), 1, 0):
        take(state, event)
    take(state, judge.start(state, tools, state.open["c1"]))
    return state


def take(state: Run, event: AnyEvent) -> None:
    FOLD[type(event)](state, event)


@pytest.mark.guarantee("G6", "G7")
def test_a_bug_while_a_write_is_uncertain_ends_the_run_as_failed_once_that_is_settled() -> None:
    state = started()
    events = judge.fail(state, "ZeroDivisionError: a bug")
    assert [type(event) for event in events] == [Unsettled]
    for event in events:
        take(state, event)
    assert isinstance(todo(state), Settle)
    take(state, Settled(call="c1", how="person", done=True, by="ann"))
    take(state, Observed(call="c1", status="settled"))
    due = todo(state)
    assert isinstance(due, Note)
    assert due.events == [Ended(status="failed", reason="ZeroDivisionError: a bug")]


def test_a_write_that_is_settled_as_done_is_a_change_to_the_stuck_rule() -> None:
    state = started()
    take(state, Unsettled(call="c1", cause="the line went dead"))
    for _ in range(3):
        state.repeats.add(("look", "{}", "ok", "seen"), False, None)
    take(state, Settled(call="c1", how="person", done=True, by="ann"))
    assert state.repeats.add(("look", "{}", "ok", "other"), False, None) is None
    assert state.repeats.document()[0] == {("look", "{}", "ok", "other"): 1}
