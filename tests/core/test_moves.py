"""The tables of moves are the law: what they do not have is illegal, and nothing in them is out of reach."""

from collections.abc import Iterable, Mapping
from typing import Any, get_args

import msgspec
import pytest

from remit.core.events import (
    Allowed,
    Answered,
    AnyEvent,
    Approved,
    Asked,
    AttemptFailed,
    CancelRequested,
    Checked,
    Denied,
    Edited,
    Ended,
    GapAccepted,
    Held,
    Interrupted,
    Messaged,
    Nudged,
    ObservationStatus,
    Observed,
    Proposed,
    Refused,
    Rejected,
    Replied,
    Resumed,
    Settled,
    Started,
    Unsettled,
)
from remit.core.fold import FOLD
from remit.core.moves import CALL, CONTROL, OBSERVED, RUN, CallPhase, RunPhase
from remit.core.run import OpenCall, Run
from remit.errors import IllegalMove
from tests.core.given import begun

BEGAN = begun().began
A_CALL = msgspec.Raw(b"{}")
EVENTS: dict[type[AnyEvent], AnyEvent] = {
    type(event): event
    for event in (
        BEGAN,
        Asked(turn=1),
        AttemptFailed(kind="timeout"),
        Replied(turn=1, us=0),
        Proposed(call="c9", tool="look", args=A_CALL),
        Rejected(code="final.empty", text=""),
        Allowed(call="c1", rule="r"),
        Held(call="c1", rule="r", digest="d"),
        Refused(call="c1", rule="r", reason=""),
        Approved(call="c1", by="a", digest=""),
        Denied(call="c1", by="a"),
        Edited(call="c1", by="a", into="c2"),
        Started(call="c1"),
        Interrupted(call="c1"),
        Unsettled(call="c1", cause=""),
        Settled(call="c1", how="person", done=True),
        Observed(call="c1", status="ok"),
        Nudged(call="c1", text=""),
        Answered(text="a"),
        Checked(check=0, name="x", passed=True),
        CancelRequested(by="a"),
        Messaged(by="a", text=""),
        Resumed(owner="a", epoch=2),
        GapAccepted(by="a", detail=""),
        Ended(status="complete"),
    )
}
OF_A_CALL: set[type[AnyEvent]] = {event for moves in CALL.values() for event in moves}
RUN_PHASES: tuple[RunPhase, ...] = get_args(RunPhase)
CALL_PHASES: tuple[CallPhase, ...] = get_args(CallPhase)


def named(events: Iterable[type[AnyEvent]]) -> list[Any]:
    return sorted((pytest.param(event, id=event.__name__) for event in events), key=lambda param: str(param.id))


def in_phase(phase: RunPhase, call: CallPhase | None = None) -> Run:
    run = Run("r1") if phase == "new" else begun()
    run.phase = phase
    if call is not None:
        run.open["c1"] = OpenCall(Proposed(call="c1", tool="look", args=A_CALL))
        run.open["c1"].phase = call
    return run


def fold_one(run: Run, event: AnyEvent) -> None:
    FOLD[type(event)](run, event)


def test_every_event_has_a_fold_and_a_place_in_the_tables() -> None:
    every = set(get_args(AnyEvent))
    assert FOLD.keys() == EVENTS.keys() == every
    assert {event for moves in RUN.values() for event in moves} | OF_A_CALL | CONTROL == every
    assert set(RUN) == set(RUN_PHASES)
    assert set(CALL) == set(OBSERVED) == set(CALL_PHASES)


@pytest.mark.guarantee("G7", "G9")
@pytest.mark.parametrize("phase", RUN_PHASES)
@pytest.mark.parametrize("event", named(EVENTS.keys() - OF_A_CALL - {Observed}))
def test_an_event_moves_a_run_as_the_table_says_or_is_illegal(phase: RunPhase, event: type[AnyEvent]) -> None:
    run = in_phase(phase)
    into = RUN[phase].get(event)
    if event in CONTROL and phase not in ("new", "ended"):
        into = phase
    if into is not None:
        fold_one(run, EVENTS[event])
        assert run.phase == into
    else:
        with pytest.raises(IllegalMove, match=f"cannot happen while it is {phase}"):
            fold_one(run, EVENTS[event])


