"""After a crash: what was in flight, from the log alone. Asking twice is harmless.

A request without a reply is asked again in the same turn. A repeatable read starts again, unless a person's yes was
spent on it. A write without an outcome is uncertain: it is never run again on a guess, and never assumed undone (G6).
"""

from .events import AnyEvent, AttemptFailed, Interrupted, Observed, Unsettled
from .run import Run


def recover(run: Run) -> list[AnyEvent]:
    """Return the events that bring an interrupted run to a state that `todo` can go on from."""
    events: list[AnyEvent] = []
    if run.phase == "asking":
        events.append(AttemptFailed(kind="interrupted", detail="the process ended before a reply was recorded"))
    for call in run.open.values():
        if call.phase != "started":
            continue
        if call.effect_id is not None:
            events.append(Unsettled(call=call.id, cause="the process ended while it ran"))
        elif call.held_at is not None:
            events.append(Observed(call=call.id, status="interrupted", text="the process ended while it ran"))
        else:
            events.append(Interrupted(call=call.id))
    return events
