"""The simple event format is read as documented: quickly or carefully, in chunks of any size, the same."""

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remit.errors import InputError
from remit.readers.simple import summarize

Answer = dict[str, object] | tuple[int | None, str]

EVENT = b'{"step": 1, "action": "a(x)", "status": "ok", "ms": 5}\n'
STOP = b'{"stop": "complete"}\n'


def answer(data: bytes, **how: Any) -> Answer:
    """Return the summary as data, or the line and the text of the error."""
    try:
        summary, stop = summarize(io.BytesIO(data), "log", **how)
    except InputError as error:
        return error.line, f"{error.message}; {error.fix}"
    return summary.document(stop)


def both(data: bytes) -> Answer:
    """Return the answer, which must not depend on how the file is read."""
    quick = answer(data)
    assert repr(quick) == repr(answer(data, quick=False)) == repr(answer(data, chunk=1))
    return quick


def changed(old: bytes, new: bytes) -> bytes:
    """Return a file of one event in which something is written otherwise."""
    return EVENT.replace(old, new) + STOP


def event(**changes: object) -> bytes:
    keys = {"step": 1, "action": "a(x)", "status": "ok", "ms": 5} | changes
    return json.dumps(keys, ensure_ascii=False).encode() + b"\n"


# What is accepted

ONE: dict[str, object] = {
    "steps": 1,
    "errors": 0,
    "total_ms": 5,
    "slowest": {"action": "a(x)", "ms": 5},
    "tools": {"a": 1},
    "stop": "complete",
}
NONE = ONE | {"steps": 0, "total_ms": 0, "slowest": None, "tools": {}}


@pytest.mark.parametrize(
    ("data", "then"),
    [
        pytest.param(EVENT + STOP, ONE, id="an event and a stop line"),
        pytest.param(STOP, NONE, id="no event"),
        pytest.param((EVENT + STOP).rstrip(b"\n"), ONE, id="no end on the last line"),
        pytest.param((EVENT + STOP).replace(b"\n", b"\r\n"), ONE, id="carriage returns"),
        pytest.param((EVENT + STOP).replace(b"\n", b"\r\r\n"), ONE, id="two of them, the first is space"),
        pytest.param(EVENT + STOP[:-1] + b"\r", ONE, id="one at the very end"),
        pytest.param(b"\n \t\n" + EVENT + b"\r\n\n" + STOP + b"\n  \n", ONE, id="blank lines"),
        pytest.param(b"\xef\xbb\xbf" + EVENT + STOP, ONE, id="a byte order mark at the beginning"),
        pytest.param(b" " + EVENT[:-1] + b"\t \n" + STOP, ONE, id="space around an object"),
        pytest.param((EVENT + STOP).replace(b" ", b""), ONE, id="no space at all"),
        pytest.param((EVENT + STOP).replace(b": ", b" :\t"), ONE, id="odd space"),
        pytest.param(b'{"ms":5,"status":"ok","action":"a(x)","step":1}\n' + STOP, ONE, id="keys in another order"),
        pytest.param(
            b'{"\\u0073tep":1,"action":"\\u0061(x)","status":"ok","ms":5}\n' + STOP,
            ONE,
            id="escapes in a key",
        ),
        pytest.param(event(step=0) + STOP, ONE, id="step zero"),
        pytest.param(event(step=10**40) + STOP, ONE, id="a long step"),
        pytest.param(event(step=7) + STOP, ONE, id="a first step that is not one"),
        pytest.param(event(ts="now", more={"a": [1, None]}) + STOP, ONE, id="further keys"),
        pytest.param(EVENT + b'{"stop": "complete", "at": 9}\n', ONE, id="further keys on the stop line"),
        pytest.param(event(status="error") + STOP, ONE | {"errors": 1}, id="an error"),
        pytest.param(
            EVENT + event(action="b(x)") + STOP,
            ONE | {"steps": 2, "total_ms": 10, "tools": {"a": 1, "b": 1}},
            id="two events as slow as each other",
        ),
        pytest.param(event(status="") + STOP, ONE, id="an empty status"),
        pytest.param(EVENT + b'{"stop": ""}\n', ONE | {"stop": ""}, id="an empty reason"),
        pytest.param(EVENT + b'{"stop": "\\ud83d\\ude00"}', ONE | {"stop": "😀"}, id="a surrogate pair"),
    ],
)
def test_a_file_is_summarized(data: bytes, then: dict[str, object]) -> None:
    assert both(data) == then


