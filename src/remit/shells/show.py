"""One run event by event, and the runs of a store as a table."""

from collections.abc import Iterable, Iterator, Sequence
from shutil import get_terminal_size
from typing import NamedTuple

import msgspec

from ..core.events import Record, decode_events
from ..core.tell import event_name, short, tell
from ..core.visible import visible
from .report_run import aligned, duration, utc, widths_of

DETAILS = 400
"""Characters of an event that are shown."""
LEAST = 20
"""Columns that a task gets on however narrow a terminal."""


class RunRow(NamedTuple):
    """One run in a list. `status` and `reason` are where it rests, or `running` or `interrupted` and why; `began_at`
    and `at` are in microseconds since 1970 UTC, of its first and last record."""

    run: str
    status: str
    reason: str
    grade: str | None
    began_at: int
    at: int
    turns: int
    calls: int
    task: str
    principal: str | None


def show_records(records: Iterable[Record], as_json: bool) -> Iterator[str]:
    """Yield a line for each event: record and time where a record begins, event, details; as JSON the export's lines,
    a record each. Of a longer text the beginning is shown and its size is said."""
    if as_json:
        from ..readers.export import lines

        for line in lines(records):
            yield line.decode()
        return
    for record in records:
        where = [str(record.seq), utc(record.at)]
        for name, text in _events(record):
            yield aligned([*where, name, visible(text)], WIDTHS)
            where = ["", ""]


WIDTHS = [4, 24, 16]
"""Of record, time and event."""


def _events(record: Record) -> Iterator[tuple[str, str]]:
    try:
        events = decode_events(record.events)
    except (msgspec.DecodeError, RecursionError) as error:
        events = []
        yield "damage", f"cannot be read: {error}"
    for event in events:
        yield event_name(event), tell(event, DETAILS)


def runs_table(rows: Sequence[RunRow], width: int | None = None) -> str:
    """Return the runs as a table, a line each. The tasks are cut so that it is `width` columns wide: if not given, the
    terminal's, and where there is none nothing is cut."""
    if not rows:
        return "no runs\n"
    heading = ["run", "status", "began (UTC)", "took", "calls", "task"]
    lines = [heading, *([visible(cell) for cell in _cells(row)] for row in rows)]
    widths = widths_of(lines)
    width = width or get_terminal_size((0, 0)).columns
    room = max(width - sum(widths[:-1]) - 2 * len(widths[:-1]), LEAST) if width else widths[-1]
    return "".join([aligned([*cells[:-1], _cut(cells[-1], room)], widths) for cells in lines])


def _cells(row: RunRow) -> list[str]:
    status = f"{row.status}, {row.grade}" if row.grade else row.status
    began, took = utc(row.began_at)[:16].replace("T", " "), duration((row.at - row.began_at) / 1e6)
    return [row.run, status, began, took, str(row.calls), short(row.task, DETAILS)]


def _cut(text: str, room: int) -> str:
    """Return as much of the text as has room, with an ellipsis where there is more."""
    if widths_of([[text]]) <= [room]:
        return text
    while widths_of([[text + "…"]]) > [room]:
        text = text[:-1]
    return text + "…"
