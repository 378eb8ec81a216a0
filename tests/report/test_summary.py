"""The six lines, and the same as data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.core.report import Milliseconds, Summary

Row = tuple[str, str, str, Milliseconds]
TIMES = st.integers(0, 2**70) | st.floats(0, 1e300) | st.sampled_from([0, -0.0, 1, 1.0, 2**53 + 1])
ROWS = st.lists(st.tuples(st.text(max_size=3), st.text(max_size=2), st.sampled_from(["ok", "error"]), TIMES))


def counted(rows: list[Row]) -> Summary:
    summary = Summary()
    for row in rows:
        summary.add(*row)
    return summary


def test_a_run_with_events() -> None:
    summary = counted(
        [
            ("read_file(a.py)", "read_file", "ok", 120),
            ("search(x)", "search", "error", 40.5),
            ("read_file(b.py)", "read_file", "refused", 1900),
        ]
    )
    assert summary.lines("complete") == [
        "steps: 3",
        "errors: 1",
        "total time: 2.1 s",
        "slowest: read_file(b.py) (1.9 s)",
        "tools: read_file 2, search 1",
        "stop: complete",
    ]
    assert summary.document("complete") == {
        "steps": 3,
        "errors": 1,
        "total_ms": 2060.5,
        "slowest": {"action": "read_file(b.py)", "ms": 1900},
        "tools": {"read_file": 2, "search": 1},
        "stop": "complete",
    }


def test_a_run_without_events() -> None:
    assert Summary().lines("no answer") == [
        "steps: 0",
        "errors: 0",
        "total time: 0.0 s",
        "slowest: none",
        "tools: none",
        "stop: no answer",
    ]
    assert Summary().document("no answer") == {
        "steps": 0,
        "errors": 0,
        "total_ms": 0,
        "slowest": None,
        "tools": {},
        "stop": "no answer",
    }


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        pytest.param([("a", "a", "ok", 5), ("b", "b", "ok", 5.0)], "slowest: a (0.0 s)", id="first on ties"),
        pytest.param([("a", "a", "ok", 0)], "slowest: a (0.0 s)", id="zero is a time"),
        pytest.param([("a", "a", "ok", -0.0)], "slowest: a (0.0 s)", id="minus zero is zero"),
        pytest.param([("none", "none", "ok", 50)], "slowest: none (0.1 s)", id="an action called none"),
        pytest.param(
            [("a", "a", "ok", 2**53), ("b", "b", "ok", 2**53 + 1)],
            "slowest: b (9007199254741.0 s)",
            id="integers that no double holds are compared exactly",
        ),
        pytest.param([("a(\n\u202e)", "a", "ok", 1)], r"slowest: a(\u000a\u202e) (0.0 s)", id="escapes in an action"),
        pytest.param([("日本(é😀)", "a", "ok", 1)], "slowest: 日本(é😀) (0.0 s)", id="text of any language"),
    ],
)
def test_the_slowest(rows: list[Row], line: str) -> None:
    assert counted(rows).lines("x")[3] == line


@pytest.mark.parametrize(
    ("tools", "line"),
    [
        pytest.param(["b", "a", "b"], "tools: a 1, b 2", id="by name, not by count"),
        pytest.param(["z", "Z", "é", "10", "9"], "tools: 10 1, 9 1, Z 1, z 1, é 1", id="by code point"),
        pytest.param(["\uff5e", "😀"], "tools: \uff5e 1, 😀 1", id="by code point and not by UTF-16"),
        pytest.param([""], "tools:  1", id="a tool without a name"),
        pytest.param(["a\nstop: x"], r"tools: a\u000astop: x 1", id="escapes in a name"),
    ],
)
def test_the_tools(tools: list[str], line: str) -> None:
    assert counted([(tool, tool, "ok", 1) for tool in tools]).lines("x")[4] == line


@pytest.mark.parametrize(
    ("times", "line"),
    [
        pytest.param([50], "total time: 0.1 s", id="as Python rounds"),
        pytest.param([250, 1000], "total time: 1.2 s", id="a half goes to the even digit"),
        pytest.param([0.1, 0.2], "total time: 0.0 s", id="fractions"),
        pytest.param([-0.0], "total time: 0.0 s", id="minus zero"),
        pytest.param([2**53, 1, 1], "total time: 9007199254741.0 s", id="beyond 2**53"),
        pytest.param([10**300], f"total time: {1e297:.1f} s", id="large, and printed in full"),
    ],
)
def test_the_total_time(times: list[Milliseconds], line: str) -> None:
    assert counted([("a", "a", "ok", ms) for ms in times]).lines("x")[2] == line


def test_integers_add_up_exactly() -> None:
    assert counted([("a", "a", "ok", 2**53), ("a", "a", "ok", 1)]).document("x")["total_ms"] == 2**53 + 1


@pytest.mark.parametrize("status", ["Error", "error ", "errors", "failed", ""])
def test_only_the_status_error_is_an_error(status: str) -> None:
    assert counted([("a", "a", status, 1)]).errors == 0


def test_a_stop_cannot_add_a_line() -> None:
    assert Summary().lines("x\r\ny\u2028z")[5] == r"stop: x\u000d\u000ay\u2028z"


@pytest.mark.parametrize(
    "times",
    [
        pytest.param([1e308, 1e308], id="floats"),
        pytest.param([10**308, 10**308], id="integers"),
        pytest.param([10**308, 1e308], id="an integer and a float"),
        pytest.param([0.5, 10**309], id="an integer that no double holds"),
    ],
)
def test_a_total_beyond_a_double_is_refused_and_nothing_is_counted(times: list[Milliseconds]) -> None:
    summary = Summary()
    with pytest.raises(OverflowError):
        summary.add_all(["a"] * len(times), ["a"] * len(times), ["ok"] * len(times), times)
    assert summary.document("x") == Summary().document("x")
    with pytest.raises(OverflowError):
        counted([("a", "a", "ok", ms) for ms in times])


@given(st.lists(ROWS))
def test_counting_many_at_once_is_counting_one_by_one(batches: list[list[Row]]) -> None:
    at_once = Summary()
    for rows in batches:
        actions, tools, statuses, times = ([row[i] for row in rows] for i in range(4))
        at_once.add_all(actions, tools, statuses, times)  # type: ignore[arg-type]
    one_by_one = counted([row for rows in batches for row in rows])
    assert repr(at_once.document("x")) == repr(one_by_one.document("x"))


@given(ROWS, st.text())
def test_there_are_always_six_lines(rows: list[Row], stop: str) -> None:
    text = "\n".join(counted(rows).lines(stop))
    names = ["steps", "errors", "total time", "slowest", "tools", "stop"]
    assert [line.partition(":")[0] for line in text.splitlines()] == names
