"""Budgets: reaching one is not passing it, each is named with its use and limit, and no counter restarts (G5)."""

from typing import Any

import pytest

from remit import Call, Final, Remit, Reply, ScriptedPolicy, run
from remit.core import judge
from remit.core.budget import Exhausted, before_request, before_start
from remit.core.events import AttemptFailed, Checked, Ended, Observed, Started, Usage
from remit.core.recover import recover
from remit.core.run import Run
from tests.core.given import ANY, AT, TOOLS, again, begun, record, runs, says

LOOK = Call("look", {"id": 1})
SECOND = 1_000_000


def ask(state: Run, *, at: int = 0) -> Any:
    """Ask the policy by a request; return the end in its place, if any."""
    (event,) = record(state, filter(None, [judge.ask(state, True)]), at)
    return event if isinstance(event, Ended) else None


def exhausted(reason: str) -> Ended:
    return Ended(status="budget_exhausted", reason=reason)


@pytest.mark.guarantee("G5")
@pytest.mark.parametrize("limit", [1, 2, 7])
def test_the_last_turn_is_asked_and_no_other_after_it(limit: int) -> None:
    state = begun(turns=limit, max_invalid=99)
    for _ in range(limit):
        assert ask(state) is None
        record(state, judge.reply(state, TOOLS, Final(""), state.turns, 0))
    assert ask(state) == exhausted(f"turns {limit} of {limit}")


@pytest.mark.guarantee("G5")
@pytest.mark.parametrize(
    ("turns", "script", "then"),
    [
        pytest.param(2, [LOOK, Final("a")], ("complete", 2, 1), id="the answer's turn counts, and may be the last"),
        pytest.param(1, [LOOK, Final("a")], ("budget_exhausted", 1, 1), id="no turn is left for the answer"),
        pytest.param(1, [Final("a")], ("complete", 1, 0), id="one turn is enough for an answer"),
        pytest.param(3, [Final(""), LOOK, Final("a")], ("complete", 3, 1), id="an unusable reply is a turn"),
    ],
)
def test_turns_are_counted_exactly(turns: int, script: list[Any], then: tuple[str, int, int]) -> None:
    outcome = run("t", policy=ScriptedPolicy(script), remit=Remit(tools=ANY, turns=turns), tools=TOOLS)
    assert (outcome.status, outcome.usage["turns"], outcome.usage["calls"]) == then
    assert outcome.answer == ("a" if then[0] == "complete" else "")


@pytest.mark.guarantee("G5")
def test_a_retry_of_a_turn_is_no_new_turn() -> None:
    state = begun(turns=1)
    assert ask(state) is None
    record(state, [AttemptFailed(kind="timeout", us=2 * SECOND, backoff_us=3 * SECOND)])
    assert ask(state) is None
    assert (state.turns, state.attempt, state.working_us, state.backoff_us) == (1, 2, 2 * SECOND, 3 * SECOND)
    assert record(state, judge.reply(state, TOOLS, Final("a"), state.turns, 0))[-1].text == "a"  # type: ignore[union-attr]


@pytest.mark.guarantee("G5")
@pytest.mark.parametrize("limit", [0, 1, 3])
def test_as_many_calls_start_as_may_and_no_other(limit: int) -> None:
    state = begun(calls=limit)
    for number in range(limit):
        runs(state, LOOK, text=str(number))
    assert says(state, LOOK)[-1] == Observed(
        call=f"c{limit + 1}", status="not_run", code="budget.calls", text=f"calls {limit} of {limit}"
    )
    assert state.halt == ("budget_exhausted", f"calls {limit} of {limit}")
    assert state.started == limit


@pytest.mark.guarantee("G5")
def test_a_final_that_arrived_is_not_held_back_by_any_budget() -> None:
    outcome = run("t", policy=ScriptedPolicy([LOOK, Final("a")]), remit=Remit(tools=ANY, calls=1, turns=2), tools=TOOLS)
    assert (outcome.status, outcome.answer) == ("complete", "a")


@pytest.mark.guarantee("G5")
def test_a_limit_on_one_tool_leaves_the_others_free() -> None:
    state = begun(calls_per_tool={"look": 1, "fetch": 0})
    runs(state, LOOK)
    runs(state, Call("wait", {"job": "a"}))
    says(state, LOOK)
    assert state.halt == ("budget_exhausted", "calls of look 1 of 1")
    assert before_start(state, "fetch") == Exhausted("calls.fetch", "calls of fetch 0 of 0")
    assert before_start(state, "wait") is None
    assert state.started_by_tool == {"look": 1, "wait": 1}


@pytest.mark.guarantee("G5")
@pytest.mark.parametrize(
    ("used", "then"),
    [
        pytest.param(0, None, id="none used"),
        pytest.param(1_999_999, None, id="a microsecond is left"),
        pytest.param(2_000_000, Exhausted("seconds", "seconds 2.0 of 2"), id="used up"),
        pytest.param(7_500_000, Exhausted("seconds", "seconds 7.5 of 2"), id="passed: the overshoot is told"),
    ],
)
def test_working_time_gates_requests_and_starts(used: int, then: Exhausted | None) -> None:
    state = begun(seconds=2)
    runs(state, LOOK, us=used)
    assert before_request(state) == before_start(state, "look") == then


