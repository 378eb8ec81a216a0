"""The simple event format: JSON lines, one event a line, and a last line that says why the run stopped.

    {"step": 1, "action": "read_file(a.py)", "status": "ok", "ms": 12.5}
    {"stop": "complete"}

`step` is an integer of at least 0, written as one (`1`; not `1.0`, not `true`); steps need not rise.
`action` and `status` are any text; the tool is the action's text before its first `(`, or all of it. `ms`
is a finite number of at least 0. `stop` is any text. Keys may come in any order.

- Further keys are allowed and ignored: each line of the summary is defined by the keys above, so nothing of
  it is lost. A line with `stop` as well as a key of an event is refused: it could be read as either.
- A line ends at `\\n`; one `\\r` before it is dropped; the last line may lack its end. A line of nothing
  but spaces and tabs is skipped, and so is one UTF-8 byte order mark at the very beginning.
- Refused, naming the line: what is not strict JSON in UTF-8 (NaN, infinities, lone surrogates, integers of
  more than 4300 digits and what is too deep for Python's parser included); a key given twice, at any depth;
  a missing key; a value of the wrong type; a line of more than `LONGEST` bytes; an end without a stop line;
  anything after the stop line; times that add up to more than a double can hold.

Two paths read the lines. The quick one decodes many at once, and answers only where it has proved that the
careful one would answer the same. The careful one takes them one by one and names what is wrong; lines with
further keys always come to it, and cost several times as much.
"""

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, BinaryIO

import msgspec

from remit.core.report import Milliseconds, Summary
from remit.core.visible import visible
from remit.errors import InputError

CHUNK = 64 << 10
"""Bytes read at a time. More is no faster, and takes memory."""
LONGEST = 64 << 20
"""Bytes that one line may have, without its `\\n`."""

_FORM = 'write events as {"step": 1, "action": "do(x)", "status": "ok", "ms": 9}, at the end {"stop": "why"}'
_FIELDS = ("step", "action", "status", "ms")
_BOM = b"\xef\xbb\xbf"
_INFINITY = float("inf")


def summarize(
    stream: BinaryIO, name: str, *, chunk: int = CHUNK, longest: int = LONGEST, quick: bool = True
) -> tuple[Summary, str]:
    """Read the stream to its end; return the summary and the reason of the stop line. `name` is for messages.

    `chunk` and `quick` (False: every line on the careful path) change speed and memory, never an answer.
    Raises InputError, with `line` counted from 1, and whatever OSError the stream raises.
    """
    reading = _Reading(name, longest)
    mark = _BOM
    while data := stream.read(chunk):
        if not data.endswith(b"\n"):  # go on to the end of the line, or until it is too long even without a mark
            data += stream.readline(longest + len(_BOM))
        data, mark = data.removeprefix(mark), b""
        reading.take(data if data.endswith(b"\n") else data + b"\n", quick)
    return reading.summary, reading.end()


class _Reading:
    """What has been read: the summary, the number of lines, and the stop line (its number and reason)."""

    __slots__ = ("line", "longest", "name", "stop", "summary")

    def __init__(self, name: str, longest: int) -> None:
        self.name, self.longest = name, longest
        self.summary = Summary()
        self.line = 0
        self.stop: tuple[int, str] | None = None

    def take(self, lines: bytes, quick: bool) -> None:
        """Take whole lines, the last with its end. Raises InputError."""
        if quick and len(lines) <= self.longest and self._take_quickly(lines):
            return
        for line in lines.split(b"\n")[:-1]:
            self.line += 1
            try:
                self._take_carefully(line)
            except _Bad as bad:
                raise self._error(self.line, bad.what, bad.fix) from None

    def end(self) -> str:
        """Return the reason of the stop line. Raises InputError if none has come."""
        if self.stop is None:
            what = "there is no stop line after this line" if self.line else "the input is empty"
            raise self._error(max(self.line, 1), what, _FORM)
        return self.stop[1]

    def _take_quickly(self, lines: bytes) -> bool:
        """Take the lines and return True, or take none and return False."""
        read = None if self.stop else _decode(lines.replace(b"\r\n", b"\n") if b"\r" in lines else lines)
        if read is None:
            return False
        events, reason = read
        actions = [event.action for event in events]
        tools = [action.partition("(")[0] for action in actions]
        try:
            self.summary.add_all(actions, tools, [e.status for e in events], [e.ms for e in events])
        except OverflowError:
            return False
        self.line += len(events)
        if reason is not None:
            self.line += 1
            self.stop = self.line, reason
        return True

    def _take_carefully(self, line: bytes) -> None:
        if len(line) > self.longest:
            raise _Bad(f"is longer than {self.longest} bytes", "see that this is the file you meant")
        if not line.strip(b" \t\r"):
            return
        if self.stop:
            raise _Bad(f"comes after the stop line (line {self.stop[0]})", "keep one stop line, as the last")
        keys = _parse(line)
        if "stop" in keys:
            self.stop = self.line, _reason(keys)
        else:
            self._add(*_event(keys))

    def _add(self, action: str, status: str, ms: Milliseconds) -> None:
        try:
            self.summary.add(action, action.partition("(")[0], status, ms)
        except OverflowError:
            what = "with this line the times add up to more than a double can hold"
            raise _Bad(what, "`ms` is in milliseconds") from None

    def _error(self, line: int, what: str, fix: str) -> InputError:
        return InputError(f"{visible(self.name)}, line {line}: {what}", line=line, fix=fix)


# The quick path