@pytest.mark.guarantee("G7", "G9")
@pytest.mark.parametrize("phase", CALL_PHASES)
@pytest.mark.parametrize("event", named(OF_A_CALL))
def test_an_event_moves_a_call_as_the_table_says_or_is_illegal(phase: CallPhase, event: type[AnyEvent]) -> None:
    run = in_phase("acting", phase)
    if event in CALL[phase]:
        fold_one(run, EVENTS[event])
        assert run.open["c1"].phase == CALL[phase][event]
        assert run.phase == "acting"
    else:
        with pytest.raises(IllegalMove, match=f"cannot happen while it is {phase}"):
            fold_one(run, EVENTS[event])


@pytest.mark.guarantee("G4", "G6")
@pytest.mark.parametrize("phase", CALL_PHASES)
@pytest.mark.parametrize("status", get_args(ObservationStatus))
@pytest.mark.parametrize("write", [False, True], ids=["a read", "a write"])
def test_an_observation_closes_a_call_as_the_table_says_or_is_illegal(
    phase: CallPhase, status: ObservationStatus, write: bool
) -> None:
    run = in_phase("acting", phase)
    run.open["c1"].effect_id = "r1.c1" if write else None
    guess = write and status in ("timeout", "interrupted")
    if status in OBSERVED[phase] and not guess:
        fold_one(run, Observed(call="c1", status=status))
        assert (run.phase, run.open, [o.status for o in run.observations]) == ("ready", {}, [status])
    else:
        with pytest.raises(IllegalMove, match=f"cannot be observed `{status}` while it is {phase}"):
            fold_one(run, Observed(call="c1", status=status))


@pytest.mark.guarantee("G4")
@pytest.mark.parametrize("event", named(OF_A_CALL | {Observed}))
@pytest.mark.parametrize("phase", RUN_PHASES)
def test_nothing_happens_to_a_call_that_is_not_open(phase: RunPhase, event: type[AnyEvent]) -> None:
    with pytest.raises(IllegalMove, match="call c1 is not open"):
        fold_one(in_phase(phase), EVENTS[event])


@pytest.mark.guarantee("G4")
def test_a_call_is_proposed_once() -> None:
    run = in_phase("acting", "proposed")
    with pytest.raises(IllegalMove, match="c1 is open already"):
        fold_one(run, Proposed(call="c1", tool="look", args=A_CALL))


@pytest.mark.guarantee("G4")
def test_a_run_is_ready_only_when_its_last_call_is_closed() -> None:
    run = in_phase("acting", "proposed")
    fold_one(run, EVENTS[Proposed])
    phases = []
    for call in ("c1", "c9"):
        fold_one(run, Observed(call=call, status="not_run"))
        phases.append(run.phase)
    assert phases == ["acting", "ready"]


def reached(table: Mapping[Any, Mapping[Any, Any]], first: str) -> set[str]:
    """All phases that moves lead to from the first."""
    found, new = {first}, [first]
    while new:
        for into in table[new.pop()].values():
            if into not in found:
                found.add(into)
                new.append(into)
    return found


def test_every_phase_is_reached() -> None:
    assert reached(RUN, "new") == set(RUN_PHASES)
    assert reached(CALL, "proposed") == set(CALL_PHASES)


@pytest.mark.guarantee("G7", "G9")
@pytest.mark.parametrize("phase", RUN_PHASES)
def test_from_every_phase_a_run_can_end(phase: RunPhase) -> None:
    assert "ended" in reached(RUN, phase)
    assert not RUN["ended"]


@pytest.mark.parametrize("phase", CALL_PHASES)
def test_from_every_phase_a_call_can_be_answered(phase: CallPhase) -> None:
    assert any(OBSERVED[into] for into in reached(CALL, phase))  # type: ignore[index]


def test_every_status_of_an_observation_closes_some_call() -> None:
    assert set().union(*OBSERVED.values()) == set(get_args(ObservationStatus))


def test_an_illegal_move_says_what_to_do() -> None:
    with pytest.raises(IllegalMove) as raised:
        fold_one(in_phase("ended"), EVENTS[Asked])
    assert str(raised.value) == (
        "`asked` cannot happen while it is ended\n"
        "  fix: two writers shared this log, or it was edited: run `remit verify`"
    )
    assert raised.value.code == "log.illegal_move"
