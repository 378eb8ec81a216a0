"""An export holds a log byte for byte, and a line that is no record is named by its number."""

import io
import json
from itertools import chain as joined

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.core.canon import GENESIS, chain
from remit.core.events import Record
from remit.core.verify import Damage, Verified
from remit.errors import InputError, LogDamaged
from remit.readers.export import NAMED, Broken, VerifiedExport, lines, read, records, verify_export

SAYS = (
    b'[{"event":"messaged","by":"me","text":"a\xc3\xbc\\u0000 \\"x\\""}]',
    b'[ {"event" : "messaged","by":"me","text":"spaced"} ]',
    b"[1.0,1e2,123456789012345678901234567890]",
    b"[]",
)


def log(run: str) -> list[Record]:
    """Records with a chain that holds; what they say does not matter here."""
    made, before = [], GENESIS
    for seq, events in enumerate(SAYS, 1):
        before = chain(before, run, seq, 10 * seq, events)
        made.append(Record(run, seq, 10 * seq, events, before))
    return made


ONE, TWO = log("run-1"), log("run-2")
TEXT = b"".join(lines(ONE))
LINES = TEXT.splitlines(keepends=True)


def found(data: bytes) -> list[Record | Broken]:
    return list(read(io.BytesIO(data)))


def test_a_line_is_the_record_in_plain_json() -> None:
    assert [json.loads(line) for line in LINES] == [
        {"run": "run-1", "seq": r.seq, "at": r.at, "events": json.loads(r.events), "digest": r.digest.hex()}
        for r in ONE
    ]
    assert TEXT.startswith(b'{"run":"run-1","seq":1,"at":10,"events":[{"event":')


def test_what_is_read_is_what_was_written_to_the_byte() -> None:
    assert found(TEXT) == ONE
    assert b"".join(lines(records(io.BytesIO(TEXT), "x"))) == TEXT


@given(
    st.lists(
        st.builds(
            Record,
            st.from_regex("[0-9a-z-]{1,64}", fullmatch=True),
            st.integers(1, 2**63 - 1),
            st.integers(0, 2**63 - 1),
            st.recursive(st.text() | st.integers() | st.booleans(), st.lists, max_leaves=9).map(
                lambda value: json.dumps([value]).encode()
            ),
            st.binary(min_size=32, max_size=32),
        )
    )
)
def test_any_record_comes_back_from_its_line(some: list[Record]) -> None:
    assert found(b"".join(lines(some))) == some


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(TEXT[:-1], id="the last line has no end"),
        pytest.param(TEXT.replace(b"\n", b"\r\n"), id="lines of another system"),
        pytest.param(b"\n  \n" + TEXT.replace(b"\n", b"\n\n") + b"\t\n", id="blank lines"),
        pytest.param(TEXT.replace(b',"at":', b' , "at" : '), id="spaces between the keys"),
    ],
)
def test_what_does_not_change_a_record_is_accepted(data: bytes) -> None:
    assert found(data) == ONE


@pytest.mark.parametrize(
    ("line", "text"),
    [
        pytest.param(LINES[0][:60], "is not a record: Input data was truncated", id="cut off"),
        pytest.param(b"hello", "is not a record: JSON is malformed: invalid character (byte 0)", id="not JSON"),
        pytest.param(b"[]", "is not a record: Expected `object`, got `array`", id="not an object"),
        pytest.param(b'{"stop": "x"}', "is not a record: Object contains unknown field `stop`", id="another format"),
        pytest.param(
            LINES[0].replace(b'"seq":1', b'"seq":0'),
            "is not a record: Expected `int` >= 1 - at `$.seq`",
            id="a number below 1",
        ),
        pytest.param(
            LINES[0].replace(b'"at":10', b'"at":1.5'),
            "is not a record: Expected `int`, got `float` - at `$.at`",
            id="half a microsecond",
        ),
        pytest.param(
            LINES[0].replace(b"run-1", b"\\u001b[2J"),
            r"is not a record: Expected `str` matching regex '^[0-9a-z-]{1,64}\\Z' - at `$.run`",
            id="a run id that could not be ours",
        ),
        pytest.param(
            LINES[0].replace(b'"seq":1', b'"seq":1,"seq":1'), "is not a record: it has a key twice", id="a key twice"
        ),
        pytest.param(
            LINES[0].replace(b'"by":"me"', b'"by":"me","by":"you"'),
            "is not a record: it has a key twice",
            id="a key twice in an event, beside a space",
        ),
        pytest.param(
            b'{"run":"run-1","seq":1,"at":10,"events":[],"digest":"xyz"}',
            "is not a record: non-hexadecimal number found in fromhex() arg at position 0",
            id="a digest that is none",
        ),
    ],
)
def test_a_line_that_is_no_record_is_named_and_reading_goes_on(line: bytes, text: str) -> None:
    if b'"by":"me","by"' in line:
        line = line.replace(b',"at"', b', "at"')  # written as we write it, a line is taken at its word
    assert found(LINES[0] + line.strip() + b"\n" + LINES[1]) == [ONE[0], Broken(2, text), ONE[1]]


