"""State is a fold of events: take each into a run, or raise IllegalMove where the tables of moves do not have it."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import msgspec

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
    Observed,
    Proposed,
    Record,
    Refused,
    Rejected,
    Replied,
    Resumed,
    Settled,
    Started,
    Unsettled,
    decode_events,
)  # fmt: skip
from .moves import CALL, OBSERVED, RUN, Table, illegal
from .remit import load
from .rules import Rules
from .run import Notice, Observation, OpenCall, Run
from .stuck import Loop, Repeats


def fold(run_id: str, records: Iterable[Record]) -> Run:
    """Return the state of a run from its records."""
    run = Run(run_id)
    for record in records:
        take(run, record)
    return run


def take(run: Run, record: Record) -> list[AnyEvent]:
    """Take one record into the state, and return its events."""
    events = decode_events(record.events)
    enter(run, record.seq, record.at)
    for event in events:
        FOLD[type(event)](run, event)
    return events


def enter(run: Run, seq: int, at: int) -> None:
    """Enter record `seq`, written at `at`: time in a run never goes back, whatever the wall clock did."""
    run.seq = seq
    if at > run.at:
        run.at = at
        if not run.began_at:
            run.began_at = at


@lru_cache(maxsize=64)
def _rules(document: bytes) -> Rules:
    return Rules(load(msgspec.json.decode(document)))


def _began(run: Run, e: Began) -> None:
    run.phase = _RUN[Began][run.phase]
    run.began = e
    run.rules = _rules(bytes(e.remit))
    run.remit = run.rules.remit
    run.deadline = run.began_at + run.rules.wall_us
    run.repeats = Repeats(run.remit.stuck.rule, run.remit.stuck.threshold)
    run.polls = {name: tool.poll for name, tool in e.tools.items() if tool.poll is not None}


def _asked(run: Run, e: Asked) -> None:
    run.phase = _RUN[Asked][run.phase]
    run.turns = e.turn
    run.attempt = e.attempt


def _attempt_failed(run: Run, e: AttemptFailed) -> None:
    run.phase = _RUN[AttemptFailed][run.phase]
    run.working_us += e.us
    run.backoff_us += e.backoff_us


def _replied(run: Run, e: Replied) -> None:
    run.phase = _REPLIED[run.phase]
    run.turns = e.turn
    run.working_us += e.us
    if e.usage is not None:
        run.tokens = (run.tokens or 0) + e.usage.input + e.usage.output
    if e.finish == "stop":
        return
    if e.finish == "end":
        run.halt_with("no_answer", e.raw if isinstance(e.raw, str) else "")
    elif e.finish == "refusal" or e.finish == "filter":
        run.halt_with("declined", e.finish)


def _proposed(run: Run, e: Proposed) -> None:
    run.phase = _PROPOSED[run.phase]
    if e.call in run.open:
        raise illegal(Proposed, f"call {e.call} is open already")
    run.proposed += 1
    run.open[e.call] = OpenCall(e)


def _rejected(run: Run, e: Rejected) -> None:
    run.phase = _RUN[Rejected][run.phase]
    run.notices.append(Notice("rejected", f"{e.code}: {e.text}", len(run.observations)))
    _count_invalid(run, e.code)


def _count_invalid(run: Run, code: str) -> None:
    """Count unusable replies, each once however many calls it had."""
    if run.invalid_turn != run.turns:
        run.invalid_turn = run.turns
        run.invalid += 1
        if run.invalid >= run.remit.max_invalid:
            run.halt_with("invalid_proposal", f"{run.invalid} unusable replies, the last `{code}`")


def _call(run: Run, call: str, table: Table) -> OpenCall:
    """Move the phase of an open call, and return the call."""
    found = run.open.get(call)
    if found is None:
        raise _not_open(table.event, call)
    found.phase = table[found.phase]
    return found


def _not_open(event: type[AnyEvent], call: str) -> IllegalMove:
    return illegal(event, f"call {call} is not open")


def _allowed(run: Run, e: Allowed) -> None:
    call = run.open.get(e.call)
    if call is None:
        raise _not_open(Allowed, e.call)
    call.phase = _ALLOWED[call.phase]


def _held(run: Run, e: Held) -> None:
    call = _call(run, e.call, _CALL[Held])
    call.held_at = run.at
    call.rule, call.digest = e.rule, e.digest


def _refused(run: Run, e: Refused) -> None:
    _call(run, e.call, _CALL[Refused])
    _count_refusal(run, f"{e.rule}: {e.reason}")


def _count_refusal(run: Run, reason: str) -> None:
    run.refusals += 1
    if run.remit.on_refusal == "stop" or run.refusals > run.remit.max_refusals:
        run.halt_with("denied", reason)


def _decided(run: Run, call: str, table: Table) -> OpenCall:
    found = _call(run, call, table)
    if found.held_at is not None:
        run.waiting_us += run.at - found.held_at
    return found


def _approved(run: Run, e: Approved) -> None:
    if _decided(run, e.call, _CALL[Approved]).digest != e.digest:
        raise illegal(Approved, f"call {e.call} is not the call that was held")


def _denied(run: Run, e: Denied) -> None:
    _decided(run, e.call, _CALL[Denied])
    _count_refusal(run, f"by {e.by}" + (f": {e.reason}" if e.reason else ""))


def _edited(run: Run, e: Edited) -> None:
    _decided(run, e.call, _CALL[Edited])


def _started(run: Run, e: Started) -> None:
    call = run.open.get(e.call)
    if call is None:
        raise _not_open(Started, e.call)
    call.phase = _STARTED[call.phase]
    tool = call.tool
    run.started += 1
    run.started_by_tool[tool] = run.started_by_tool.get(tool, 0) + 1
    call.effect_id = e.effect_id
    call.number = e.number


def _interrupted(run: Run, e: Interrupted) -> None:
    _call(run, e.call, _CALL[Interrupted])


def _unsettled(run: Run, e: Unsettled) -> None:
    _call(run, e.call, _CALL[Unsettled])
    run.working_us += e.us
    if e.then is not None:
        run.halt_with(e.then, e.cause)


def _settled(run: Run, e: Settled) -> None:
    call = _call(run, e.call, _CALL[Settled])
    if e.done:
        run.succeeded.add(call.tool)
        run.repeats.changed()


def _observed(run: Run, e: Observed) -> None:
    call = run.open.pop(e.call, None)
    if call is None:
        raise _not_open(Observed, e.call)
    status, phase = e.status, call.phase
    if status not in OBSERVED[phase] or (
        call.effect_id is not None and (status == "timeout" or status == "interrupted")
    ):
        raise IllegalMove(f"call {e.call} cannot be observed `{status}` while it is {phase}")
    run.phase = "acting" if run.open else _OBSERVED[run.phase]
    run.working_us += e.us
    tool, args, text = call.tool, call.args, e.text
    run.observations.append(Observation(e.call, tool, args, status, text, e.code, call.ref))
    if phase == "started":
        if status == "ok":
            run.succeeded.add(tool)
        poll = run.polls.get(tool) if run.polls else None
        loop = run.repeats.add((tool, args, status, text), call.effect_id is not None, poll)
        if loop is not None:
            _note_loop(run, loop, f"{tool}({args})")
    elif status == "invalid":
        _count_invalid(run, e.code or "invalid")
    elif status == "not_run" and e.code and e.code.startswith("budget."):
        run.halt_with("budget_exhausted", text)


def _note_loop(run: Run, loop: Loop, call: str) -> None:
    run.loop = (loop, call)
    if loop.verdict == "stop" and loop.length == 1:
        run.halt_with("stuck", f"the same result {loop.times} times from {call}")
    elif loop.verdict == "stop":
        run.halt_with("stuck", f"a cycle of {loop.length} calls repeated {loop.times} times, the last {call}")


def _nudged(run: Run, e: Nudged) -> None:
    run.phase = _RUN[Nudged][run.phase]
    run.loop = None
    run.notices.append(Notice("nudge", e.text, len(run.observations)))


def _answered(run: Run, e: Answered) -> None:
    run.phase = _RUN[Answered][run.phase]
    run.answer = e.text
    run.claims = e.claims


def _checked(run: Run, e: Checked) -> None:
    run.phase = _RUN[Checked][run.phase]
    run.checked.append(e)
    run.working_us += e.us


def _ended(run: Run, e: Ended) -> None:
    run.phase = _RUN[Ended][run.phase]  # not a phase with open calls
    run.ended = e


def _control(run: Run, event: AnyEvent) -> None:
    if run.phase == "new" or run.phase == "ended":
        raise illegal(type(event), f"it is {run.phase}")


def _cancel_requested(run: Run, e: CancelRequested) -> None:
    _control(run, e)
    run.cancelled_by = run.cancelled_by or e.by
    run.halt_with("cancelled", f"by {run.cancelled_by}")


def _messaged(run: Run, e: Messaged) -> None:
    _control(run, e)
    run.notices.append(Notice("message", e.text, len(run.observations), e.by))


def _resumed(run: Run, e: Resumed) -> None:
    _control(run, e)
    run.epoch = e.epoch


FOLD: dict[type[AnyEvent], Callable[[Run, Any], None]] = {
    Began: _began, Asked: _asked, AttemptFailed: _attempt_failed, Replied: _replied, Proposed: _proposed,
    Rejected: _rejected, Allowed: _allowed, Held: _held, Refused: _refused, Approved: _approved, Denied: _denied,
    Edited: _edited, Started: _started, Interrupted: _interrupted, Unsettled: _unsettled, Settled: _settled,
    Observed: _observed, Nudged: _nudged, Answered: _answered, Checked: _checked, CancelRequested: _cancel_requested,
    Messaged: _messaged, Resumed: _resumed, GapAccepted: _control, Ended: _ended,
}  # fmt: skip

_RUN = {event: Table(RUN, event) for event in FOLD}
_CALL = {event: Table(CALL, event) for event in FOLD}
# The moves of every step are bound once: the hot path looks nothing up twice.
_REPLIED, _PROPOSED, _OBSERVED = _RUN[Replied], _RUN[Proposed], _RUN[Observed]
_ALLOWED, _STARTED = _CALL[Allowed], _CALL[Started]
