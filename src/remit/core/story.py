"""What a run's records tell, taken one at a time: the six lines, the figures, and listings that the caller keeps.

Memory does not grow with the log: open calls, sums and counts are kept, and the texts go by. Each figure is counted
once and here, whatever the form of the report. A damaged log is told as far as it can be read, with what is wrong.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol, TypeAlias

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

Cell: TypeAlias = str | int | float | bool | None
Row: TypeAlias = tuple[Cell, ...]

ACTION = 500
"""Characters of a call, or of a reason, that a report shows."""
NOTE = 80
"""Characters of what a person wrote beside a decision."""
MOST_DAMAGE = 20
"""Problems of a damaged log that are listed; the rest is counted."""
ERRORS = frozenset({"error", "invalid", "timeout"})
"""The observations that the summary counts as errors."""


class Listing(Protocol):
    """Keeps rows in order, and gives them as often as asked: a list, or something beside the memory."""

    def append(self, row: Row, /) -> object: ...
    def __iter__(self) -> Iterator[Row]: ...


class Section(NamedTuple):
    """A part of a report. `rows` have the `columns`; without columns they are pairs of a name and a value, which may
    be a count by name.

    A name carries its unit: `at` and `…_at` are in microseconds since 1970 UTC, `…_seconds` and any float in seconds.
    None is shown as `absent`, no rows at all as `empty`.
    """

    key: str
    title: str
    columns: tuple[str, ...]
    rows: Iterable[tuple[Any, ...]]
    empty: str = "none"
    absent: str = "-"


class _Forgetful(Repeats):
    """A report judges nothing anew: where a run was stuck, its end says so."""

    def add(self, pair: Pair, write: bool, poll: int | None) -> None:
        return None


class _Call:
    """A call that has no observation yet: how it stands since when, and by whose word. `us` is what its uncertain tries
    took, `outcome` what is known of a write."""

    def __init__(self, tool: str, shown: str, at: int) -> None:
        self.tool, self.action = tool, shown
        self.state, self.since, self.by = "proposed", at, ""
        self.allowed_by = ""
        self.outcome = "no outcome is on record"
        self.effect_id: str | None = None
        self.tries = self.us = 0

    def becomes(self, state: str, at: int, by: str = "") -> None:
        self.state, self.since, self.by = state, at, by


class Story:
    """Takes the records of one run, in order. The listings (timeline, decisions, receipts) are made by `listing`;
    without it there are none, which is all that the six lines need."""

    def __init__(self, listing: Callable[[], Listing] | None = None) -> None:
        self.summary = Summary()
        self.damage: list[tuple[int, str]] = []
        """What is wrong with the log: (record, problem)."""
        self._timeline, self._decisions, self._receipts = (listing(), listing(), listing()) if listing else (None,) * 3
        self._run: Run | None = None  # no longer there once an event came that the state cannot take
        self._remit: Remit | None = None
        self._began: Began | None = None
        self._ended: Ended | None = None
        self._answer: str | None = None
        self._id = ""
        self._seq = self._records = self._damaged = self._began_at = self._at = 0
        self._turns = self._working_us = self._waiting_us = self._backoff_us = 0
        self._tokens: Counter[str] = Counter()
        self._calls: dict[str, _Call] = {}
        self._started: Counter[str] = Counter()
        self._observed: Counter[tuple[str, str, str]] = Counter()
        self._unusable: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._checks: list[Row] = []
        self._nudges: list[Row] = []

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
            if self._timeline is not None:
                self._timeline.append((self._seq, record.at, event_name(event), tell(event)))
        if self._run is not None:
            self._run.observations.clear()
            self._run.notices.clear()

    def stop(self) -> str:
        """Return why the run stopped, for the summary's last line."""
        status, reason = self._rest()
        if status is None:
            return "not recorded"
        return short(f"{status}: {reason}" if reason else status, ACTION)

    def sections(self) -> list[Section]:
        """Return what the whole report has after the six lines, in an operator's order."""
        status, reason = self._rest()
        began = self._began
        grade = self._ended.grade if self._ended else None
        waits = [("people_seconds", self._waiting_us / 1e6), ("backoff_seconds", self._backoff_us / 1e6)]
        count = ("status", "code", "tool", "times")
        return [
            Section("run", "Run", (), [
                ("run", self._id),
                ("task", began and began.task),
                ("principal", began and began.principal),
                ("subject", began and began.subject),
                ("parent", began and began.parent),
                ("agent_file", began and began.agent_file),
                ("remit", began and began.digest),
                ("began_at", self._began_at),
                ("last_at", self._at),
                ("records", self._records),
                ("status", status or "not recorded"),
                ("reason", reason),
                ("grade", grade),
                ("observations", _by_status(self._observed)),
                ("answer", self._answer),
            ]),
            Section("damage", "Damage in the log", ("record", "problem"), self._damage_rows()),
            Section("checks", "Checks", ("check", "passed", "took_seconds", "detail"), self._checks),
            Section("open_calls", "Open calls", ("call", "state", "since_at", "by", "action"), self._open()),
            Section("budgets", "Budgets", ("budget", "used", "limit"), self._budgets(), absent="no limit"),
            Section("waits", "Waits", (), waits),
            Section("tokens", "Tokens and cost", (), self._bill(), "not recorded", "not recorded"),
            Section("refusals", "Refusals", count, self._counted(errors=False)),
            Section("errors_by_kind", "Errors by kind", count, self._counted(errors=True)),
            Section("unusable_replies", "Unusable replies", ("code", "times"), sorted(self._unusable.items())),
            Section("failed_requests", "Failed requests", ("kind", "times"), sorted(self._failed.items())),
            Section("nudges", "Nudges", ("at", "call", "text"), self._nudges),
            Section("decisions", "Decisions", DECISIONS, self._decisions or ()),
            Section("receipts", "Receipts of writes", RECEIPTS, self._all_receipts()),
            Section("timeline", "Timeline", ("seq", "at", "event", "text"), self._timeline or ()),
        ]  # fmt: skip

    def _enter(self, record: Record) -> None:
        expected = self._seq + 1
        if not self._records:
            self._id, self._run = record.run, Run(record.run)
            self._began_at = record.at
        self._records += 1
        self._seq, self._at = record.seq, max(self._at, record.at)
        if record.seq != expected:
            self._note_damage(f"record {expected} should stand here")
        if self._run is not None:
            enter(self._run, record.seq, record.at)

    def _fold(self, event: AnyEvent) -> None:
        """Take the event into the run's state, which knows how a run without an end is at rest."""
        run = self._run
        if run is None:
            return
        try:
            FOLD[type(event)](run, event)
        except (RemitError, AttributeError, TypeError) as error:  # an edited log may hold anything
            self._note_damage(str(getattr(error, "message", error)))
            self._run = None
        else:
            if type(event) is Began:
                self._remit = run.remit
                run.repeats = _Forgetful("plain", 1)

    def _note_damage(self, problem: str) -> None:
        self._damaged += 1
        if self._damaged <= MOST_DAMAGE:
            self.damage.append((self._seq, short(problem, ACTION)))
        if self._timeline is not None:
            self._timeline.append((self._seq, self._at, "damage", short(problem, ACTION)))

    def _rest(self) -> tuple[str | None, str | None]:
        """The status and reason, where they are on record."""
        if self._ended is not None:
            return self._ended.status, self._ended.reason or None
        return resting(self._run) or (None, None) if self._run is not None else (None, None)

    # What each event changes

    def _begin(self, e: Began) -> None:
        self._began = e

    def _ask(self, e: Asked) -> None:
        self._turns = e.turn

    def _fail(self, e: AttemptFailed) -> None:
        self._working_us += e.us
        self._backoff_us += e.backoff_us
        self._failed[e.kind] += 1

    def _reply(self, e: Replied) -> None:
        self._turns = e.turn
        self._working_us += e.us
        self._tokens["replies"] += 1
        if e.usage is not None:
            spent = self._tokens
            spent["replies_with_usage"] += 1
            spent["input"] += e.usage.input
            spent["output"] += e.usage.output
            spent["cached"] += e.usage.cached
            if e.usage.microusd is not None:
                spent["replies_with_cost"] += 1
                spent["microusd"] += e.usage.microusd

    def _reject(self, e: Rejected) -> None:
        self._unusable[e.code] += 1

    def _propose(self, e: Proposed) -> None:
        self._calls[e.call] = _Call(e.tool, short(action(e), ACTION), self._at)

    def _call(self, name: str) -> _Call:
        """The open call; of one whose proposal is not on record little is known."""
        return self._calls.get(name) or _Call("not recorded", "not recorded", self._at)

    def _allow(self, e: Allowed) -> None:
        call = self._call(e.call)
        call.allowed_by = e.rule
        call.becomes("allowed", self._at, e.rule)

    def _hold(self, e: Held) -> None:
        self._call(e.call).becomes("held", self._at, e.rule)

    def _decide(self, e: Approved | Denied | Edited) -> None:
        call = self._call(e.call)
        waited = self._at - call.since if call.state == "held" else 0
        self._waiting_us += waited
        kind = event_name(e)
        call.becomes(kind, self._at, e.by)
        if self._decisions is not None:
            note = short(e.reason, NOTE) if isinstance(e, Denied) else f"into {e.into}" if isinstance(e, Edited) else ""
            self._decisions.append((self._at, e.call, kind, e.by, e.claim, waited / 1e6, note, call.action))

    def _start(self, e: Started) -> None:
        call = self._call(e.call)
        self._started[call.tool] += 1
        call.effect_id, call.tries = e.effect_id, e.number
        call.becomes("started", self._at)

    def _interrupt(self, e: Interrupted) -> None:
        self._call(e.call).becomes("interrupted", self._at)

    def _unsettle(self, e: Unsettled) -> None:
        call = self._call(e.call)
        self._working_us += e.us
        call.us += e.us
        call.outcome = f"uncertain: {short(e.cause, NOTE)}"
        call.becomes("uncertain", self._at, short(e.cause, NOTE))

    def _settle(self, e: Settled) -> None:
        call = self._call(e.call)
        call.outcome = f"{'done' if e.done else 'not done'}, says {e.by or e.how}"
        call.becomes("settled", self._at, e.by or e.how)

    def _observe(self, e: Observed) -> None:
        call = self._call(e.call)
        self._calls.pop(e.call, None)
        self._working_us += e.us
        failed = "error" if e.status in ERRORS else e.status
        self.summary.add(call.action, call.tool, failed, (call.us + e.us) / 1000)
        self._observed[e.status, code(e), call.tool] += 1
        if call.effect_id is not None and self._receipts is not None:
            call.us += e.us
            if e.status != "settled":
                call.outcome = e.status
            self._receipts.append(self._receipt(e.call, call))

    def _nudge(self, e: Nudged) -> None:
        self._nudges.append((self._at, e.call, e.text))

    def _answer_with(self, e: Answered) -> None:
        self._answer = e.text

    def _check(self, e: Checked) -> None:
        self._working_us += e.us
        self._checks.append((e.name, e.passed, e.us / 1e6, e.detail))

    def _end(self, e: Ended) -> None:
        self._ended = e

    # What the sections hold

    def _damage_rows(self) -> list[Row]:
        more = self._damaged - len(self.damage)
        return [*self.damage, *([(None, f"and {more} more")] if more else [])]

    def _open(self) -> list[Row]:
        return [(name, call.state, call.since, call.by, call.action) for name, call in self._calls.items()]

    def _budgets(self) -> list[Row]:
        remit = self._remit
        limits: dict[str, Any] = {} if remit is None else remit.calls_per_tool
        rows: list[Row] = [
            ("turns", self._turns, remit and remit.turns),
            ("calls", self._started.total(), remit and remit.calls),
        ]
        rows += [(f"calls.{tool}", self._started[tool], limits.get(tool)) for tool in sorted({*self._started, *limits})]
        rows += [
            ("seconds", self._working_us / 1e6, remit and remit.seconds),
            ("wall_seconds", (self._at - self._began_at) / 1e6, remit and remit.wall_seconds),
        ]
        return rows if remit else [(*row[:2], "not recorded") for row in rows]

    def _bill(self) -> list[tuple[str, Any]]:
        """Nothing that was not recorded is counted as zero: each sum stands beside how many replies it is of."""
        spent = self._tokens
        if not spent["replies_with_usage"]:
            return []
        usd = f"{spent['microusd'] / 1e6:.6f}" if spent["replies_with_cost"] else None
        counts = ("input", "output", "cached", "replies", "replies_with_usage", "replies_with_cost")
        return [*((name, spent[name]) for name in counts), ("usd", usd)]

    def _counted(self, *, errors: bool) -> list[Row]:
        """How often each kind of observation without a result occurred."""
        return [
            (*kind, times)
            for kind, times in sorted(self._observed.items())
            if kind[0] not in ("ok", "settled") and (kind[0] in ERRORS) is errors
        ]

    def _receipt(self, name: str, call: _Call) -> Row:
        took = call.us / 1e6
        return self._at, name, call.effect_id, call.tries, call.allowed_by, call.outcome, took, call.action

    def _all_receipts(self) -> Iterable[Row]:
        """Those of closed calls, and those of writes whose outcome is still open."""
        open_writes = [(name, call) for name, call in self._calls.items() if call.effect_id is not None]
        return _Joined(self._receipts or (), [self._receipt(name, call) for name, call in open_writes])


class _Joined:
    """Rows, and more rows after them."""

    def __init__(self, rows: Iterable[Row], more: Iterable[Row]) -> None:
        self._rows, self._more = rows, more

    def __iter__(self) -> Iterator[Row]:
        yield from self._rows
        yield from self._more


def _by_status(observed: Counter[tuple[str, str, str]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for (status, _, _), times in sorted(observed.items()):
        found[status] += times
    return dict(found)
