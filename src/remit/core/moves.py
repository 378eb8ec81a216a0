"""The legal moves of a run and of a call, as data. What is absent is illegal.

Two small machines. The *run* asks, acts on a reply, checks an answer and ends. While it is `acting`, each open call
goes through the *call* machine; when the last one is closed by its observation, the run is `ready` again. A phase
belongs here only if it changes what may happen next; counters and texts belong to run.py.
"""

from collections.abc import Mapping
from typing import Any, Literal

from ..errors import IllegalMove
from .events import (
    Allowed,
    Answered,
    AnyEvent,
    Approved,
    Asked,
    AttemptFailed,
    Began,
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
)  # fmt: skip

RunPhase = Literal["new", "ready", "asking", "retrying", "replied", "acting", "answered", "ended"]
CallPhase = Literal[
    "proposed",
    "allowed",
    "held",
    "approved",
    "denied",
    "edited",
    "refused",
    "started",
    "uncertain",
    "settled",
]

RUN: dict[RunPhase, dict[type[AnyEvent], RunPhase]] = {
    "new": {Began: "ready"},
    "ready": {Asked: "asking", Replied: "replied", Nudged: "ready", Ended: "ended"},
    "asking": {Replied: "replied", AttemptFailed: "retrying"},
    "retrying": {Asked: "asking", Ended: "ended"},
    "replied": {Proposed: "acting", Rejected: "ready", Answered: "answered", Ended: "ended"},
    "acting": {Proposed: "acting", Observed: "ready"},  # `ready` once no call is open
    "answered": {Checked: "answered", Ended: "ended"},
    "ended": {},
}
"""(phase of the run, event) → next phase. Events of a call leave the run `acting`."""

CONTROL: frozenset[type[AnyEvent]] = frozenset({CancelRequested, Messaged, Resumed, GapAccepted})
"""Legal in every phase but `new` and `ended`; they change no phase."""

CALL: dict[CallPhase, dict[type[AnyEvent], CallPhase]] = {
    "proposed": {Allowed: "allowed", Held: "held", Refused: "refused"},
    "allowed": {Started: "started", Refused: "refused"},
    "held": {Approved: "approved", Denied: "denied", Edited: "edited"},
    "approved": {Allowed: "allowed", Refused: "refused"},  # judged again: the world moved
    "denied": {},
    "edited": {},
    "refused": {},
    "started": {Interrupted: "allowed", Unsettled: "uncertain"},
    "uncertain": {Started: "started", Settled: "settled"},
    "settled": {},
}
"""(phase of the call, event) → next phase."""

OBSERVED: dict[CallPhase, frozenset[ObservationStatus]] = {
    "proposed": frozenset({"invalid", "not_run"}),
    "allowed": frozenset({"not_run"}),
    "held": frozenset({"expired", "not_run"}),
    "approved": frozenset({"expired", "not_run"}),
    "denied": frozenset({"denied"}),
    "edited": frozenset({"superseded"}),
    "refused": frozenset({"refused"}),
    "started": frozenset({"ok", "error", "timeout", "interrupted"}),
    "uncertain": frozenset(),
    "settled": frozenset({"settled"}),
}
"""Phase of the call → the observations that may close it. A started write closes only with `ok` or `error` (G6)."""


class Table(dict[str, Any]):
    """One event's column of a table of moves: phase → next phase. Asked for an illegal move it raises IllegalMove."""

    __slots__ = ("event",)

    def __init__(self, table: Mapping[Any, Mapping[type[AnyEvent], Any]], event: type[AnyEvent]) -> None:
        super().__init__({phase: row[event] for phase, row in table.items() if event in row})
        self.event = event

    def __missing__(self, phase: str) -> Any:
        raise illegal(self.event, f"it is {phase}")


def illegal(event: type[AnyEvent], why: str) -> IllegalMove:
    """The error for an event that cannot happen now."""
    happened = str(event.__struct_config__.tag).replace("_", " ")
    return IllegalMove(
        f"`{happened}` cannot happen while {why}",
        fix="two writers shared this log, or it was edited: run `remit verify`",
    )
