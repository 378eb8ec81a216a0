"""A sound agent file is explained in plain words, and as the same data."""

import os
from pathlib import Path
from typing import Any

import pytest

from remit.shells.agent_file import Agent, load_agent
from remit.shells.explain import explain, explain_document

FILE = """\
[policy]
kind = "workflow"
script = [{call = "look"}, {final = "Done."}]
[tools.look]
command = ["true"]
effect = "read"
timeout = 1.5
poll = 5
[tools.fetch]
command = ["true", "{url}", "--depth={depth}", "--as={form}"]
effect = "egress"
cwd = ".."
timeout = 500
env = {TOKEN = "not shown"}
pass_env = ["HOME"]
output_bytes = 1000
[tools.fetch.schema]
type = "object"
properties = {url = {type = "string", pattern = "^https:"}, depth = {type = "integer"}, form = {type = "string"}}
required = ["url", "depth", "form"]
additionalProperties = false
[tools.put]
command = ["true", "{name}", "x{text}"]
effect = "write"
idempotent = true
[tools.drop]
command = ["true"]
effect = "write"
[tools.spare]
command = ["true"]
effect = "read"
[remit]
tools = {look = "any", fetch = {url = "any", depth = [1, 2], form = "any"}, put = "any", drop = "any"}
gates = {put = "hold", drop = "deny"}
calls_per_tool = {put = 1}
wall_seconds = "none"
seconds = 90.5
on_refusal = "continue"
last_turn = true
stuck = {rule = "plain", threshold = 1}
checks = [
  "cites", "effect", {command = ["true"], timeout = 90}, {command = ["true"]},
  {file = "a"}, {file = "b", exists = false}, {file = "c", contains = "x"},
]
"""
TOLD = """\
F/agent.toml is sound.
Task: none yet; give it with `remit run --task TEXT`
Policy: workflow, 2 items. It proposes; what follows decides.

The agent may use 4 tools, and nothing else:
  look, a read: it changes nothing and may be repeated
    runs       ["true"]
    arguments  none
    asks       nobody; it starts at once (rule scope.look)
    ends       within 1.5 seconds
    polls      may give the same result 5 times before that is stuck
  fetch, an egress: it reads, but sends something out
    runs       ["true","{url}","--depth={depth}","--as={form}"]
    in         F/..
    given      the environment variables HOME, TOKEN
    arguments  url: any value that fits {"pattern":"^https:","type":"string"}
               depth: only 1 or 2
               form: any text
    asks       nobody; it starts at once (rule scope.fetch)
    ends       within 500 seconds
    keeps      1000 bytes of output
  put, a write: it changes the world, and may safely be tried again
    runs       ["true","{name}","x{text}"]
    arguments  name: any text that does not begin with `-`
               text: any text
    asks       a person, before each call (rule gate.put)
    ends       within 60 seconds (default)
    starts     at most 1 time
  drop, a write: it changes the world
    runs       ["true"]
    arguments  none
    asks       nobody; every call is refused (rule gate.drop)
    ends       within 60 seconds (default)
Declared, but refused because the remit does not name them: spare.

Limits:
  turns              20  requests to the policy, the final's included (default)
  calls              50  starts of tools (default)
  seconds          90.5  seconds of working time, without waiting for people
  wall_seconds no limit  seconds of all time, waiting included
  result_bytes    51200  bytes of one result that the policy is shown (default)
  max_invalid         3  replies that could not be used; the run ends with the last of these (default)
  max_refusals        3  refusals that are answered with their reason; the next one ends the run (default)
  seconds may be exceeded by 154: a write that runs is not cut off, nor are the checks.

Refusals: go back to the policy.
Stuck: the same call with the same result 1 time in the run ends it.
Several calls in one reply: the reply is returned as invalid.
Last turn: kept for the answer; no tool may be called in it.
Grade: an answer is `supported` if all of these pass, else `unsupported`:
  cites: the answer quotes at least once, and each quote is in the observation that it names
  effect: the answer claims at least one effect, and each has a successful call on record
  command: ["true"] exits with 0 within 90 seconds
  command: ["true"] exits with 0 within 60 seconds
  file: a exists
  file: b does not exist
  file: c contains "x"
  If it claims quotes or effects, they are checked against the log as well.

Who runs it and who says yes are login names on this machine: claims, and no proof to anyone else.
A command runs with your own rights: the remit decides which calls start, not what a program then does.
"""


