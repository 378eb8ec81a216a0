"""What is to be done next is a function of the state, and every state that a log can be left in has an answer."""

from typing import Any

import pytest

from remit import Call, Final, Reply
from remit.core import judge
from remit.core.events import (
    AnyEvent,
    Asked,
    AttemptFailed,
    CancelRequested,
    Ended,
    Grade,
    Interrupted,
    Nudged,
    Observed,
    Settled,
    Started,
    Status,
    Unsettled,
)
from remit.core.recover import recover
from remit.core.run import Run
from remit.core.todo import Ask, Check, Judge, Note, Question, Rest, Settle, Start, resting, todo
from tests.core.given import TOOLS, begun, record, runs, says

LOOK, PAY, SHIP = Call("look", {"id": 1}), Call("pay", {"amount": 1}), Call("ship", {"to": "a"})


def started(call: Call) -> Run:
    state = begun()
    says(state, call)
    record(state, [judge.start(state, TOOLS, state.open["c1"])])
    return state


def held() -> Run:
    state = begun()
    says(state, SHIP)
    return state


def with_events(state: Run, *events: AnyEvent) -> Run:
    record(state, events)
    return state


def said(reply: Any, **limits: Any) -> Run:
    state = begun(**limits)
    says(state, reply)
    return state


def approved() -> Run:
    state = held()
    record(state, judge.decide(state.open["c1"], True, "a"))
    return state


def nearly_stuck() -> Run:
    state = begun()
    for _ in range(3):
        runs(state, LOOK)
    return state


def ends(status: Status, reason: str = "", grade: Grade | None = None) -> Note:
    return Note([Ended(status=status, reason=reason, grade=grade)])


LOST = Unsettled(call="c1", cause="?")
CANCEL = CancelRequested(by="a")
TOLD = 'look({"id":1}) has now given the same result 3 times; once more and the run stops as stuck'
NO = Observed(call="c1", status="not_run", text="not run: the run ends as cancelled, by a")


@pytest.mark.guarantee("G7")
@pytest.mark.parametrize(
    ("state", "then"),
    [
        pytest.param(begun(), Ask(), id="a run that begins asks"),
        pytest.param(with_events(begun(), Asked(turn=1), AttemptFailed(kind="timeout")), Ask(), id="again"),
        pytest.param(said(LOOK), Start, id="an allowed call starts"),
        pytest.param(held(), Question, id="a held call is asked about"),
        pytest.param(approved(), Judge, id="an approved one is judged again"),
        pytest.param(
            said(LOOK, tools={}),
            ends("denied", "scope: the remit does not name the tool `look`"),
            id="a refused one ends the run",
        ),
        pytest.param(said(Final("a")), ends("complete", grade="unchecked"), id="an answer ends it"),
        pytest.param(said(Final("a"), checks=["cites"]), Check(0), id="after its checks"),
        pytest.param(
            said(Reply((), finish="end", raw="no more")),
            ends("no_answer", "no more"),
            id="a script that ran out ends it",
        ),
        pytest.param(
            said(Reply((), finish="filter")), ends("declined", "filter"), id="a refusal of the model's ends it"
        ),
        pytest.param(said(Final("")), Ask(), id="an unusable reply is told in the next request"),
        pytest.param(
            said(Final(""), max_invalid=1),
            ends("invalid_proposal", "1 unusable replies, the last `final.empty`"),
            id="until it is enough",
        ),
        pytest.param(nearly_stuck(), Note([Nudged(call="c3", text=TOLD)]), id="a loop is told"),
        pytest.param(with_events(started(PAY), LOST), Settle, id="an uncertain write is settled"),
        pytest.param(with_events(begun(), Ended(status="failed")), Rest(), id="after the end nothing is to be done"),
        pytest.param(with_events(begun(), CANCEL), ends("cancelled", "by a"), id="a cancelled run ends"),
        pytest.param(with_events(held(), CANCEL), Note([NO]), id="nobody is asked in vain"),
        pytest.param(with_events(approved(), CANCEL), Note([NO]), id="a yes does not outlive it"),
        pytest.param(with_events(said(LOOK), CANCEL), Note([NO]), id="nothing starts any more"),
        pytest.param(
            with_events(said(Final("a"), checks=["cites"]), CANCEL), ends("cancelled", "by a"), id="nothing is checked"
        ),
        pytest.param(
            with_events(started(LOOK), CANCEL, Interrupted(call="c1")),
            Note([NO]),
            id="a read that was interrupted does not start again",
        ),
        pytest.param(with_events(started(PAY), CANCEL, LOST), Settle, id="but a write is settled first"),
    ],
)
def test_what_is_next(state: Run, then: Any) -> None:
    found = todo(state)
    if isinstance(then, type):
        assert type(found) is then
        assert found.call is state.open["c1"]  # type: ignore[union-attr]
    else:
        assert found == then


def test_asking_changes_nothing() -> None:
    state, other = nearly_stuck(), nearly_stuck()
    assert todo(state) == todo(state)
    assert state == other


