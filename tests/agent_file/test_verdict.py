"""`check --call`: what would become of one call, by the judge that a run has."""

from pathlib import Path

import pytest

from remit import Call, Final, run
from remit.core.events import Allowed, AnyEvent, Held, Observed
from remit.errors import InputError
from remit.models.scripted import ScriptedPolicy
from remit.shells.agent_file import Agent, load_agent
from remit.shells.verdict import verdict

FILE = """\
[policy]
kind = "scripted"
script = []
[tools.look]
command = ["true"]
effect = "read"
[tools."look at"]
command = ["true", "{what}"]
effect = "read"
[tools.deploy]
command = ["true", "{target}"]
effect = "write"
consequential = true
[tools.drop]
command = ["true"]
effect = "write"
[tools.spare]
command = ["true"]
effect = "read"
[tools.spent]
command = ["true"]
effect = "read"
[remit]
tools = {look = "any", "look at" = "any", deploy = {target = ["staging"]}, drop = "any", spent = "any"}
gates = {drop = "deny"}
calls_per_tool = {spent = 0}
"""
STAGING = '{"target": "staging"}'
HELD = ("hold", "consequential", "deploy waits until a person has said yes to exactly this call")
CASES = [
    pytest.param("look", ("allow", "scope.look", "look may start, and nobody is asked"), id="allow"),
    pytest.param(" look {} ", ("allow", "scope.look", "look may start, and nobody is asked"), id="spaces"),
    pytest.param("look()", ("allow", "scope.look", "look may start, and nobody is asked"), id="as a report has it"),
    pytest.param(
        'look at {"what": "x"}', ("allow", "scope.look at", "look at may start, and nobody is asked"), id="longest name"
    ),
    pytest.param(f"deploy {STAGING}", HELD, id="hold"),
    pytest.param(f"deploy{STAGING}", HELD, id="hold, without a space"),
    pytest.param(f"deploy({STAGING})", HELD, id="hold, as a report has it"),
    pytest.param(
        'deploy {"target": "prod"}',
        ("refuse", "scope.deploy.target", '"prod" is not among the values permitted for `target`'),
        id="refuse: a value",
    ),
    pytest.param("spare", ("refuse", "scope", "the remit does not name the tool `spare`"), id="refuse: a tool"),
    pytest.param("drop", ("refuse", "gate.drop", "the remit closes the gate of `drop`"), id="refuse: a gate"),
    pytest.param("spent", ("refuse", "budget.calls.spent", "calls of spent 0 of 0"), id="refuse: a budget"),
    pytest.param(
        'deploy {"target": 1}', ("invalid", "args.type", 'target: 1 is not of type "string"'), id="invalid: a type"
    ),
    pytest.param("deploy", ("invalid", "args.missing", '"target" is a required property'), id="invalid: missing"),
    pytest.param(
        "look [1]", ("invalid", "args.not_object", "the arguments are not an object but [1]"), id="invalid: a list"
    ),
    pytest.param(
        'deploy {"target": "staging", "target": "prod"}',
        ("invalid", "args.duplicate_key", "the text of the arguments has the key 'target' twice"),
        id="invalid: a key twice",
    ),
    pytest.param(
        "depoy {}",
        ("invalid", "call.unknown_tool", "there is no tool `depoy`; did you mean deploy?"),
        id="an unknown tool",
    ),
    pytest.param(
        "x\u202ey",
        ("invalid", "call.unknown_tool", r"there is no tool `x\u202ey`"),
        id="what cannot be seen is shown escaped",
    ),
]


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    path = tmp_path / "agent.toml"
    path.write_text(FILE)
    return load_agent(path)


@pytest.mark.parametrize(("text", "then"), CASES)
def test_a_call_is_judged(agent: Agent, text: str, then: tuple[str, str, str]) -> None:
    assert verdict(agent, text) == then


@pytest.mark.parametrize("text", ["", "  \n"])
def test_no_call_is_bad_input(agent: Agent, text: str) -> None:
    with pytest.raises(InputError) as caught:
        verdict(agent, text)
    assert str(caught.value) == 'no call was given\n  fix: write it like \'deploy {"target": "x"}\''


PROPOSED = [("look", "{}"), ("deploy", STAGING), ("deploy", '{"target": 1}'), ("deploy", '{"target": "prod"}'),
            ("spare", ""), ("drop", ""), ("spent", ""), ("nope", ""), ("look", "{"), ("look", '{"x": 1}')]  # fmt: skip


@pytest.mark.parametrize(("tool", "args"), PROPOSED)
def test_the_verdict_is_the_one_that_a_run_gives(agent: Agent, tool: str, args: str) -> None:
    events: list[AnyEvent] = []
    policy = ScriptedPolicy([Call(tool, args), Final("done")])
    run("go", policy=policy, remit=agent.remit, tools=agent.tools, watch=events.append)
    rules = [
        ("allow", event.rule) if isinstance(event, Allowed)
        else ("hold", event.rule) if isinstance(event, Held)
        else ("invalid" if event.status == "invalid" else "refuse", event.code)
        for event in events
        if isinstance(event, Allowed | Held | Observed)
    ]  # fmt: skip
    assert rules[0] == verdict(agent, f"{tool} {args}")[:2]
