"""`init`: what it writes loads, is explained without a warning but the gate's, and runs; and it overwrites nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remit import run
from remit.errors import InputError
from remit.runtime.ports import Decision, HeldCall
from remit.shells import starter
from remit.shells.agent_file import load_agent
from remit.shells.explain import explain_document
from remit.shells.starter import write_starter
from remit.shells.verdict import verdict

SOURCE = Path(starter.__file__).parents[2]


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_it_loads_and_shows_a_gate_a_scope_and_a_check(tmp_path: Path) -> None:
    assert write_starter(tmp_path) == [tmp_path / "agent.toml"]
    agent = load_agent(tmp_path / "agent.toml")
    told = explain_document(agent)
    assert [(tool["name"], tool["effect"], tool["gate"]) for tool in told["tools"]] == [
        ("list_files", "read", "allow"),
        ("write_note", "write", "hold"),
    ]
    assert told["warnings"] == ["policy.script[1]: write_note waits for a person (consequential)"]
    assert verdict(agent, 'write_note {"name": "x.txt", "text": "Hello"}')[:2] == ("refuse", "scope.write_note.name")
    assert verdict(agent, 'write_note {"name": "note.txt", "text": "Hello"}')[:2] == ("hold", "consequential")


def test_it_runs_as_it_is_and_again(tmp_path: Path) -> None:
    (path,) = write_starter(tmp_path)
    agent = load_agent(path)
    held: list[str] = []

    def yes(call: HeldCall) -> Decision:
        held.append(call.args)
        assert not (tmp_path / "note.txt").exists() or len(held) == 2
        return Decision(True, "a person")

    for _ in range(2):
        outcome = run(
            agent.task or "", policy=agent.policy, remit=agent.remit, tools=agent.tools, ask=yes, agent_file=str(path)
        )
        assert (outcome.status, outcome.grade, outcome.answer) == ("complete", "supported", "The note is written.")
        assert [seen.status for seen in outcome.observations] == ["ok", "ok"]
        assert (tmp_path / "note.txt").read_text() == "agent.toml is here\n"
    assert held == ['{"name":"note.txt","text":"agent.toml is here"}'] * 2


@pytest.mark.parametrize(
    ("decision", "then"),
    [
        pytest.param(None, "awaiting_approval", id="nobody is there"),
        pytest.param(Decision(False, "a person"), "denied", id="a no"),
    ],
)
def test_without_a_yes_nothing_is_written(tmp_path: Path, decision: Decision | None, then: str) -> None:
    (path,) = write_starter(tmp_path)
    agent = load_agent(path)
    outcome = run(
        "go", policy=agent.policy, remit=agent.remit, tools=agent.tools, ask=lambda _: decision, agent_file=str(path)
    )
    assert outcome.status == then
    assert list(tree(tmp_path)) == ["agent.toml"]


def test_the_lines_that_are_commented_out_are_sound(tmp_path: Path) -> None:
    (path,) = write_starter(tmp_path)
    text = path.read_text()
    for setting in ("# env = ", "# pass_env = "):
        assert text.count(setting) == 1
        text = text.replace(setting, setting[2:])
    path.write_text(text)
    assert load_agent(path).task == "List the files of this folder, and write a note of it"


def test_folders_are_made(tmp_path: Path) -> None:
    assert write_starter(tmp_path / "a" / "b") == [tmp_path / "a" / "b" / "agent.toml"]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "agent.toml").write_text("mine")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "agent.toml").symlink_to("nowhere")
    before = tree(tmp_path)
    for folder in (tmp_path, tmp_path / "other"):
        with pytest.raises(InputError) as caught:
            write_starter(folder)
        assert str(caught.value) == f"{folder}/agent.toml is there already\n  fix: name another folder"
    assert tree(tmp_path) == before
    assert not (tmp_path / "other" / "nowhere").exists()


@pytest.mark.parametrize(
    ("folder", "why"),
    [
        pytest.param("file", "File exists", id="a file"),
        pytest.param("file/in", "File exists", id="in a file"),
        pytest.param("new/" + "x" * 300, "File name too long", id="a name that is too long"),
    ],
)
def test_a_folder_that_cannot_be_used_is_bad_input_and_leaves_nothing(tmp_path: Path, folder: str, why: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError) as caught:
        write_starter(tmp_path / folder)
    assert caught.value.message == f"cannot write {tmp_path / folder}/agent.toml: {why}"
    assert sorted(tmp_path.iterdir()) == [tmp_path / "file"]


FULL = """
import resource, sys
from pathlib import Path
from remit.shells.starter import write_starter
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    write_starter(Path(sys.argv[1]))
except OSError as error:
    print(error.strerror)
"""


def test_a_write_that_fails_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-B", "-c", FULL, tmp_path / "new" / "folder"],
        env=os.environ | {"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("File too large\n", "")
    assert list(tmp_path.iterdir()) == []
