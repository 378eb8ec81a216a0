"""Faults that people who run agents have reported, as cases.jsonl restates them, driven from that data.

The cases' words for outcomes are mapped to ours once, in STATUS and BUDGET below.
"""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from remit import Call, Context, Final, Outcome, Remit, RemitError, Reply, ScriptedPolicy, Toolbox, ToolError, run
from remit.core.events import Usage
from remit.core.remit import Stuck
from remit.core.report import Summary
from remit.core.story import Story
from remit.tools.simulated import Simulated

CASES = {case["id"]: case for case in map(json.loads, (Path(__file__).parent / "cases.jsonl").read_text().splitlines())}
STATUS = {
    "completed": "complete",
    "stuck": "stuck",
    "budget_exhausted": "budget_exhausted",
    "failed": "invalid_proposal",
}
BUDGET = {"model_turns": "turns", "tool_calls": "calls"}


def simulated(env: dict[str, list[str]], effects: dict[str, str], polls: dict[str, int] | None = None) -> Toolbox:
    """A toolbox in which `name(text)` gives the results of the case's environment."""
    tools, environment = Toolbox(), Simulated(env)

    def register(name: str, effect: str) -> None:
        def act(text: str) -> str:
            return environment({"call": f"{name}({text})"}, None, None, None)

        (tools.write if effect == "change" else tools.read)(name=name, poll=(polls or {}).get(name))(act)

    for name, effect in effects.items():
        register(name, effect)
    return tools


def proposal(line: str) -> Call | Final:
    if line.startswith("answer:"):
        return Final(line.removeprefix("answer:").strip())
    name, _, text = line.removesuffix(")").partition("(")
    return Call(name, {"text": text})


def go(script: Iterable[Call | Final | Reply], tools: Toolbox, **limits: Any) -> Outcome:
    remit = Remit(tools=dict.fromkeys(tools, "any"), stuck=Stuck(threshold=3), **limits)
    return run("the case", policy=ScriptedPolicy(script), remit=remit, tools=tools)


def variants(case: str) -> list[Any]:
    expected = CASES[case]["expect"]["variants"]
    return [
        pytest.param(given, expected[name], id=f"{case} {name}")
        for name, given in CASES[case]["when"]["variants"].items()
    ]


@pytest.mark.parametrize(("given", "then"), variants("FR-02"))
def test_waiting_is_no_loop_until_it_is_one(given: dict[str, Any], then: dict[str, Any]) -> None:
    slow = CASES["FR-02"]["given"]["tools"]["job_status_slow"]["repeat_ok"]["max_same"]
    tools = simulated(given["env"], {"job_status": "read", "job_status_slow": "read"}, {"job_status_slow": slow})
    outcome = go(map(proposal, given["script"]), tools)
    assert (outcome.status, outcome.usage["calls"]) == (STATUS[then["status"]], then["tool_calls_run"])


def test_a_falling_count_of_failures_is_progress() -> None:
    case = CASES["FR-04"]
    tools = simulated(case["given"]["env"], {"run_tests": "read", "edit_file": "change"})
    outcome = go(map(proposal, case["when"]["script"]), tools)
    assert (outcome.status, outcome.usage["calls"]) == ("complete", case["expect"]["tool_calls_run"])


def test_other_reads_in_between_do_not_hide_a_repeat() -> None:
    given, then = CASES["FR-06"]["when"]["variants"]["interleaved"], CASES["FR-06"]["expect"]["variants"]["interleaved"]
    tools = simulated(given["env"], {"run_tests": "read", "read_file": "read"})
    outcome = go([proposal(step["call"]) for step in given["script"]], tools)
    assert (outcome.status, outcome.usage["calls"]) == ("stuck", then["tool_calls_run"])
    assert "run_tests" in outcome.reason


@pytest.mark.guarantee("G2")
@pytest.mark.parametrize(("variant", "status", "calls"), [("key_order", "stuck", 3), ("type_differs", "no_answer", 3)])
def test_key_order_hides_no_repeat_and_another_type_is_none(variant: str, status: str, calls: int) -> None:
    tools = Toolbox()

    @tools.read
    def search(q: str, n: int | float | str) -> str:
        return "none"

    outcome = go([Call("search", args) for args in CASES["FR-06"]["when"]["variants"][variant]["raw_args"]], tools)
    assert (outcome.status, outcome.usage["calls"]) == (status, calls)


@pytest.mark.guarantee("G5")
@pytest.mark.parametrize(
    ("given", "then"),
    [param for param in variants("FR-08") if param.id.split()[1] in ("turns_2", "turns_1", "calls_1", "calls_1_two")],
)  # fmt: skip
def test_reaching_a_limit_is_not_passing_it(given: dict[str, Any], then: dict[str, Any]) -> None:
    tools = simulated(CASES["FR-08"]["given"]["env"], {"read_note": "read"})
    limits = {BUDGET[name]: value for name, value in given["budgets"].items()}
    outcome = go(map(proposal, given["script"]), tools, **limits)
    assert outcome.status == STATUS[then["status"]]
    if "reason" in then:
        (name,) = limits
        assert (outcome.reason, outcome.answer) == (f"{name} {limits[name]} of {limits[name]}", "")
    if "tool_calls_run" in then:
        assert outcome.usage["calls"] == then["tool_calls_run"]
    if "model_turns" in then:
        assert outcome.usage["turns"] == then["model_turns"]