LEAST = """\
F/agent.toml is sound.
Task: Ask\\u202e
Policy: scripted, 0 items. It proposes; what follows decides.

The agent may use no tool.

Limits:
  turns              20  requests to the policy, the final's included (default)
  calls              50  starts of tools (default)
  seconds      no limit  seconds of working time, without waiting for people
  wall_seconds  7776000  seconds of all time, waiting included (default)
  result_bytes    51200  bytes of one result that the policy is shown (default)
  max_invalid         3  replies that could not be used; the run ends with the last of these (default)

Refusals: the first call that is refused or denied ends the run.
Stuck: the same call with the same result 4 times since the last successful write ends the run
  (an error 3 times), and so does a cycle of up to 6 calls that has come 4 times.
Several calls in one reply: the reply is returned as invalid.
Grade: no check is written, so an answer is `unchecked`: only the policy vouches for it.
  If it claims quotes or effects, they are checked against the log as well.

Who runs it and who says yes are login names on this machine: claims, and no proof to anyone else.
A command runs with your own rights: the remit decides which calls start, not what a program then does.

Worth knowing:
  policy.script: has no final, so the run ends without an answer
"""


def loaded(folder: Path, text: str) -> Agent:
    path = folder / "agent.toml"
    path.write_text(text)
    return load_agent(path)


def test_everything_is_told_in_plain_words(tmp_path: Path) -> None:
    assert "\n".join(explain(loaded(tmp_path, FILE))).replace(str(tmp_path), "F") + "\n" == TOLD


def test_the_least_that_a_file_can_say_is_told_with_its_defaults(tmp_path: Path) -> None:
    text = 'task = "Ask\\u202e"\n[policy]\nkind = "scripted"\nscript = []\n[remit]\ntools = {}\nseconds = "none"\n'
    assert "\n".join(explain(loaded(tmp_path, text))).replace(str(tmp_path), "F") + "\n" == LEAST


def test_the_same_is_told_as_data(tmp_path: Path) -> None:
    text = """\
task = "Note it"
[policy]
kind = "scripted"
script = [{call = "put", args = {text = "x"}}, {final = "Done."}]
[tools.put]
command = ["true", "x{text}"]
effect = "write"
consequential = true
[remit]
tools = {put = {text = ["x", "y"]}}
turns = 5
checks = ["effect"]
"""
    agent = loaded(tmp_path, text)
    told: dict[str, Any] = explain_document(agent)
    assert {limit["name"]: (limit["value"], limit["default"]) for limit in told.pop("limits")} == {
        "turns": (5, False),
        "calls": (50, True),
        "seconds": (600.0, True),
        "wall_seconds": (7_776_000.0, True),
        "result_bytes": (51_200, True),
        "max_invalid": (3, True),
    }
    assert told == {
        "agent_file": str(tmp_path / "agent.toml"),
        "task": "Note it",
        "policy": {"kind": "scripted", "items": 2},
        "remit": agent.remit.digest(agent.tools),
        "tools": [
            {
                "name": "put",
                "effect": "write",
                "idempotent": False,
                "command": ["true", "x{text}"],
                "folder": str(tmp_path),
                "environment": [],
                "arguments": [
                    {
                        "name": "text",
                        "permitted": ["x", "y"],
                        "schema": {"type": "string", "pattern": r"^[^\x00]*$"},
                    }
                ],
                "gate": "hold",
                "rule": "consequential",
                "timeout": 60.0,
                "calls": None,
                "poll": None,
                "output_bytes": 51_200,
            }
        ],
        "not_permitted": [],
        "overshoot_seconds": 62.0,
        "stuck": {"rule": "progress", "threshold": 4},
        "on_refusal": "stop",
        "parallel": "refuse",
        "last_turn": False,
        "checks": ["effect"],
        "warnings": ["policy.script[0]: put waits for a person (consequential)"],
    }


A, B = (f'{{call = "deploy", args = {{target = "{target}"}}}}' for target in "ab")
NO_CALL = "no call can be permitted"
TOOL = '[tools.deploy]\ncommand = ["true", "{target}"]\neffect = "write"\n'


