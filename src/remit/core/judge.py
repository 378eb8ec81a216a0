"""Turn what happened outside into events, in the one order: parse, validate, authorize, budget, hold.

Every function is pure: state and an input in, events out. The shell takes them into the state, makes them durable where
a barrier says so, and only then acts. A verdict names its rule.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ..errors import PolicyError
from . import budget
from .authorize import authorize
from .canon import admit, clean
from .events import (
    Allowed,
    AnyEvent,
    Approved,
    Asked,
    AttemptFailed,
    Denied,
    Ended,
    Finish,
    ObservationStatus,
    Observed,
    Proposed,
    Refused,
    Rejected,
    Replied,
    Started,
    Status,
    Unsettled,
    Usage,
)  # fmt: skip
from .hold import bound, hold
from .moves import CallPhase
from .parse import invalid, read_call, read_final, shape
from .reply import Call, Final, Reply
from .run import OpenCall, Run
from .spec import ToolSpec

Tools = Mapping[str, ToolSpec]


def ask(run: Run, remote: bool) -> AnyEvent | None:
    """The policy is to be asked: the end if a budget is used up, the request if it leaves the process, or nothing."""
    spent = budget.before_request(run)
    if spent is not None:
        return Ended(status="budget_exhausted", reason=spent.text)
    if not remote and run.phase == "ready":
        return None
    if run.phase == "retrying":
        return Asked(turn=run.turns, attempt=run.attempt + 1)
    return Asked(turn=run.turns + 1)


def reply(run: Run, tools: Tools, said: object, turn: int, us: int) -> Iterator[AnyEvent]:
    """The policy replied to turn `turn` after `us` microseconds: what it proposed, each call judged.

    Each event must be taken into the state before the next is asked for: so a proposal is on record when a guard that
    judges it fails. Raises PolicyError for a bug in the policy.
    """
    items: Sequence[Call | Final]
    finish: Finish = "stop"
    if isinstance(said, (Call, Final)):
        items = (said,)
        yield Replied(turn=turn, us=us)
    else:
        whole = _checked(said)
        items, finish = whole.items, whole.finish
        yield Replied(turn=turn, us=us, finish=finish, usage=whole.usage, raw=whole.raw)
    if finish == "refusal" or finish == "filter":
        yield from _set_aside(run, items, None)
        return
    if finish == "end":
        return
    wrong = None if len(items) == 1 and turn != run.rules.last_turn else shape(items, run.remit.parallel)
    if wrong is not None:
        yield from _set_aside(run, items, wrong) or [Rejected(code=wrong[0], text=wrong[1])]
        return
    for item in items:
        if isinstance(item, Final):
            yield read_final(item, finish)
            continue
        proposed, args, problem = read_call(item, run.proposed + 1)
        yield proposed
        if problem is None and finish == "length":
            problem = _cut_off(tools, proposed)
        if problem is not None:
            yield problem
            continue
        yield from judge(run, tools, run.open[proposed.call], args)


def _checked(said: object) -> Reply:
    """Return a reply that can be recorded. Raises PolicyError for anything else."""
    if not isinstance(said, Reply):
        raise PolicyError(f"the policy returned {type(said).__name__}, which is not a reply", fix=_REPLY_FORM)
    try:
        finish, usage = msgspec.convert(msgspec.to_builtins([said.finish, said.usage]), tuple[Finish, Usage | None])
        items = tuple(said.items) if isinstance(said.items, list | tuple) else None  # its type is only a promise
        raw = admit(said.raw, largest=None)[1]  # a copy, as the log will have it
    except (TypeError, ValueError) as error:
        raise PolicyError(f"the policy's reply cannot be recorded: {error}", fix=_REPLY_FORM) from error
    if items is None or not all(isinstance(item, Call | Final) for item in items):
        raise PolicyError("the policy's reply has items that are not a list of calls and finals", fix=_REPLY_FORM)
    if finish == "end" and items:
        raise PolicyError("the policy ended and proposed something in one reply", fix=_REPLY_FORM)
    return Reply(items, raw, usage, finish)


_REPLY_FORM = "return a Call, a Final, or Reply(items, raw=JSON, usage=Usage or None, finish=one of its names)"


def _set_aside(run: Run, items: Sequence[Call | Final], wrong: tuple[str, str] | None) -> list[AnyEvent]:
    """Propose every call of a reply that is not acted on, then answer each: nothing proposed stays unanswered."""
    calls = [item for item in items if isinstance(item, Call)]
    proposals = [read_call(item, number)[0] for number, item in enumerate(calls, run.proposed + 1)]
    return [*proposals, *(_aside(proposed.call, wrong) for proposed in proposals)]


def _aside(call: str, wrong: tuple[str, str] | None) -> Observed:
    if wrong is not None:
        return invalid(call, *wrong)
    return Observed(call=call, status="not_run", text="the model declined in the same reply")


def _cut_off(tools: Tools, proposed: Proposed) -> Observed | None:
    """A write in a reply that was cut off does not run, however whole it looks."""
    if proposed.tool not in tools or not tools[proposed.tool].writes:
        return None
    why = "the reply was cut off at its length limit: what belongs to this call is unknown"
    return invalid(proposed.call, "call.truncated", why)


def judge(run: Run, tools: Tools, call: OpenCall, args: Any) -> Sequence[AnyEvent]:
    """Judge a proposed call, or an approved one once more, for the world moved while it waited: it may start, waits for
    a person, or is answered without running. A yes opens the gate that held this very call, and nothing else."""
    rules = run.rules
    tool, approved = call.tool, call.phase == "approved"
    spec = tools.get(tool)
    if spec is None:
        return _unusable(call, "call.unknown_tool", _unknown(tool, rules.scopes))
    if tool in rules.scopes:  # of any other tool not even the schema is for showing
        problem = spec.problem(args)
        if problem is not None:
            return _unusable(call, problem.code, problem.text)
    refused = authorize(rules, call.id, tool, args)
    if refused is not None:
        return _refuse(refused)
    spent = budget.before_start(run, tool)
    if spent is not None:
        return (_not_run(call.id, spent),)
    if not (approved or spec.consequential or tool in rules.gates):
        return (Allowed(call=call.id, rule=f"scope.{tool}"),)
    stopped = hold(run, call.id, spec, call.args or "")
    if isinstance(stopped, Refused):
        return _refuse(stopped)
    if not approved:
        return (stopped or Allowed(call=call.id, rule=f"scope.{tool}"),)
    if bound(run, spec, call.args or "") != call.digest:
        return _refuse(Refused(call=call.id, rule="approval", reason="what was approved is not what would run now"))
    return (Allowed(call=call.id, rule="approval"),)


def _unusable(call: OpenCall, code: str, why: str) -> Sequence[AnyEvent]:
    if call.phase == "proposed":
        return (invalid(call.id, code, why),)
    return _refuse(Refused(call=call.id, rule=code, reason=why))  # it was usable when it was approved


def _refuse(refused: Refused) -> Sequence[AnyEvent]:
    text = f"{refused.rule}: {refused.reason}"
    return refused, Observed(call=refused.call, status="refused", code=refused.rule, text=text)


def _not_run(call: str, spent: budget.Exhausted) -> Observed:
    return Observed(call=call, status="not_run", code=f"budget.{spent.budget}", text=spent.text)


def _unknown(tool: str, known: Mapping[str, object]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(tool, [*known], n=2)
    return f"there is no tool `{tool[:80]}`" + (f"; did you mean {' or '.join(near)}?" if near else "")


def start(run: Run, tools: Tools, call: OpenCall) -> Started | Observed:
    """An allowed call starts. One that starts again after a crash is charged again."""
    if call.number:
        spent = budget.before_start(run, call.tool)
        if spent is not None:
            return _not_run(call.id, spent)
    if tools[call.tool].writes:
        return Started(call=call.id, effect_id=f"{run.id}.{call.id}", number=call.number + 1)
    return Started(call=call.id, number=call.number + 1)


def decide(call: OpenCall, yes: bool, by: str, reason: str = "", claim: str = "self") -> Sequence[AnyEvent]:
    """A person decided on a held call. Raises TypeError for what is no decision: a yes is True, and nothing else."""
    given: list[object] = [yes, by, reason, claim]
    if list(map(type, given)) != [bool, str, str, str] or not by:
        raise TypeError("a decision is yes=True or False, by=TEXT, reason=TEXT, claim=TEXT")
    by, reason, claim = clean(by), clean(reason), clean(claim)
    if yes:
        return (Approved(call=call.id, by=by, claim=claim, digest=call.digest),)
    said = f"denied by {by}" + (f": {reason}" if reason else "")
    return Denied(call=call.id, by=by, claim=claim, reason=reason), Observed(call=call.id, status="denied", text=said)


def cancel(run: Run, by: str) -> list[AnyEvent]:
    """Answer every open call of a run that is to end; a write that may have happened becomes uncertain."""
    events: list[AnyEvent] = []
    if run.phase == "asking":
        events.append(AttemptFailed(kind="cancelled", detail=f"cancelled by {by}"))
    return events + _answer_open(
        run, "interrupted", f"cancelled by {by} while it ran", f"the run was cancelled by {by}"
    )


def fail(run: Run, error: str) -> list[AnyEvent]:
    """A guard, the policy or a tool broke (G12): what has not run does not run, and the run ends as `failed`."""
    if run.phase == "new" or run.phase == "ended":
        return []
    events: list[AnyEvent] = []
    if run.phase == "asking":
        events.append(AttemptFailed(kind="bug", detail=error))
    events += _answer_open(run, "error", error, f"not run: {error}", then="failed")
    uncertain = any(call.phase == "uncertain" for call in run.open.values()) or any(
        type(e) is Unsettled for e in events
    )
    return events if uncertain else [*events, Ended(status="failed", reason=error)]


def _answer_open(
    run: Run, status: ObservationStatus, running: str, waiting: str, then: Status | None = None
) -> list[AnyEvent]:
    """Answer every open call of a run that ends early; a write that was running becomes uncertain."""
    events: list[AnyEvent] = []
    for call in run.open.values():
        if call.phase == "started" and call.effect_id is not None:
            events.append(Unsettled(call=call.id, cause=running, then=then))
        elif call.phase == "started":
            events.append(Observed(call=call.id, status=status, text=running))
        elif call.phase in _IN_FLIGHT:  # its observation was to come next
            events.append(Observed(call=call.id, status=_IN_FLIGHT[call.phase], text=waiting))
        elif call.phase != "uncertain":
            events.append(Observed(call=call.id, status="not_run", text=waiting))
    return events


_IN_FLIGHT: dict[CallPhase, ObservationStatus] = {
    "refused": "refused", "denied": "denied", "edited": "superseded", "settled": "settled",
}  # fmt: skip
