"""The README of the kit: each arrow, each saved trace and each snippet is what the code does."""

import ast
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import agent_loop
import tool_runtime

FOLDER = Path(agent_loop.__file__).parent
README = (FOLDER / "README.md").read_text(encoding="utf-8")
ARROW = re.compile(r"(\w+) +--(\w+)--> +(\w+)")

ACTORS: dict[CodeType, str] = {
    agent_loop.run.__code__: "loop",
    agent_loop.InspectPolicy.propose.__code__: "policy",
    tool_runtime.execute.__code__: "runtime",
    tool_runtime.read_completeness.__code__: "tool",
    tool_runtime.read_source_date.__code__: "tool",
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def arrows(diagram: str) -> list[tuple[str, str, str]]:
    found = [ARROW.match(line) for line in diagram.splitlines()]
    assert all(found), "every line of a diagram is one arrow"
    return [(match[1], match[2], match[3]) for match in found if match]


def follow(act: Callable[[], object]) -> list[tuple[str, str, str]]:
    """What really happened: every call between two actors and every value or exception that came back."""
    happened: list[tuple[str, str, str]] = []
    stack = ["caller"]
    raised: list[str] = []

    def enter(frame: FrameType, event: str, arg: Any) -> Any:
        actor = ACTORS.get(frame.f_code)
        if event != "call" or actor is None:
            return None
        happened.append((stack[-1], frame.f_code.co_name, actor))
        stack.append(actor)
        return leave

    def leave(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "exception":
            raised.append(arg[0].__name__)
        if event == "return":
            value = arg[0] if isinstance(arg, tuple) else arg
            came_back = type(value).__name__ if value is not None else raised[-1]  # no actor returns None
            happened.append((stack.pop(), came_back, stack[-1]))
        return leave

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        act()
    finally:
        sys.settrace(before)
    return happened


@pytest.mark.parametrize(
    ("nth", "allowed"),
    [
        pytest.param(0, ["synthetic-a"], id="each arrow of the complete run"),
        pytest.param(1, ["synthetic-b"], id="each arrow of the denied run"),
    ],
)
def test_each_arrow_is_a_step_of_the_run_and_each_step_an_arrow(nth: int, allowed: list[str]) -> None:
    drawn = arrows(blocks("text")[nth])
    assert drawn == follow(lambda: agent_loop.run(agent_loop.InspectPolicy(), allowed))


def test_there_are_two_diagrams_three_traces_and_one_snippet() -> None:
    assert [len(blocks(language)) for language in ("text", "console", "python")] == [2, 3, 1]


@pytest.mark.parametrize("block", blocks("console"))
def test_the_saved_traces_are_the_real_output(block: str) -> None:
    prompt, _, saved = block.partition("\n")
    dollar, python, *command = shlex.split(prompt)
    assert (dollar, python) == ("$", "python3")
    real = [sys.executable, *command]
    done = subprocess.run(real, capture_output=True, text=True, check=True, cwd=FOLDER.parent)
    assert (done.stdout, done.stderr) == (saved, "")


@pytest.mark.parametrize("block", blocks("python"))
def test_the_snippet_runs_with_the_folder_on_the_path(block: str) -> None:
    path = {**os.environ, "PYTHONPATH": str(FOLDER)}
    subprocess.run([sys.executable, "-S", "-c", block], check=True, env=path)


@pytest.mark.parametrize("name", ["agent_loop.py", "tool_runtime.py"])
def test_each_file_is_a_screenful_of_the_standard_library(name: str) -> None:
    source = (FOLDER / name).read_text(encoding="utf-8")
    assert sum(bool(line.strip()) for line in source.splitlines()) <= 90
    tree = ast.parse(source, feature_version=(3, 11))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    outside = {module for module in imported if module.split(".")[0] not in sys.stdlib_module_names}
    assert outside == ({"tool_runtime"} if name == "agent_loop.py" else set())


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (agent_loop, "Call Final InspectPolicy Observation Policy Run ScriptedPolicy run supported"),
        (tool_runtime, "Call Observation RECORDS TOOLS ToolError execute"),
    ],
)
def test_the_public_names_are_these(module: object, names: str) -> None:
    assert sorted(vars(module)["__all__"]) == sorted(names.split())
    assert all(vars(module)[name] is not None for name in names.split())
