"""The command line as a person meets it: real processes, a real terminal where a question is asked, exit codes."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from remit.core.canon import parse
from remit.runtime.ports import HeldCall
from remit.shells.ask import shown

AGENT = """
task = "Ship it"
[policy]
kind = "scripted"
script = [
  {call = "look"}, {call = "ship", args = {target = "staging"}}, {final = "Shipped.", claims = [{effect = "ship"}]},
]
[tools.look]
command = ["echo", "all green"]
effect = "read"
[tools.ship]
command = ["sh", "-c", "echo shipped >> shipped.txt; echo \\"$0\\"", "{target}"]
effect = "write"
consequential = true
[remit]
tools = {look = "any", ship = {target = ["staging"]}}
"""
SLOW = AGENT.replace('["echo", "all green"]', '["sh", "-c", "touch started; sleep 30"]')


def remit(*words: str, cwd: Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "remit", *words],
        cwd=cwd,
        env={**os.environ, "REMIT_STORE": str(cwd / "runs.db")},
        input=stdin,
        stdin=None if stdin is not None else subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agent.toml").write_text(AGENT)
    return tmp_path


def on_terminal(cwd: Path, *answers: str | None, interrupt: bool = False) -> tuple[int, str, str]:
    """Run `remit run` on a terminal, type an answer at each question (None ends the input), and return the exit code,
    what the terminal showed, and standard output."""
    main, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "remit", "run"], cwd=cwd, stdin=child, stderr=child, stdout=subprocess.PIPE,
        env={**os.environ, "REMIT_STORE": str(cwd / "runs.db"), "TERM": "dumb"}, start_new_session=True,
    )  # fmt: skip
    os.close(child)
    seen = b""
    left = list(answers)
    while True:
        ready, _, _ = select.select([main], [], [], 30)
        if not ready:
            break
        try:
            data = os.read(main, 4096)
        except OSError:  # the other side is closed
            break
        seen += data
        if seen.endswith(b": ") and left:
            answer = left.pop(0)
            os.write(main, b"\x04" if answer is None else answer.encode() + b"\n")
        elif seen.endswith(b": ") and interrupt:
            process.send_signal(signal.SIGINT)
            interrupt = False
    assert process.stdout is not None
    out = process.stdout.read().decode()
    process.stdout.close()
    os.close(main)
    return process.wait(30), seen.decode(), out


@pytest.mark.guarantee("G1", "G2", "G3")
def test_at_a_gate_run_asks_and_shows_exactly_what_would_run(folder: Path) -> None:
    code, seen, out = on_terminal(folder, "what?", "yes")
    assert code == 0
    assert 'ship {"target":"staging"}' in seen
    assert "Please type yes, no or later." in seen
    assert "grade: supported" in out
    assert (folder / "shipped.txt").read_text() == "shipped\n"


@pytest.mark.parametrize(
    ("answers", "interrupt", "code", "status"),
    [
        pytest.param(["no", "not on a Friday"], False, 4, "status: denied: by", id="no denies"),
        pytest.param(["later"], False, 3, "status: awaiting_approval", id="later rests"),
        pytest.param([None], False, 3, "status: awaiting_approval", id="the end of input rests"),
        pytest.param([], True, 3, "status: awaiting_approval", id="ctrl-c at a question rests"),
    ],
)
def test_without_a_yes_nothing_runs(
    folder: Path, answers: list[str | None], interrupt: bool, code: int, status: str
) -> None:
    got, _, out = on_terminal(folder, *answers, interrupt=interrupt)
    assert (got, status in out) == (code, True)
    assert not (folder / "shipped.txt").exists()


@pytest.mark.parametrize("flag", ["--no-ask", "--json"])
def test_a_run_that_nobody_watches_rests(folder: Path, flag: str) -> None:
    done = remit("run", flag, cwd=folder)
    assert done.returncode == 3
    assert not (folder / "shipped.txt").exists()
    if flag == "--json":
        said = json.loads(done.stdout)
        assert list(said) == [
            "run", "status", "answer", "grade", "observations", "attempted_tools", "error", "usage", "stop",
        ]  # fmt: skip
        assert (said["status"], said["attempted_tools"], done.stderr) == ("awaiting_approval", ["look", "ship"], "")


def test_the_verbs_agree_on_a_run(folder: Path) -> None:
    assert remit("run", cwd=folder).returncode == 3
    listed = json.loads(remit("runs", "--json", cwd=folder).stdout)
    run = listed[0]["run"]
    assert [(row["status"], row["task"]) for row in listed] == [("awaiting_approval", "Ship it")]
    report = remit("report", run[:15], cwd=folder)
    assert report.stdout.splitlines()[0] == "steps: 1"
    assert report.stdout.splitlines()[-1] == "stop: awaiting_approval: c2 ship waits for a person"
    exported = remit("export", cwd=folder).stdout
    (folder / "run.jsonl").write_text(exported)
    assert remit("report", "run.jsonl", cwd=folder).stdout == report.stdout
    assert remit("report", "-", cwd=folder, stdin=exported).stdout == report.stdout
    assert remit("verify", "run.jsonl", cwd=folder).stdout == remit("verify", cwd=folder).stdout
    assert "ship" in remit("show", "latest", cwd=folder).stdout


@pytest.mark.guarantee("G9")
def test_verify_names_a_changed_record_and_exits_1(folder: Path) -> None:
    remit("run", cwd=folder)
    changed = remit("export", cwd=folder).stdout.replace("all green", "all great")
    done = remit("verify", "-", cwd=folder, stdin=changed)
    assert (done.returncode, "record 2" in done.stdout) == (1, True)


@pytest.mark.guarantee("G7")
@pytest.mark.parametrize(
    ("number", "by"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "SIGHUP")]
)
def test_a_signal_cancels_the_run_and_ends_what_it_started(tmp_path: Path, number: signal.Signals, by: str) -> None:
    (tmp_path / "agent.toml").write_text(SLOW)
    process = started(tmp_path)
    process.send_signal(number)
    out, _ = process.communicate(timeout=30)
    said = json.loads(out)
    assert (process.returncode, said["stop"]) == (4, f"cancelled: by {by}")
    assert [o["status"] for o in said["observations"]] == ["interrupted"]


@pytest.mark.guarantee("G7", "G8")
def test_a_killed_run_is_shown_as_interrupted_and_its_log_is_sound(tmp_path: Path) -> None:
    (tmp_path / "agent.toml").write_text(SLOW)
    process = started(tmp_path)
    running = json.loads(remit("runs", "--json", cwd=tmp_path).stdout)
    process.kill()
    process.communicate(timeout=30)
    assert running[0]["status"] == "running"
    assert remit("verify", cwd=tmp_path).returncode == 0
    assert remit("report", "latest", cwd=tmp_path).stdout.splitlines()[-1] == "stop: not recorded"


def started(folder: Path) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(
        [sys.executable, "-m", "remit", "run", "--json"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "REMIT_STORE": str(folder / "runs.db")},
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not (folder / "started").exists():
        assert time.monotonic() < deadline, process.communicate()
        time.sleep(0.02)
    return process


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(["run", "nope.toml"], "there is no nope.toml", id="a missing file"),
        pytest.param(["run", "broken.toml"], "broken.toml", id="a file that is not TOML"),
        pytest.param(["check", "wrong.toml"], "did you mean", id="a mistake has near names"),
        pytest.param(["show", "zzz"], "there is no run 'zzz'", id="an unknown run"),
        pytest.param(["runs", "--store", "postgres://x"], "postgres", id="a store of no known kind"),
        pytest.param(["report", "bad.jsonl"], "line 1", id="a file that is no report"),
        pytest.param(["frobnicate"], "No such command", id="an unknown verb"),
        pytest.param(["init", "."], "agent.toml is there already", id="init overwrites nothing"),
    ],
)
def test_a_mistake_is_told_in_words_and_exits_2(folder: Path, words: list[str], says: str) -> None:
    (folder / "broken.toml").write_text("task = \n")
    (folder / "wrong.toml").write_text(AGENT.replace("effect", "efect"))
    (folder / "bad.jsonl").write_text("nonsense\n")
    remit("run", cwd=folder)
    done = remit(*words, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_failed_bug_exits_1_and_an_unsupported_answer_exits_5(folder: Path) -> None:
    (folder / "agent.toml").write_text(
        AGENT.replace('{call = "ship", args = {target = "staging"}}, ', "").replace("[{effect", "[{effect")
    )
    done = remit("run", cwd=folder)
    assert (done.returncode, "grade: unsupported" in done.stdout) == (5, True)


@pytest.mark.guarantee("G2")
@pytest.mark.parametrize(
    "value",
    ["plain", "\u202egnp.exe", "zero\u200bwidth", "line\nbreak", "tab\t", "\x1b[2J", "é中😀", "\U000e0041", "\xad", "﻿"],
)
def test_what_is_shown_parses_back_to_the_call_that_would_run(value: str) -> None:
    args = msgspec.json.encode({"target": value}).decode()
    line = shown(HeldCall("r", "c1", "ship", args, "gate", "sha256:x", "t"))
    assert parse(line.removeprefix("ship "))[0].decode() == args
    assert "\n" not in line
    assert not re.search("[\u202e\u200b\x1b\xad\ufeff\U000e0041]", line)


def test_the_version_is_the_package_s(tmp_path: Path) -> None:
    declared = re.search(r'^version = "(.*)"', (Path(__file__).parents[2] / "pyproject.toml").read_text(), re.M)
    assert declared is not None
    assert remit("--version", cwd=tmp_path).stdout == f"remit {declared[1]}\n"
