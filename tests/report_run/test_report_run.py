"""Reports of recorded runs: what an operator reads after an incident, and that nothing in a run can bend it.

The golden files are read by people: look at them. `REMIT_GOLDEN=write` writes them anew.
"""

import json
import os
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from remit import Call, Final
from remit.core.events import Record, decode_events
from remit.core.fold import fold
from remit.core.visible import visible
from remit.runtime.agent import usage
from remit.shells.report_run import duration, report_records, utc
from tests.report_run.recorded import (
    HOSTILE,
    RUNS,
    Item,
    at_once,
    complete,
    continued,
    damaged,
    lasting,
    reading,
    recorded,
)

GOLDEN = Path(__file__).parent / "golden"
Form = Literal["text", "json", "markdown"]
SUFFIX: dict[Form, str] = {"text": "txt", "json": "json", "markdown": "md"}
SOUND = [name for name in RUNS if name != "damaged"]


def report(records: list[Record], form: Form = "text", *, full: bool = True) -> str:
    return "".join(report_records(iter(records), full=full, form=form))


def document(records: list[Record]) -> Any:
    return json.loads(report(records, "json"))


@pytest.mark.parametrize(
    ("name", "form"),
    [(name, "text") for name in RUNS]
    + [(name, form) for name in ("complete", "hostile", "lasting", "damaged") for form in ("json", "markdown")],
)  # fmt: skip
def test_a_report_is_the_golden_one(name: str, form: Form) -> None:
    path = GOLDEN / f"{name}.{SUFFIX[form]}"
    # the remit's digest changes with every field that a remit gets: it is not the report's
    text = re.sub("sha256:[0-9a-f]{64}", "sha256:…", report(RUNS[name](), form))
    if os.environ.get("REMIT_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text == path.read_text(encoding="utf-8")


def test_every_golden_file_belongs_to_a_run() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(RUNS)


@pytest.mark.parametrize(
    ("name", "stop"),
    [
        ("complete", "complete"),
        ("denied", r"denied: by alice: not on a Friday\u000a:-)"),
        ("stuck", 'stuck: the same result 4 times from read_file({"path":"calc.py"})'),
        ("awaiting", "awaiting_approval: c2 deploy waits for a person"),
        ("budget", "budget_exhausted: turns 3 of 3"),
        ("failed", "failed: ZeroDivisionError: division by zero"),
        ("uncertain", "uncertain: the outcome of c1 pay is unknown"),
        ("no_answer", "no_answer: the script ended after 1 items"),
        ("lasting", "cancelled: by dave"),
    ],
)
def test_the_last_line_is_the_status_with_its_reason(name: str, stop: str) -> None:
    assert report(RUNS[name](), full=False).splitlines()[5:] == [f"stop: {stop}"]


def test_a_log_that_stops_in_the_middle_has_no_recorded_end() -> None:
    assert report(complete()[:3], full=False).splitlines() == [
        "steps: 2",
        "errors: 1",
        "total time: 0.0 s",
        "slowest: run_tests({}) (0.0 s)",
        "tools: read_file 1, run_tests 1",
        "stop: not recorded",
    ]


def test_an_answer_at_once_has_no_steps_and_nothing_to_divide() -> None:
    six = ["steps: 0", "errors: 0", "total time: 0.0 s", "slowest: none", "tools: none", "stop: complete"]
    assert report(at_once(), full=False).splitlines() == six


def test_a_step_is_one_observation_a_refused_one_included() -> None:
    whole = document(RUNS["refused"]())
    assert (whole["steps"], whole["errors"], whole["tools"]) == (4, 0, {"deploy": 1, "read_file": 3})


@pytest.mark.parametrize("name", RUNS)
def test_the_six_lines_come_first_and_are_the_same_in_every_form(name: str) -> None:
    records = RUNS[name]()
    six = report(records, full=False).splitlines()[:6]
    assert [line.partition(":")[0] for line in six] == ["steps", "errors", "total time", "slowest", "tools", "stop"]
    assert report(records).splitlines()[:6] == six
    assert report(records, "markdown").splitlines()[3:9] == six
    whole = document(records)
    assert six[0] == f"steps: {whole['steps']}"
    assert six[1] == f"errors: {whole['errors']}"
    assert six[2] == f"total time: {whole['total_ms'] / 1000:.1f} s"
    assert six[5] == visible(f"stop: {whole['stop']}")


@pytest.mark.parametrize("name", SOUND)
def test_the_figures_are_those_of_the_runs_own_state(name: str) -> None:
    records = RUNS[name]()
    whole, state = document(records), fold("r1", records)
    used = {row["budget"]: row["used"] for row in whole["budgets"]}
    by_tool = {name.removeprefix("calls."): times for name, times in used.items() if name.startswith("calls.")}
    assert {tool: times for tool, times in by_tool.items() if times} == state.started_by_tool
    assert {
        "turns": used["turns"],
        "calls": used["calls"],
        "tokens": whole["tokens"]["input"] + whole["tokens"]["output"] if whole["tokens"] else None,
        "seconds": used["seconds"],
        "waiting_seconds": whole["waits"]["people_seconds"],
        "backoff_seconds": whole["waits"]["backoff_seconds"],
        "wall_seconds": used["wall_seconds"],
    } == usage(state)


@pytest.mark.parametrize("name", RUNS)
def test_no_two_figures_of_a_report_contradict_each_other(name: str) -> None:
    whole = document(RUNS[name]())
    observed = whole["observations"]
    assert sum(observed.values()) == whole["steps"] == sum(whole["tools"].values())
    assert sum(row["times"] for row in whole["errors_by_kind"]) == whole["errors"]
    silent = whole["steps"] - whole["errors"] - observed.get("ok", 0) - observed.get("settled", 0)
    assert sum(row["times"] for row in whole["refusals"]) == silent
    used = {row["budget"]: row["used"] for row in whole["budgets"]}
    assert used["calls"] == sum(times for name, times in used.items() if name.startswith("calls."))


@pytest.mark.parametrize("name", SOUND)
def test_the_timeline_has_every_event_in_every_form(name: str) -> None:
    records = RUNS[name]()
    events = sum(len(decode_events(record.events)) for record in records)
    assert len(document(records)["timeline"]) == events
    assert len(report(records).partition("\nTimeline\n")[2].splitlines()) == 1 + events
    assert len(report(records, "markdown").partition("\n## Timeline\n")[2].splitlines()) == 3 + events


def test_the_time_of_a_step_is_that_of_all_its_tries_without_waiting() -> None:
    whole = document(lasting())  # a write of unknown outcome after 2.5 s, settled an hour later; a read of 30 s
    assert whole["total_ms"] == 32_500.0
    assert [row["took_seconds"] for row in whole["receipts"]] == [2.5]


def test_json_is_lines_that_make_one_object_with_unique_members() -> None:
    chunks = list(report_records(lasting(), full=False, form="json"))
    assert all(chunk.endswith("\n") and chunk.count("\n") == 1 for chunk in chunks)
    members = json.loads("".join(chunks), object_pairs_hook=list)
    names = [name for name, _ in members]
    assert names == sorted(set(names))


def test_a_damaged_log_is_reported_as_far_as_it_can_be_read_and_says_so() -> None:
    assert document(damaged())["damage"] == [
        {"record": 4, "problem": "record 3 should stand here"},
        {"record": 4, "problem": "cannot be read: JSON is malformed: invalid character (byte 0)"},
        {"record": 5, "problem": "`replied` cannot happen while it is acting"},
    ]
    assert report(damaged(), full=False).splitlines()[5:9] == [
        "stop: complete",
        "",
        "Damage in the log",
        "  record  problem",
    ]


def test_of_much_damage_the_first_is_named_and_the_rest_is_counted() -> None:
    zeros = [Record("r1", seq, 0, bytes(9), b"") for seq in range(1, 31)]
    found = document(zeros)["damage"]
    assert len(found) == 21
    assert found[-1] == {"record": None, "problem": "and 11 more"}


def test_no_records_are_a_report_of_nothing() -> None:
    assert report([], full=False).splitlines()[-1] == "stop: not recorded"
    assert document([])["timeline"] == []
    assert "Timeline" in report([])


# Nothing that a model, a tool or a person wrote bends the report.

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40) | st.sampled_from(
    [HOSTILE, "a|b\\|c\\", "`" * 9, "<b>&lt;", "\n# h\n- x\n---\n", "![x](http://a.b)", "www.a.b http://a.b", "$a$ ~b~"]
)  # fmt: skip
PLAIN = "plain"


