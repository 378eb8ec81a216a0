"""What the tables of the core start from: a few tools, and a run brought to a point by what was said and decided."""

from collections.abc import Iterable
from typing import Any

import msgspec

from remit import Call, Final, Remit, Reply, Toolbox
from remit.core import judge
from remit.core.canon import decode, encode
from remit.core.events import AnyEvent, Began, ObservationStatus, Observed
from remit.core.fold import FOLD, enter
from remit.core.run import Run

AT = 1_700_000_000_000_000
"""The time of the first record, in microseconds since 1970."""

TOOLS = Toolbox()


@TOOLS.read
def look(id: int, note: str = "") -> str:
    return f"{id}"


@TOOLS.egress
def fetch(url: str) -> str:
    return url


@TOOLS.read(poll=3)
def wait(job: str) -> str:
    return job


@TOOLS.write
def pay(amount: int) -> str:
    return f"{amount}"


@TOOLS.write(consequential=True)
def ship(to: str) -> str:
    return to


ANY: dict[str, Any] = dict.fromkeys(TOOLS, "any")


def begun(box: Toolbox = TOOLS, /, *, principal: str | None = None, **limits: Any) -> Run:
    """A run whose remit names every tool unless `limits` says otherwise; it is ready for its first turn."""
    remit = Remit(**{"tools": dict.fromkeys(box, "any"), **limits})
    run = Run("r1")
    declared = {name: box[name].declared for name in remit.tools}
    document = msgspec.Raw(encode(remit.document))
    record(run, [Began(task="t", principal=principal, remit=document, digest=remit.digest(box), tools=declared)], AT)
    return run


def record(run: Run, events: Iterable[AnyEvent], at: int = 0) -> list[AnyEvent]:
    """Take one record's events into the run, each before the next is asked for, and return them."""
    enter(run, run.seq + 1, at)
    taken = []
    for event in events:
        FOLD[type(event)](run, event)
        taken.append(event)
    return taken


def says(run: Run, said: Call | Final | Reply, *, us: int = 0, at: int = 0, tools: Toolbox = TOOLS) -> list[AnyEvent]:
    """The policy's reply to the next turn, judged; return what follows `Replied`."""
    return record(run, judge.reply(run, tools, said, run.turns + 1, us), at)[1:]


def runs(
    run: Run, call: Call, status: ObservationStatus = "ok", text: str = "", *, us: int = 0, tools: Toolbox = TOOLS
) -> list[AnyEvent]:
    """The policy proposes the call, it starts, and it is observed."""
    says(run, call, tools=tools)
    (open_call,) = run.open.values()
    record(run, [judge.start(run, tools, open_call)])
    return record(run, [Observed(call=open_call.id, status=status, text=text, us=us)])


def again(run: Run, tools: Toolbox = TOOLS) -> list[AnyEvent]:
    """Judge the one open call once more."""
    (call,) = run.open.values()
    return record(run, judge.judge(run, tools, call, decode(call.args or "{}")))
