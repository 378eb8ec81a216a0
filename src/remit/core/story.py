"""What a run's records tell, taken one at a time: figures, and listings that the caller keeps where it likes.

Memory does not grow with the log: open calls, sums and counts are kept, and the texts go by. A damaged log is told as
far as it can be read, with what is wrong with it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeAlias

import msgspec

from ..errors import RemitError
from .events import (
    Allowed,
    Answered,
    AnyEvent,
    Approved,
    Asked,
    AttemptFailed,
    Began,
    Checked,
    Denied,
    Edited,
    Ended,
    Held,
    Interrupted,
    Nudged,
    Observed,
    Proposed,
    Record,
    Rejected,
    Replied,
    Settled,
    Started,
    Unsettled,
    decode_events,
)  # fmt: skip
from .fold import FOLD, enter
from .remit import Remit
from .report import Summary
from .run import Run
from .stuck import Pair, Repeats
from .tell import action, code, event_name, short, tell
from .todo import resting
from .verify import Verified, Verifier

Cell: TypeAlias = str | int | float | bool | None
Row: TypeAlias = tuple[Cell, ...]

SHOWN = 500
"""Characters of a call or a reason that a report shows."""
NAME = 128
"""Characters of a tool's name that a report shows: no declared tool has more."""
NOTE = 80
"""Characters of a remark beside a call that a report shows."""
MOST_DAMAGE = 20
"""Problems of a damaged log that are kept."""
ERRORS = frozenset({"error", "invalid", "timeout"})
"""The observations that the summary counts as errors."""


class Listing(Protocol):
    """Keeps rows in order, and gives them as often as asked: a list, or something beside the memory."""

    def append(self, row: Row, /) -> object: ...
    def __iter__(self) -> Iterator[Row]: ...


class _Forgetful(Repeats):
    """A report judges nothing anew: where a run was stuck, its end says so."""

    def add(self, pair: Pair, write: bool, poll: int | None) -> None:
        return None


class ToldCall:
    """A call that has no observation yet: how it stands, since when and why. `us` is what its uncertain tries took."""

    def __init__(self, tool: str, shown: str, at: int) -> None:
        self.tool, self.action = tool, shown
        self.state, self.since, self.why = "proposed", at, ""
        self.allowed_by = self.settled = ""
        self.effect_id: str | None = None
        self.tries = self.us = 0

    def becomes(self, state: str, at: int, why: str = "") -> None:
        self.state, self.since, self.why = state, at, why