def said(text: str) -> list[Record]:
    """A run in which everybody says the text."""
    script: list[Item] = [
        Call("read_file", {"path": text}),
        Call(text, {text: text}),
        Call("read_file", text),
        Final(text + "."),
    ]
    return recorded(text + ".", script)


def structure(markdown: str) -> list[str]:
    """What a Markdown reader makes of it: the kinds of its blocks, and of what stands in their lines."""
    tokens = MarkdownIt("commonmark", {"linkify": False}).enable("table").parse(markdown)
    return [kind for token in tokens for kind in (token.type, *(child.type for child in token.children or ()))]


def shape(markdown: str) -> list[str]:
    return [kind for kind in structure(markdown) if kind not in ("text", "html_inline")]


@given(TEXTS)
def test_no_text_changes_the_structure_of_a_markdown_report(text: str) -> None:
    markdown = report(said(text), "markdown")
    assert shape(markdown) == shape(report(said(PLAIN), "markdown"))
    html = {
        child.content
        for token in MarkdownIt("commonmark").enable("table").parse(markdown)
        for child in token.children or ()
        if child.type == "html_inline"
    }
    assert html <= {"<br>"}
    assert all(line.isprintable() for line in markdown.split("\n"))


@given(TEXTS)
def test_a_cell_of_a_markdown_report_reads_as_the_text(text: str) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(report(said(text), "markdown"))
    rows = [token for token in tokens if token.type == "inline"]
    task = next(rows[n + 1] for n, token in enumerate(rows) if token.content == "task")
    read = "".join("\n" if c.type == "html_inline" else c.content for c in task.children or ())
    assert [line.strip(" ") for line in read.split("\n")] == [
        visible(line).strip(" ") for line in (text + ".").split("\n")
    ]


