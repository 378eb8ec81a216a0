"""examples/fix_bug: each agent file ends as its README says, and nothing ever touches the project."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from remit import Final, run
from remit.runtime.ports import Decision, HeldCall
from remit.shells.agent_file import Agent, load_agent
from remit.shells.verdict import verdict

ROOT = Path(__file__).parents[2]
HERE = ROOT / "examples/fix_bug"
ROW = re.compile(r"^\| \[(\S+\.toml)\]\(\1\) \|.*\| (\w+)(?:, (\w+))? \| (\d) \|$", re.MULTILINE)
ENDS = {
    "agent.toml": ("complete", "supported", 0),
    "stuck.toml": ("stuck", None, 4),
    "deploy.toml": ("awaiting_approval", None, 3),
    "unsupported.toml": ("complete", "unsupported", 5),
}
CALLS = {
    "agent.toml": ["prepare ok", "run_tests error", "read_file ok", "edit_file ok", "run_tests ok"],
    "deploy.toml": ["prepare ok", "edit_file ok", "run_tests ok"],
    "unsupported.toml": ["prepare ok", "read_file ok", "edit_file ok"],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the example; what happens in it must leave its project alone."""
    copy = tmp_path / "copied/fix_bug"
    shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("work", "deployed", "__pycache__"))
    return copy


def files(folder: Path) -> dict[str, str]:
    """The digest of each file of a folder by its path; whatever Python caches beside them is not of interest."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


PROJECT = files(HERE / "project")


def python(*words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=cwd, env={**os.environ, "REMIT_STORE": str(cwd / "runs.db"), **environment},
        stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=60, check=False,
    )  # fmt: skip


def unittests(folder: Path) -> tuple[int, list[str]]:
    """Run a project's tests; return the exit code and the names of those that failed."""
    done = python("-B", "-m", "unittest", cwd=folder)
    return done.returncode, re.findall(r"^(?:FAIL|ERROR): (\w+)", done.stderr, re.MULTILINE)


def test_the_project_has_one_failing_test() -> None:
    assert unittests(HERE / "project") == (1, ["test_a_meeting_within_a_longer_one_frees_no_time"])


def test_the_readme_says_how_each_agent_file_ends() -> None:
    rows = ROW.findall((HERE / "README.md").read_text("utf-8"))
    assert {name: (status, grade or None, int(code)) for name, status, grade, code in rows} == ENDS
    assert {path.name for path in HERE.glob("*.toml")} == set(ENDS)


@pytest.mark.guarantee("G7", "G13")
@pytest.mark.parametrize("name", ENDS)
def test_an_agent_file_ends_as_the_readme_says_and_leaves_the_project_alone(folder: Path, name: str) -> None:
    done = python("-m", "remit", "run", str(folder / name), "--json", cwd=folder.parent)
    said = json.loads(done.stdout)
    assert (said["status"], said["grade"], done.returncode) == ENDS[name]
    if name in CALLS:
        assert [f"{seen['tool']} {seen['status']}" for seen in said["observations"]] == CALLS[name]
    assert files(folder / "project") == PROJECT
    assert not (folder / "deployed").exists()


def test_the_agent_changes_one_line_of_its_copy_and_then_every_test_passes(folder: Path) -> None:
    finished(folder / "agent.toml")
    work = files(folder / "work")
    assert {path for path in PROJECT.keys() | work.keys() if PROJECT.get(path) != work.get(path)} == {"agenda/slots.py"}
    before, after = ((folder / part / "agenda/slots.py").read_text().splitlines() for part in ("project", "work"))
    assert [(old.strip(), new.strip()) for old, new in zip(before, after, strict=True) if old != new] == [
        ("joined[-1] = (joined[-1][0], end)", "joined[-1] = (joined[-1][0], max(joined[-1][1], end))")
    ]
    assert unittests(folder / "work") == (0, [])


def test_every_citation_stands_in_what_the_tests_said(folder: Path) -> None:
    agent, outcome = finished(folder / "agent.toml")
    final = agent.script[-1]
    assert isinstance(final, Final)
    seen = {observation.call: observation for observation in outcome.observations}
    cited = [claim for claim in final.claims if "quote" in claim]
    assert [(seen[claim["cites"]].tool, claim["quote"] in seen[claim["cites"]].text) for claim in cited] == [
        ("run_tests", True)
    ] * 3
    assert [seen[claim["cites"]].status for claim in cited] == ["error", "ok", "ok"]


