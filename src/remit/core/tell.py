"""One event in one line: what is known comes first, and what a model, a tool or a person wrote comes last."""

from collections.abc import Callable
from typing import Any

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
    Refused,
    Rejected,
    Replied,
    Resumed,
    Settled,
    Started,
    Unsettled,
)  # fmt: skip

LINE = 160
"""Characters of an event's line; of a longer one the rest is counted."""


def tell(event: AnyEvent, limit: int = LINE) -> str:
    """Return what happened, in at most about `limit` characters of which none is escaped yet."""
    return short(_TELL[type(event)](event), limit)


def event_name(event: AnyEvent) -> str:
    """Return the event's name as the log has it."""
    return str(event.__struct_config__.tag)


def short(text: str, limit: int) -> str:
    """Return the text, or its beginning and how long it is."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def action(event: Proposed) -> str:
    """Return a proposed call as `name(canonical arguments)`, or with the unusable text in their place, shortened."""
    return f"{event.tool}({short(event.text, 80) if event.text is not None else bytes(event.args).decode()})"


def code(event: Observed) -> str:
    """Return the kind of an observation that is not a result, or an empty text."""
    return event.code or (f"exit code {event.exit_code}" if event.exit_code else "")


def _began(e: Began) -> str:
    return (f"for {e.principal}: " if e.principal else "") + e.task


def _asked(e: Asked) -> str:
    return f"turn {e.turn}" + (f", attempt {e.attempt}" if e.attempt > 1 else "")


def _attempt_failed(e: AttemptFailed) -> str:
    waited = f", then waited {_took(e.backoff_us)}" if e.backoff_us else ""
    after = f" after {_took(e.us)}" if e.us else ""
    return f"{e.kind}{after}{waited}" + (f": {e.detail}" if e.detail else "")


def _replied(e: Replied) -> str:
    finish = "" if e.finish == "stop" else f", finish {e.finish}"
    tokens = "" if e.usage is None else f", {e.usage.input} tokens in, {e.usage.output} out"
    return f"turn {e.turn} in {_took(e.us)}{tokens}{finish}" + (f": {e.raw}" if isinstance(e.raw, str) else "")


def _proposed(e: Proposed) -> str:
    return f"{e.call}" + (f" in place of {e.edit_of}" if e.edit_of else "") + f" {action(e)}"


def _decided(e: Approved | Denied | Edited) -> str:
    return f"{e.call} by {e.by} ({e.claim})"


def _denied(e: Denied) -> str:
    return _decided(e) + (f": {e.reason}" if e.reason else "")


def _started(e: Started) -> str:
    tries = f", try {e.number}" if e.number > 1 else ""
    return f"{e.call}{tries}" + (f", effect id {e.effect_id}" if e.effect_id else "")


def _unsettled(e: Unsettled) -> str:
    return e.call + (f" after {_took(e.us)}" if e.us else "") + f": {e.cause}"


def _settled(e: Settled) -> str:
    by = f" {e.by}" if e.by else ""
    return f"{e.call} {'done' if e.done else 'not done'}, by {e.how}{by}" + (f": {e.note}" if e.note else "")


def _observed(e: Observed) -> str:
    kind = code(e)
    named = f" ({kind})" if kind and not e.text.startswith(kind) else ""
    took = f" in {_took(e.us)}" if e.us else ""
    whole = f", {e.size} bytes in all" if e.size is not None else ""
    return f"{e.call} {e.status}{named}{took}{whole}: {e.text}"


def _answered(e: Answered) -> str:
    claims = f"{len(e.claims)} claim{'s' * (len(e.claims) > 1)}: " if e.claims else ""
    return claims + e.text


def _checked(e: Checked) -> str:
    return f"{'passed' if e.passed else 'failed'} {e.name}" + (f": {e.detail}" if e.detail else "")


def _ended(e: Ended) -> str:
    return e.status + (f", {e.grade}" if e.grade else "") + (f": {e.reason}" if e.reason else "")


def _took(us: int) -> str:
    return f"{us / 1000:.1f} ms" if us < 1_000_000 else f"{us / 1e6:.1f} s"


_TELL: dict[type[AnyEvent], Callable[[Any], str]] = {
    Began: _began,
    Asked: _asked,
    AttemptFailed: _attempt_failed,
    Replied: _replied,
    Proposed: _proposed,
    Rejected: lambda e: f"{e.code}: {e.text}",
    Allowed: lambda e: f"{e.call} by {e.rule}",
    Held: lambda e: f"{e.call} by {e.rule}",
    Refused: lambda e: f"{e.call} by {e.rule}: {e.reason}",
    Approved: _decided,
    Denied: _denied,
    Edited: lambda e: f"{_decided(e)} into {e.into}",
    Started: _started,
    Interrupted: lambda e: f"{e.call}, to start again",
    Unsettled: _unsettled,
    Settled: _settled,
    Observed: _observed,
    Nudged: lambda e: f"{e.call}: {e.text}",
    Answered: _answered,
    Checked: _checked,
    CancelRequested: lambda e: f"by {e.by}",
    Messaged: lambda e: f"{e.by}: {e.text}",
    Resumed: lambda e: f"by {e.owner}, epoch {e.epoch}",
    GapAccepted: lambda e: f"by {e.by}: {e.detail}",
    Ended: _ended,
}
