"""State is a fold: any prefix of a log gives the state at that point, and equality looks at all of it (G8)."""

import msgspec
import pytest

from remit import Call, Final, Outcome, Remit, Reply, ScriptedPolicy, run
from remit.core.events import Ended, Record
from remit.core.fold import fold, take
from remit.core.run import Run
from remit.errors import RemitError
from remit.stores.memory import MemoryStore
from tests.core.given import ANY, TOOLS, begun, runs, says

SCRIPT: list[Call | Final | Reply] = [
    Call("look", {"id": 1}),
    Call("look", "{"),
    Reply((Call("look"), Call("pay"))),
    Call("pay", {"amount": 1}),
    Final(" "),
    Final("done", claims=[{"cites": "c1", "quote": "1"}]),
]


def recorded() -> tuple[Outcome, list[Record]]:
    store, remit = MemoryStore(), Remit(tools=ANY, max_invalid=9)
    outcome = run("t", policy=ScriptedPolicy(SCRIPT), remit=remit, tools=TOOLS, store=store, run_id="r1")
    return outcome, list(store.read("r1"))


@pytest.mark.guarantee("G8")
def test_folding_again_and_taking_one_record_more_are_one() -> None:
    _, records = recorded()
    state = Run("r1")
    for number, one in enumerate(records, 1):
        take(state, one)
        assert state == fold("r1", records[:number])
    assert state.ended == Ended(status="complete", grade="supported")


@pytest.mark.guarantee("G8")
def test_what_the_caller_gets_is_what_the_log_gives() -> None:
    outcome, records = recorded()
    state = fold("r1", records)
    assert (outcome.status, outcome.answer, outcome.observations) == ("complete", "done", tuple(state.observations))
    assert (outcome.usage["turns"], outcome.usage["calls"]) == (state.turns, state.started) == (6, 2)


@pytest.mark.parametrize(
    "change",
    ["turns", "started", "working_us", "waiting_us", "invalid", "refusals", "proposed", "seq", "at", "epoch"],
)
def test_two_states_that_differ_anywhere_are_not_equal(change: str) -> None:
    one, other = begun(), begun()
    assert one == other
    setattr(other, change, getattr(other, change) + 1)
    assert one != other


def test_states_that_counted_other_repeats_are_not_equal() -> None:
    one, other = begun(), begun()
    runs(one, Call("look", {"id": 1}), text="a")
    runs(other, Call("look", {"id": 1}), text="b")
    other.observations[:] = one.observations
    assert one != other


def test_states_with_another_open_call_are_not_equal() -> None:
    one, other = begun(), begun()
    says(one, Call("look", {"id": 1}))
    says(other, Call("look", {"id": 2}))
    assert one != other
    assert one != "a run"


def test_events_without_the_form_of_events_are_no_record() -> None:
    store = MemoryStore()
    store.append("r1", 1, 1, b'[{"event":"began"}]')
    with pytest.raises((RemitError, msgspec.ValidationError)):
        fold("r1", store.read("r1"))