@pytest.mark.parametrize(
    ("action", "tool"),
    [
        pytest.param("read_file(a(b))", "read_file", id="before the first parenthesis"),
        pytest.param("wait", "wait", id="all of it without one"),
        pytest.param("go (x)", "go ", id="a space belongs to it"),
        pytest.param("(x)", "", id="nothing before it"),
        pytest.param("", "", id="an empty action"),
        pytest.param('say({"a": "\\\\\\""})', "say", id="quotes and backslashes"),
        pytest.param("c:\\\\", "c:\\\\", id="backslashes at the end"),
        pytest.param("日本\u2028(x)", "日本\u2028", id="text of any language"),
    ],
)
def test_the_tool_is_what_stands_before_the_parenthesis(action: str, tool: str) -> None:
    then = ONE | {"slowest": {"action": action, "ms": 5}, "tools": {tool: 1}}
    assert both(event(action=action) + STOP) == then


@pytest.mark.parametrize(
    ("written", "ms"),
    [
        (b"0", "0"),
        (b"-0", "0"),
        (b"-0.0", "0.0"),
        (b"5.0", "5.0"),
        (b"1E3", "1000.0"),
        (b"1e-400", "0.0"),
        (b"1e308", "1e+308"),
        (b"9007199254740993", "9007199254740993"),
        (b"18446744073709551617", "18446744073709551617"),
        (b"1" + b"0" * 308, "1" + "0" * 308),
    ],
)
def test_a_time_is_any_finite_number(written: bytes, ms: str) -> None:
    result = both(EVENT.replace(b"5", written) + STOP)
    assert isinstance(result, dict)
    assert repr(result["total_ms"]) == ms
    assert repr(result["slowest"]) == f"{{'action': 'a(x)', 'ms': {ms}}}"


