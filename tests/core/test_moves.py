"""The tables of moves are complete, and what they do not have is refused."""

from typing import Any

import msgspec
import pytest

from remit.core import moves
from remit.core.events import AnyEvent, Began, Ended, Event, Observed
from remit.core.fold import FOLD
from remit.core.moves import CALL, CONTROL, OBSERVED, RUN, Table
from remit.core.run import OpenCall, Run
from remit.errors import IllegalMove

EVENTS = sorted(FOLD, key=str)
CALL_EVENTS = {event for row in CALL.values() for event in row} | {Observed}


def test_every_event_has_a_fold_and_a_place_in_a_table() -> None:
    assert set(FOLD) == set(Event.__subclasses__())
    placed = {event for row in RUN.values() for event in row} | CALL_EVENTS | CONTROL
    assert set(FOLD) == placed


@pytest.mark.parametrize("table", [RUN, CALL], ids=["run", "call"])
def test_every_phase_is_reached_and_every_next_phase_exists(table: dict[str, dict[Any, str]]) -> None:
    start = next(iter(table))
    reached, found = {start}, [start]
    while found:
        for after in table[found.pop()].values():
            if after not in reached:
                reached.add(after)
                found.append(after)
    assert reached == set(table)


@pytest.mark.guarantee("G7")
def test_every_phase_has_a_way_out_and_only_an_end_has_none() -> None:
    assert [phase for phase, row in RUN.items() if not row] == ["ended"]
    assert [phase for phase in CALL if not CALL[phase] and not OBSERVED[phase]] == []
    ways = {phase: set(row.values()) for phase, row in RUN.items()}
    ending = {"ended"}
    while more := {phase for phase, afters in ways.items() if afters & ending} - ending:
        ending |= more
    assert ending == set(RUN)


@pytest.mark.guarantee("G7", "G9")
@pytest.mark.parametrize("event", EVENTS, ids=str)
@pytest.mark.parametrize("phase", RUN)
def test_a_move_that_no_table_has_is_refused(phase: moves.RunPhase, event: type[AnyEvent]) -> None:
    if event in CALL_EVENTS or event in RUN[phase] or (event in CONTROL and phase not in ("new", "ended")):
        return
    run = Run("r")
    run.phase = phase
    with pytest.raises(IllegalMove, match="verify"):
        FOLD[event](run, made(event))


@pytest.mark.parametrize("event", sorted(CALL_EVENTS - {Observed}, key=str), ids=str)
@pytest.mark.parametrize("phase", [*CALL, None])
def test_a_move_of_a_call_that_no_table_has_is_refused(phase: moves.CallPhase | None, event: type[AnyEvent]) -> None:
    if phase is not None and event in CALL[phase]:
        return
    run = Run("r")
    run.phase = "acting"
    if phase is not None:
        run.open["c1"] = opened(phase)
    with pytest.raises(IllegalMove):
        FOLD[event](run, made(event))


@pytest.mark.guarantee("G4", "G6")
@pytest.mark.parametrize("status", ["ok", "error", "invalid", "refused", "denied", "expired", "superseded", "not_run",
                                    "timeout", "interrupted", "settled"])  # fmt: skip
@pytest.mark.parametrize("phase", CALL)
@pytest.mark.parametrize("write", [False, True], ids=["read", "write"])
def test_an_observation_that_cannot_close_a_call_is_refused(phase: moves.CallPhase, status: Any, write: bool) -> None:
    run = Run("r")
    run.phase = "acting"
    run.open["c1"] = opened(phase)
    if write:
        run.open["c1"].effect_id = "r.c1"
    closes = status in OBSERVED[phase] and not (write and status in ("timeout", "interrupted"))
    if not closes:
        with pytest.raises(IllegalMove):
            FOLD[Observed](run, Observed(call="c1", status=status))


def test_a_call_is_observed_once() -> None:
    run = Run("r")
    run.phase = "acting"
    with pytest.raises(IllegalMove, match="not open"):
        FOLD[Observed](run, Observed(call="c1", status="ok"))


def test_a_table_names_the_phase_it_does_not_have() -> None:
    with pytest.raises(IllegalMove, match="`ended` cannot happen while it is asking"):
        Table(RUN, Ended)["asking"]


def opened(phase: moves.CallPhase) -> OpenCall:
    call = OpenCall.__new__(OpenCall)
    call.id, call.tool, call.args, call.ref, call.phase = "c1", "t", "{}", None, phase
    return call


def made(event: type[AnyEvent]) -> Any:
    """An event of this kind about call c1, with a value of the right type in each field that needs one."""
    values: dict[Any, Any] = {str: "c1", int: 1, bool: True, dict: {}, msgspec.Raw: msgspec.Raw(b"{}")}
    known = {"call": "c1", "status": "complete", "how": "person", "tools": {}, "claims": []}
    fields = {
        field.name: known.get(field.name, values.get(field.type, "c1"))
        for field in msgspec.structs.fields(event)
        if field.required
    }
    assert event is not Began or "task" in fields
    return event(**fields)
