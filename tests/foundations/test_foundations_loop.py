"""The loop: the policy proposes, the caller allows, and every run ends for one reason."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import agent_loop
from agent_loop import Call, Final, InspectPolicy, Observation, Policy, Run, ScriptedPolicy, run, supported

SCRIPT = Path(agent_loop.__file__)
READ = Call("read_completeness", "synthetic-a")
SEEN = Observation("read_completeness", "synthetic-a", "synthetic-a is missing: source date")
ANSWER = "Manual review: missing source date"
NO_TIME = "no final answer within turn budget"
A = frozenset({"synthetic-a"})
SEEN_B = Observation("read_completeness", "synthetic-b", "synthetic-b is complete")
NO_DATE = Observation("read_source_date", "synthetic-a", "error: synthetic-a has no source date")


class TakesTheOtherTool:
    """Asks for the date; if the tool reports a failure, asks what is missing instead."""

    def propose(self, observations: tuple[Observation, ...]) -> Call | Final:
        if not observations:
            return Call("read_source_date", "synthetic-a")
        last = observations[-1]
        if last.text.startswith("error: "):
            return Call("read_completeness", last.record_id)
        return Final(last.text, claims=(last.text,))


class Grabs:
    """Was given the caller's own set, and widens it before every proposal."""

    def __init__(self, allowed: set[str]) -> None:
        self.allowed = allowed

    def propose(self, observations: tuple[Observation, ...]) -> Call | Final:
        self.allowed.add("synthetic-b")
        return Call("read_completeness", "synthetic-b")


class Listens:
    """Keeps everything that it is ever shown."""

    def __init__(self) -> None:
        self.shown: list[tuple[object, ...]] = []

    def propose(self, *shown: object) -> Call | Final:
        self.shown.append(shown)
        return READ if len(self.shown) == 1 else Final("done")


@pytest.mark.parametrize(
    ("policy", "allowed", "turns", "then"),
    [
        pytest.param(
            InspectPolicy(),
            A,
            3,
            Run("complete", (READ.name,), (SEEN,), answer=ANSWER, claims=(SEEN.text,)),
            id="it reads, then answers from what it read",
        ),
        pytest.param(
            InspectPolicy("synthetic-b"),
            {"synthetic-b"},
            3,
            Run(
                "complete",
                (READ.name,),
                (SEEN_B,),
                answer=SEEN_B.text,
                claims=(SEEN_B.text,),
            ),
            id="another record gives another answer",
        ),
        pytest.param(
            InspectPolicy(),
            A,
            2,
            Run("complete", (READ.name,), (SEEN,), answer=ANSWER, claims=(SEEN.text,)),
            id="the final takes the last turn",
        ),
        pytest.param(
            InspectPolicy(),
            A,
            1,
            Run("budget_exhausted", (READ.name,), (SEEN,), error=NO_TIME),
            id="one turn is not enough to read and to answer",
        ),
        pytest.param(
            ScriptedPolicy([READ, READ, READ, Final("late")]),
            A,
            3,
            Run("budget_exhausted", (READ.name,) * 3, (SEEN,) * 3, error=NO_TIME),
            id="the final counts as a turn",
        ),
        pytest.param(
            ScriptedPolicy([READ]),
            A,
            1,
            Run("budget_exhausted", (READ.name,), (SEEN,), error=NO_TIME),
            id="a script is not asked again after the last turn",
        ),
        pytest.param(
            ScriptedPolicy([Final(" as it stands\n")]),
            A,
            1,
            Run("complete", (), (), answer=" as it stands\n"),
            id="an answer is kept as it stands, and needs no call",
        ),
        pytest.param(
            ScriptedPolicy([Final("first"), READ, Final("second")]),
            A,
            3,
            Run("complete", (), (), answer="first"),
            id="nothing follows a final",
        ),
        pytest.param(
            InspectPolicy(),
            {"synthetic-b"},
            3,
            Run("denied", (READ.name,), (), error="record 'synthetic-a' is not allowed"),
            id="an id that the caller did not allow is denied",
        ),
        pytest.param(
            InspectPolicy("synthetic-z"),
            A,
            3,
            Run("denied", (READ.name,), (), error="record 'synthetic-z' is not allowed"),
            id="an unknown id that is not allowed is denied like any other",
        ),
        pytest.param(
            ScriptedPolicy([READ, Call("delete_record", "synthetic-a"), Final("done")]),
            A,
            3,
            Run("denied", (READ.name, "delete_record"), (SEEN,), error="unknown tool 'delete_record'"),
            id="an unknown tool is denied, and what was seen before is kept",
        ),
        pytest.param(
            TakesTheOtherTool(),
            A,
            3,
            Run(
                "complete",
                ("read_source_date", READ.name),
                (NO_DATE, SEEN),
                answer=SEEN.text,
                claims=(SEEN.text,),
            ),
            id="after a failure that a tool reports, the policy takes the other tool",
        ),
    ],
)
def test_a_run_ends_for_one_reason(policy: Policy, allowed: set[str], turns: int, then: Run) -> None:
    assert run(policy, allowed, max_turns=turns) == then


