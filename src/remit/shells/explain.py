"""Say in plain words what the agent of a sound agent file may and may not do. The words are made from the document."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..core.canon import encode
from ..core.hold import gate
from ..core.remit import Remit, plain
from ..core.rules import Rules
from ..core.stuck import LONGEST_CYCLE
from ..core.visible import visible
from ..models.workflow import Workflow
from ..runtime.check import TIMEOUT as CHECK_TIMEOUT
from ..tools.commands import GRACE, NO_NUL, NO_OPTION, Command
from .agent_file import OUTPUT_BYTES, TIMEOUT, Agent
from .verdict import verdict as verdict
from .warn import warnings

UNITS = {
    "turns": "requests to the policy, the final's included",
    "calls": "starts of tools",
    "seconds": "seconds of working time, without waiting for people",
    "wall_seconds": "seconds of all time, waiting included",
    "result_bytes": "bytes of one result that the policy is shown",
    "max_invalid": "replies that could not be used; the run ends with the last of these",
    "max_refusals": "refusals that are answered with their reason; the next one ends the run",
}


def explain(agent: Agent) -> list[str]:
    """Return the explanation, line by line."""
    told = explain_document(agent)
    lines = [*_head(told), "", *_tools(told), "", *_limits(told), "", *_ends(told), "", *FINE_PRINT]
    if told["warnings"]:
        lines += ["", "Worth knowing:", *(f"  {line}" for line in told["warnings"])]
    return [visible(line) for line in lines]


def explain_document(agent: Agent) -> dict[str, Any]:
    """Return the same as data: tools, limits with their units, rules, checks and warnings. A lifted limit is None."""
    remit = agent.remit
    return {
        "agent_file": str(agent.path),
        "task": agent.task,
        "policy": {
            "kind": "workflow" if isinstance(agent.policy, Workflow) else "scripted",
            "items": len(agent.script),
        },
        "remit": remit.digest(agent.tools),
        "tools": [_tool(agent, name) for name in remit.tools],
        "not_permitted": [name for name in agent.tools if name not in remit.tools],
        "limits": [limit._asdict() for limit in _limit(remit)],
        "overshoot_seconds": _overshoot(agent),
        "stuck": {"rule": remit.stuck.rule, "threshold": remit.stuck.threshold},
        "on_refusal": remit.on_refusal,
        "parallel": remit.parallel,
        "last_turn": remit.last_turn,
        "checks": remit.document["checks"],
        "warnings": warnings(agent),
    }


def _tool(agent: Agent, name: str) -> dict[str, Any]:
    spec, runner = agent.tools[name], agent.tools.runners[name]
    assert isinstance(runner, Command)
    asks, rule = gate(Rules(agent.remit), spec)
    return {
        "name": name,
        "effect": spec.effect,
        "idempotent": spec.idempotent,
        "command": spec.source["argv"],
        "folder": runner.cwd,
        "environment": sorted({*runner.env, *runner.pass_env}),
        "arguments": [_argument(agent.remit, name, *field) for field in spec.schema.get("properties", {}).items()],
        "gate": asks,
        "rule": rule,
        "timeout": spec.timeout,
        "calls": agent.remit.calls_per_tool.get(name),
        "poll": spec.poll,
        "output_bytes": runner.output_bytes,
    }


def _argument(remit: Remit, tool: str, name: str, schema: Any) -> dict[str, Any]:
    scope = plain(remit.tools[tool])
    return {"name": name, "permitted": scope if isinstance(scope, str) else scope.get(name, []), "schema": schema}


class Limit(NamedTuple):
    """A limit, its unit in words, and whether it is what an agent file that does not say gets."""

    name: str
    value: float | None
    unit: str
    default: bool


def _limit(remit: Remit) -> Iterator[Limit]:
    default = Remit(tools={})
    for name, unit in UNITS.items():
        if name != "max_refusals" or remit.on_refusal == "continue":
            value = getattr(remit, name)
            yield Limit(name, value, unit, value == getattr(default, name))


def _overshoot(agent: Agent) -> float | None:
    """By how many seconds the working time may be exceeded: a write that runs is not cut off, nor are the checks."""
    if agent.remit.seconds is None:
        return None
    specs = [agent.tools[name] for name in agent.remit.tools]
    writes = [spec.timeout + GRACE for spec in specs if spec.writes and spec.timeout is not None]
    commands = [check for check in agent.remit.checks if isinstance(check, Mapping) and "command" in check]
    return max(GRACE, *writes, sum(float(check.get("timeout", CHECK_TIMEOUT)) + GRACE for check in commands))


def _head(told: Mapping[str, Any]) -> Iterator[str]:
    policy, task = told["policy"], told["task"]
    yield f"{told['agent_file']} is sound."
    yield f"Task: {task}" if task else "Task: none yet; give it with `remit run --task TEXT`"
    yield f"Policy: {policy['kind']}, {_count(policy['items'], 'item')}. It proposes; what follows decides."


def _tools(told: Mapping[str, Any]) -> Iterator[str]:
    number = len(told["tools"])
    yield f"The agent may use {_count(number, 'tool')}, and nothing else:" if number else "The agent may use no tool."
    for tool in told["tools"]:
        yield from _tool_lines(tool, str(Path(told["agent_file"]).parent))
    if told["not_permitted"]:
        yield f"Declared, but refused because the remit does not name them: {', '.join(told['not_permitted'])}."


EFFECTS = {
    "read": "a read: it changes nothing and may be repeated",
    "egress": "an egress: it reads, but sends something out",
    "write": "a write: it changes the world",
}
GATES = {
    "allow": "nobody; it starts at once",
    "hold": "a person, before each call",
    "deny": "nobody; every call is refused",
}


CHECKS = {
    "cites": "cites: the answer quotes at least once, and each quote is in the observation that it names",
    "effect": "effect: the answer claims at least one effect, and each has a successful call on record",
}
FILES = {"sha256": "has the SHA-256", "contains": "contains"}


def _tool_lines(tool: Mapping[str, Any], home: str) -> Iterator[str]:
    yield f"  {tool['name']}, {EFFECTS[tool['effect']]}" + (
        ", and may safely be tried again" if tool["idempotent"] else ""
    )
    yield f"    runs       {_json(tool['command'])}"
    if tool["folder"] != home:
        yield f"    in         {tool['folder']}"
    if tool["environment"]:
        yield f"    given      the environment variables {', '.join(tool['environment'])}"
    for label, argument in zip(
        ("arguments", *[""] * len(tool["arguments"])), tool["arguments"] or [None], strict=False
    ):
        yield f"    {label:<10} {_permitted(argument) if argument else 'none'}"
    yield f"    asks       {GATES[tool['gate']]} (rule {tool['rule']})"
    yield f"    ends       within {_number(tool['timeout'])} seconds" + _default(tool["timeout"] == TIMEOUT)
    if tool["output_bytes"] != OUTPUT_BYTES:
        yield f"    keeps      {tool['output_bytes']} bytes of output"
    if tool["calls"] is not None:
        yield f"    starts     at most {_count(tool['calls'], 'time')}"
    if tool["poll"] is not None:
        yield f"    polls      may give the same result {tool['poll']} times before that is stuck"


def _permitted(argument: Mapping[str, Any]) -> str:
    name, permitted, schema = argument["name"], argument["permitted"], argument["schema"]
    if permitted != "any":
        return f"{name}: " + (f"only {' or '.join(_json(value) for value in permitted)}" if permitted else "no value")
    plain = TEXTS.get(_json(schema))
    return f"{name}: {plain or f'any value that fits {_json(schema)}'}"


def _limits(told: Mapping[str, Any]) -> Iterator[str]:
    yield "Limits:"
    for limit in told["limits"]:
        value = "no limit" if limit["value"] is None else _number(limit["value"])
        yield f"  {limit['name']:<12} {value:>8}  {limit['unit']}" + _default(limit["default"])
    over = told["overshoot_seconds"]
    if over is not None:
        yield f"  seconds may be exceeded by {_number(over)}: a write that runs is not cut off, nor are the checks."


def _ends(told: Mapping[str, Any]) -> Iterator[str]:
    stop = told["on_refusal"] == "stop"
    yield "Refusals: " + (
        "the first call that is refused or denied ends the run." if stop else "go back to the policy."
    )
    yield from _stuck(**told["stuck"])
    yield "Several calls in one reply: the reply is returned as invalid."
    if told["last_turn"]:
        yield "Last turn: kept for the answer; no tool may be called in it."
    if told["checks"]:
        yield "Grade: an answer is `supported` if all of these pass, else `unsupported`:"
        yield from (f"  {_check(check)}" for check in told["checks"])
    else:
        yield "Grade: no check is written, so an answer is `unchecked`: only the policy vouches for it."
    yield "  If it claims quotes or effects, they are checked against the log as well."


def _check(check: Any) -> str:
    if isinstance(check, str):
        return CHECKS[check]
    if "command" in check:
        timeout = check.get("timeout", CHECK_TIMEOUT)
        return f"command: {_json(check['command'])} exits with 0 within {_number(timeout)} seconds"
    if check.get("exists") is False:
        return f"file: {check['file']} does not exist"
    wanted = [f"{word} {_json(check[key])}" for key, word in FILES.items() if key in check]
    return f"file: {check['file']} {' and '.join(wanted) or 'exists'}"


def _stuck(rule: str, threshold: int) -> Iterator[str]:
    if rule == "plain":
        yield f"Stuck: the same call with the same result {_count(threshold, 'time')} in the run ends it."
        return
    sooner, cycle = max(threshold - 1, 2), f"a cycle of up to {LONGEST_CYCLE} calls"
    yield f"Stuck: the same call with the same result {threshold} times since the last successful write ends the run"
    yield f"  (an error {sooner} times), and so does {cycle} that has come {threshold} times."


FINE_PRINT = (
    "Who runs it and who says yes are login names on this machine: claims, and no proof to anyone else.",
    "A command runs with your own rights: the remit decides which calls start, not what a program then does.",
)
TEXTS = {
    '{"pattern":' + encode(pattern).decode() + ',"type":"string"}': words
    for pattern, words in ((NO_NUL, "any text"), (NO_OPTION, "any text that does not begin with `-`"))
} | {'{"type":"string"}': "any text"}
"""The schemas of plain text, in words."""


def _json(value: Any) -> str:
    return encode(value).decode()


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" + "s" * (number != 1)


def _number(value: float) -> str:
    return format(value, ".15g")


def _default(default: bool) -> str:
    return " (default)" if default else ""