@pytest.mark.guarantee("G5", "G12")
@pytest.mark.parametrize(
    "limits",
    [
        {BUDGET.get(name, "seconds"): float("nan") if isinstance(value, str) and "NaN" in value else value
         for name, value in given.items()}
        for given in CASES["FR-08"]["when"]["variants"]["bad_values"]["budgets_each"]
    ]
    + [{"calls": -1}, {"calls": True}, {"seconds": 0}, {"seconds": float("inf")}, {"wall_seconds": "1"}],
    ids=str,
)  # fmt: skip
def test_a_limit_that_is_none_is_refused_before_anything_starts(limits: dict[str, Any]) -> None:
    with pytest.raises(RemitError, match="must be a"):
        Remit(tools={}, **limits)


@pytest.mark.guarantee("G5")
def test_a_limit_can_be_lifted_and_the_others_stay() -> None:
    tools = simulated({}, {"read_note": "read"})
    by_default = Remit(tools={}).turns
    assert by_default is not None
    script = [Call("read_note", {"text": str(n)}) for n in range(by_default + 9)]
    outcome = go(script, tools, turns=None, calls=by_default + 5)
    assert (outcome.status, outcome.reason) == ("budget_exhausted", f"calls {by_default + 5} of {by_default + 5}")
    outcome = go(script, tools, turns=None, calls=CASES["FR-08"]["when"]["variants"]["none"]["budgets"]["tool_calls"])
    assert (outcome.reason, outcome.usage["calls"]) == ("calls 5 of 5", 5)


@pytest.mark.guarantee("G4", "G5")
def test_calls_side_by_side_are_refused_by_name_until_they_can_be_counted_side_by_side() -> None:
    given = CASES["FR-08"]["when"]["variants"]["parallel_3"]
    calls = [proposal(line.split(" ", 1)[1]) for line in given["script"][0]["calls"]]
    tools = simulated(CASES["FR-08"]["given"]["env"], {"read_note": "read"})
    outcome = go([Reply(calls), proposal(given["script"][1])], tools, calls=given["budgets"]["tool_calls"])
    assert [(o.status, o.code) for o in outcome.observations] == [("invalid", "reply.several_calls")] * 3
    assert (outcome.status, outcome.answer, outcome.usage["calls"]) == ("complete", "alpha", 0)


def notes() -> Toolbox:
    tools = Toolbox()

    @tools.read
    def list_scopes() -> str:
        return "all"

    @tools.read
    def read_note(id: str) -> str:
        return f"note {id}"

    @tools.write
    def write_note(path: str, body: str) -> str:
        return "written"

    return tools


FR_32 = [
    pytest.param(tool, None if raw == "(field absent)" else raw, then, id=f"FR-32 {tool} {raw!r}")
    for tool, raws in CASES["FR-32"]["when"]["raw_args"].items()
    for raw, then in zip(raws, CASES["FR-32"]["expect"][tool], strict=True)
]


@pytest.mark.parametrize(("tool", "raw", "then"), FR_32)
def test_no_text_means_no_arguments_and_excuses_none_that_is_required(tool: str, raw: str | None, then: str) -> None:
    seen = go([Call(tool, raw), Final("x")], notes()).observations[0]
    if then.startswith("runs"):
        assert seen.status == "ok"
        return
    code = {"not an object": "args.not_object", "id missing": "args.missing", "colour unexpected": "args.unexpected"}
    assert (seen.status, seen.code) == ("invalid", code[then.removeprefix("invalid_arguments: ")])


@pytest.mark.guarantee("G4")
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("cut", "args.truncated"),
        ("cut_relabelled", "args.truncated"),
        ("malformed", "args.malformed"),
        ("cut_but_whole", "call.truncated"),
    ],
)
def test_a_cut_off_call_is_not_run_nor_repaired(name: str, code: str) -> None:
    given = CASES["FR-34"]["when"]["replies"][name]
    finish = "length" if given["finish"] == "length" else "stop"
    reply = Reply([Call("write_note", given["args"])], finish=finish, usage=Usage(output=given["out"]))  # type: ignore[arg-type]
    outcome = go([reply, Final("x")], notes())
    assert [(o.status, o.code) for o in outcome.observations] == [("invalid", code)]
    assert (outcome.usage["calls"], outcome.usage["tokens"]) == (0, given["out"])