# What is refused


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        pytest.param(b"", 1, "empty", id="nothing"),
        pytest.param(b"\n\n", 2, "no stop line", id="blank lines only"),
        pytest.param(EVENT, 1, "no stop line", id="no stop line"),
        pytest.param(STOP + EVENT, 2, "after the stop line (line 1)", id="an event after the stop line"),
        pytest.param(EVENT + STOP + STOP, 3, "after the stop line (line 2)", id="two stop lines"),
        pytest.param(EVENT + STOP + b"\n x\n", 4, "after the stop line (line 2)", id="anything after it"),
        pytest.param(EVENT + b"oops\n" + STOP, 2, "not JSON: Expecting value (character 1)", id="not JSON"),
        pytest.param(EVENT + EVENT[:-2] + b"\n" + STOP, 2, "not JSON", id="an object cut off"),
        pytest.param(EVENT[:-1] + EVENT + STOP, 1, "not JSON: Extra data", id="two events on a line"),
        pytest.param(changed(b", ", b",\n"), 1, "not JSON", id="an event on several lines"),
        pytest.param(EVENT.replace(b", ", b",\n", 1) + EVENT[:-1] + EVENT + STOP, 1, "not JSON", id="both, evened out"),
        pytest.param(changed(b"}", b",}"), 1, "not JSON", id="a trailing comma"),
        pytest.param(changed(b"5", b"05"), 1, "not JSON", id="a leading zero"),
        pytest.param(changed(b"x", b"\t"), 1, "not JSON: Invalid control", id="a raw tab"),
        pytest.param(changed(b"x", b"\\x"), 1, "not JSON: Invalid \\escape (char", id="a bad escape"),
        pytest.param(EVENT + b"\xef\xbb\xbf" + STOP, 2, "not JSON", id="a byte order mark further down"),
        pytest.param(b"[" + EVENT[:-1] + b"]\n" + STOP, 1, "is an array, not an object", id="an array"),
        pytest.param(b"5\n" + STOP, 1, "is 5, not an object", id="a number"),
        pytest.param(b"null\n" + STOP, 1, "is null, not an object", id="null"),
        pytest.param(b"\0" * 9 + b"\n" + STOP, 1, "not JSON", id="zero bytes"),
        pytest.param(changed(b"x", b"\xff"), 1, "not UTF-8 (byte 26)", id="a byte that is no text"),
        pytest.param(changed(b"x", b"\xed\xa0\x80"), 1, "not UTF-8", id="a surrogate written as bytes"),
        pytest.param(EVENT.decode().encode("utf-16"), 1, "not UTF-8", id="UTF-16"),
        pytest.param(changed(b"x", b"\\ud800"), 1, "lone surrogate", id="a lone surrogate"),
        pytest.param(changed(b"x", b"\\ude00\\ud83d"), 1, "lone surrogate", id="a pair the wrong way round"),
        pytest.param(EVENT + b'{"stop": "\\udfff"}\n', 2, "lone surrogate", id="one in the reason"),
        pytest.param(changed(b"}", b', "\\ud800": 1}'), 1, "lone surr", id="one in a further key"),
        pytest.param(changed(b"5", b"NaN"), 1, "has NaN, which", id="NaN"),
        pytest.param(changed(b"5", b"-Infinity"), 1, "has -Infinity, which", id="infinity"),
        pytest.param(changed(b"5", b"1e400"), 1, "`ms` is beyond the range", id="beyond a double"),
        pytest.param(EVENT.replace(b"5", b"9" * 4301) + STOP, 1, "too many digits", id="a very long integer"),
        pytest.param(EVENT.replace(b"5", b"9" * 400) + STOP, 1, "more than a double", id="a long integer"),
        pytest.param(event(ms=1e308) * 2 + STOP, 2, "more than a double", id="times that add up to too much"),
        pytest.param(changed(b"}", b', "ms": 5}'), 1, "the key `ms` twice", id="a key twice"),
        pytest.param(changed(b"}", b', "st\\u0065p": 1}'), 1, "the key `step` twice", id="a key twice, escaped"),
        pytest.param(
            EVENT.replace(b"x", b'\\"').replace(b"}", b', "ms": 5}') + STOP,
            1,
            "`ms` twice",
            id="among quotes",
        ),
        pytest.param(
            EVENT.replace(b"x", b"\\\\").replace(b"(\\\\)", b"\\\\").replace(b"}", b', "action": "\\\\"}') + STOP,
            1,
            "`action` twice",
            id="a key twice with backslashes before the quotes",
        ),
        pytest.param(
            event(more={"k": 1}).replace(b'"k": 1', b'"k": 1, "k": 1') + STOP,
            1,
            "`k` twice",
            id="further down",
        ),
        pytest.param(
            b'{"step": 1, "action": "a\\\\", "status": "\\\\", "ms": 5, "ms": 5}\n' + STOP,
            1,
            "`ms` twice",
            id="a key twice with texts that end in a backslash",
        ),
        pytest.param(EVENT + b'{"stop": "a", "stop": "b"}\n', 2, "the key `stop` twice", id="stop twice"),
        pytest.param(event(more=0).replace(b"0", b"[" * 9999 + b"]" * 9999) + STOP, 1, "deep", id="too deep"),
        pytest.param(b'{"step": 1, "ms": 5}\n' + STOP, 1, "has no `action`, `status`", id="missing keys"),
        pytest.param(b"{}\n" + STOP, 1, "has no `step`, `action`, `status`, `ms`", id="no keys"),
        pytest.param(b'{"Stop": "x"}\n', 1, "has no `step`", id="a key in other letters"),
        pytest.param(event(stop="x") + STOP, 1, "has `stop` beside `step`", id="an event that is a stop line"),
        pytest.param(EVENT + b'{"stop": null}\n', 2, "`stop` is null, not text", id="a reason that is no text"),
        pytest.param(event(step=-1) + STOP, 1, "`step` is -1, not an integer", id="a negative step"),
        pytest.param(event(step=1.0) + STOP, 1, "`step` is 1.0, not an integer", id="a step with a point"),
        pytest.param(event(step=True) + STOP, 1, "`step` is true, not an integer", id="a step that is true"),
        pytest.param(event(step="1") + STOP, 1, '`step` is the text "1", not', id="a step that is text"),
        pytest.param(event(action=None) + STOP, 1, "`action` is null, not text", id="no action"),
        pytest.param(event(action={}) + STOP, 1, "`action` is an object, not text", id="an object for action"),
        pytest.param(event(status=0) + STOP, 1, "`status` is 0, not text", id="a number for a status"),
        pytest.param(event(ms=-0.5) + STOP, 1, "`ms` is -0.5, not a finite", id="a negative time"),
        pytest.param(event(ms=False) + STOP, 1, "`ms` is false, not a finite", id="a time that is false"),
        pytest.param(event(ms="5") + STOP, 1, '`ms` is the text "5", not a finite', id="a time that is text"),
        pytest.param(event(ms=None) + STOP, 1, "`ms` is null, not a finite", id="an unknown time"),
        pytest.param(event(ms=[5]) + STOP, 1, "`ms` is an array, not a finite", id="an array for a time"),
        pytest.param(event(ms="x\n" * 99), 1, r'the text "x\u000ax\u000a', id="the message stays one short line"),
    ],
)
def test_bad_input_is_refused_naming_the_line(data: bytes, line: int, what: str) -> None:
    result = both(data)
    assert isinstance(result, tuple)
    assert result[0] == line
    assert result[1].startswith(f"log, line {line}: ")
    assert what in result[1]
    assert result[1].isprintable()
    assert len(result[1]) < 250