def test_each_run_begins_with_a_fresh_copy(folder: Path) -> None:
    first, second = finished(folder / "unsupported.toml")[1], finished(folder / "agent.toml")[1]
    assert (first.grade, second.grade) == ("unsupported", "supported")
    assert finished(folder / "agent.toml")[1].grade == "supported"


def test_an_agent_that_goes_in_a_circle_is_stopped_before_its_script_is_at_its_end(folder: Path) -> None:
    agent, outcome = finished(folder / "stuck.toml")
    assert outcome.reason.startswith("the same result")
    assert outcome.usage["turns"] < len(agent.script)
    assert {(seen.tool, seen.status) for seen in outcome.observations[3:]} == {
        ("read_file", "ok"),
        ("edit_file", "error"),
    }


@pytest.mark.guarantee("G1")
@pytest.mark.parametrize(
    ("decision", "ends", "deployed"),
    [
        pytest.param(Decision(True, "lead"), ("complete", "supported"), True, id="a yes deploys the tested copy"),
        pytest.param(Decision(False, "lead"), ("denied", None), False, id="a no deploys nothing"),
        pytest.param(None, ("awaiting_approval", None), False, id="no answer deploys nothing"),
    ],
)
def test_a_deploy_waits_for_a_person(
    folder: Path, decision: Decision | None, ends: tuple[str, str | None], deployed: bool
) -> None:
    asked: list[HeldCall] = []

    def person(held: HeldCall) -> Decision | None:
        asked.append(held)
        return decision

    _, outcome = finished(folder / "deploy.toml", ask=person)
    assert (outcome.status, outcome.grade) == ends
    assert [(held.tool, held.args) for held in asked] == [("deploy", '{"target":"staging"}')]
    served = folder / "deployed/staging"
    assert served.exists() == deployed
    assert not deployed or files(served) == files(folder / "work")


def finished(path: Path, **options: Any) -> tuple[Agent, Any]:
    agent = load_agent(path)
    assert agent.task is not None
    outcome = run(
        agent.task, policy=agent.policy, remit=agent.remit, tools=agent.tools, agent_file=str(path), **options
    )
    assert files(path.parent / "project") == PROJECT
    return agent, outcome


def test_the_same_remit_holds_three_policies() -> None:
    agents = [load_agent(HERE / name) for name in ("agent.toml", "stuck.toml", "unsupported.toml")]
    assert len({agent.remit.digest(agent.tools) for agent in agents}) == 1
    assert len({repr(agent.script) for agent in agents}) == 3


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ('edit_file {"path": "agenda/slots.py", "old": "a", "new": "b"}', ("allow", "scope.edit_file")),
        ('edit_file {"path": "agenda/test_slots.py", "old": "a", "new": "b"}', ("refuse", "scope.edit_file.path")),
        (
            'edit_file {"path": "../project/agenda/slots.py", "old": "a", "new": "b"}',
            ("refuse", "scope.edit_file.path"),
        ),
        ('read_file {"path": "agenda/test_slots.py"}', ("allow", "scope.read_file")),
        ('deploy {"target": "staging"}', ("hold", "consequential")),
        ('deploy {"target": "production"}', ("refuse", "scope.deploy.target")),
    ],
)
def test_the_remit_permits_one_file_and_one_target(call: str, said: tuple[str, str]) -> None:
    assert verdict(load_agent(HERE / "deploy.toml"), call)[:2] == said


