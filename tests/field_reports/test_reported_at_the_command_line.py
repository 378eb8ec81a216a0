"""FR-58 where a person meets it: what `remit run` and `remit report` say of a run, and with which exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CASE = next(
    case
    for case in map(json.loads, (Path(__file__).parent / "cases.jsonl").read_text("utf-8").splitlines())
    if case["id"] == "FR-58"
)
STATUS = {"completed": "complete"}
STEP = {"1 ok": '"0"', "2 exit code 1": '"1"', "3 ok": '"0"'}
"""The steps of the case, as the exit code of a command."""

AGENT = """
task = "the case"
[policy]
kind = "scripted"
script = [SCRIPT]
[tools.step]
command = ["python3", "-c", "import sys; sys.exit(int(sys.argv[1]))", "{code}"]
effect = "read"
[remit]
tools = {TOOLS = "any"}
"""


def agent(steps: list[str], tools: str = "step") -> str:
    calls = [f"{{call = 'step', args = {{code = {STEP[step.removeprefix('step ')]}}}}}" for step in steps[:-1]]
    return AGENT.replace("SCRIPT", ", ".join([*calls, "{final = 'done'}"])).replace("TOOLS", tools)


def remit(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "remit", *words],
        cwd=folder,
        env={**os.environ, "REMIT_STORE": str(folder / "runs.db")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.guarantee("G7")
@pytest.mark.parametrize("name", ["recovered", "zero"])
def test_a_run_is_what_it_came_to_and_not_what_one_step_was(name: str, tmp_path: Path) -> None:
    then: dict[str, Any] = CASE["expect"]["runs"][name]
    (tmp_path / "agent.toml").write_text(agent(CASE["when"]["runs"][name]))
    ran = remit(tmp_path, "run", "--json")
    assert (ran.returncode, json.loads(ran.stdout)["status"]) == (then["exit_code"], STATUS[then["status"]])
    report = remit(tmp_path, "report", "latest")
    lines = dict(line.split(": ", 1) for line in report.stdout.splitlines())
    assert report.returncode == 0
    assert (int(lines["steps"]), int(lines["errors"]), lines["stop"]) == (then["steps"], then["errors"], "complete")
    for key in ("slowest", "tools"):
        assert lines[key] == then.get(key, lines[key])
    assert lines["total time"] == (f"{then['total_s']:.1f} s" if "total_s" in then else lines["total time"])


@pytest.mark.guarantee("G12")
def test_what_is_refused_by_configuration_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "agent.toml").write_text(agent(["answer"], tools="stepp"))
    ran = remit(tmp_path, "run", "--json")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "did you mean step?" in ran.stderr
    listed = remit(tmp_path, "runs", "--json")
    assert (listed.returncode, listed.stdout.strip()) in ((0, ""), (0, "[]"))