def test_a_read_that_is_whole_may_run_though_its_reply_was_cut() -> None:
    outcome = go([Reply([Call("read_note", {"id": "a"})], finish="length"), Final("x")], notes())
    assert [o.status for o in outcome.observations] == ["ok"]


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(Reply([Call("write_note", '{"path":"n.md","body":"Once upon')], finish="length"), id="a cut call"),
        pytest.param(Final("  \n "), id="a blank answer"),
        pytest.param(Reply(()), id="nothing"),
        pytest.param(Reply([Final("half an ans")], finish="length"), id="a cut answer"),
        pytest.param(Reply([Call("list_scopes"), Final("x")]), id="an answer beside a call"),
        pytest.param(Reply([Call("list_scopes"), Call("list_scopes")]), id="two calls where one is asked"),
    ],
)
def test_the_same_unusable_reply_again_and_again_ends_the_run_after_three(said: Any) -> None:
    outcome = go([said] * 9, notes())
    assert (outcome.status, outcome.usage["turns"], outcome.answer) == ("invalid_proposal", 3, "")
    assert {o.status for o in outcome.observations} <= {"invalid"}


@pytest.mark.guarantee("G2")
def test_big_integers_stay_exact_on_both_ways() -> None:
    given: list[int] = []
    tools = Toolbox()

    @tools.read
    def get_ad(id: int) -> dict[str, int]:
        given.append(id)
        return {"id": 1285704473650888702}

    outcome = go([Call("get_ad", CASES["FR-36"]["when"]["args"]["big"]), Final("x")], tools)
    assert given == [9007199254740993]
    assert outcome.observations[0].text == '{"id":1285704473650888702}'
    assert b"1285704473650888702" in outcome.records[-1].events


@pytest.mark.guarantee("G2")
@pytest.mark.parametrize(
    ("raw", "valid"), list(zip(CASES["FR-36"]["when"]["args"]["n"], [True, False, False, False, False], strict=True))
)
@pytest.mark.parametrize("own_schema", [False, True], ids=["annotations", "schema"])
def test_a_number_is_valid_or_not_the_same_everywhere(raw: str, valid: bool, own_schema: bool) -> None:
    tools = Toolbox()
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }

    @tools.read(**({"schema": schema} if own_schema else {}))
    def set_level(n: int) -> str:
        return str(n)

    assert (go([Call("set_level", raw), Final("x")], tools).observations[0].status == "ok") is valid


OUTPUTS = {
    "bad_bytes": ("sys.stdout.buffer.write(bytes.fromhex('f028410a'))", "ok", "\ufffd(A\n", 4),
    "binary": ("sys.stdout.buffer.write(bytes(i * 37 % 256 for i in range(4096)))", "ok", "[4096 bytes that are", 4096),
    "cut_inside": ("sys.stdout.write('x' * 999 + '\u20ac' + 'x' * 500)", "ok", "x" * 999 + "\n[cut: 999 of 1502", 1502),
    "bad_on_stderr": ("print('ok'); sys.stdout.flush(); sys.stderr.buffer.write(b'\\xb4'); sys.exit(1)", "error",
                      "ok\n[standard error]\n\ufffd\n[exit code 1]", None),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES["FR-42"]["when"]["outputs"])
def test_output_of_any_bytes_is_shown_honestly(name: str) -> None:
    code, status, text, size = OUTPUTS[name]
    argv = [sys.executable, "-c", f"import sys; {code}"]
    tools = Toolbox()
    tools.command(
        "shell", argv, effect="read", output_bytes=CASES["FR-42"]["given"]["tools"]["shell"]["output_cap_bytes"]
    )
    outcome = go([Call("shell"), Final("x")], tools)
    seen = outcome.observations[0]
    assert (seen.status, seen.text[: len(text)]) == (status, text)
    recorded = next(e for r in outcome.records for e in json.loads(r.events) if e["event"] == "observed")
    written = subprocess.run(argv, capture_output=True, check=False)
    digest = None if size is None else f"sha256:{hashlib.sha256(written.stdout).hexdigest()}"
    assert (recorded.get("size"), recorded.get("digest"), recorded["exit_code"]) == (size, digest, written.returncode)


def summary(outcome: Outcome) -> Summary:
    story = Story()
    for record in outcome.records:
        story.take(record)
    return story.summary


def test_a_run_that_recovered_from_a_failed_step_is_complete_with_one_error() -> None:
    tools = Toolbox()

    @tools.read
    def step(n: int) -> str:
        if n == 2:
            raise ToolError("exit code 1")
        return "ok"

    outcome = go([*(Call("step", {"n": n}) for n in (1, 2, 3)), Final("done")], tools)
    told = summary(outcome)
    assert (outcome.status, told.steps, told.errors) == ("complete", 3, 1)


def test_an_answer_at_once_has_a_report_of_nothing() -> None:
    outcome = go([Final("42")], notes())
    assert summary(outcome).lines(outcome.status) == [
        "steps: 0", "errors: 0", "total time: 0.0 s", "slowest: none", "tools: none", "stop: complete",
    ]  # fmt: skip


def test_what_is_refused_by_configuration_starts_nothing() -> None:
    asked: list[Context] = []

    class Policy:
        def propose(self, context: Context) -> Final:
            asked.append(context)
            return Final("x")

    with pytest.raises(RemitError, match="unknown tool"):
        run("t", policy=Policy(), remit=Remit(tools={"nope": "any"}), tools=notes())
    assert asked == []