def test_a_line_may_not_be_longer_than_the_limit() -> None:
    longest = len(LINES[0])
    data = LINES[0] + b" " * longest + LINES[1] + LINES[0].strip() + b" " * 3 * longest
    assert list(read(io.BytesIO(data), longest=longest)) == [
        ONE[0],
        Broken(2, f"is longer than {longest} bytes"),
        Broken(3, f"is longer than {longest} bytes"),
    ]


def test_who_needs_every_record_stops_at_the_first_line_that_is_none() -> None:
    reading = records(io.BytesIO(LINES[0] + b"x\n" + LINES[1]), "a\nb.jsonl")
    assert next(reading) == ONE[0]
    with pytest.raises(InputError) as raised:
        next(reading)
    assert raised.value.line == 2
    assert raised.value.message == (
        r"a\u000ab.jsonl, line 2: is not a record: JSON is malformed: invalid character (byte 0)"
    )


@pytest.mark.parametrize("events", [b"", b"[", b"[1]\n", b" [1]", b"[1] [2]"])
def test_events_that_no_line_can_hold_are_not_exported(events: bytes) -> None:
    with pytest.raises(LogDamaged, match="record 3 of run r cannot be exported"):
        list(lines([Record("r", 3, 0, events, bytes(32))]))


def test_verify_takes_several_runs_however_they_are_mixed() -> None:
    mixed = b"".join(lines(joined.from_iterable(zip(ONE, TWO, strict=True))))
    one, two = verify_export(io.BytesIO(mixed), "x").runs
    assert (one.run, one.records, one.good, two.run, two.records, two.good) == ("run-1", 4, 4, "run-2", 4, 4)


def test_verify_says_what_is_good_before_and_after_a_broken_line() -> None:
    said = [b'[{"event":"began","task":"t","remit":{"tools":{}},"digest":"","tools":{}}]', *[b"[]"] * 4]
    whole, before = [], GENESIS
    for seq, events in enumerate(said, 1):
        before = chain(before, "r", seq, seq, events)
        whole.append(Record("r", seq, seq, events, before))
    text = list(lines(whole))
    assert verify_export(io.BytesIO(b"".join(text)), "x") == VerifiedExport((Verified("r", 5, 5, 5, ()),), (), 0)
    text[2] = text[2].replace(b"{", b"", 1)
    broken = verify_export(io.BytesIO(b"".join(text)), "x")
    assert not broken.sound
    assert broken == VerifiedExport(
        (Verified("r", 4, 3, 2, (Damage(3, 3, "missing", "missing"),)),),
        (Broken(3, "is not a record: Expected `object`, got `str`"),),
        1,
    )
    assert list(broken.lines()) == [
        "r: damaged; of 4 records 2 good before the damage, 1 after it",
        "  record 3: missing",
        "line 3: is not a record: Expected `object`, got `str`",
    ]


def test_not_every_line_of_a_large_wrong_file_is_named() -> None:
    done = verify_export(io.BytesIO(LINES[0] + b"x\n" * 1000), "x")
    assert (len(done.broken), done.broken_lines) == (NAMED, 1000)
    assert list(done.lines())[-1] == f"{1000 - NAMED} more lines cannot be read"


@pytest.mark.parametrize(
    ("data", "line", "text"),
    [
        pytest.param(b"", 1, "x, line 1: the input is empty; it is not an export", id="empty"),
        pytest.param(b"\n\n", 1, "x, line 1: the input is empty; it is not an export", id="blank"),
        pytest.param(
            b"\nhello\n",
            2,
            "x, line 2: is not a record: JSON is malformed: invalid character (byte 0); it is not an export",
            id="text",
        ),
    ],
)
def test_what_is_no_export_at_all_is_bad_input(data: bytes, line: int, text: str) -> None:
    with pytest.raises(InputError) as raised:
        verify_export(io.BytesIO(data), "x")
    assert (raised.value.line, raised.value.message) == (line, text)
