"""Checks that read the log, and the grade: apart from how the run ended (G13)."""

from typing import Any

import pytest

from remit import Call, Final
from remit.core.check import Result, cites, effects, grade, name, plan
from remit.core.events import Checked, Ended, Grade, Observed, Settled, Unsettled
from remit.core.judge import start
from remit.core.run import Run
from remit.core.todo import Check, Note, Rest, todo
from tests.core.given import TOOLS, begun, record, runs, says

CITES = {"cites": "c1", "quote": "the date is missing"}


def answered(*claims: dict[str, str], **limits: Any) -> Run:
    """A run that looked (c1), paid (c2), failed to pay (c3), and answers with these claims."""
    state = begun(**limits)
    runs(state, Call("look", {"id": 1}), text="the date is missing\nno more")
    runs(state, Call("pay", {"amount": 1}), text="paid")
    runs(state, Call("ship", {"to": "a"}), "error", "no such place") if "gates" in limits else None
    says(state, Final("an answer", claims=claims))
    return state


@pytest.mark.guarantee("G13")
@pytest.mark.parametrize(
    ("claims", "then"),
    [
        pytest.param([CITES], Result(True, "1 quoted and found"), id="the words are there"),
        pytest.param([CITES, {**CITES, "quote": "no more"}], Result(True, "2 quoted and found"), id="all of them"),
        pytest.param([{**CITES, "quote": "missing\nno"}], Result(True, "1 quoted and found"), id="across lines"),
        pytest.param([], Result(False, "the answer cites nothing"), id="no claim at all"),
        pytest.param([{"effect": "pay"}], Result(False, "the answer cites nothing"), id="a claim of another kind"),
        pytest.param(
            [{**CITES, "quote": "the date is there"}],
            Result(False, "c1 does not contain 'the date is there'"),
            id="other words",
        ),
        pytest.param(
            [{**CITES, "quote": "The date"}], Result(False, "c1 does not contain 'The date'"), id="case matters"
        ),
        pytest.param(
            [CITES, {**CITES, "cites": "c2"}], Result(False, f"c2 does not contain {CITES['quote']!r}"), id="one"
        ),
        pytest.param([{**CITES, "cites": "c9"}], Result(False, "there is no observation c9"), id="no such call"),
        pytest.param(
            [{**CITES, "cites": "look"}], Result(False, "there is no observation look"), id="a tool is no call"
        ),
        pytest.param(
            [{**CITES, "quote": "x" * 200}], Result(False, f"c1 does not contain {'x' * 80 + '…'!r}"), id="a long quote"
        ),
    ],
)
def test_cites_looks_for_each_quote_in_the_observation_it_names(claims: list[Any], then: Result) -> None:
    assert cites(answered(*claims)) == then


@pytest.mark.guarantee("G13")
@pytest.mark.parametrize(
    ("claims", "then"),
    [
        pytest.param([{"effect": "pay"}], Result(True, "1 on record"), id="a call that succeeded"),
        pytest.param([], Result(False, "the answer claims no effect"), id="no claim at all"),
        pytest.param(
            [{"effect": "ship"}], Result(False, "no successful call of ship is on record"), id="one that failed"
        ),
        pytest.param(
            [{"effect": "fetch"}], Result(False, "no successful call of fetch is on record"), id="one never made"
        ),
        pytest.param(
            [{"effect": "pay"}, {"effect": "Pay"}],
            Result(False, "no successful call of Pay is on record"),
            id="names match exactly",
        ),
    ],
)
def test_effect_looks_for_the_receipt_of_a_call_that_succeeded(claims: list[Any], then: Result) -> None:
    assert effects(answered(*claims, gates={"ship": "allow"})) == then


@pytest.mark.guarantee("G6")
@pytest.mark.parametrize("done", [True, False])
def test_a_settled_write_counts_as_what_it_was_found_to_be(done: bool) -> None:
    state = begun()
    says(state, Call("pay", {"amount": 1}))
    call = state.open["c1"]
    settled = Settled(call="c1", how="person", done=done, by="a")
    record(
        state,
        [start(state, TOOLS, call), Unsettled(call="c1", cause="?"), settled, Observed(call="c1", status="settled")],
    )
    says(state, Final("paid", claims=[{"effect": "pay"}]))
    assert effects(state).passed is done


@pytest.mark.guarantee("G13")
@pytest.mark.parametrize(
    ("checks", "claims", "then"),
    [
        pytest.param([], [], [], id="none"),
        pytest.param(["cites"], [], ["cites"], id="what the remit asks for"),
        pytest.param([], [CITES], ["cites"], id="what the answer claims"),
        pytest.param([], [{"effect": "pay"}, CITES], ["cites", "effect"], id="of both kinds"),
        pytest.param(
            ["effect", {"file": "a"}], [CITES, CITES], ["effect", {"file": "a"}, "cites"], id="both, once each"
        ),
        pytest.param(["cites"], [CITES], ["cites"], id="no check twice"),
    ],
)
def test_the_plan_is_what_the_remit_asks_for_and_what_the_answer_claims(
    checks: list[Any], claims: list[Any], then: list[Any]
) -> None:
    assert plan(answered(*claims, checks=checks)) == then


def passed(*results: bool) -> list[Checked]:
    return [Checked(check=number, name="x", passed=result) for number, result in enumerate(results)]


@pytest.mark.guarantee("G13")
@pytest.mark.parametrize(
    ("results", "planned", "then"),
    [
        pytest.param([], 0, "unchecked", id="nothing was planned"),
        pytest.param([True], 1, "supported", id="the one check passed"),
        pytest.param([True, True, True], 3, "supported", id="all passed"),
        pytest.param([True, False, True], 3, "unsupported", id="one failed"),
        pytest.param([False], 1, "unsupported", id="the one check failed"),
        pytest.param([True], 2, "unsupported", id="one did not run"),
    ],
)
def test_the_grade_is_supported_only_if_every_planned_check_passed(
    results: list[bool], planned: int, then: Grade
) -> None:
    assert grade(passed(*results), planned) == then


@pytest.mark.guarantee("G13")
def test_each_check_is_asked_for_in_turn_and_then_the_run_is_complete() -> None:
    state = answered(CITES, {"effect": "pay"}, checks=[{"file": "a"}])
    for number, result in enumerate((True, True, False)):
        assert todo(state) == Check(number)
        record(state, passed(*[result] * (number + 1))[-1:])
    end = Ended(status="complete", grade="unsupported")
    assert todo(state) == Note([end])
    record(state, [end])
    assert todo(state) == Rest()


def a_check(answer: object) -> bool:
    return True


@pytest.mark.parametrize(
    ("check", "then"),
    [
        ("cites", "cites"),
        ({"command": ["make", "test"]}, "command make test"),
        ({"file": "out.txt", "contains": "x"}, "file out.txt"),
        ({"callable": "m:f"}, "callable m:f"),
        (a_check, f"callable {__name__}:a_check"),
    ],
)
def test_a_check_has_a_short_name(check: Any, then: str) -> None:
    assert name(check) == then
