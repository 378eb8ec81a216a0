"""A scenario for `remit simulate`: limits, approvals, a simulated environment, and the actions of a scripted agent.

    {"max_steps": 5, "stuck_threshold": 3, "approvals": {"deploy": true}}
    {"read(a.py)": ["first result", "every later result"], "deploy(site)": ["done"]}
    read(a.py)
    deploy(site)
    answer: shipped

Line 1 is an object with just these keys: `max_steps`, a whole number of at least 0; `stuck_threshold`, one of at least
1 (both written as whole numbers: neither `1.0` nor `true`); and, if wanted, `approvals`, an object. A tool is approved
where its value there is `true`, and nothing else. Line 2 is an object: each call's text with the list of its results,
at least one, each of them text (which may be empty). Every further line is one action.

- A line ends at `\\n`; one `\\r` before it is dropped; the last line may lack its end. Every other character is an
  ordinary one, U+2028 and the like too. A line of nothing but spaces and tabs is skipped, wherever it stands. One UTF-8
  byte order mark at the very beginning is skipped.
- An action is its whole line, spaces at either end included. Its tool is what stands before its first `(`, which may
  be nothing, or all of it. A line that begins with `answer:` is no call.
- Refused, naming the line: what is not UTF-8 or not strict JSON (NaN, infinities, numbers beyond a double, integers of
  more than 4300 digits, lone surrogates, and what is too deep for the parser included); a key given twice, at any
  depth; a missing, unknown or wrongly typed key; a missing line; more than LONGEST bytes in all; a call of more than
  1 MiB as JSON; tools whose names take more than NAMES bytes of JSON together, 8 added for each.
"""

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import msgspec

from ..core.canon import MAX_BYTES, decode, encode
from ..core.visible import visible
from ..errors import InputError

LONGEST = 64 << 20
"""Bytes that one scenario may have."""
NAMES = 500_000
"""Bytes that the names of all tools may take, as JSON: one remit has to hold them twice, among tools and gates."""

_LINE_1 = 'write {"max_steps": 5, "stuck_threshold": 3, "approvals": {"deploy": true}}'
_LINE_2 = 'write {"read(a.py)": ["first result", "every later result"]}'
_ANSWER = "answer:"


class Scenario(msgspec.Struct, frozen=True):
    """What to simulate. `approved` are the tools whose approval is `true`; `environment` has each call's results."""

    max_steps: int
    stuck_threshold: int
    approved: frozenset[str]
    environment: dict[str, list[str]]
    actions: tuple[str, ...]


def is_answer(action: str) -> bool:
    """Whether the action is a final answer rather than a call."""
    return action.startswith(_ANSWER)


def answer_text(action: str) -> str:
    """Return the text of a final answer: what follows the colon, less one space."""
    return action.removeprefix(_ANSWER).removeprefix(" ")


def tool_of(action: str) -> str:
    """Return the name of the tool that an action calls."""
    return action.partition("(")[0]


def read_scenario(stream: BinaryIO) -> Scenario:
    """Read the stream to its end. Raises InputError with `line`, and whatever OSError the stream raises."""
    data = stream.read(LONGEST + 1)
    if len(data) > LONGEST:
        raise _error(data.count(b"\n") + 1, f"goes beyond {LONGEST} bytes", "see that this is the file you meant")
    lines = list(_lines(data))
    limits, approved = _line_1(*_json(lines, 0, _LINE_1))
    environment = _line_2(*_json(lines, 1, _LINE_2))
    _check_calls(lines[2:])
    return Scenario(*limits, approved, environment, tuple(text for _, text in lines[2:]))


