"""An exported log: JSON lines, one record a line, of one run or several.

    {"run":"…","seq":1,"at":1754000000000000,"events":[…],"digest":"64 hex digits"}

`at` is in microseconds since 1970 UTC; `digest` is chained on the run's record before (canon.chain), over the bytes of
`events` exactly as they stand in the line: whoever formats a line anew damages it. Blank lines are skipped.
A line that cannot be read is told by its number, and reading goes on.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, BinaryIO, NamedTuple

import msgspec

from ..core.events import Record
from ..core.verify import Verified, Verifier
from ..core.visible import visible
from ..errors import InputError, LogDamaged

LONGEST = 64 << 20
"""Bytes that one line may have."""
NAMED = 100
"""How many broken lines are named; the others are counted."""
_FIX = "export it again with `remit export`, and change nothing in the file"


class Broken(NamedTuple):
    """A line that is not a record; `text` completes a sentence about it."""

    line: int
    text: str


class VerifiedExport(NamedTuple):
    """What was found in an export: each run, in the order in which they begin; the first broken lines, and how many
    there are in all."""

    runs: tuple[Verified, ...]
    broken: tuple[Broken, ...]
    broken_lines: int

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.broken_lines and all(run.sound for run in self.runs)

    def lines(self) -> Iterator[str]:
        """Yield the finding as text."""
        for run in self.runs:
            yield from run.lines()
        for broken in self.broken:
            yield f"line {broken.line}: {visible(broken.text)}"
        if self.broken_lines > len(self.broken):
            yield f"{self.broken_lines - len(self.broken)} more lines cannot be read"


def lines(records: Iterable[Record]) -> Iterator[bytes]:
    """Yield each record as a line, its end included. Raises LogDamaged for one that no line can hold as it is."""
    for record in records:
        if not _is_json_line(record.events):
            what = f"record {record.seq} of run {record.run} cannot be exported: its events are not JSON"
            raise LogDamaged(what, fix="see what `remit verify` finds; the file itself is the evidence")
        yield b'{"run":%b,"seq":%d,"at":%d,"events":%b,"digest":"%b"}\n' % (
            msgspec.json.encode(record.run),
            record.seq,
            record.at,
            record.events,
            record.digest.hex().encode(),
        )


def read(stream: BinaryIO, *, longest: int = LONGEST) -> Iterator[Record | Broken]:
    """Yield what each line holds: a record as it stands there, or why it is none. Memory does not grow."""
    number = 0
    while line := stream.readline(longest + 1):
        number += 1
        if len(line) > longest and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = stream.readline(longest + 1)
            yield Broken(number, f"is longer than {longest} bytes")
        elif line.strip():
            try:
                yield _record(line)
            except _Bad as bad:
                yield Broken(number, str(bad))


def records(stream: BinaryIO, name: str) -> Iterator[Record]:
    """Yield the records of an export. Raises InputError at the first line that is none; `name` is for messages."""
    for item in read(stream):
        if isinstance(item, Broken):
            raise InputError(f"{visible(name)}, line {item.line}: {item.text}", line=item.line, fix=_FIX)
        yield item


def verify_export(stream: BinaryIO, name: str) -> VerifiedExport:
    """Return what is wrong with an export. Raises InputError if not one line of it is a record."""
    runs: dict[str, Verifier] = {}
    broken: list[Broken] = []
    count = 0
    for item in read(stream):
        if isinstance(item, Record):
            verifier = runs.get(item.run)
            if verifier is None:
                verifier = runs[item.run] = Verifier(item.run)
            verifier.add(item)
        else:
            count += 1
            if count <= NAMED:
                broken.append(item)
    if not runs:
        where, why = broken[0] if broken else (1, "the input is empty")
        raise InputError(f"{visible(name)}, line {where}: {why}; it is not an export", line=where, fix=_FIX)
    return VerifiedExport(tuple(verifier.done() for verifier in runs.values()), tuple(broken), count)


class _Line(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    run: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-z-]{1,64}\Z")]
    seq: Annotated[int, msgspec.Meta(ge=1)]
    at: Annotated[int, msgspec.Meta(ge=0)]
    events: msgspec.Raw
    digest: str


class _Bad(Exception):
    """Why a line is no record."""


_decode = msgspec.json.Decoder(_Line).decode
_skim = msgspec.json.Decoder(msgspec.Raw).decode


def _record(line: bytes) -> Record:
    try:
        found = _decode(line)
        digest = bytes.fromhex(found.digest)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise _Bad(f"is not a record: {error}") from None
    record = Record(found.run, found.seq, found.at, bytes(found.events), digest)
    if next(lines([record])) != line:
        _refuse_duplicates(line)
    return record


def _is_json_line(events: bytes) -> bool:
    try:
        return bytes(_skim(events)) == events and b"\n" not in events
    except (msgspec.DecodeError, RecursionError):
        return False


def _refuse_duplicates(line: bytes) -> None:
    """Refuse a line, not written the way we write it, that has one key twice: two readers could read two records."""
    import json  # the rare path

    def unique(pairs: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in pairs]
        if len(set(keys)) < len(keys):
            raise _Bad("is not a record: it has a key twice")

    try:
        json.loads(line, object_pairs_hook=unique, parse_int=str)  # an int of any size is legal
    except (ValueError, RecursionError) as error:
        raise _Bad(f"is not a record: {error}") from None
