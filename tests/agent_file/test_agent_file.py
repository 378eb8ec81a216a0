"""A sound agent file is read as it is written, whatever is in it is used, and no file makes the reader break."""

import os
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit import Call, Final, Outcome, Remit, ScriptedPolicy, Toolbox, Workflow, run
from remit.errors import InputError
from remit.shells.agent_file import Agent, load_agent
from remit.shells.explain import explain, explain_document
from remit.shells.verdict import verdict

DESIGN = """\
task = "Ship the fix"
[policy]
kind = "scripted"
script = [{call = "run_tests"}, {call = "deploy", args = {target = "staging"}}, \
{final = "Shipped.", claims = [{effect = "deploy"}]}]
[tools.run_tests]
command = ["python3", "-m", "pytest", "-q"]
effect = "read"
timeout = 120
[tools.deploy]
command = ["./deploy.sh", "{target}"]
effect = "write"
consequential = true
[remit]
turns = 10
calls = 8
tools = {run_tests = "any", deploy = {target = ["staging"]}}
checks = [{command = ["./smoke.sh"]}]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "agent.toml"
    path.write_text(text, newline="")
    return path


def test_the_example_of_the_design_loads_as_it_is_written(tmp_path: Path) -> None:
    agent = load_agent(written(tmp_path, DESIGN))
    tools = Toolbox()
    tools.command("run_tests", ["python3", "-m", "pytest", "-q"], effect="read", timeout=120)
    tools.command("deploy", ["./deploy.sh", "{target}"], effect="write", consequential=True)
    remit = Remit(
        tools={"run_tests": "any", "deploy": {"target": ["staging"]}},
        turns=10,
        calls=8,
        checks=[{"command": ["./smoke.sh"]}],
    )
    assert (agent.path, agent.task) == (tmp_path / "agent.toml", "Ship the fix")
    assert agent.script == (
        Call("run_tests", None),
        Call("deploy", {"target": "staging"}),
        Final("Shipped.", [{"effect": "deploy"}]),
    )
    assert isinstance(agent.policy, ScriptedPolicy)
    assert agent.remit == remit
    assert {name: tool.declared for name, tool in agent.tools.items()} == {
        name: tool.declared for name, tool in tools.items()
    }
    assert agent.remit.digest(agent.tools) == remit.digest(tools)  # the library's own remit, wherever the file stands


def test_a_file_may_leave_its_task_to_the_command_line_and_have_no_tools(tmp_path: Path) -> None:
    text = '[policy]\nkind = "workflow"\nscript = []\ngo_on = true\n[remit]\ntools = {}\nturns = "none"\n'
    agent = load_agent(written(tmp_path, text))
    assert (agent.task, agent.script, dict(agent.tools), agent.remit) == (None, (), {}, Remit(tools={}, turns=None))
    assert isinstance(agent.policy, Workflow)


def test_line_ends_and_a_byte_order_mark_of_other_systems_are_no_mistakes(tmp_path: Path) -> None:
    plain = load_agent(written(tmp_path, DESIGN))
    other = load_agent(written(tmp_path, "\ufeff" + DESIGN.replace("\n", "\r\n")))
    assert (other.task, other.script, other.remit) == (plain.task, plain.script, plain.remit)


def test_what_a_script_proposes_is_not_a_mistake_of_the_file(tmp_path: Path) -> None:
    script = '[{call = "nope"}, {call = "deploy", args = {target = 1}}, {final = ""}]'
    text = f'[policy]\nkind = "scripted"\nscript = {script}\n[remit]\ntools = {{}}\non_refusal = "continue"\n'
    outcome = ran(load_agent(written(tmp_path, text)))
    assert (outcome.status, [seen.code for seen in outcome.observations]) == (
        "invalid_proposal",
        ["call.unknown_tool", "call.unknown_tool"],
    )


def ran(agent: Agent) -> Outcome:
    return run("go", policy=agent.policy, remit=agent.remit, tools=agent.tools, agent_file=str(agent.path))


RUNS = """\
[policy]
kind = "scripted"
script = [%s{final = "Done."}]
%s
[remit]
tools = {%s}
checks = [%s]
"""


def test_programs_files_and_checks_start_at_the_files_folder(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "work").mkdir()
    for name in ("bin/where", "check"):
        (tmp_path / name).write_text("#!/bin/sh\npwd\n")
        (tmp_path / name).chmod(0o755)
    tools = """\
[tools.here]
command = ["bin/where"]
effect = "read"
[tools.there]
command = ["./bin/where"]
effect = "read"
cwd = "work"
"""
    calls = '{call = "here"}, {call = "there"}, '
    checks = '{command = ["./check"]}, {file = "check"}'
    path = written(tmp_path, RUNS % (calls, tools, 'here = "any", there = "any"', checks))
    outcome = ran(load_agent(path))
    assert [(seen.status, seen.text) for seen in outcome.observations] == [
        ("ok", f"{tmp_path}\n"),
        ("ok", f"{tmp_path}/work\n"),
    ]
    assert (outcome.status, outcome.grade) == ("complete", "supported")


def test_arguments_environment_and_bound_are_those_of_the_file(tmp_path: Path) -> None:
    tools = """\
