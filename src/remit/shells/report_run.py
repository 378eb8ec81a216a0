"""Report on a recorded run: the six lines, and one document behind them as text, Markdown or JSON.

Whatever a tool, a model or a person wrote is passed through `visible`, and in Markdown escaped: it can neither hide nor
look like a part of the report. Listings wait on disk beyond a megabyte, so memory does not grow with the log.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from unicodedata import combining, east_asian_width

import msgspec

from ..core.events import Record
from ..core.sections import Section, damage, sections
from ..core.story import Row, Story, told
from ..core.tell import short
from ..core.visible import visible

IN_MEMORY = 1 << 20
"""Bytes of a listing before it goes to disk."""
LONGEST = 2_500
"""Characters of one text that people are shown. JSON has the task, the answer and what checks said in full."""


def report_records(
    records: Iterable[Record],
    *,
    full: bool,
    form: Literal["text", "json", "markdown"],
    witness: tuple[int, bytes] | None = None,
) -> Iterator[str]:
    """Yield the report line by line, each with its end. The records are gone through once, before the first line.

    As text, without `full`, it is the six lines alone, and what is wrong with a damaged log. JSON (one object, a
    member a line) and Markdown are always the whole. `witness` is the newest head noted elsewhere (Store.witness).
    """
    with ExitStack() as stack:
        whole = full or form != "text"
        listing = (lambda: stack.enter_context(_Kept())) if whole else None
        story = told(records, witness=witness, listing=listing)
        if form == "json":
            yield from _json(story)
        elif form == "markdown":
            yield from _markdown(story)
        else:
            yield from _text(story, sections(story) if full else [damage(story)] if story.damaged else [])


class _Kept:
    """A listing beside the memory."""

    def __init__(self) -> None:
        from tempfile import SpooledTemporaryFile  # the six lines need no listing

        self._file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - closed by __exit__

    def __enter__(self) -> "_Kept":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def append(self, row: Row) -> None:
        self._file.write(msgspec.json.encode(row) + b"\n")

    def __iter__(self) -> Iterator[Row]:
        self._file.seek(0)
        for line in self._file:
            yield tuple(msgspec.json.decode(line))


# For people


def _text(story: Story, parts: list[Section]) -> Iterator[str]:
    for line in story.summary.lines(story.stop()):
        yield line + "\n"
    for part in _arranged(parts):
        yield f"\n{part.title}\n"
        lines = _Lines(part)
        widths = widths_of(lines)
        for cells in lines:
            yield aligned(cells, widths, indent="  ")


class _Lines:
    """The lines of a section's table, its heading first."""

    def __init__(self, part: Section) -> None:
        self._part = part

    def __iter__(self) -> Iterator[list[str]]:
        if self._part.columns:
            yield [_label(name) for name in self._part.columns]
        for *cells, last in _rows(self._part):
            for line in last.split("\n") if self._part.prose else [last]:
                yield [visible(cell) for cell in [*cells, line]]
                cells = [""] * len(cells)


def _markdown(story: Story) -> Iterator[str]:
    yield f"# Run {_escape(story.run)}\n\n```text\n"
    for line in story.summary.lines(story.stop()):  # each begins with a word of ours: none can end the block
        yield line + "\n"
    yield "```\n"
    for part in _arranged(sections(story)):
        heading = [_label(name) for name in part.columns] or ["", ""]
        yield f"\n## {part.title}\n\n| {' | '.join(heading)} |\n|{' --- |' * len(heading)}\n"
        for *cells, last in _rows(part):
            lines = last.split("\n") if part.prose else [last]
            yield f"| {' | '.join([*map(_escape, cells), '<br>'.join(map(_escape, lines))])} |\n"


def _arranged(parts: list[Section]) -> list[Section]:
    """The sections that have something to tell, and one that names the others; what comes last stays last."""
    told = [part for part in parts if any(True for _ in part.rows)]
    silent = [(part.title, part.empty) for part in parts if all(part is not other for other in told)]
    return [*told[:-1], *([Section("", "Otherwise", (), silent)] if silent else []), *told[-1:]]


