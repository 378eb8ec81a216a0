"""Every mistake of an agent file is told at once, by its key path; what cannot be read is told by line or by name."""

from pathlib import Path

import pytest

from remit.errors import InputError, Invalid
from remit.shells.agent_file import MAX_BYTES, load_agent

SOUND = """\
task = "Ship the fix"
[policy]
kind = "scripted"
script = [{call = "deploy", args = {target = "staging"}}, {final = "Shipped."}]
[tools.deploy]
command = ["./deploy.sh", "{target}"]
effect = "write"
[remit]
tools = {deploy = "any"}
"""
NO_DATES = "an agent file has no dates and times; where text is meant, put it in quotes"
NO_EFFECT = 'missing; write "read" (local, repeatable), "egress" (a read that sends something out) or "write"'
SCRIPT = 'script = [{call = "deploy", args = {target = "staging"}}, {final = "Shipped."}]'


def problems(folder: Path, text: str) -> list[str]:
    path = folder / "agent.toml"
    path.write_text(text)
    with pytest.raises(Invalid) as caught:
        load_agent(path)
    assert str(caught.value).splitlines()[1:] == [f"  {problem}" for problem in caught.value.problems]
    return caught.value.problems


def changed(old: str, new: str) -> str:
    assert SOUND.count(old) == 1
    return SOUND.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "then"),
    [
        pytest.param('"Ship the fix"', '" "', ["task: must be text that is not blank, not ' '"], id="a blank task"),
        pytest.param("task =", "taks =", ["taks: unknown key `taks`; did you mean task?"], id="a misspelt key"),
        pytest.param(
            '[remit]\ntools = {deploy = "any"}',
            "",
            ["remit: missing; nothing is permitted until it is written down"],
            id="no rule, no run",
        ),
    ],
)
def test_the_file(tmp_path: Path, old: str, new: str, then: list[str]) -> None:
    assert problems(tmp_path, changed(old, new)) == then


def test_an_empty_file_lacks_a_policy_and_a_remit(tmp_path: Path) -> None:
    assert problems(tmp_path, "") == [
        'policy: missing; say who proposes, for example kind = "scripted" and a script',
        "remit: missing; nothing is permitted until it is written down",
    ]


def test_a_table_that_is_none(tmp_path: Path) -> None:
    assert problems(tmp_path, 'policy = 1\ntools = "x"\nremit = []') == [
        "policy: must be a table, not 1",
        "tools: must be a table, not 'x'",
        "remit: must be a table, not []",
    ]


ITEM = "must be {call = NAME, args = {…}} or {final = TEXT, claims = […]}"
CLAIM = "must be {cites = CALL, quote = TEXT} or {effect = TOOL}"


