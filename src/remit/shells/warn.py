"""What an operator should know of a sound agent file: a script that its remit stops, a program that is not there, a
scope that no call can meet, a gate that was opened. Each may be meant; none keeps a run from starting."""

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.canon import encode
from ..core.reply import Call, Final
from ..core.spec import ToolSpec
from ..core.validate import Validator
from ..core.visible import visible
from ..tools.commands import NO_OPTION, Command, command_schema
from .agent_file import Agent
from .verdict import foretell

WORDS = {"hold": "waits for a person", "refuse": "would be refused", "invalid": "could not be used"}


def warnings(agent: Agent) -> list[str]:
    """Return one line for each, by key path where there is one."""
    found = [*_script(agent), *_tools(agent), *_checks(agent)]
    return [visible(line) for line in found]


def _script(agent: Agent) -> Iterator[str]:
    starts: list[str] = []
    for number, item in enumerate(agent.script):
        said = foretell(agent, item)
        if said.verdict != "allow":
            name = item.tool if isinstance(item, Call) else "the final"
            why = "" if said.verdict == "hold" else f": {said.sentence}"
            yield f"policy.script[{number}]: {name} {WORDS[said.verdict]} ({said.rule}){why}"
        if isinstance(item, Final) and said.verdict == "allow":
            yield from _budgets(agent, starts, number + 1)
            return
        if isinstance(item, Call) and said.verdict in ("allow", "hold"):
            starts.append(item.tool)
    yield "policy.script: has no final, so the run ends without an answer"
    yield from _budgets(agent, starts, len(agent.script) + 1)


def _budgets(agent: Agent, starts: Sequence[str], turns: int) -> Iterator[str]:
    remit = agent.remit
    if remit.turns is not None and turns > remit.turns:
        yield f"remit.turns: is {remit.turns}, and the script takes {turns} to its end"
    if remit.calls is not None and len(starts) > remit.calls:
        yield f"remit.calls: is {remit.calls}, and the script makes {len(starts)}"
    for tool, times in Counter(starts).items():
        limit = remit.calls_per_tool.get(tool)
        if limit is not None and times > limit:
            yield f"remit.calls_per_tool.{tool}: is {limit}, and the script makes {times}"


def _tools(agent: Agent) -> Iterator[str]:
    for name, scope in agent.remit.tools.items():
        spec, runner = agent.tools[name], agent.tools.runners[name]
        if isinstance(runner, Command):
            yield from _command(f"tools.{name}", runner)
            yield from _options(f"tools.{name}", runner, spec, scope)
        if not isinstance(scope, str):
            yield from _scope(f"remit.tools.{name}", spec, scope)
        if spec.consequential and agent.remit.gates.get(name) == "allow":
            yield f"remit.gates.{name}: the tool is consequential, and this lets it run without asking anyone"


def _command(path: str, runner: Command) -> Iterator[str]:
    folder = Path(runner.cwd or ".")
    if not folder.is_dir():
        yield f"{path}.cwd: there is no folder {folder}"
        return
    wrong = _unrunnable(runner.argv[0], folder, runner.env.get("PATH"))
    if wrong:
        yield f"{path}.command: {wrong}"


def _unrunnable(program: str, folder: Path, search: str | None = None) -> str | None:
    """Return why a program could not be started in a folder, or None."""
    if "/" not in program:
        return None if shutil.which(program, path=search) else f"the program {program} is not on the PATH"
    path = folder / program
    if not path.is_file():
        return f"there is no program {path}"
    return None if os.access(path, os.X_OK) else f"{path} may not be executed; chmod +x makes it a program"


def _options(path: str, runner: Command, spec: ToolSpec, scope: Any) -> Iterator[str]:
    """Yield the arguments that begin an element of argv where the file's own schema lets them begin with `-`."""
    for name, field in command_schema(runner.argv)["properties"].items():
        values = scope if isinstance(scope, str) else scope.get(name, ())
        if field["pattern"] == NO_OPTION and values == "any" and _usable(spec, name, "-") is None:
            yield f"{path}.schema.properties.{name}: a value may begin with `-`, and so be an option of the command"


def _scope(path: str, spec: ToolSpec, scope: Mapping[str, Any]) -> Iterator[str]:
    for name in spec.schema.get("required", []):
        if name not in scope:
            yield f"{path}: no call can be permitted, for the tool needs `{name}` and the scope does not name it"
    for name, values in scope.items():
        if isinstance(values, str):
            continue
        if not values:
            yield f"{path}.{name}: no call can be permitted, for the list of values is empty"
        for number, value in enumerate(values):
            wrong = _usable(spec, name, value)
            if wrong:
                yield f"{path}.{name}[{number}]: {encode(value).decode()} can never be used: {wrong}"


_TOGETHER = {"required", "minProperties", "dependentRequired", "dependentSchemas"} | {
    "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
}  # fmt: skip
"""What a schema may ask of several arguments together."""


def _usable(spec: ToolSpec, name: str, value: Any) -> str | None:
    """Return why a value of one argument cannot be used, whatever the others are, or None."""
    alone = {key: rule for key, rule in spec.schema.items() if key not in _TOGETHER}
    wrong = Validator(alone).problem({name: value})
    return wrong.text if wrong else None


def _checks(agent: Agent) -> Iterator[str]:
    for number, check in enumerate(agent.remit.checks):
        if isinstance(check, Mapping) and "command" in check:
            wrong = _unrunnable(check["command"][0], agent.path.parent)
            if wrong:
                yield f"remit.checks[{number}].command: {wrong}"
