"""Commands as tools: argv and never a shell, a clean environment, bounded output, and nothing left behind."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from remit import Call, Final, Outcome, Remit, RemitError, ScriptedPolicy, Toolbox, run


def go(argv: list[str], args: dict[str, Any] | None = None, **options: Any) -> Outcome:
    tools = Toolbox()
    tools.command("tool", argv, **{"effect": "read", **options})
    remit = Remit(tools={"tool": "any"})
    return run("t", policy=ScriptedPolicy([Call("tool", args), Final("x")]), remit=remit, tools=tools, run_id="r")


def seen(argv: list[str], args: dict[str, Any] | None = None, **options: Any) -> tuple[str, str]:
    found = go(argv, args, **options).observations[0]
    return found.status, found.text


PYTHON = [sys.executable, "-c"]


@pytest.mark.parametrize(
    ("argv", "args", "then"),
    [
        pytest.param(["echo", "{a}", "x{b}"], {"a": "1", "b": "2"}, ("ok", "1 x2\n"), id="placeholders"),
        pytest.param(["echo", "{a}"], {"a": "$(id); `id` > x"}, ("ok", "$(id); `id` > x\n"), id="no shell reads it"),
        pytest.param(["echo", "{a}"], {"a": "{b}"}, ("ok", "{b}\n"), id="a value is not a template"),
        pytest.param(["sh", "-c", "exit 3"], {}, ("error", "[exit code 3]"), id="an exit code is an error"),
        pytest.param(
            ["sh", "-c", "echo out; echo err >&2; exit 1"], {}, ("error", "out\n[standard error]\nerr\n[exit code 1]"),
            id="both streams",
        ),
        pytest.param(["cat"], {}, ("ok", ""), id="there is no standard input"),
        pytest.param(["sh", "-c", "kill -9 $$"], {}, ("error", "[exit code -9]"), id="a signal"),
        pytest.param(["printf", "\\360\\050\\101\\012"], {}, ("ok", "\ufffd(A\n"), id="bytes that are not text"),
    ],
)  # fmt: skip
def test_a_command_becomes_an_observation(argv: list[str], args: dict[str, Any], then: tuple[str, str]) -> None:
    assert seen(argv, args) == then


def test_a_program_that_is_not_there_is_an_error_and_no_crash() -> None:
    status, text = seen(["/nonexistent/program"])
    assert status == "error"
    assert text.startswith("could not start '/nonexistent/program'")


@pytest.mark.parametrize(
    ("argv", "args"),
    [
        pytest.param(["echo", "{a}"], {"a": "--force"}, id="a value that would be an option"),
        pytest.param(["echo", "{a}.txt"], {"a": "-n"}, id="also at the start of a longer element"),
        pytest.param(["echo", "{a}"], {"a": "x\0y"}, id="a NUL"),
        pytest.param(["echo", "{a}"], {"a": 5}, id="a number for a text"),
        pytest.param(["echo", "{a}"], {}, id="none"),
    ],
)
def test_a_value_that_could_be_something_else_is_refused(argv: list[str], args: dict[str, Any]) -> None:
    assert seen(argv, args)[0] == "invalid"


def test_the_environment_is_clean_and_what_is_lent_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    monkeypatch.setenv("LENT", "lent")
    _, text = seen(["env"], effect="write", env={"GIVEN": "given"}, pass_env=["LENT"])
    names = {line.split("=")[0] for line in text.splitlines()}
    assert names <= {"PATH", "HOME", "LANG", "TZ", "TMPDIR", "GIVEN", "LENT", "REMIT_EFFECT_ID"}
    assert {"GIVEN", "LENT", "REMIT_EFFECT_ID"} <= names
    assert "REMIT_EFFECT_ID=r.c1" in text


def test_output_is_bounded_counted_and_digested_and_the_text_says_so() -> None:
    outcome = go([*PYTHON, "print('x' * 999 + '\u20ac' + 'x' * 500, end='')"], output_bytes=1000)
    record = outcome.records[-1].events.decode()
    assert outcome.observations[0].text.startswith("x" * 999 + "\n[cut: 999 of 1502 bytes shown, sha256:")
    assert '"size":1502,"digest":"sha256:' in record


def test_output_that_is_not_text_is_described() -> None:
    found = go([*PYTHON, "import sys; sys.stdout.buffer.write(bytes(range(256)) * 16)"]).observations[0]
    assert found.status == "ok"
    assert found.text.startswith("[4096 bytes that are not text, sha256:")


def test_a_timeout_ends_the_whole_process_group(tmp_path: Path) -> None:
    mark = tmp_path / "pids"
    script = f"sleep 300 & echo $! > {mark}; trap '' TERM; sleep 300"
    began = time.monotonic()
    assert seen(["sh", "-c", script], timeout=0.5)[0] == "timeout"
    assert time.monotonic() - began < 60
    assert not alive(int(mark.read_text()))


def test_what_a_command_leaves_in_its_group_ends_with_the_call(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    assert seen(["sh", "-c", f"sleep 300 & echo $! > {mark}; echo done"]) == ("ok", "done\n")
    assert not alive(int(mark.read_text()))


def alive(pid: int) -> bool:
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(done.stdout.strip()) and not done.stdout.startswith("Z")


@pytest.mark.parametrize(
    ("argv", "options", "says"),
    [
        ([], {}, "the program first"),
        (["{program}"], {}, "must be written out"),
        (["a\0b"], {}, "the program first"),
        (["echo"], {"output_bytes": 5}, "output_bytes"),
        (["echo"], {"timeout": -1}, "timeout"),
    ],
)
def test_a_command_that_cannot_be_run_is_refused_at_once(argv: list[str], options: dict[str, Any], says: str) -> None:
    with pytest.raises(RemitError, match=says):
        Toolbox().command("tool", argv, effect="read", **options)


def test_no_descriptor_of_ours_is_inherited(tmp_path: Path) -> None:
    with open(tmp_path / "secret", "w") as file:
        os.set_inheritable(file.fileno(), True)
        _, text = seen(["sh", "-c", "ls /proc/self/fd | wc -l"])
    assert int(text) <= 4


@pytest.mark.parametrize(
    ("argv", "args", "then"),
    [
        pytest.param(["echo", "{{a}}", "{a}"], {"a": "1"}, "{a} 1\n", id="doubled braces are the text"),
        pytest.param(["echo", "{print}"], {"print": "x"}, "x\n", id="single ones are an argument"),
        pytest.param(["echo", '{"k": {a}}'], {"a": "1"}, '{"k": 1}\n', id="other braces are text"),
    ],
)
def test_braces(argv: list[str], args: dict[str, Any], then: str) -> None:
    assert seen(argv, args) == ("ok", then)


def test_an_empty_value_does_not_let_the_next_one_become_an_option() -> None:
    assert seen(["echo", "{a}{b}"], {"a": "", "b": "--force"})[0] == "invalid"


def test_an_effect_of_no_known_kind_is_refused() -> None:
    with pytest.raises(RemitError, match='effect: must be "read", "egress" or "write"'):
        Toolbox().command("tool", ["true"], effect="bogus")  # type: ignore[arg-type]


def test_the_approved_bytes_reach_the_program_in_any_locale(tmp_path: Path) -> None:
    script = (
        "from remit import *\n"
        "tools = Toolbox()\n"
        "tools.command('tool', ['printf', '{a}'], effect='read', env={'X': '\\u00e9'})\n"
        "policy = ScriptedPolicy([Call('tool', {'a': 'caf\\u00e9'}), Final('x')])\n"
        "print(ascii(run('t', policy=policy, remit=Remit(tools={'tool': 'any'}), tools=tools).observations[0].text))\n"
    )
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "'caf\\xe9'\n"