@pytest.mark.parametrize(
    ("policy", "then"),
    [
        pytest.param(
            "",
            [
                'policy.kind: missing; write "scripted" or "workflow"',
                "policy.script: missing; list what is proposed, turn by turn",
            ],
            id="nothing in it",
        ),
        pytest.param(
            'kind = "model"\nscript = 1',
            ['policy.kind: must be "scripted" or "workflow", not \'model\'', "policy.script: must be a list, not 1"],
            id="an unknown kind",
        ),
        pytest.param(
            'kind = "scripted"\nscript = []\ngo_on = true',
            ['policy.go_on: a script always goes on; remove it, or write kind = "workflow"'],
            id="a script that is to go on",
        ),
        pytest.param(
            'kind = "workflow"\nscript = []\ngo_on = "yes"\nsteps = []',
            [
                "policy.go_on: must be true or false, not 'yes'",
                "policy.steps: unknown key `steps`; known: go_on, kind, script",
            ],
            id="a workflow's keys",
        ),
        pytest.param(
            'kind = "scripted"\nscript = [1, {}, {call = "a", final = "b"}]',
            [
                f"policy.script[0]: {ITEM}, not 1",
                f"policy.script[1]: {ITEM}, not {{}}",
                f"policy.script[2]: {ITEM}, not {{'call': 'a', 'final': 'b'}}",
            ],
            id="items that are neither a call nor a final, or both",
        ),
        pytest.param(
            'kind = "scripted"\nscript = [{call = "", args = "{}"}, {call = "a", arg = {}}, {final = 1, claims = {}}]',
            [
                "policy.script[0].call: must be text that is not blank, not ''",
                "policy.script[0].args: must be a table, not '{}'",
                "policy.script[1].arg: unknown key `arg`; did you mean args?",
                "policy.script[2].final: must be text, not 1",
                "policy.script[2].claims: must be a list, not {}",
            ],
            id="what a call and a final have",
        ),
        pytest.param(
            'kind = "scripted"\nscript = [{final = "a", claims = [{cites = "c1"}, {effect = 1}, "b", {effect = "x"}]}]',
            [
                f"policy.script[0].claims[0]: {CLAIM}, not {{'cites': 'c1'}}",
                f"policy.script[0].claims[1]: {CLAIM}, not {{'effect': 1}}",
                f"policy.script[0].claims[2]: {CLAIM}, not 'b'",
            ],
            id="claims of another form",
        ),
        pytest.param(
            'kind = "scripted"\nscript = [{call = "a", args = {when = [2024-02-29T00:00:00Z]}}]',
            [f"policy.script[0].args.when[0]: {NO_DATES}"],
            id="a date among arguments",
        ),
        pytest.param(
            'kind = "scripted"\nscript = [{call = "a", args = {n = 18446744073709551616, m = 18446744073709551615}}]',
            ["policy.script[0].args.n: a whole number has at most 64 bits; where text is meant, put it in quotes"],
            id="a whole number of more than 64 bits",
        ),
    ],
)
def test_the_policy(tmp_path: Path, policy: str, then: list[str]) -> None:
    assert problems(tmp_path, changed(f'kind = "scripted"\n{SCRIPT}', policy)) == then


SCHEMA = 'schema = {type = "object", properties = {%s}, required = [%s], additionalProperties = false}'


@pytest.mark.parametrize(
    ("tool", "then"),
    [
        pytest.param(
            "",
            [
                'tools.deploy.command: missing; write what runs as a list, for example ["./deploy.sh", "{target}"]',
                f"tools.deploy.effect: {NO_EFFECT}",
            ],
            id="nothing in it: an effect that is not written is not guessed",
        ),
        pytest.param(
            'command = "./deploy.sh x"\neffect = "writes"',
            [
                "tools.deploy.command: must be a list of texts, the program first, not './deploy.sh x'",
                'tools.deploy.effect: must be "read", "egress" or "write", not \'writes\'',
            ],
            id="a shell string, and an effect that there is not",
        ),
        pytest.param(
            'command = ["a", "\\u0000"]\neffect = "read"\ncwd = "a\\u0000"',
            [
                "tools.deploy.command: must be a list of texts, the program first, not ['a', '\\x00']",
                "tools.deploy.cwd: must be text that is not blank, not 'a\\x00'",
            ],
            id="what no program can be given",
        ),
        pytest.param(
            'command = []\neffect = "read"',
            ["tools.deploy.command: must be a list of texts, the program first, not []"],
            id="no program",
        ),
        pytest.param(
            'command = ["{program}"]\neffect = "read"',
            ["tools.deploy.command[0]: the program must be written out, not taken from an argument"],
            id="a program that the policy names",
        ),
        pytest.param(
            'command = ["a"]\neffect = "read"\ntimeout = 0\nconsequential = "no"\nidempotent = true\npoll = 1',
            [
                "tools.deploy.timeout: must be a finite number of seconds greater than 0, not 0",
                "tools.deploy.poll: must be a whole number of at least 2, not 1",
                "tools.deploy.consequential: must be true or false, not 'no'",
                "tools.deploy.idempotent: only a write can be idempotent; a read may be repeated anyway",
            ],
            id="what a tool declares",
        ),
        pytest.param(
            'command = ["a"]\neffect = "read"\ncwd = 1\nenv = {"A=B" = "c"}\npass_env = "HOME"\noutput_bytes = 255\n'
            'description = ""\nschema = 1\ntime_out = 3',
            [
                "tools.deploy.cwd: must be text that is not blank, not 1",
                "tools.deploy.env: must be a table of texts, whose names have no `=`, not {'A=B': 'c'}",
                "tools.deploy.pass_env: must be a list of names of environment variables, not 'HOME'",
                "tools.deploy.output_bytes: must be a whole number of at least 256, not 255",
                "tools.deploy.description: must be text that is not blank, not ''",
                "tools.deploy.schema: must be a table, not 1",
                "tools.deploy.time_out: unknown key `time_out`; did you mean timeout?",
            ],
            id="what a command has",
        ),
        pytest.param(
            'command = ["a", "{target}", "{mode}"]\neffect = "read"\n'
            + SCHEMA % ("targets = {}, mode = {}", '"targets"'),
            [
                "tools.deploy.schema.required: must name `mode`, for the command cannot run without it",
                "tools.deploy.command: unknown placeholder `{target}`; did you mean {targets}?",
                "tools.deploy.schema.properties.targets: is not used; the command has no placeholder {targets}",
            ],
            id="a schema and a command that differ",
        ),
        pytest.param(
            'command = ["a"]\neffect = "read"\nschema = {type = "object"}',
            [
                "tools.deploy.schema.additionalProperties: must be false, "
                "for the command has no place for other arguments"
            ],
            id="a schema that lets in arguments that nothing would use",
        ),
        pytest.param(
            'command = ["a"]\neffect = "read"\ntimeout = -1\nschema = {additionalProperties = false}',
            [
                'tools.deploy.schema: must be a JSON Schema with type = "object"',
                "tools.deploy.timeout: must be a finite number of seconds greater than 0, not -1",
            ],
            id="a schema that is none, beside another mistake",
        ),
    ],
)
def test_a_tool(tmp_path: Path, tool: str, then: list[str]) -> None:
    assert problems(tmp_path, changed('command = ["./deploy.sh", "{target}"]\neffect = "write"', tool)) == then