def _rows(part: Section) -> Iterator[list[str]]:
    """Yield the cells of each row as people read them, not yet escaped."""
    for row in part.rows:
        if part.columns:
            yield [_reading(name, value, part.absent) for name, value in zip(part.columns, row, strict=True)]
            continue
        name, value = row
        reading = _reading(name, value, part.absent)
        if reading:
            yield [_label(name), reading]


def _label(name: str) -> str:
    return name.removesuffix("_seconds").removesuffix("_at").replace("_", " ")


def _reading(name: str, value: Any, absent: str) -> str:
    if value is None:
        return absent
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key} {count}" for key, count in value.items())
    if isinstance(value, float):
        return duration(value)
    return short(str(_data(name, value)), LONGEST)


# A pipe is an entity, for not every reader takes one behind a backslash in a table for what it is.
_MARKUP = {ord(char): f"\\{char}" for char in "\\`*_[]~$"} | {ord(char): f"&#{ord(char)};" for char in "|<>&"}


def _escape(text: str) -> str:
    escaped = visible(text).translate(_MARKUP)
    return escaped.replace("://", ":\\//").replace("www.", "www\\.")  # what would become a link by itself


# For programs


def _json(story: Story) -> Iterator[str]:
    """One object, its members in order of their names, each on a line of its own and each row of a listing too."""
    members: dict[str, Any] = story.summary.document(story.stop())
    for part in sections(story):
        if part.columns:
            members[part.key] = part
        else:
            pairs = {name: _data(name, value) for name, value in part.rows}
            members |= pairs if part.key == "run" else {part.key: pairs or None}
    yield "{\n"
    for name in sorted(members):
        key, value = _encode(name), members[name]
        comma = "," if name != max(members) else ""
        if isinstance(value, Section) and any(True for _ in value.rows):
            yield f"{key}: [\n"
            yield from _objects(value)
            yield f"]{comma}\n"
        else:
            yield f"{key}: {_encode([] if isinstance(value, Section) else value)}{comma}\n"
    yield "}\n"


def _objects(part: Section) -> Iterator[str]:
    before = ""
    for row in part.rows:
        if before:
            yield before + ",\n"
        before = _encode({name: _data(name, value) for name, value in zip(part.columns, row, strict=True)})
    yield before + "\n"


def _encode(value: Any) -> str:
    return visible(msgspec.json.encode(value, order="sorted").decode())


def _data(name: str, value: Any) -> Any:
    return utc(value) if (name == "at" or name.endswith("_at")) and isinstance(value, int) else value


# How people read it


def utc(at: int) -> str:
    """Return a time in microseconds since 1970 as ISO 8601 in UTC, to the millisecond."""
    try:
        time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
    except OverflowError:  # a damaged log
        return str(at)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def duration(seconds: float) -> str:
    """Return a time span in its one or two largest units."""
    if seconds < 59.95:
        return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms" if seconds else "0 s"
    whole = round(seconds)
    unit, size, rest, part = next(scale for scale in _SCALES if whole >= scale[1])
    more = whole % size // part
    return f"{whole // size} {unit}" + (f" {more} {rest}" if more else "")


_SCALES = (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1))


def widths_of(lines: Iterable[list[str]]) -> list[int]:
    """Return how wide each column is on a terminal; none where there are no lines."""
    widths: list[int] = []
    for cells in lines:
        widths = [max(pair) for pair in zip(widths or [0] * len(cells), map(_width, cells), strict=True)]
    return widths


def aligned(cells: list[str], widths: list[int], indent: str = "") -> str:
    """Return one line of a table, with its end; the last cell is as long as it likes."""
    padded = [cell + " " * (width - _width(cell)) for cell, width in zip(cells[:-1], widths, strict=False)]
    return (indent + "  ".join([*padded, cells[-1]])).rstrip() + "\n"


def _width(text: str) -> int:
    """How many columns a terminal gives to a text that is visible."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 1 + (east_asian_width(char) in "WF") for char in text)