_AtLeastZero = msgspec.Meta(ge=0)


class _Event(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    step: Annotated[int, _AtLeastZero]
    action: str
    status: str
    ms: Annotated[int, _AtLeastZero] | Annotated[float, _AtLeastZero]


class _Stop(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    stop: str


_decode_events = msgspec.json.Decoder(_Event).decode_lines
_decode_stop = msgspec.json.Decoder(_Stop).decode


def _decode(lines: bytes) -> tuple[list[_Event], str | None] | None:
    """Return the events and the reason of a stop line at the end; None: the careful path has to tell."""
    start = lines.rfind(b"\n", 0, -1) + 1
    last = lines[start:] if lines.startswith(b'{"stop"', start) else b""
    body = lines[:start] if last else lines
    try:
        events = _decode_events(body)
        reason = _decode_stop(last).stop if last else None
    except msgspec.DecodeError:
        return None
    clean = _one_a_line(body, len(events)) and _unique_keys(body, 6 * len(events)) and _unique_keys(last, 2)
    return (events, reason) if clean else None


def _one_a_line(body: bytes, events: int) -> bool:
    """Whether these decoded events stand one a line, with no blank line.

    An event is flat, so `}\\n{` can only stand between two events, and says that only a line end is there.
    If it is so between all of them, the body's last line end makes one for each; any other is one too many.
    """
    return body.count(b"}\n{") == max(events - 1, 0) and body.count(b"\n") == events


def _unique_keys(body: bytes, texts: int) -> bool:
    """Whether this decoded JSON has just so many texts, keys included: 6 in an event, 2 in a stop line.

    The decoder lets no key be missing or unknown, but is silent on a key given twice: that is a text more.
    """
    quotes = body.count(b'"')
    if quotes > 2 * texts and b"\\" in body:
        # Take away escaped quotes; but in `\\"` the backslash is what is escaped, and the quote ends a text.
        pairs = body.replace(b"\\\\", b"") if b"\\\\" in body else body
        quotes -= pairs.count(b'\\"')
    return quotes <= 2 * texts


# The careful path


class _Bad(Exception):
    """A line that is refused: what is wrong with it, and what to do."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what, self.fix = what, fix


def _parse(line: bytes) -> dict[str, Any]:
    try:
        value = _decoder()(line.decode())
        if b"\\u" in line:  # a lone surrogate comes in no other way, and cannot be encoded
            msgspec.json.encode(value)
    except UnicodeDecodeError as error:
        raise _Bad(f"is not UTF-8 (byte {error.start + 1})", "save the file as UTF-8") from None
    except UnicodeEncodeError:
        raise _Bad("has a lone surrogate, which is not text", "write both halves of the pair") from None
    except RecursionError:
        raise _Bad("is nested too deeply", _FORM) from None
    except ValueError as error:
        raise _Bad(f"is not JSON: {_where(error)}", _FORM) from None
    if not isinstance(value, dict):
        raise _Bad(f"is {_kind(value)}, not an object", _FORM)
    return value


@cache
def _decoder() -> Callable[[str], Any]:
    import json  # here, because few files come to this path and the import takes time

    return json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number).decode


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = dict(pairs)
    if len(keys) < len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise _Bad(f"has the key `{_brief(twice)}` twice", "keep one of them")
    return keys


def _no_number(name: str) -> Any:
    raise _Bad(f"has {name}, which is not a JSON number", "write a finite number")


def _where(error: ValueError) -> str:
    """Say what the parser found and where; the one error that has no place is about a very long integer."""
    what, column = getattr(error, "msg", None), getattr(error, "colno", None)
    return f"{what.rstrip(': ')} (character {column})" if what else "an integer has too many digits"


def _reason(keys: dict[str, Any]) -> str:
    if mixed := [field for field in _FIELDS if field in keys]:
        raise _Bad(f"has `stop` beside `{mixed[0]}`", "write an event and the stop line as two lines")
    reason = keys["stop"]
    if not isinstance(reason, str):
        raise _Bad(f"`stop` is {_kind(reason)}, not text", 'write {"stop": "why"}')
    return reason


def _event(keys: dict[str, Any]) -> tuple[str, str, Milliseconds]:
    if missing := [f"`{field}`" for field in _FIELDS if field not in keys]:
        raise _Bad(f"has no {', '.join(missing)}", _FORM)
    step, action, status, ms = (keys[field] for field in _FIELDS)
    if type(step) is not int or step < 0:
        raise _Bad(f"`step` is {_kind(step)}, not an integer of at least 0", 'write "step": 1')
    if not isinstance(action, str):
        raise _Bad(f"`action` is {_kind(action)}, not text", 'write "action": "name(x)"')
    if not isinstance(status, str):
        raise _Bad(f"`status` is {_kind(status)}, not text", 'write "status": "ok"')
    if type(ms) not in (int, float) or not 0 <= ms < _INFINITY:
        raise _Bad(f"`ms` is {_kind(ms)}, not a finite number of at least 0", 'write "ms": 12.5')
    return action, status, ms


def _kind(value: object) -> str:
    """Name a JSON value in a few words."""
    match value:
        case None:
            return "null"
        case True | False:
            return str(value).lower()
        case str():
            return f'the text "{_brief(value)}"'
        case list():
            return "an array"
        case dict():
            return "an object"
        case float() if abs(value) == _INFINITY:
            return "beyond the range of a double"
    return _brief(str(value))


def _brief(text: str) -> str:
    return visible(text if len(text) <= 40 else text[:37] + "...")