def test_a_schema_that_cannot_be_compiled_says_where_in_one_line(tmp_path: Path) -> None:
    schema = SCHEMA % ('target = {type = "strng"}', '"target"')
    (problem,) = problems(tmp_path, changed('effect = "write"', f'effect = "write"\n{schema}'))
    assert problem.startswith("tools.deploy.schema: not a JSON Schema 2020-12 that can be checked offline: ")
    assert 'offline: properties.target.type: "strng" is not valid' in problem


def test_a_tool_that_is_no_table(tmp_path: Path) -> None:
    text = changed("[remit]", '[tools]\nsearch = "grep"\n[remit]')
    assert problems(tmp_path, text) == ["tools.search: must be a table, not 'grep'"]


def test_a_name_that_cannot_be_shown_is_no_tools_name_and_is_shown_escaped(tmp_path: Path) -> None:
    text = changed("[remit]", '[tools."a\\u001b"]\ncommand = ["a"]\neffect = "read"\n[remit]')
    assert problems(tmp_path, text) == [r"tools.a\u001b: its name must be 1 to 128 printable characters, not 'a\x1b'"]


@pytest.mark.parametrize(
    ("remit", "then"),
    [
        pytest.param(
            "", ['remit.tools: missing; name what the agent may use, for example tools = {lookup = "any"}'], id="empty"
        ),
        pytest.param(
            'tools = {depoy = "any"}\nturn = 3\ncalls = -1\ngates = {deploy = "hold"}',
            [
                "remit.turn: unknown key `turn`; did you mean turns or last_turn?",
                "remit.calls: must be a whole number of at least 0, not -1",
                "remit.tools.depoy: unknown tool `depoy`; did you mean deploy?",
            ],
            id="names are checked beside other mistakes",
        ),
        pytest.param(
            'tools = {deploy = {targt = ["staging"], target = "staging"}}',
            ["remit.tools.deploy.target: must be \"any\" or a list of exact values, not 'staging'"],
            id="a scope of another form",
        ),
        pytest.param(
            'tools = {deploy = {targt = ["staging"]}}',
            ["remit.tools.deploy.targt: unknown argument `targt`; did you mean target?"],
            id="an argument that the tool does not have",
        ),
        pytest.param(
            "tools = {deploy = {target = [2024-01-01, nan]}}",
            [
                f"remit.tools.deploy.target[0]: {NO_DATES}",
                "remit.tools.deploy.target[1]: is not a JSON value: "
                "use only dict with text keys, list, str, int, finite float, bool, None",
            ],
            id="values that are not JSON",
        ),
        pytest.param(
            'tools = {}\nchecks = [{command = "./smoke.sh"}, {callable = "os:system"}, {files = "x"}, "cite"]',
            [
                "remit.checks[0].command: must be a list of texts, the program first, not './smoke.sh'",
                "remit.checks[2]: must have `command` or `file`",
                'remit.checks[3]: must be "cites", "effect", {command = […]}, {file = …} or a callable, not \'cite\'',
                "remit.checks[1].callable: a Python check is for the library; write `command` or `file`",
            ],
            id="checks; no Python is named in a file",
        ),
    ],
)
def test_the_remit(tmp_path: Path, remit: str, then: list[str]) -> None:
    assert problems(tmp_path, changed('tools = {deploy = "any"}', remit)) == then


