"""One run event by event, and the table of runs."""

import pytest

from remit import Call, Final
from remit.readers.export import lines
from remit.shells.show import RunRow, runs_table, show_records
from tests.report_run.recorded import START, awaiting, damaged, hostile, lasting, recorded

AWAITING = """\
1     2026-01-02T03:04:05.250Z  began             for analyst@example.org: Ship the fix
                                replied           turn 1 in 12.5 ms
                                proposed          c1 read_file({"path":"calc.py"})
                                allowed           c1 by scope.read_file
                                started           c1
2     2026-01-02T03:04:05.500Z  observed          c1 ok in 12.5 ms: def add(a, b):\\u000a    return a - b\\u000a
                                replied           turn 2 in 12.5 ms
                                proposed          c2 deploy({"target":"production"})
                                held              c2 by consequential
"""


def test_a_run_is_shown_event_by_event() -> None:
    assert "".join(show_records(iter(awaiting()), False)) == AWAITING


def test_as_json_a_run_is_its_export() -> None:
    assert "".join(show_records(lasting(), True)).encode() == b"".join(lines(lasting()))


def test_a_record_that_cannot_be_read_is_shown_as_damage_and_the_rest_goes_on() -> None:
    shown = list(show_records(damaged(), False))
    problem = "cannot be read: JSON is malformed: invalid character (byte 0)"
    assert [line for line in shown if "damage" in line] == [
        f"4     2026-01-02T03:04:06.000Z  damage            {problem}\n"
    ]
    assert shown[-1] == " " * 32 + "ended             complete, supported\n"


def test_a_long_text_is_shortened_with_its_size_said() -> None:
    *_, answered, _ = show_records(recorded("Talk", [Final("a" * 5_000)]), False)
    assert answered == " " * 32 + "answered          " + "a" * 400 + "… (5000 characters)\n"


def test_whatever_a_run_holds_an_event_is_one_line_without_hidden_characters() -> None:
    shown = list(show_records(hostile(), False))
    assert all(line.endswith("\n") and line[:-1].isprintable() for line in shown)


HOUR = 3_600_000_000
ROWS = [
    RunRow("06frh", "complete", "", "unsupported", START, START + 2 * HOUR, 5, 4, "Fix the failing test", "ann"),
    RunRow("06frg", "awaiting_approval", "c2 deploy waits", None, START, START + 250_000, 2, 1, "日本語\n" * 20, None),
]
WHOLE = """\
run    status                 began (UTC)       took      calls  task
06frh  complete, unsupported  2026-01-02 03:04  2 h       4      Fix the failing test
06frg  awaiting_approval      2026-01-02 03:04  250.0 ms  1      {}
"""


@pytest.mark.parametrize(
    ("width", "task"),
    [
        pytest.param(100, r"日本語\u000a日本語\u000a日本語\u00…", id="a task is cut at the terminal's width"),
        pytest.param(95, r"日本語\u000a日本語\u000a日本…", id="a wide character takes two columns"),
        pytest.param(10, r"日本語\u000a日本語\…", id="however narrow, something of the task is shown"),
        pytest.param(1000, r"日本語\u000a" * 20, id="on a wide terminal nothing is cut"),
    ],
)
def test_runs_are_a_table(width: int, task: str) -> None:
    assert runs_table(ROWS, width) == WHOLE.format(task)


def test_no_runs_are_said() -> None:
    assert runs_table([]) == "no runs\n"


def test_a_call_longer_than_a_line_keeps_the_columns() -> None:
    shown = list(show_records(recorded("Read", [Call("read_file", {"path": "p" * 999})]), False))
    assert {line[32:50].rstrip() for line in shown} == {
        "began", "replied", "proposed", "allowed", "started", "observed", "ended",
    }  # fmt: skip