[tools.show]
command = ["sh", "-c", 'echo "$GIVEN,$1,$PYTEST_CURRENT_TEST,$PYTEST_VERSION"; printf %400d', "show", "{n}"]
effect = "read"
env = {GIVEN = "given"}
pass_env = ["PYTEST_CURRENT_TEST"]
output_bytes = 256
schema = {type = "object", properties = {n = {type = "integer"}}, required = ["n"], additionalProperties = false}
"""
    calls = '{call = "show", args = {n = 7}}, '
    outcome = ran(load_agent(written(tmp_path, RUNS % (calls, tools, "show = {n = [7]}", ""))))
    first, *_, last = outcome.observations[0].text.splitlines()
    assert first == f"given,7,{os.environ['PYTEST_CURRENT_TEST']},"
    assert last.startswith(f"[cut: 256 of {len(first) + 401} bytes shown, sha256:")


def test_a_changed_command_schema_environment_or_folder_is_a_changed_remit(tmp_path: Path) -> None:
    changes = {
        "nothing": ("", ""),
        "its timeout, which permits nothing more": ('effect = "read"\ntimeout = 120', 'effect = "read"\ntimeout = 60'),
        "its command": ("-q", "-x"),
        "its environment": ('effect = "write"', 'effect = "write"\nenv = {A = "b"}'),
        "what it is lent": ('effect = "write"', 'effect = "write"\npass_env = ["A"]'),
        "its folder": ('effect = "write"', 'effect = "write"\ncwd = "x"'),
        "its effect": ('effect = "write"', 'effect = "egress"'),
    }
    digests = {}
    for name, (old, new) in changes.items():
        agent = load_agent(written(tmp_path, DESIGN.replace(old, new) if old else DESIGN))
        digests[name] = agent.remit.digest(agent.tools)
    assert len(set(digests.values())) == len(changes) - 1
    assert digests["nothing"] == digests["its timeout, which permits nothing more"]


KEYS = """
task policy tools remit kind script go_on call args final claims cites quote effect command description schema timeout
consequential idempotent poll cwd env pass_env output_bytes turns calls calls_per_tool seconds wall_seconds gates
on_refusal max_refusals max_invalid parallel last_turn stuck rule threshold checks result_bytes file exists sha256
contains callable type properties required additionalProperties deploy target a
"""
TEXTS = st.sampled_from(
    [
        *KEYS.split(),
        "",
        " ",
        "any",
        "none",
        "scripted",
        "read",
        "write",
        "string",
        "object",
        "{target}",
        "./x",
        "\0",
        "é\u202e",
    ]
)
LEAVES = (
    TEXTS
    | st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=5)
    | st.booleans()
    | st.integers(-3, 400)
    | st.integers()
    | st.sampled_from([10**400, -(10**19)])
    | st.floats()
    | st.dates()
    | st.times()
    | st.datetimes()
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12
)
LIKELY: list[Any] = [
    "any", "none", "hold", "allow", "continue", "write", "egress", "text", 2, 5, 300, 1.5, True, False, [], {}, ["x"],
    ["-x", 1], {"target": "any"}, {"target": []}, {"deploy": 1}, {"deploy": "allow"}, ["cites", {"command": ["x"]}],
    [{"call": "deploy"}, {"final": ""}], {"type": "string"}, {"rule": "progress", "threshold": 2},
]  # fmt: skip
SOUND: dict[str, Any] = {
    "task": "t",
    "policy": {
        "kind": "scripted",
        "script": [{"call": "deploy", "args": {"target": "x"}}, {"final": "f", "claims": []}],
    },
    "tools": {
        "deploy": {
            "command": ["x", "{target}"],
            "effect": "write",
            "timeout": 3,
            "schema": {
                "type": "object",
                "properties": {"target": {"type": "string"}},
                "required": ["target"],
                "additionalProperties": False,
            },
        }
    },
    "remit": {"tools": {"deploy": {"target": ["x"]}}, "stuck": {"rule": "plain"}, "checks": [{"file": "f"}]},
}


@st.composite
def documents(draw: st.DrawFn) -> Any:
    """A sound file with some of its parts replaced or added, at any depth."""
    document = deepcopy(SOUND)
    for _ in range(draw(st.integers(1, 3))):
        part: Any = document
        while True:
            keys: Any = list(part) if isinstance(part, dict) else range(len(part))
            key = draw(st.sampled_from(keys) if keys else TEXTS)
            inner = part[key] if keys else None
            if isinstance(inner, dict | list) and inner and draw(st.integers(0, 4)):
                part = inner
                continue
            if isinstance(part, dict) and draw(st.integers(0, 4)) == 4:
                key = draw(TEXTS)
            if isinstance(part, dict) or keys:
                part[key] = draw(st.sampled_from(LIKELY).map(deepcopy) | VALUES)
            break
    return document


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(str(key))} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(char):08x}" for char in value) + '"'
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if hasattr(value, "isoformat") else repr(value)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(documents())
def test_any_file_is_read_and_explained_or_its_mistakes_are_told(tmp_path: Path, document: dict[str, Any]) -> None:
    path = written(tmp_path, "\n".join(f"{toml(key)} = {toml(value)}" for key, value in document.items()))
    try:
        agent = load_agent(path)
    except InputError as error:
        lines = str(error).splitlines()
    else:
        lines = explain(agent)
        assert msgspec.json.encode(explain_document(agent))
        assert verdict(agent, "deploy {}").verdict in ("refuse", "invalid")
    assert all(line.isprintable() for line in lines)


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_refused_with_words(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "agent.toml"
    path.write_bytes(data)
    with pytest.raises(InputError):
        load_agent(path)
