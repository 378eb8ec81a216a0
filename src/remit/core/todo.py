"""What the shell must do next: a pure function of the state, asked for again after each step."""

from typing import TypeAlias

import msgspec

from .check import grade, plan
from .events import AnyEvent, Ended, Nudged, Observed, Status
from .moves import CallPhase
from .run import Halt, OpenCall, Run


class Ask(msgspec.Struct, frozen=True, gc=False):
    """Ask the policy for its next reply."""


class Start(msgspec.Struct, frozen=True, gc=False):
    """Run this allowed call."""

    call: OpenCall


class Question(msgspec.Struct, frozen=True, gc=False):
    """Ask a person about this held call; if nobody can be asked now, rest."""

    call: OpenCall


class Judge(msgspec.Struct, frozen=True, gc=False):
    """Judge this proposed call, or once more this approved one."""

    call: OpenCall


class Settle(msgspec.Struct, frozen=True, gc=False):
    """Find out what became of this uncertain write; if nothing can tell, rest."""

    call: OpenCall


class Check(msgspec.Struct, frozen=True, gc=False):
    """Run check `number` of the plan for the answer (check.plan)."""

    number: int


class Note(msgspec.Struct, frozen=True, gc=False):
    """Record these events: the state alone demands them."""

    events: list[AnyEvent]


class Rest(msgspec.Struct, frozen=True, gc=False):
    """Nothing is left to do: the run has ended."""


Todo: TypeAlias = Ask | Start | Question | Judge | Settle | Check | Note | Rest
_ASK = Ask()


def todo(run: Run) -> Todo:
    """Return the next thing to do. A state that follows a crash goes through recover.py first."""
    phase = run.phase
    if phase == "ready" or phase == "retrying":
        if run.halt is not None:
            return Note([run.halt.end()])
        if run.loop is not None:
            return Note([_nudge(run)])
        return _ASK
    if phase == "acting":
        return _open(run)
    if phase == "answered":
        checks = plan(run)
        if run.halt is None and len(run.checked) < len(checks):
            return Check(len(run.checked))
        return Note([_conclusion(run, len(checks))])
    if phase == "replied" and run.halt is not None:
        return Note([run.halt.end()])
    if phase == "ended":
        return Rest()
    raise AssertionError(f"run {run.id} was left {phase}: recover it first")


_NEXT: dict[CallPhase, type[Judge | Question | Start | Settle]] = {
    "proposed": Judge, "approved": Judge, "held": Question, "allowed": Start, "uncertain": Settle,
}  # fmt: skip
"""What an open call needs. All are judged, held ones are asked about before any starts, then they go in order."""
_RANK: dict[CallPhase, int] = {"proposed": 0, "approved": 0, "held": 1, "allowed": 2, "uncertain": 2}


def _open(run: Run) -> Todo:
    calls = run.open.values()
    if run.halt is not None:
        waiting = [call for call in calls if call.phase in ("proposed", "approved", "held", "allowed")]
        if waiting:
            return Note([Observed(call=call.id, status="not_run", text=_halted(run.halt)) for call in waiting])
    call = next(iter(calls)) if len(calls) == 1 else min(calls, key=lambda call: _RANK.get(call.phase, 3))
    kind = _NEXT.get(call.phase)
    if kind is None:
        raise AssertionError(f"call {call.id} of run {run.id} was left {call.phase}: recover it first")
    return kind(call)


def _halted(halt: Halt) -> str:
    return f"not run: the run ends as {halt.status}" + (f", {halt.reason}" if halt.reason else "")


def _conclusion(run: Run, checks: int) -> Ended:
    if run.halt is not None:
        return run.halt.end()
    return Ended(status="complete", grade=grade(run.checked, checks))


def _nudge(run: Run) -> Nudged:
    assert run.loop is not None
    loop, call = run.loop
    what = f"has now given the same result {loop.times} times"
    if loop.length > 1:
        what = f"is part of a cycle of {loop.length} calls that is about to be complete for the {loop.times + 1}th time"
    text = f"{call} {what}; once more and the run stops as stuck"
    return Nudged(call=run.observations[-1].call, text=text)


def resting(run: Run) -> tuple[Status, str] | None:
    """Return (status, reason) where a run that nobody drives is at rest, or None where it was interrupted."""
    if run.ended is not None:
        return run.ended.status, run.ended.reason
    uncertain = [call for call in run.open.values() if call.phase == "uncertain"]
    if uncertain:
        due = f", then = {run.halt.status}" if run.halt else ""
        return "uncertain", f"the outcome of {', '.join(_name(call) for call in uncertain)} is unknown{due}"
    held = [call for call in run.open.values() if call.phase == "held"]
    if held:
        return "awaiting_approval", f"{', '.join(_name(call) for call in held)} waits for a person"
    return None


def _name(call: OpenCall) -> str:
    return f"{call.id} {call.tool}"