CRASHED: dict[str, tuple[Run, list[AnyEvent]]] = {
    "while it asked": (
        with_events(begun(), Asked(turn=1)),
        [AttemptFailed(kind="interrupted", detail="the process ended before a reply was recorded")],
    ),
    "while a read ran": (started(LOOK), [Interrupted(call="c1")]),
    "while a write ran": (started(PAY), [Unsettled(call="c1", cause="the process ended while it ran")]),
    "while a write was tried again": (
        with_events(started(PAY), LOST, Started(call="c1", effect_id="r1.c1", number=2)),
        [Unsettled(call="c1", cause="the process ended while it ran")],
    ),
    "before a call started": (said(LOOK), []),
    "while a person was asked": (held(), []),
    "before the world was judged again": (approved(), []),
    "between two turns": (begun(), []),
    "while the answer was checked": (said(Final("a"), checks=["cites"]), []),
    "after a write became uncertain": (with_events(started(PAY), LOST), []),
    "at the end": (with_events(begun(), Ended(status="failed")), []),
}


@pytest.mark.guarantee("G8", "G6")
@pytest.mark.parametrize("when", CRASHED)
def test_after_a_crash_there_is_something_to_be_done_and_recovering_twice_is_harmless(when: str) -> None:
    state, events = CRASHED[when]
    assert recover(state) == events
    record(state, events)
    assert recover(state) == []
    todo(state)


def test_a_run_that_was_left_in_the_middle_is_not_guessed_about() -> None:
    with pytest.raises(AssertionError, match="recover it first"):
        todo(with_events(begun(), Asked(turn=1)))
    with pytest.raises(AssertionError, match="recover it first"):
        todo(started(LOOK))


@pytest.mark.parametrize(
    ("state", "then"),
    [
        pytest.param(begun(), None, id="a run that somebody drives is not at rest"),
        pytest.param(started(LOOK), None, id="nor one whose tool runs"),
        pytest.param(held(), ("awaiting_approval", "c1 ship waits for a person"), id="a held call waits"),
        pytest.param(
            with_events(started(PAY), LOST),
            ("uncertain", "the outcome of c1 pay is unknown"),
            id="an uncertain write waits",
        ),
        pytest.param(
            with_events(started(PAY), CANCEL, LOST),
            ("uncertain", "the outcome of c1 pay is unknown, then = cancelled"),
            id="and carries the end that is due",
        ),
        pytest.param(with_events(begun(), Ended(status="failed", reason="x")), ("failed", "x"), id="an end is a rest"),
    ],
)
def test_where_a_run_that_nobody_drives_is_at_rest(state: Run, then: tuple[Status, str] | None) -> None:
    assert resting(state) == then


@pytest.mark.guarantee("G7")
def test_a_settled_write_lets_the_run_go_on_or_end_as_was_due() -> None:
    settled = Settled(call="c1", how="person", done=True, by="a"), Observed(call="c1", status="settled", text="done")
    assert todo(with_events(started(PAY), LOST, *settled)) == Ask()
    cancelled = with_events(started(PAY), CANCEL, LOST, *settled)
    assert todo(cancelled) == ends("cancelled", "by a")


@pytest.mark.guarantee("G4", "G7")
@pytest.mark.parametrize(
    ("state", "then"),
    [
        pytest.param(with_events(begun(), Asked(turn=1)), ["attempt_failed"], id="while it asked"),
        pytest.param(started(LOOK), ["observed interrupted"], id="while a read ran"),
        pytest.param(started(PAY), ["unsettled"], id="while a write ran"),
        pytest.param(said(LOOK), ["observed not_run"], id="before a call started"),
        pytest.param(held(), ["observed not_run"], id="while a person was asked"),
        pytest.param(approved(), ["observed not_run"], id="after a yes"),
        pytest.param(begun(), [], id="between two turns"),
    ],
)
def test_a_cancel_answers_what_is_open(state: Run, then: list[str]) -> None:
    events = record(state, judge.cancel(state, "a"))
    assert [_told(event) for event in events] == then
    assert all(call.phase == "uncertain" for call in state.open.values())


@pytest.mark.guarantee("G12", "G7")
@pytest.mark.parametrize(
    ("state", "then"),
    [
        pytest.param(begun(), ["ended failed"], id="between two turns"),
        pytest.param(with_events(begun(), Asked(turn=1)), ["attempt_failed", "ended failed"], id="while it asked"),
        pytest.param(started(LOOK), ["observed error", "ended failed"], id="while a read ran"),
        pytest.param(said(LOOK), ["observed not_run", "ended failed"], id="before a call started"),
        pytest.param(approved(), ["observed not_run", "ended failed"], id="while the world was judged again"),
        pytest.param(said(Final("a"), checks=["cites"]), ["ended failed"], id="while the answer was checked"),
        pytest.param(with_events(begun(), Ended(status="failed")), [], id="after the end"),
        pytest.param(Run("r1"), [], id="before the beginning"),
    ],
)
def test_a_bug_ends_the_run_and_nothing_starts_any_more(state: Run, then: list[str]) -> None:
    assert [_told(event) for event in record(state, judge.fail(state, "a bug"))] == then


def _told(event: AnyEvent) -> str:
    return f"{event.__struct_config__.tag} {getattr(event, 'status', '')}".rstrip()
