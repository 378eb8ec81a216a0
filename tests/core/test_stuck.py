"""Going in a circle: two rules over (call, result), one nudge, and no alarm while something moves."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit import Call
from remit.core.events import Nudged
from remit.core.remit import Stuck
from remit.core.run import Run
from remit.core.stuck import LONGEST_CYCLE, Loop, Repeats
from remit.core.todo import Note, todo
from tests.core.given import begun, record, runs, says

Step = tuple[str, Any, str, str]
"""Tool, argument, status, result."""


def look(result: str = "same", status: str = "ok", id: int = 1) -> Step:
    return "look", {"id": id}, status, result


def edit(amount: int, result: str = "done", status: str = "ok") -> Step:
    return "pay", {"amount": amount}, status, result


def poll(result: str = "pending") -> Step:
    return "wait", {"job": "a"}, "ok", result


def go(steps: Iterable[Step], rule: Any = "progress", threshold: int = 4) -> tuple[Run, int]:
    """Run the steps until the rule stops them; return the run and how many ran."""
    state = begun(calls=None, stuck=Stuck(rule=rule, threshold=threshold))
    ran = 0
    for tool, args, status, text in steps:
        if state.halt is not None:
            break
        runs(state, Call(tool, args), status, text)  # type: ignore[arg-type]
        ran += 1
        while isinstance(do := todo(state), Note) and isinstance(do.events[0], Nudged):
            record(state, do.events)
    return state, ran


SAME = [look()] * 20
A, B, C = look("a", id=1), look("b", id=2), look("c", id=3)


@pytest.mark.guarantee("G7")
@pytest.mark.parametrize(
    ("steps", "ran"),
    [
        pytest.param(SAME, 4, id="the same success four times"),
        pytest.param([look("locked", "error")] * 20, 3, id="the same error one time sooner"),
        pytest.param([look("late", "timeout")] * 20, 3, id="the same time-out likewise"),
        pytest.param([A, B] * 10, 7, id="two that alternate: at the fourth of the first"),
        pytest.param([A, B, C] * 10, 10, id="three in turn"),
        pytest.param([A, look("x", id=10), A, look("y", id=11), A, look("z", id=12), A, A], 7, id="others in between"),
        pytest.param([edit(1)] * 20, 4, id="one write that succeeds, again and again"),
        pytest.param([edit(1, "no", "error")] * 20, 3, id="one write that fails, one time sooner"),
        pytest.param([edit(1), A] * 10, 8, id="a write and a read, both the same"),
        pytest.param([edit(1), edit(2), A] * 10, 12, id="a cycle of three with writes"),
        pytest.param([edit(n) for n in range(5)] * 10, 20, id="a cycle of five"),
        pytest.param([edit(n) for n in range(6)] * 10, 24, id="a cycle of six"),
        pytest.param([A, B, *[edit(n) for n in range(6)] * 10], 26, id="after another beginning"),
        pytest.param([*[edit(n) for n in range(5)] * 3, edit(9), *[edit(n) for n in range(5)] * 9], 36, id="anew"),
        pytest.param([poll()] * 20, 3, id="a poll by its own limit"),
    ],
)
def test_a_circle_is_stopped_where_it_closes(steps: list[Step], ran: int) -> None:
    state, count = go(steps)
    assert count == ran
    assert state.halt is not None
    assert state.halt.status == "stuck"


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([look(str(n)) for n in range(50)], id="the same call with a result that changes"),
        pytest.param([look(f"{n} failing") for n in (12, 7, 3, 0)], id="a count that falls"),
        pytest.param([look("page", id=n) for n in range(50)], id="pages of one list"),
        pytest.param([s for n in range(50) for s in (edit(n), look("12 failing"))], id="the same test between edits"),
        pytest.param([s for n in range(50) for s in (edit(n), look(), look())], id="re-reading after a write"),
        pytest.param([A, A, A, edit(1), A, A, A, edit(2), A, A, A, edit(3)], id="a write gives fresh counts"),
        pytest.param([edit(n) for n in range(7)] * 5, id="a cycle longer than six"),
        pytest.param([poll(), poll(), poll("done")], id="a poll that ends in time"),
        pytest.param([A, A, A, B, B, B, C, C, C], id="thrice each"),
        pytest.param([A, look("a", "error"), A, look("a", "error")], id="a success and an error are two results"),
    ],
)
def test_what_moves_is_not_stopped(steps: list[Step]) -> None:
    state, count = go(steps)
    assert (count, state.halt) == (len(steps), None)


@pytest.mark.guarantee("G7")
def test_a_write_that_failed_gives_no_fresh_counts() -> None:
    steps = [s for n in range(20) for s in (look(), edit(n, "no", "error"))]
    state, count = go(steps)
    assert (count, state.halt and state.halt.status) == (7, "stuck")


@pytest.mark.guarantee("G7")
@pytest.mark.parametrize(
    ("threshold", "steps", "ran"),
    [
        pytest.param(3, SAME, 3, id="three"),
        pytest.param(1, SAME, 1, id="one: any result at all"),
        pytest.param(3, [look("locked", "error")] * 9, 3, id="errors count like any result"),
        pytest.param(3, [s for n in range(9) for s in (look(), edit(n))], 5, id="writes forgive nothing"),
        pytest.param(3, [A, B, C, A, B, C, A], 7, id="apart or not"),
        pytest.param(3, [poll()] * 9, 3, id="a poll has no limit of its own"),
    ],
)
def test_the_plain_rule_counts_over_the_whole_run(threshold: int, steps: list[Step], ran: int) -> None:
    state, count = go(steps, "plain", threshold)
    assert (count, state.halt and state.halt.status) == (ran, "stuck")
    assert not any(notice.kind == "nudge" for notice in state.notices)


@pytest.mark.parametrize(
    ("steps", "after"),
    [
        pytest.param(SAME, 3, id="once, one before the end"),
        pytest.param([look("locked", "error")] * 9, 2, id="of an error"),
        pytest.param([poll()] * 9, 2, id="of a poll"),
        pytest.param([A, B] * 9, 5, id="of a circle of two"),
        pytest.param([A, A, A, B, B, B, C, C, C, C], 3, id="never twice in a run"),
        pytest.param([edit(n) for n in range(3)] * 9, 11, id="of a circle of writes, one call before it closes"),
    ],
)
def test_the_policy_is_told_exactly_once_before_it_is_stopped(steps: list[Step], after: int) -> None:
    state, _ = go(steps)
    assert [(notice.kind, notice.after) for notice in state.notices] == [("nudge", after)]
    assert state.halt is not None
    assert state.halt.status == "stuck"


def test_what_the_policy_and_the_operator_are_told() -> None:
    state, _ = go(SAME)
    assert state.notices[0].text == (
        'look({"id":1}) has now given the same result 3 times; once more and the run stops as stuck'
    )
    assert state.halt == ("stuck", 'the same result 4 times from look({"id":1})')
    state, _ = go([edit(1), A] * 9)
    assert state.halt == ("stuck", 'a cycle of 2 calls repeated 4 times, the last look({"id":1})')


@pytest.mark.guarantee("G2")
def test_one_value_written_in_several_ways_is_one_call_and_look_alikes_are_several() -> None:
    one, state = Call("look", '{"id":1,"note":"x"}'), begun(calls=None)
    for call in (one, Call("look", '{ "note" : "x", "id" : 1 }'), Call("look", {"note": "\u0078", "id": 1}), one):
        runs(state, call)
    assert state.halt is not None
    state = begun(calls=None)
    for url in ("1", "1 ", "\u0661", "l"):
        runs(state, Call("fetch", {"url": url}), text="same")
    assert (state.halt, state.notices) == (None, [])


def test_a_call_that_did_not_run_is_no_step() -> None:
    state = begun(calls=None, max_invalid=99)
    for _ in range(10):
        says(state, Call("look", {"id": "x"}))
    assert (state.halt, len(state.observations)) == (None, 10)


PAIRS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["ok", "ok", "error"]), st.sampled_from("ab"), st.booleans()),
    max_size=60,
)


@given(PAIRS, st.integers(2, 5))
def test_the_counting_agrees_with_looking_at_everything_again(pairs: list[Any], threshold: int) -> None:
    """The rule in O(1) a step, against one that looks at the whole history each time."""
    fast = Repeats("progress", threshold)
    seen: list[Any] = []
    for tool, status, text, write in pairs:
        pair = (f"{'w' if write else 'r'}{tool}", "{}", status, text)
        seen.append((pair, write))
        loop = fast.add(pair, write, None)
        assert (loop is not None and loop.verdict == "stop") == slow(seen, threshold)


def slow(seen: list[Any], threshold: int) -> bool:
    pairs = [pair for pair, _ in seen]
    for length in range(1, LONGEST_CYCLE + 1):
        if pairs[-length * threshold :] == pairs[-length:] * threshold:
            return True
    last, write = seen[-1]
    since = 0
    for place, (pair, wrote) in enumerate(seen[:-1], 1):
        since = place if wrote and pair[2] == "ok" else since
    times = pairs[since:].count(last)
    return not (write and last[2] == "ok") and times > 1 and times >= max(threshold - (last[2] != "ok"), 2)


@given(PAIRS)
def test_the_plain_rule_agrees_with_counting(pairs: list[Any]) -> None:
    fast, seen = Repeats("plain", 3), []
    for tool, status, text, write in pairs:
        pair = (str(tool), "{}", status, text)
        seen.append(pair)
        times = seen.count(pair)
        assert fast.add(pair, write, None) == (Loop("stop", times, 1) if times >= 3 else None)