@pytest.mark.parametrize(
    ("words", "why"),
    [
        pytest.param(["read", "../project/agenda/slots.py"], "is not in the copy", id="a way out"),
        pytest.param(["read", "agenda/../../agent.toml"], "is not in the copy", id="a longer way out"),
        pytest.param(["read", "{outside}"], "is not in the copy", id="a whole path"),
        pytest.param(["read", "link"], "is not in the copy", id="a link that leads out"),
        pytest.param(["read", "agenda"], "is not a file of the copy", id="a folder"),
        pytest.param(["read", "agenda/none.py"], "is not a file of the copy", id="nothing"),
        pytest.param(["edit", "link", "secret", "s"], "is not in the copy", id="an edit through a link"),
        pytest.param(["edit", "agenda/slots.py", "nowhere", "x"], "occurs 0 times, not once", id="a text it has not"),
        pytest.param(["edit", "agenda/slots.py", "return", "x"], "times, not once", id="a text it has often"),
    ],
)  # fmt: skip
def test_the_tools_keep_to_the_copy(folder: Path, words: list[str], why: str) -> None:
    outside = folder.parent / "outside.txt"
    outside.write_text("secret")
    assert python("tools.py", "prepare", cwd=folder).returncode == 0
    (folder / "work/link").symlink_to(outside)
    before = files(folder)
    done = python("tools.py", *(word.format(outside=outside) for word in words), cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith(f"{why}\n")
    assert (files(folder), outside.read_text()) == (before, "secret")


def test_the_demo_shows_the_run_and_its_report_from_anywhere_and_leaves_no_mess(tmp_path: Path) -> None:
    elsewhere, temporary = tmp_path / "elsewhere", tmp_path / "temporary"
    elsewhere.mkdir()
    temporary.mkdir()
    done = python(str(HERE / "demo.py"), cwd=elsewhere, TMPDIR=str(temporary))
    assert done.returncode == 0, done.stderr
    assert [line.split()[1] for line in done.stderr.splitlines() if re.match(r" +c\d", line)] == [
        "prepare({})",
        "run_tests({})",
        'read_file({"path":"agenda/slots.py"})',
        'edit_file({"new":"[0],',
        "run_tests({})",
    ]
    for line in ("grade: supported", "steps: 5", "errors: 1", "stop: complete"):
        assert line in done.stdout.splitlines()
    assert (list(elsewhere.iterdir()), list(temporary.iterdir())) == ([], [])
    assert files(HERE / "project") == PROJECT


def test_the_demo_fails_where_the_answer_is_not_supported(folder: Path) -> None:
    (folder / "unsupported.toml").replace(folder / "agent.toml")
    done = python(str(folder / "demo.py"), cwd=folder.parent)
    assert (done.returncode, "grade: unsupported" in done.stdout.splitlines()) == (1, True)


@pytest.mark.parametrize("keep", [["--keep"], []], ids=["on what it kept", "in place"])
def test_what_the_demo_says_to_type_works_as_it_stands(folder: Path, keep: list[str]) -> None:
    done = python(str(folder / "demo.py"), *keep, cwd=folder.parent, TMPDIR=str(folder.parent))
    typed = [line.rsplit("  ", 1)[1] for line in done.stdout.split("Look further:")[1].strip().splitlines()]
    assert len(typed) == 7
    codes = shell([f"{line}\necho exit $?" for line in typed], folder.parent)
    assert codes == [0, 0, 0, 0, 4, 3, 5]
    assert files(folder / "project") == PROJECT


def test_the_commands_of_the_readme_work_as_they_stand(tmp_path: Path) -> None:
    shutil.copytree(
        HERE, tmp_path / "examples/fix_bug", ignore=shutil.ignore_patterns("work", "deployed", "__pycache__")
    )
    blocks = re.findall(r"```sh\n(.*?)```", (HERE / "README.md").read_text("utf-8"), re.DOTALL)
    lines = [line.replace("/tmp/", f"{tmp_path}/") for block in blocks for line in block.splitlines()]
    named = f'remit() {{ "{sys.executable}" -m remit "$@"; }}'
    assert shell([named, *(f"{line}\necho exit $?" for line in lines)], tmp_path) == [0, 0, 0, 0, 0]
    assert files(tmp_path / "fix_bug/project") == PROJECT


def shell(lines: list[str], cwd: Path) -> list[int]:
    """Type the lines at a shell without a terminal; return the exit codes that they echo."""
    done = subprocess.run(
        ["sh"], cwd=cwd, env={**os.environ, "REMIT_STORE": str(cwd / "own.db")}, input="\n".join([*lines, ""]),
        capture_output=True, encoding="utf-8", timeout=60, check=False,
    )  # fmt: skip
    return [int(code) for code in re.findall(r"^exit (\d+)$", done.stdout, re.MULTILINE)]
