"""The checks of an answer make the grade, whatever the policy says of it."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remit import Call, Context, Final, Outcome, Remit, ScriptedPolicy, Toolbox, run
from remit.core.fold import fold
from remit.runtime.check import Answer
from remit.stores.memory import MemoryStore

tools = Toolbox()


@tools.read
def look() -> str:
    return "3 passed, 0 failed"


@tools.write
def ship(fail: bool) -> str:
    from remit import ToolError

    if fail:
        raise ToolError("the port is closed")
    return "shipped"


def go(final: Final, checks: list[Any], folder: Path = Path(), ship_fails: bool | None = None) -> Outcome:
    remit = Remit(tools={"look": "any", "ship": "any"}, checks=checks)
    script = [Call("look")] + ([Call("ship", {"fail": ship_fails})] if ship_fails is not None else [])
    return run("t", policy=ScriptedPolicy([*script, final]), remit=remit, tools=tools,
               agent_file=str(folder / "agent.toml"))  # fmt: skip


QUOTED = Final("All pass.", [{"cites": "c1", "quote": "3 passed"}])


@pytest.mark.guarantee("G13")
@pytest.mark.parametrize(
    ("final", "checks", "grade"),
    [
        pytest.param(Final("All pass."), [], "unchecked", id="no check, no claim"),
        pytest.param(QUOTED, [], "supported", id="a quote that stands there"),
        pytest.param(Final("x", [{"cites": "c1", "quote": "4 passed"}]), [], "unsupported", id="one that does not"),
        pytest.param(Final("x", [{"cites": "c9", "quote": "3"}]), [], "unsupported", id="an observation that is not"),
        pytest.param(Final("x"), ["cites"], "unsupported", id="a quote is asked for and none is given"),
        pytest.param(QUOTED, ["cites"], "supported", id="a quote is asked for and given"),
        pytest.param(Final("x", [{"effect": "ship"}]), [], "unsupported", id="an effect that never was"),
        pytest.param(QUOTED, [{"command": ["true"]}], "supported", id="a command that exits with 0"),
        pytest.param(QUOTED, [{"command": ["false"]}], "unsupported", id="one failure among passes"),
        pytest.param(QUOTED, [{"command": ["./nowhere"]}], "unsupported", id="a check that cannot run has failed"),
        pytest.param(QUOTED, [{"command": ["sleep", "30"], "timeout": 0.1}], "unsupported", id="one that hangs"),
    ],
)
def test_the_grade(final: Final, checks: list[Any], grade: str) -> None:
    outcome = go(final, checks)
    assert (outcome.status, outcome.answer, outcome.grade) == ("complete", final.text, grade)


@pytest.mark.guarantee("G13")
@pytest.mark.parametrize(("fails", "grade"), [(False, "supported"), (True, "unsupported")])
def test_a_claimed_effect_needs_the_receipt_of_a_successful_call(fails: bool, grade: str) -> None:
    assert go(Final("x", [{"effect": "ship"}]), [], ship_fails=fails).grade == grade


@pytest.mark.parametrize(
    ("rule", "passed"),
    [
        ({"file": "a.txt"}, True),
        ({"file": "a.txt", "exists": False}, False),
        ({"file": "b.txt"}, False),
        ({"file": "b.txt", "exists": False}, True),
        ({"file": "a.txt", "contains": "needle"}, True),
        ({"file": "a.txt", "contains": "pin"}, False),
        ({"file": "a.txt", "sha256": "DIGEST"}, True),
        ({"file": "a.txt", "sha256": "sha256:" + "0" * 64}, False),
        ({"file": ".", "contains": "x"}, False),
    ],
    ids=str,
)
def test_a_file_is_checked_from_the_agent_file_s_folder(rule: dict[str, Any], passed: bool, tmp_path: Path) -> None:
    text = b"x" * (1 << 20) + b"needle" + b"x" * 99  # across the edge of what is read at once
    (tmp_path / "a.txt").write_bytes(text[3:])
    if rule.get("sha256") == "DIGEST":
        rule = {**rule, "sha256": hashlib.sha256(text[3:]).hexdigest()}
    assert (go(Final("x"), [rule], tmp_path).grade == "supported") is passed


@pytest.mark.guarantee("G11")
def test_a_python_check_sees_the_answer_and_the_policy_never_sees_the_check() -> None:
    reference = "the secret reference answer"
    seen: list[Any] = []

    def compare(answer: Answer) -> tuple[bool, str]:
        seen.append((answer.text, [o.text for o in answer.observations]))
        return answer.text == reference, "compared"

    class Curious:
        remote = False

        def propose(self, context: Context) -> Call | Final:
            assert reference not in repr(context)
            assert "compare" not in repr(context)
            return Call("look") if context.turn == 1 else Final("a guess")

    store = MemoryStore()
    outcome = run("t", policy=Curious(), remit=Remit(tools={"look": "any"}, checks=[compare]), tools=tools, store=store)
    assert (outcome.grade, seen) == ("unsupported", [("a guess", ["3 passed, 0 failed"])])
    assert not [record for record in outcome.records if reference.encode() in record.events]


@pytest.mark.guarantee("G12")
@pytest.mark.parametrize("check", [lambda answer: 1 / 0, lambda answer: "yes"], ids=["it raises", "it says no truth"])
def test_a_python_check_that_breaks_fails_the_run_and_is_raised(check: Callable[[Answer], Any]) -> None:
    store = MemoryStore()
    with pytest.raises((ZeroDivisionError, TypeError)):
        run("t", policy=ScriptedPolicy([Final("x")]), remit=Remit(tools={}, checks=[check]), tools=tools, store=store,
            run_id="r")  # fmt: skip
    ended = fold("r", store.read("r")).ended
    assert ended is not None
    assert (ended.status, ended.grade) == ("failed", None)
