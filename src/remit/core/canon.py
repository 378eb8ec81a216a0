"""Canonical JSON: the one value that is shown, approved, logged and executed (G2).

Canonical means: object keys sorted by code point, no white space, UTF-8, every number in its own form (`1`, `1.0`
and `true` are three values; integers of any size stay exact). The door refuses what has no such form: duplicate
keys, NaN and infinities, lone surrogates, values that are not JSON, and what is nested or sized beyond the limits.
"""

import hashlib
from typing import Any

import msgspec

MAX_DEPTH = 64
"""Levels of arrays and objects in one call's arguments."""
MAX_BYTES = 1 << 20
"""Bytes of one call's canonical arguments, and of the text they are parsed from."""

_sorted = msgspec.json.Encoder(order="sorted").encode
_as_is = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class NotCanonical(ValueError):
    """A value that has no canonical JSON. `code` names the refusal, the message is for the one who sent the value."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def admit(value: object, *, largest: int | None = MAX_BYTES) -> tuple[bytes, Any]:
    """Return the canonical bytes of a Python value, `largest` at most, and a private copy decoded from them.

    Raises NotCanonical where the copy would differ from the value (a tuple, a set, a key that is not a string, NaN).
    """
    try:
        raw = _sorted(value)
    except UnicodeEncodeError:
        raise NotCanonical("args.surrogate", "contains a lone surrogate, which is not text") from None
    except RecursionError:
        raise _too_deep() from None
    except (TypeError, ValueError, OverflowError) as error:
        raise NotCanonical("args.not_json", f"is not a JSON value: {error}") from None
    if len(raw) > MAX_DEPTH:  # shorter text can be neither too deep nor too large
        _check_size(raw, largest)
    copy = _decode(raw)
    if copy != value:
        raise NotCanonical(
            "args.not_json",
            "is not a JSON value: use only dict with text keys, list, str, int, finite float, bool, None",
        )
    return raw, copy


def parse(text: str | bytes) -> tuple[bytes, Any]:
    """Return the canonical bytes and the value of JSON text. Raises NotCanonical."""
    try:
        data = text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError:
        raise NotCanonical("args.surrogate", "contains a lone surrogate, which is not text") from None
    if len(data) > MAX_DEPTH:  # shorter text can be neither too deep nor too large
        _check_size(data, MAX_BYTES)
    try:
        value = _decode(data)
    except RecursionError:
        raise _too_deep() from None
    except (msgspec.DecodeError, ValueError) as error:
        raise _classify(data, error) from None
    raw = _sorted(value)
    if raw == data:  # as we write it, so no key was given twice
        return raw, value
    if _as_is(value) != msgspec.json.format(data, indent=-1):
        _refuse_duplicates(data)  # an escape or a number form we write otherwise, or a key given twice
    return raw, value


def encode(value: object) -> bytes:
    """Return the canonical bytes of a value that is already known to be JSON."""
    return _sorted(value)


decode = _decode
"""Value of JSON bytes or text that was admitted before."""


def clean(text: str) -> str:
    """Return a text as a log can hold it: plain `str`, with each lone surrogate written out as an escape."""
    if type(text) is str and text.isascii():
        return text
    return str.encode(text, "utf-8", "backslashreplace").decode()


def digest(data: bytes) -> str:
    """Return `sha256:` and 64 hex digits."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def chain(previous: bytes, run: str, seq: int, at: int, events: bytes) -> bytes:
    """Return the digest (32 bytes) of one record, chained on the digest of the record before it (G9)."""
    return hashlib.sha256(b"%b%b\n%d\n%d\n%b" % (previous, run.encode(), seq, at, events)).digest()


GENESIS = bytes(32)
"""What the first record of a run is chained on."""


def _check_size(data: bytes, largest: int | None) -> None:
    if largest is not None and len(data) > largest:
        raise NotCanonical("args.too_large", f"is {len(data)} bytes of JSON; the limit is {largest}")
    # Counting brackets is cheap and can only overstate the depth, so few values are ever walked.
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH and _depth(data) > MAX_DEPTH:
        raise _too_deep()


def _depth(data: bytes) -> int:
    deepest = depth = 0
    text = escaped = False
    for byte in data:
        if text:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                text = False
        elif byte == 0x22:
            text = True
        elif byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def _too_deep() -> NotCanonical:
    return NotCanonical("args.too_deep", f"is nested deeper than {MAX_DEPTH} levels")


def _refuse_duplicates(data: bytes) -> None:
    import json  # the rare path: most text is written the way we write it

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys: dict[str, Any] = {}
        for key, value in pairs:
            if key in keys:
                raise NotCanonical("args.duplicate_key", f"has the key {key!r} twice")
            keys[key] = value
        return keys

    json.loads(data.decode(), object_pairs_hook=unique)


def _classify(data: bytes, error: Exception) -> NotCanonical:
    """Say how the text is broken: cut off, a lone surrogate, a number out of range, or malformed."""
    import json

    try:
        json.loads(data.decode(), parse_constant=_refuse_constant)
    except NotCanonical as refusal:
        return refusal
    except UnicodeDecodeError:
        return NotCanonical("args.not_utf8", "is not UTF-8 text")
    except json.JSONDecodeError as broken:
        said, rest = str(error), broken.doc[broken.pos :]
        literal = any(word.startswith(rest) for word in ("true", "false", "null"))
        # msgspec says that text is cut short of a literal, too, wherever that stands.
        cut = "truncated" in said and (literal or rest[:1] not in "tfn")
        if cut or said.endswith(f"invalid number (byte {len(data)})"):
            return NotCanonical("args.truncated", "ends in the middle: the reply was cut off")
        return NotCanonical("args.malformed", f"is not JSON: {broken.msg} at character {broken.pos}")
    except (ValueError, RecursionError):
        return NotCanonical("args.not_json", f"is not a JSON value: {error}")
    if "out of range" in str(error):
        return NotCanonical("args.number_range", "has a number outside the range of a double")
    return NotCanonical("args.surrogate", "contains a lone surrogate, which is not text")


def _refuse_constant(name: str) -> Any:
    raise NotCanonical("args.not_json", f"has {name}, which is not a JSON number")