def _lines(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield each line that is not blank, with its number. Raises InputError where one is not UTF-8."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start]
        byte = error.start - before.rfind(b"\n")
        raise _error(before.count(b"\n") + 1, f"is not UTF-8 (byte {byte})", "save the file as UTF-8") from None
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = line.removesuffix("\r")
        if line.strip(" \t"):
            yield number, line


def _line_1(number: int, value: dict[str, Any]) -> tuple[tuple[int, int], frozenset[str]]:
    keys = ("max_steps", "stuck_threshold", "approvals")
    for key in value:
        if key not in keys:
            raise _error(number, f"has the unknown key {_brief(key)}", f"the keys are {', '.join(keys)}")
    limits = _whole(number, value, "max_steps", 0), _whole(number, value, "stuck_threshold", 1)
    approvals = value.get("approvals", {})
    if not isinstance(approvals, dict):
        raise _error(number, f"`approvals` is {_brief(approvals)}, not an object", _LINE_1)
    return limits, frozenset(tool for tool, given in approvals.items() if given is True)


def _whole(number: int, value: dict[str, Any], key: str, least: int) -> int:
    if key not in value:
        raise _error(number, f"has no `{key}`", _LINE_1)
    given = value[key]
    if type(given) is not int or given < least:
        what = f"`{key}` is {_brief(given)}, not a whole number of at least {least}"
        raise _error(number, what, f'write "{key}": {least + 4}')
    return given


def _line_2(number: int, value: dict[str, Any]) -> dict[str, list[str]]:
    for call, results in value.items():
        if not isinstance(results, list) or not results:
            what = f"the results of {_brief(call)} are {_brief(results)}, not a list of at least one text"
            raise _error(number, what, _LINE_2)
        for place, result in enumerate(results, 1):
            if not isinstance(result, str):
                what = f"result {place} of {_brief(call)} is {_brief(result)}, not text"
                raise _error(number, what, "put it in double quotes")
    return value


def _check_calls(lines: Sequence[tuple[int, str]]) -> None:
    """See that the core can take every call. Raises InputError."""
    tools: set[str] = set()
    names = 0
    for number, call in lines:
        if is_answer(call):
            continue
        if len(call) > MAX_BYTES // 8 and len(encode({"call": call})) > MAX_BYTES:
            raise _error(number, f"is a call of more than {MAX_BYTES} bytes of JSON", "shorten it")
        tool = tool_of(call)
        if tool not in tools:
            tools.add(tool)
            names += len(encode(tool)) + 8
            if names > NAMES:
                what = f"with this line the names of the {len(tools)} tools take more than {NAMES} bytes"
                raise _error(number, what, "write a call as name(arguments): its name ends at the first `(`")


# JSON


def _json(lines: Sequence[tuple[int, str]], index: int, form: str) -> tuple[int, dict[str, Any]]:
    """Return the number and the object of the line that comes as number `index` of those not blank."""
    if index >= len(lines):
        number = lines[-1][0] + 1 if lines else 1
        raise _error(number, f"is missing: there is no {('first', 'second')[index]} line of JSON", form)
    number, text = lines[index]
    try:
        value = decode(text)
        if _texts(value) != _quotes(text) // 2:
            raise ValueError("a key given twice")
    except RecursionError:
        raise _error(number, "is nested too deeply", form) from None
    except ValueError:
        raise _error(number, *_fault(text, form)) from None
    if not isinstance(value, dict):
        raise _error(number, f"is {_brief(value)}, not an object", form)
    return number, value


def _texts(value: object) -> int:
    """Count the texts in a JSON value, keys included. Of a key given twice the decoder kept one."""
    if type(value) is dict:
        return len(value) + sum(map(_texts, value.values()))
    if type(value) is list:
        return sum(map(_texts, value))
    return type(value) is str


def _quotes(text: str) -> int:
    """Count the quotes that begin or end a text in JSON that was decoded."""
    if "\\" not in text:
        return text.count('"')
    # Take away escaped quotes; but in `\\"` the backslash is what is escaped, and the quote ends a text.
    pairs = text.replace("\\\\", "")
    return pairs.count('"') - pairs.count('\\"')


class _Fault(Exception):
    """What is wrong with a line, and what to do, as its arguments."""


def _fault(text: str, form: str) -> tuple[str, str]:
    """Say why a line that was refused is not JSON that means one thing."""
    import json  # here, because only a refused line comes here, and the import takes time

    try:
        json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number, parse_float=_finite).decode(text)
    except _Fault as fault:
        what, fix = fault.args
        return what, fix
    except json.JSONDecodeError as error:
        return f"is not JSON: {error.msg} (character {error.colno})", form
    except RecursionError:
        return "is nested too deeply", form
    except ValueError:
        return "has an integer of too many digits", "write a smaller number"
    return "has a lone surrogate, which is not text", "write both halves of the pair"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    for key, value in pairs:
        if key in keys:
            raise _Fault(f"has the key {_brief(key)} twice", "keep one of them")
        keys[key] = value
    return keys


def _no_number(name: str) -> Any:
    raise _Fault(f"has {name}, which is not a JSON number", "write a finite number")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if abs(number) != float("inf") else _no_number("a number beyond the range of a double")


def _brief(value: object) -> str:
    """Show a JSON value in a few words: as JSON, cut where it is long."""
    if value and isinstance(value, list | dict):
        return "an array" if isinstance(value, list) else "an object"
    try:
        text = encode(value).decode()
    except UnicodeEncodeError:
        text = ascii(value)
    return visible(text if len(text) <= 40 else text[:37] + "...")


def _error(line: int, what: str, fix: str) -> InputError:
    return InputError(f"line {line}: {what}", line=line, fix=fix)