@pytest.mark.parametrize(
    ("script", "tools", "remit", "then"),
    [
        pytest.param(f'{A}, {{final = "x"}}', TOOL, 'deploy = "any"', [], id="nothing"),
        pytest.param(
            f'{{call = "depoy"}}, {{call = "deploy"}}, {B}, {{final = " "}}, {A}, {{final = "x"}}',
            TOOL,
            'deploy = {target = ["a"]}}\nturns = 5\ncalls_per_tool = {deploy = 1',
            [
                "policy.script[0]: depoy could not be used (call.unknown_tool): "
                "there is no tool `depoy`; did you mean deploy?",
                'policy.script[1]: deploy could not be used (args.missing): "target" is a required property',
                "policy.script[2]: deploy would be refused (scope.deploy.target): "
                '"b" is not among the values permitted for `target`',
                "policy.script[3]: the final could not be used (final.empty): the answer is empty",
                "remit.turns: is 5, and the script takes 6 to its end",
            ],
            id="proposals that the controller refuses",
        ),
        pytest.param(
            '{call = "deploy", args = {target = nan}}, {final = "x"}',
            TOOL,
            'deploy = "any"',
            [
                "policy.script[0]: deploy could not be used (args.not_json): the text of the arguments is not a JSON "
                "value: use only dict with text keys, list, str, int, finite float, bool, None"
            ],
            id="arguments that are not JSON",
        ),
        pytest.param(
            f'{A}, {B}, {{final = "x"}}, {{final = "y"}}',
            TOOL,
            'deploy = "any"}\nturns = 2\ncalls = 1\ncalls_per_tool = {deploy = 1',
            [
                "remit.turns: is 2, and the script takes 3 to its end",
                "remit.calls: is 1, and the script makes 2",
                "remit.calls_per_tool.deploy: is 1, and the script makes 2",
            ],
            id="a script that its budgets end",
        ),
        pytest.param(
            A,
            TOOL,
            'deploy = "any"}\nturns = 1\ncalls_per_tool = {',
            [
                "policy.script: has no final, so the run ends without an answer",
                "remit.turns: is 1, and the script takes 2 to its end",
            ],
            id="a script without a final",
        ),
        pytest.param(
            '{final = "x"}',
            TOOL.replace('"true"', '"no-such-program"') + '[tools.unused]\ncommand = ["./none"]\neffect = "read"\n',
            'deploy = "any"}\nchecks = [{command = ["./none"]}, {command = ["./plain"]}]\ngates = {deploy = "hold"',
            [
                "tools.deploy.command: the program no-such-program is not on the PATH",
                "remit.checks[0].command: there is no program F/none",
                "remit.checks[1].command: F/plain may not be executed; chmod +x makes it a program",
            ],
            id="programs that are not there, of tools that may run",
        ),
        pytest.param(
            '{final = "x"}', TOOL + 'cwd = "none"\n', 'deploy = "any"', ["tools.deploy.cwd: there is no folder F/none"],
            id="a folder that is not there",
        ),
        pytest.param(
            '{final = "x"}', TOOL + 'env = {PATH = "/none"}\n', 'deploy = "any"',
            ["tools.deploy.command: the program true is not on the PATH"],
            id="a PATH of the tool's own",
        ),
        pytest.param(
            '{final = "x"}',
            TOOL.replace("{target}", '{target}", "{n}') + '[tools.deploy.schema]\ntype = "object"\n'
            'properties = {target = {type = "string"}, n = {type = "integer"}}\nrequired = ["n", "target"]\n'
            "additionalProperties = false\nminProperties = 2\n",
            "deploy = {target = \"any\", n = [1, \"1\", 1.0]}",
            [
                "tools.deploy.schema.properties.target: a value may begin with `-`, and so be an option of the command",
                'remit.tools.deploy.n[1]: "1" can never be used: n: "1" is not of type "integer"',
                "remit.tools.deploy.n[2]: 1.0 can never be used: "
                "n: 1.0 is not of type integer (write it without a fraction)",
            ],
            id="values that the schema refuses, and options that it lets in",
        ),
        pytest.param(
            '{final = "x"}',
            TOOL + 'schema = {type = "object", properties = {target = {}}, required = ["target"], '
            "additionalProperties = false}\n",
            'deploy = {target = ["-x"]}',
            [],
            id="an option that the remit itself permits",
        ),
        pytest.param(
            '{final = "x"}',
            TOOL,
            "deploy = {}",
            [f"remit.tools.deploy: {NO_CALL}, for the tool needs `target` and the scope does not name it"],
            id="a scope without a needed argument",
        ),
        pytest.param(
            '{final = "x"}',
            TOOL,
            "deploy = {target = []}",
            [f"remit.tools.deploy.target: {NO_CALL}, for the list of values is empty"],
            id="a scope without a value",
        ),
        pytest.param(
            '{final = "x"}',
            TOOL + "consequential = true\n",
            'deploy = "any"}\ngates = {deploy = "allow"',
            ["remit.gates.deploy: the tool is consequential, and this lets it run without asking anyone"],
            id="a gate that was opened",
        ),
    ],
)  # fmt: skip
def test_what_an_operator_should_know(tmp_path: Path, script: str, tools: str, remit: str, then: list[str]) -> None:
    (tmp_path / "plain").touch()
    text = f'task = "t"\n[policy]\nkind = "scripted"\nscript = [{script}]\n{tools}[remit]\ntools = {{{remit}}}\n'
    told = explain_document(loaded(tmp_path, text))["warnings"]
    assert [line.replace(str(tmp_path) + os.sep, "F/") for line in told] == then