def test_the_line_is_counted_over_chunks_and_blank_lines() -> None:
    data = EVENT * 5000 + b"\n\r\n" + EVENT * 5000 + b"{}\n" + STOP
    assert both(data)[0] == 10003  # type: ignore[index]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize("chunk", [1, 30, 10_000])
def test_a_line_may_have_just_so_many_bytes(end: bytes, chunk: int) -> None:
    line = EVENT[:-1] + b" " * 100
    data = STOP[:-1] + b" " * (len(line) - len(STOP) + 1)
    kept = len(line) + len(end.strip(b"\n"))
    assert answer(line + b"\n" + data + end, longest=kept, chunk=chunk) == ONE
    assert answer(b"\xef\xbb\xbf" + line + b"\n" + data + end, longest=kept, chunk=chunk) == ONE
    first = answer(b"\xef\xbb\xbf" + STOP[:-1] + b" " * kept + end, longest=kept, chunk=chunk)
    assert first == (1, f"log, line 1: is longer than {kept} bytes; see that this is the file you meant")
    refused = answer(line + b"\n" + data + b" " + end, longest=kept, chunk=chunk)
    assert refused == (2, f"log, line 2: is longer than {kept} bytes; see that this is the file you meant")


def test_a_line_without_end_is_not_read_to_its_end() -> None:
    class Endless(io.RawIOBase):
        given = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            self.given += len(buffer)
            buffer[:] = b"x" * len(buffer)
            return len(buffer)

    source = Endless()
    with io.BufferedReader(source) as stream, pytest.raises(InputError, match="longer than 100000 bytes"):
        summarize(stream, "log", longest=100_000)
    assert source.given < 300_000


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        path = tmp_path / f"{count}.jsonl"
        path.write_bytes(EVENT * count + STOP)
        tracemalloc.start()
        try:
            with path.open("rb") as stream:
                assert summarize(stream, "log")[0].steps == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(60_000) < 1.2 * peak(6_000)


# The format once more, naively, and any input at all