def margin(text: str) -> list[str]:
    """The report's own words: the six names, the titles, and the first cell of each row."""
    six, rest = text.splitlines()[:6], [line for line in text.splitlines()[6:] if line and not line.startswith("   ")]
    return [line.partition(":")[0] for line in six] + [line[:2] + line[2:].partition("  ")[0] for line in rest]


@given(TEXTS)
def test_no_text_adds_a_line_that_looks_like_the_reports_own(text: str) -> None:
    assert margin(report(said(text))) == margin(report(said(PLAIN)))
    assert all(line.isprintable() for line in report(said(text)).split("\n"))


def test_a_long_text_is_shortened_with_its_size_said() -> None:
    records = recorded("t" * 3_000, [Call("read_file", {"path": "p" * 900}), Final("a" * 5_000)])
    text, whole = report(records), document(records)
    assert "t" * 2_500 + "… (3000 characters)\n" in text
    assert "a" * 2_500 + "… (5000 characters)\n" in text
    assert whole["task"] == "t" * 3_000
    assert whole["slowest"]["action"] == 'read_file({"path":"' + "p" * 481 + "… (922 characters)"
    assert max(map(len, text.splitlines())) < 2_600


# Memory


def long_log(last: Record, calls: int) -> Iterator[Record]:
    """A run of many calls with results of a kilobyte, made as it is read."""
    yield last
    for number in range(1, calls + 1):
        last = continued([last], (1_000, reading(number)))[-1]
        yield last


def peak(calls: int, *, full: bool) -> int:
    first = complete()[0]
    report([first], full=full)  # what is imported late is imported now
    tracemalloc.start()
    try:
        for _ in report_records(long_log(first, calls), full=full, form="text"):
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_log() -> None:
    assert peak(600, full=False) < peak(200, full=False) + 100_000


def test_beyond_a_megabyte_memory_does_not_grow_with_the_timeline() -> None:
    assert peak(2_800, full=True) < 1.3 * peak(1_600, full=True)


# For people


@pytest.mark.parametrize(
    ("seconds", "then"),
    [
        (0.0, "0 s"),
        (0.0004, "0.4 ms"),
        (0.999, "999.0 ms"),
        (1.0, "1.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min"),
        (61.4, "1 min 1 s"),
        (3600.0, "1 h"),
        (7500.0, "2 h 5 min"),
        (7_776_000.0, "90 d"),
        (90_000.0, "1 d 1 h"),
    ],
)
def test_a_time_span_reads_in_its_largest_units(seconds: float, then: str) -> None:
    assert duration(seconds) == then


@pytest.mark.parametrize(
    ("at", "then"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_767_323_045_999_999, "2026-01-02T03:04:05.999Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (2**62, str(2**62)),
    ],
)
def test_a_time_reads_as_iso_in_utc(at: int, then: str) -> None:
    assert utc(at) == then
