"""What a whole report has after the six lines: one document, whatever form it is printed in."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from .story import ERRORS, Row, Story


class Section(NamedTuple):
    """A part of a report. `rows` have the `columns`; without columns they are pairs of a name and a value, which may
    be a count by name.

    A name carries its unit: `at` and `…_at` are in microseconds since 1970 UTC, `…_seconds` and every float in seconds.
    None stands for what is not there, and reads as `absent`; a pair with nothing to read is left out of what people
    read. No rows at all read as `empty`. Where a section is `prose`, the last cell may take several lines.
    """

    key: str
    title: str
    columns: tuple[str, ...]
    rows: Iterable[tuple[Any, ...]]
    empty: str = "none"
    absent: str = ""
    prose: bool = False


COUNTED = ("times", "status", "code", "tool")
OPEN = ("call", "state", "since_at", "effect_id", "why", "action")
DECISIONS = ("at", "call", "decision", "person", "known_by", "waited_seconds", "note", "action")
RECEIPTS = ("at", "call", "effect_id", "tries", "allowed_by", "outcome", "took_seconds", "action")


def sections(story: Story) -> list[Section]:
    """Return the sections, what an operator looks for first."""
    return [
        Section("run", "Run", (), _run(story), prose=True),
        damage(story),
        Section("checks", "Checks", ("check", "passed", "took_seconds", "detail"), _checks(story), prose=True),
        Section("open_calls", "Open calls", OPEN, _open(story), absent="-"),
        Section("budgets", "Budgets", ("budget", "used", "limit"), _budgets(story), absent="no limit"),
        Section("waits", "Waits", (), _waits(story)),
        Section("tokens", "Tokens and cost", (), _bill(story), "not recorded", "not recorded"),
        Section("refusals", "Refusals", COUNTED, _counted(story, errors=False), absent="-"),
        Section("errors_by_kind", "Errors by kind", COUNTED, _counted(story, errors=True), absent="-"),
        Section("rejected_replies", "Rejected replies", ("times", "code"), _times(story.rejected)),
        Section("failed_requests", "Failed requests", ("times", "kind"), _times(story.failed)),
        Section("nudges", "Nudges", ("at", "call", "text"), story.nudges or ()),
        Section("decisions", "Decisions", DECISIONS, story.decisions or (), absent="-"),
        Section("receipts", "Receipts of writes", RECEIPTS, story.receipts or ()),
        Section("timeline", "Timeline", ("seq", "at", "event", "text"), story.timeline or ()),
    ]


def damage(story: Story) -> Section:
    """Return what is wrong with the log: a report on a damaged one is not complete, and says so."""
    more = story.damaged - len(story.damage)
    rows = [*story.damage, *([(None, f"and {more} more")] if more else [])]
    return Section("damage", "Damage in the log", ("record", "problem"), rows)


def _run(story: Story) -> list[tuple[str, Any]]:
    status, reason = story.rest()
    observed: Counter[str] = Counter()
    for (seen, _, _), times in sorted(story.observed.items()):
        observed[seen] += times
    began = story.began
    return [
        ("run", story.run),
        *((name, began and getattr(began, name)) for name in ("task", "principal", "subject", "parent", "agent_file")),
        ("remit", began and began.digest),
        ("began_at", story.began_at),
        ("last_record_at", story.at),
        ("records", story.records),
        ("status", status),
        ("reason", reason or None),
        ("grade", story.ended and story.ended.grade),
        ("observations", dict(observed)),
        ("answer", story.answer),
    ]


def _checks(story: Story) -> list[Row]:
    return [(check.name, check.passed, check.us / 1e6, check.detail) for check in story.checks]


def _open(story: Story) -> list[Row]:
    return [(name, c.state, c.since, c.effect_id, c.why or None, c.action) for name, c in story.calls.items()]


def _budgets(story: Story) -> list[Row]:
    remit, started = story.remit, story.started
    limits: dict[str, int | float | None] = {}
    if remit is not None:
        limits = {f"calls.{tool}": limit for tool, limit in remit.calls_per_tool.items()}
    by_tool = {f"calls.{tool}": times for tool, times in started.items()}
    used: dict[str, int | float] = {"turns": story.turns, "calls": started.total()}
    used |= {name: by_tool.get(name, 0) for name in sorted({*limits, *by_tool})}
    used |= {"seconds": story.working_us / 1e6, "wall_seconds": (story.at - story.began_at) / 1e6}
    if remit is None:
        return [(name, value, "not recorded") for name, value in used.items()]
    limits |= {"turns": remit.turns, "calls": remit.calls}
    limits |= {"seconds": _float(remit.seconds), "wall_seconds": _float(remit.wall_seconds)}
    return [(name, value, limits.get(name)) for name, value in used.items()]


def _float(seconds: float | None) -> float | None:
    return None if seconds is None else float(seconds)


def _waits(story: Story) -> list[tuple[str, float]]:
    return [("people_seconds", story.waiting_us / 1e6), ("backoff_seconds", story.backoff_us / 1e6)]


def _bill(story: Story) -> list[tuple[str, Any]]:
    """Unknown is never zero: each sum stands beside how many replies it is of."""
    bill = story.bill
    if not bill["replies_with_usage"]:
        return []
    usd = f"{bill['microusd'] / 1e6:.6f}" if bill["replies_with_cost"] else None
    counts = ("input", "output", "cached", "replies", "replies_with_usage", "replies_with_cost")
    return [*((name, bill[name]) for name in counts), ("usd", usd)]


def _counted(story: Story, *, errors: bool) -> list[Row]:
    """How often each kind of observation without a result occurred."""
    return [
        (times, status, code or None, tool)
        for (status, code, tool), times in sorted(story.observed.items())
        if status not in ("ok", "settled") and (status in ERRORS) is errors
    ]


def _times(counts: Counter[str]) -> list[Row]:
    return [(times, name) for name, times in sorted(counts.items())]