def naive(data: bytes) -> dict[str, object] | None:
    """Return what the summary should be, or None for bad input."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({key for key, _ in pairs}) == len(pairs)
        return dict(pairs)

    def refuse(name: str) -> None:
        raise AssertionError(name)

    def value(line: bytes) -> dict[str, Any]:
        parsed = json.loads(line.decode(), object_pairs_hook=unique, parse_constant=refuse)
        json.dumps(parsed, ensure_ascii=False).encode()
        assert type(parsed) is dict
        return parsed

    try:
        lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        *events, stop = [value(line) for line in lines if line.strip(b" \t\r")]
        assert type(stop["stop"]) is str
        assert not {"step", "action", "status", "ms"} & set(stop)
        tools: dict[str, int] = {}
        total: int | float = 0
        for e in events:
            assert "stop" not in e
            assert type(e["action"]) is type(e["status"]) is str
            assert type(e["step"]) is int
            assert e["step"] >= 0
            assert type(e["ms"]) in (int, float)
            assert 0 <= e["ms"] < float("inf")
            total += e["ms"]
            tool = e["action"].split("(")[0]
            tools[tool] = tools.get(tool, 0) + 1
        assert total <= 1.7976931348623157e308
    except (AssertionError, ValueError, KeyError, OverflowError):
        return None
    slowest = max(events, key=lambda e: e["ms"], default=None)
    return {
        "steps": len(events),
        "errors": [e["status"] for e in events].count("error"),
        "total_ms": total,
        "slowest": slowest and {"action": slowest["action"], "ms": slowest["ms"] + 0},
        "tools": dict(sorted(tools.items())),
        "stop": stop["stop"],
    }


CHARS = st.sampled_from('ab(\\"{}:,\n\u2028é日😀') | st.characters(exclude_categories=["Cs"])
TEXT = st.text(CHARS, max_size=6)
TIME = (
    st.integers(0, 3000)
    | st.integers(0, 2**70)
    | st.floats(0, allow_infinity=False)
    | st.sampled_from([0, -0.0, 10**308, 10**400, -1, True, None, "5"])
)
KEYS = st.fixed_dictionaries(
    {
        "step": st.integers(0, 99) | st.sampled_from([2**64, -1, 1.0, True]),
        "action": TEXT,
        "status": st.sampled_from(["ok", "error"]) | TEXT,
        "ms": TIME,
    },
    optional={"more": st.none() | TEXT | st.lists(TEXT, max_size=2)},
)
STOPS = st.fixed_dictionaries({"stop": TEXT})
PIECES = st.sampled_from(
    [
        *b'" \\ \\\\ \\" { } [ ] , : {} NaN 1e999 0 1 - . e true \\ud800 \\udc00 \\u0073'.split(),
        *b'"ms":1 ,"step":2 "action":"b" {"stop":"x"} "stop":"x",'.split(),
        *(b" ", b"\t", b"\n", b"\r", b"\r\n", b"\n\n", b"}\n{", b"\0", b"\x7f", EVENT, STOP),
        *(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf"),
    ]
)


@st.composite
def good_files(draw: st.DrawFn) -> bytes:
    """A file that is mostly right, written in one of many ways."""
    values = [*draw(st.lists(KEYS, max_size=5)), draw(STOPS)]
    ascii_only, spaced = draw(st.booleans()), draw(st.booleans())
    separators = (", ", ": ") if spaced else (",", ":")
    lines = [json.dumps(value, ensure_ascii=ascii_only, separators=separators) for value in values]
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\n\n", " \n"]))
    return (end.join(lines) + draw(st.sampled_from(["", "\n", "\r\n"]))).encode()


@st.composite
def any_files(draw: st.DrawFn) -> bytes:
    """A file that is mostly right, and then changed in a few places."""
    data = draw(good_files())
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        until = at + draw(st.sampled_from([0, 0, 1, 2, 20]))
        again = data[at:until] if draw(st.booleans()) else b""
        data = data[:at] + again + draw(PIECES | st.binary(max_size=2) | st.just(b"")) + data[until:]
    return data


@given(good_files() | any_files() | st.binary(max_size=40), st.integers(1, 300))
@example(EVENT.replace(b", ", b",\n", 1) + EVENT[:-1] + EVENT + STOP, 1000)
@example(b"\xef\xbb\xbf", 1)
def test_the_quick_path_the_careful_path_and_the_naive_reader_agree(data: bytes, chunk: int) -> None:
    expected = naive(data)
    careful = answer(data, quick=False)
    assert repr(answer(data)) == repr(careful)
    assert repr(answer(data, chunk=chunk)) == repr(careful)
    assert repr(careful if isinstance(careful, dict) else None) == repr(expected)