def test_without_a_number_the_policy_has_three_turns() -> None:
    assert run(ScriptedPolicy([READ] * 9), A).observations == (SEEN,) * 3


def test_the_caller_can_widen_the_ids_after_a_denial_and_the_same_policy_completes() -> None:
    policy = InspectPolicy()
    denied = run(policy, set())
    assert (denied.status, denied.answer, denied.observations) == ("denied", "", ())
    again = run(policy, A)
    assert (again.status, again.answer, again.error) == ("complete", ANSWER, None)


def test_a_script_can_run_again_because_its_place_is_the_observations() -> None:
    policy = ScriptedPolicy([READ, Final("done")])
    assert run(policy, A) == run(policy, A)


def test_a_script_is_a_copy_of_what_it_was_given() -> None:
    script: list[Call | Final] = [Final("first")]
    policy = ScriptedPolicy(script)
    script[0] = Final("swapped")
    assert run(policy, A).answer == "first"


def test_a_policy_that_holds_the_caller_s_set_cannot_widen_the_run() -> None:
    allowed = {"synthetic-a"}
    ended = run(Grabs(allowed), allowed)
    assert "synthetic-b" in allowed
    assert (ended.status, ended.error) == ("denied", "record 'synthetic-b' is not allowed")


def test_a_policy_is_shown_the_observations_and_nothing_else() -> None:
    policy = Listens()
    run(policy, A)
    assert policy.shown == [((),), ((SEEN,),)]


@pytest.mark.parametrize("turns", [True, False, 0, -1, 1.5, 1.0, "3", None])
def test_turns_are_a_positive_integer(turns: object) -> None:
    policy = Listens()
    with pytest.raises(ValueError, match="max_turns must be a positive integer, not ") as mistake:
        run(policy, A, max_turns=turns)  # type: ignore[arg-type]
    assert str(mistake.value).endswith(repr(turns))
    assert policy.shown == [], "nobody is asked in a run that cannot be"


def test_an_empty_script_is_a_mistake() -> None:
    with pytest.raises(ValueError, match=r"^the script is empty$"):
        ScriptedPolicy([])


@pytest.mark.parametrize("script", [[READ], [READ, READ]])
def test_a_script_that_ends_before_its_final_is_a_mistake(script: list[Call | Final]) -> None:
    with pytest.raises(ValueError, match=r"^the script ended without a final$"):
        run(ScriptedPolicy(script), A)


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u00a0"])
def test_a_blank_final_is_a_mistake(text: str) -> None:
    with pytest.raises(ValueError, match=r"^the final answer is empty$"):
        run(ScriptedPolicy([READ, Final(text)]), A)


def test_an_allowed_but_unknown_record_is_a_lookup_error() -> None:
    with pytest.raises(LookupError, match="'synthetic-z' is allowed but does not exist"):
        run(InspectPolicy("synthetic-z"), {"synthetic-z"})


@pytest.mark.parametrize("bug", [PermissionError("mine"), ValueError("mine"), KeyError("mine")])
def test_a_bug_in_the_policy_is_raised_and_never_a_denial(bug: Exception) -> None:
    class Broken:
        def propose(self, observations: tuple[Observation, ...]) -> Call | Final:
            raise bug

    with pytest.raises(type(bug)) as raised:
        run(Broken(), A)
    assert raised.value is bug


OF_B = SEEN.text.replace("synthetic-a", "synthetic-b")