@pytest.mark.guarantee("G5")
def test_working_time_is_of_replies_failed_attempts_calls_and_checks_and_not_of_waiting() -> None:
    state = begun(seconds=1000, gates={"look": "hold"}, checks=["cites"])
    assert ask(state) is None
    record(state, [AttemptFailed(kind="timeout", us=1, backoff_us=SECOND)])
    assert ask(state) is None
    record(state, judge.reply(state, TOOLS, LOOK, state.turns, 10))
    record(state, judge.decide(state.open["c1"], True, "a"), AT + 60 * SECOND)
    again(state)
    record(state, [judge.start(state, TOOLS, state.open["c1"])])
    record(state, [Observed(call="c1", status="ok", us=100)])
    says(state, Final("a"), us=1000)
    record(state, [Checked(check=0, name="cites", passed=False, us=10_000)])
    assert (state.working_us, state.backoff_us, state.waiting_us) == (11_111, SECOND, 60 * SECOND)


@pytest.mark.guarantee("G5")
@pytest.mark.parametrize(
    ("after", "then"),
    [
        pytest.param(9_999_999, None, id="a microsecond is left"),
        pytest.param(10_000_000, Exhausted("wall_seconds", "wall_seconds 10.0 of 10"), id="used up"),
        pytest.param(86_400_000_000, Exhausted("wall_seconds", "wall_seconds 86400.0 of 10"), id="a day of waiting"),
    ],
)
def test_all_time_counts_waiting_included(after: int, then: Exhausted | None) -> None:
    state = begun(wall_seconds=10)
    record(state, [], AT + after)
    assert before_request(state) == before_start(state, "look") == then


@pytest.mark.guarantee("G5")
def test_a_wall_clock_that_goes_back_gives_no_time_back() -> None:
    state = begun(wall_seconds=10)
    record(state, [], AT + 10 * SECOND)
    record(state, [], AT - 3600 * SECOND)
    assert state.at == AT + 10 * SECOND
    assert before_request(state) == Exhausted("wall_seconds", "wall_seconds 10.0 of 10")


@pytest.mark.guarantee("G5")
def test_a_call_that_waited_too_long_for_its_yes_does_not_run() -> None:
    state = begun(wall_seconds=10, gates={"look": "hold"})
    says(state, LOOK)
    record(state, judge.decide(state.open["c1"], True, "a"), AT + 11 * SECOND)
    assert again(state) == [
        Observed(call="c1", status="not_run", code="budget.wall_seconds", text="wall_seconds 11.0 of 10")
    ]


@pytest.mark.guarantee("G5")
@pytest.mark.parametrize("key", ["turns", "calls", "seconds", "wall_seconds"])
def test_a_limit_that_was_lifted_is_none_and_the_others_stay(key: str) -> None:
    state = begun(**{key: None})
    for _ in range(60 if key == "calls" else 1):
        runs(state, LOOK, text=str(state.proposed), us=10**12 if key == "seconds" else 0)
    record(state, [], AT + (10**15 if key == "wall_seconds" else 0))
    state.turns = 10**6 if key == "turns" else 0
    assert before_request(state) is None
    assert before_start(state, "look") is None


@pytest.mark.guarantee("G5")
def test_a_read_that_starts_again_after_a_crash_is_charged_again() -> None:
    state = begun(calls=2)
    says(state, LOOK)
    for number in (1, 2):
        assert record(state, [judge.start(state, TOOLS, state.open["c1"])]) == [Started(call="c1", number=number)]
        record(state, recover(state))
    assert record(state, [judge.start(state, TOOLS, state.open["c1"])]) == [
        Observed(call="c1", status="not_run", code="budget.calls", text="calls 2 of 2")
    ]
    assert state.started == 2


@pytest.mark.guarantee("G5")
def test_usage_that_is_not_known_is_not_zero() -> None:
    state = begun(max_invalid=9)
    says(state, Final(""))
    assert state.tokens is None
    says(state, Reply((Final(""),), usage=Usage(input=10, output=5, cached=4)))
    says(state, Final(""))
    assert state.tokens == 15


@pytest.mark.guarantee("G5")
def test_in_the_turn_kept_for_the_final_the_policy_sees_no_tools() -> None:
    shown = []

    class Asks(ScriptedPolicy):
        def propose(self, context: Any) -> Any:
            shown.append((context.turn, context.last, len(context.tools)))
            return super().propose(context)

    policy = Asks([LOOK, Final("a")])
    outcome = run("t", policy=policy, remit=Remit(tools=ANY, turns=2, last_turn=True), tools=TOOLS)
    assert shown == [(1, False, len(TOOLS)), (2, True, 0)]
    assert (outcome.status, outcome.answer) == ("complete", "a")