class Story:
    """Takes the records of one run, in order. `listing` makes the listings; without it there are none, which is all
    that the six lines need. Times are in microseconds, those of records since 1970 UTC."""

    timeline: Listing | None
    """Rows of (seq, at, event, text)."""
    decisions: Listing | None
    """Rows of (at, call, decision, person, how the person is known, seconds waited, note, action)."""
    receipts: Listing | None
    """Rows of (at, call, effect id, tries, the rule that allowed it, outcome, seconds it took, action)."""
    nudges: Listing | None
    """Rows of (at, call, text)."""

    def __init__(self, listing: Callable[[], Listing] | None = None) -> None:
        self.timeline = listing() if listing else None
        self.decisions = listing() if listing else None
        self.receipts = listing() if listing else None
        self.nudges = listing() if listing else None
        self.summary = Summary()
        self.damage: list[Row] = []
        """What is wrong with the log, as (record, problem): the first MOST_DAMAGE of `damaged` problems."""
        self.damaged = 0
        self.began: Began | None = None
        self.remit: Remit | None = None
        self.ended: Ended | None = None
        self.answer: str | None = None
        self.checks: list[Checked] = []
        self.calls: dict[str, ToldCall] = {}
        """The open ones."""
        self.run = ""
        self.records = self.seq = self.began_at = self.at = self.turns = 0
        self.working_us = self.waiting_us = self.backoff_us = 0
        self.bill: Counter[str] = Counter()
        self.started: Counter[str] = Counter()
        self.observed: Counter[tuple[str, str, str]] = Counter()
        """How often each (status, code, tool) was observed."""
        self.rejected: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self._state: Run | None = None  # gone from the first event on that the tables of moves do not have

    def take(self, record: Record) -> None:
        """Take one record. Damage is noted, never raised."""
        self._enter(record)
        try:
            events = decode_events(record.events)
        except (msgspec.DecodeError, RecursionError) as error:
            self._note_damage(f"cannot be read: {error}")
            return
        for event in events:
            self._fold(event)
            change = _CHANGES.get(type(event))
            if change is not None:
                change(self, event)
            if self.timeline is not None:
                self.timeline.append((self.seq, record.at, event_name(event), tell(event)))
        if self._state is not None:
            self._state.observations.clear()
            self._state.notices.clear()

    def chained(self, found: Verified) -> None:
        """Take what was found of the chain; what a story sees for itself is not told twice."""
        for damage in found.damage:
            if damage.kind not in ("illegal", "missing", "undecodable"):
                self._note_damage(damage.text, damage.seq)

    def rest(self) -> tuple[str, str]:
        """Return the status and its reason; `not recorded` where the log has no end and the run is not at rest."""
        if self.ended is not None:
            return self.ended.status, self.ended.reason
        return (self._state and resting(self._state)) or ("not recorded", "")

    def stop(self) -> str:
        """Return the same in one line, for the summary."""
        status, reason = self.rest()
        return short(f"{status}: {reason}" if reason else status, SHOWN)

    def _enter(self, record: Record) -> None:
        if not self.records:
            self.run, self._state = record.run, Run(record.run)
            self.began_at = record.at
        expected = self.seq + 1
        self.records += 1
        self.seq, self.at = record.seq, max(self.at, record.at)
        if record.seq != expected:
            self._note_damage(f"record {expected} should stand here")
        if self._state is not None:
            enter(self._state, record.seq, record.at)

    def _fold(self, event: AnyEvent) -> None:
        """Take the event into the run's state, which knows how a run without an end is at rest."""
        state = self._state
        if state is None:
            return
        try:
            FOLD[type(event)](state, event)
        except (RemitError, AttributeError, TypeError) as error:  # an edited log may hold anything
            self._note_damage(str(getattr(error, "message", error)))
            self._state = None
        else:
            if type(event) is Began:
                self.remit = state.remit
                state.repeats = _Forgetful("plain", 1)

    def _note_damage(self, problem: str, seq: int | None = None) -> None:
        self.damaged += 1
        if self.damaged <= MOST_DAMAGE:
            self.damage.append((self.seq if seq is None else seq, short(problem, SHOWN)))
        if self.timeline is not None:
            self.timeline.append((self.seq, self.at, "damage", short(problem, SHOWN)))

    # What each event changes

    def _begin(self, e: Began) -> None:
        self.began = e

    def _ask(self, e: Asked) -> None:
        self.turns = e.turn

    def _fail(self, e: AttemptFailed) -> None:
        self.working_us += e.us
        self.backoff_us += e.backoff_us
        self.failed[e.kind] += 1

    def _reply(self, e: Replied) -> None:
        self.turns = e.turn
        self.working_us += e.us
        self.bill["replies"] += 1
        if e.usage is None:
            return
        self.bill["replies_with_usage"] += 1
        for name in ("input", "output", "cached"):
            self.bill[name] += getattr(e.usage, name)
        if e.usage.microusd is not None:
            self.bill["replies_with_cost"] += 1
            self.bill["microusd"] += e.usage.microusd

    def _reject(self, e: Rejected) -> None:
        self.rejected[e.code] += 1

    def _propose(self, e: Proposed) -> None:
        self.calls[e.call] = ToldCall(short(e.tool, NAME), short(action(e), SHOWN), self.at)

    def _call(self, name: str) -> ToldCall:
        """The open call; nothing is known of one whose proposal was lost."""
        return self.calls.get(name) or ToldCall("not recorded", "not recorded", self.at)

    def _allow(self, e: Allowed) -> None:
        call = self._call(e.call)
        call.allowed_by = e.rule
        call.becomes("allowed", self.at, e.rule)

    def _hold(self, e: Held) -> None:
        self._call(e.call).becomes("held", self.at, e.rule)

    def _decide(self, e: Approved | Denied | Edited) -> None:
        call, kind = self._call(e.call), event_name(e)
        waited = self.at - call.since if call.state == "held" else 0
        self.waiting_us += waited
        call.becomes(kind, self.at, e.by)
        if self.decisions is not None:
            note = e.reason if isinstance(e, Denied) else f"into {e.into}" if isinstance(e, Edited) else ""
            row = (self.at, e.call, kind, e.by, e.claim, waited / 1e6, short(note, NOTE) or None, call.action)
            self.decisions.append(row)

    def _start(self, e: Started) -> None:
        call = self._call(e.call)
        self.started[call.tool] += 1
        call.effect_id, call.tries = e.effect_id, e.number
        call.becomes("started", self.at)

    def _interrupt(self, e: Interrupted) -> None:
        self._call(e.call).becomes("interrupted", self.at)

    def _unsettle(self, e: Unsettled) -> None:
        call = self._call(e.call)
        self.working_us += e.us
        call.us += e.us
        call.becomes("uncertain", self.at, short(e.cause, NOTE))

    def _settle(self, e: Settled) -> None:
        call = self._call(e.call)
        call.settled = f"{'done' if e.done else 'not done'}, by {e.how}" + (f" {e.by}" if e.by else "")
        call.becomes("settled", self.at, call.settled)

    def _observe(self, e: Observed) -> None:
        call = self._call(e.call)
        self.calls.pop(e.call, None)
        self.working_us += e.us
        call.us += e.us
        self.summary.add(call.action, call.tool, "error" if e.status in ERRORS else e.status, call.us / 1000)
        self.observed[e.status, code(e), call.tool] += 1
        if call.effect_id is not None and self.receipts is not None:
            outcome = f"settled: {call.settled}" if call.settled else e.status
            row = (self.at, e.call, call.effect_id, call.tries, call.allowed_by, outcome, call.us / 1e6, call.action)
            self.receipts.append(row)

    def _nudge(self, e: Nudged) -> None:
        if self.nudges is not None:
            self.nudges.append((self.at, e.call, short(e.text, SHOWN)))

    def _answer(self, e: Answered) -> None:
        self.answer = e.text

    def _check(self, e: Checked) -> None:
        self.working_us += e.us
        self.checks.append(e)

    def _end(self, e: Ended) -> None:
        self.ended = e


_CHANGES: dict[type[AnyEvent], Callable[[Story, Any], None]] = {
    Began: Story._begin, Asked: Story._ask, AttemptFailed: Story._fail, Replied: Story._reply,
    Rejected: Story._reject, Proposed: Story._propose, Allowed: Story._allow, Held: Story._hold,
    Approved: Story._decide, Denied: Story._decide, Edited: Story._decide, Started: Story._start,
    Interrupted: Story._interrupt, Unsettled: Story._unsettle, Settled: Story._settle, Observed: Story._observe,
    Nudged: Story._nudge, Answered: Story._answer, Checked: Story._check, Ended: Story._end,
}  # fmt: skip


def told(
    records: Iterable[Record], *, witness: tuple[int, bytes] | None = None, listing: Callable[[], Listing] | None = None
) -> Story:
    """Return the story of a run's records, its chain verified on the way; `witness` as for verify."""
    story = Story(listing)
    chain: Verifier | None = None
    for record in records:
        chain = chain or Verifier(record.run, witness, folding=False)
        chain.add(record)
        story.take(record)
    if chain is not None:
        story.chained(chain.done())
    return story