@pytest.mark.parametrize(
    ("claims", "observations", "then"),
    [
        pytest.param((SEEN.text,), (SEEN,), True, id="a claim that was observed stands"),
        pytest.param((SEEN.text, SEEN_B.text), (SEEN_B, SEEN), True, id="all of several claims stand"),
        pytest.param((SEEN.text,), (), False, id="a claim without any observation does not stand"),
        pytest.param((SEEN.text, "synthetic-a is complete"), (SEEN,), False, id="one false claim is enough"),
        pytest.param((OF_B,), (SEEN, SEEN_B), False, id="whose record counts"),
        pytest.param(("source date",), (SEEN,), False, id="a fragment is no observation"),
        pytest.param(("",), (SEEN,), False, id="a blank claim stands nowhere"),
        pytest.param((), (SEEN,), False, id="without a claim nothing was checked"),
    ],
)
def test_claims_stand_in_the_observations_or_are_unsupported(
    claims: tuple[str, ...], observations: tuple[Observation, ...], then: bool
) -> None:
    assert supported(Run("complete", (), observations, answer="an answer", claims=claims)) is then


@pytest.mark.parametrize(
    ("policy", "allowed", "turns", "then"),
    [
        pytest.param(InspectPolicy(), A, 3, True, id="an answer from what was read is supported"),
        pytest.param(ScriptedPolicy([Final(ANSWER, (SEEN.text,))]), A, 3, False, id="but not unread"),
        pytest.param(ScriptedPolicy([READ, Final(ANSWER)]), A, 3, False, id="nor without a claim"),
        pytest.param(InspectPolicy(), A, 1, False, id="a run out of turns supports nothing"),
        pytest.param(InspectPolicy(), (), 3, False, id="a denied run supports nothing"),
    ],
)
def test_completion_is_not_support(policy: Policy, allowed: set[str], turns: int, then: bool) -> None:
    assert supported(run(policy, allowed, turns)) is then


def start(*flags: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the script bare: `-S` leaves out whatever is installed."""
    command = [sys.executable, "-S", "-W", "error", str(SCRIPT), *flags]
    bare = {**os.environ, "LC_ALL": "C", "COLUMNS": "80"}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=bare)


SHOWN = {"record_id": "synthetic-a", "text": SEEN.text, "tool": "read_completeness"}
DENIED = "record 'synthetic-a' is not allowed"
COMPLETE = {"answer": ANSWER, "error": None, "observations": [SHOWN], "status": "complete"}
TOO_SHORT = {"answer": "", "error": NO_TIME, "observations": [SHOWN], "status": "budget_exhausted"}
REFUSED = {"answer": "", "error": DENIED, "observations": [], "status": "denied"}


@pytest.mark.parametrize(
    ("flags", "then"),
    [
        pytest.param([], COMPLETE, id="no flag completes"),
        pytest.param(["--turns", "1"], TOO_SHORT, id="one turn is too few"),
        pytest.param(["--turns", "2"], COMPLETE, id="two turns are enough"),
        pytest.param(["--allow", "synthetic-a"], COMPLETE, id="the id itself is allowed"),
        pytest.param(["--allow", "synthetic-b"], REFUSED, id="another id is denied"),
        pytest.param(["--allow", "synthetic-z"], REFUSED, id="an unknown id is denied too"),
        pytest.param(["--allow", ""], REFUSED, id="an empty id allows nothing"),
        pytest.param(["--turns", "1", "--allow", "synthetic-b"], REFUSED, id="a refusal ends the last turn"),
    ],
)
def test_the_script_prints_one_sorted_json_object_from_any_folder(
    tmp_path: Path, flags: list[str], then: dict[str, object]
) -> None:
    done = start(*flags, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    whole = {**then, "attempted_tools": ["read_completeness"]}
    assert done.stdout == json.dumps(whole, sort_keys=True) + "\n"


@pytest.mark.parametrize(
    "flags",
    [
        ("--turns", "0"),
        ("--turns", "-1"),
        ("--turns", "1.5"),
        ("--turns", "True"),
        ("--turns", ""),
        ("--turns",),
        ("--allow",),
        ("--turn", "1"),
        ("--unknown",),
        ("synthetic-a",),
    ],
)
def test_a_wrong_flag_exits_2_with_a_message_and_prints_nothing(flags: tuple[str, ...]) -> None:
    done = start(*flags)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: ")
    assert "Traceback" not in done.stderr