def test_a_tool_with_mistakes_is_not_called_unknown_as_well(tmp_path: Path) -> None:
    text = changed('"any"', '{target = ["staging"]}').replace('effect = "write"', "")
    assert problems(tmp_path, text) == [f"tools.deploy.effect: {NO_EFFECT}"]


def test_mistakes_all_over_the_file_are_told_together(tmp_path: Path) -> None:
    text = SOUND.replace('"Ship the fix"', "2024-01-01").replace("args", "arg").replace('"write"', '"w"')
    assert problems(tmp_path, text.replace("[remit]", "[remit]\nseconds = 0")) == [
        f"task: {NO_DATES}",
        "policy.script[0].arg: unknown key `arg`; did you mean args?",
        'tools.deploy.effect: must be "read", "egress" or "write", not \'w\'',
        "remit.seconds: must be a finite number greater than 0, not 0",
    ]


@pytest.mark.parametrize(
    ("text", "line", "then"),
    [
        pytest.param("a = 1\nb = ]\n", 2, "line 2, column 5: Invalid value", id="a value that is none"),
        pytest.param("a = 1\na = 2\n", 2, "line 2, column 6: Cannot overwrite a value", id="a key given twice"),
        pytest.param("a = [", 1, "line 1, column 6: Invalid value", id="a list without an end"),
    ],
)
def test_syntax_is_told_by_line_and_column(tmp_path: Path, text: str, line: int, then: str) -> None:
    path = tmp_path / "agent.toml"
    path.write_text(text)
    with pytest.raises(Invalid) as caught:
        load_agent(path)
    assert caught.value.line == line
    assert caught.value.problems == [then]


@pytest.mark.parametrize(
    ("text", "then"),
    [
        pytest.param("a = " + "[" * 3000, "nested too deeply to be read", id="deep"),
        pytest.param(
            "a = " + "9" * 5000, "holds a whole number of thousands of digits; one has at most 64 bits", id="long"
        ),
    ],
)
def test_what_python_cannot_parse(tmp_path: Path, text: str, then: str) -> None:
    assert problems(tmp_path, text) == [then]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    not_text, large, loop = (tmp_path / name for name in ("not_text", "large", "loop"))
    not_text.write_bytes(b"a = 1\nb = '\xff'\n")
    large.write_bytes(b"#" * (MAX_BYTES + 1))
    loop.symlink_to(loop)
    said = {}
    for path in (tmp_path / "none", tmp_path, not_text, large, loop):
        with pytest.raises(InputError) as caught:
            load_agent(path)
        said[path.name] = str(caught.value).replace(str(tmp_path), "F")
    assert said == {
        "none": "there is no F/none\n  fix: write one with `remit init`, or name another file",
        tmp_path.name: "F is a folder\n  fix: name the agent file in it",
        "not_text": "F/not_text, line 2: not UTF-8 text\n  fix: save the file as UTF-8",
        "large": "F/large is larger than 1048576 bytes\n  fix: shorten it; is it an agent file?",
        "loop": "cannot read F/loop: Too many levels of symbolic links\n  fix: name a file that can be read",
    }
