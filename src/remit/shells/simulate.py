"""`remit simulate`: a scripted agent in a simulated environment, run by the same core as any other agent.

Here only words are translated: each tool that the scenario names is a tool of the remit, a consequential one has its
gate open or closed, and `max_steps` is the budget of calls. What happened is read from the run's outcome.

Exit codes: 0 whatever the run's end; 2 if the scenario cannot be opened, read or understood, with one line on stderr
and nothing on stdout; 1 if the output cannot be written (that the reader of a pipe has gone is told by the 1 alone).
"""

import os
import sys
from typing import Any

import msgspec

from ..core.canon import decode
from ..core.remit import Gate, Remit, Stuck
from ..core.reply import Call, Final
from ..core.run import Observation
from ..core.spec import ToolSpec
from ..core.validate import ArgumentError
from ..core.visible import visible
from ..errors import InputError
from ..models.scripted import ScriptedPolicy
from ..readers.scenario import Scenario, answer_text, is_answer, read_scenario, tool_of
from ..runtime.agent import Outcome, run
from ..tools.simulated import SCHEMA, Simulated
from ..tools.toolbox import Toolbox
from .output import complain, reason, say

DEFAULT_CONSEQUENTIAL = frozenset({
    "deploy", "delete_file", "delete_record", "drop_table", "merge", "pay", "publish", "purchase", "refund", "rollback",
    "send_email", "transfer",
})  # fmt: skip
"""The tools that need approval where `--consequential` does not name others."""

MANY = 2**53 - 1
"""The largest limit a remit can hold: no scenario has as many actions, so a larger one changes nothing."""


def plain(args: list[str]) -> int | None:
    """Simulate with arguments that need no parser, and return the exit code; None leaves them to the command line."""
    source, consequential, as_json = "", None, False
    rest = iter(args)
    for arg in rest:
        if arg == "--json":
            as_json = True
        elif arg == "--consequential" and consequential is None:
            consequential = next(rest, None)
            if consequential is None:
                return None
        elif source or not arg or (arg != "-" and arg.startswith("-")):
            return None
        else:
            source = arg
    return simulate(source or "-", DEFAULT_CONSEQUENTIAL if consequential is None else names(consequential), as_json)


def names(given: str) -> frozenset[str]:
    """Return the tools in the value of `--consequential`: names with commas between them, spaces around each dropped.

    As scenarios are UTF-8 in any locale, so is the value; if it is not, it is read as the locale has it.
    """
    try:
        given = os.fsencode(given).decode()
    except UnicodeDecodeError:
        pass
    return frozenset(name for part in given.split(",") if (name := part.strip(" ")))


def simulate(path_or_dash: str, consequential: frozenset[str], as_json: bool) -> int:
    """Simulate the scenario in the file (`-` is stdin), print its steps and its end, and return the exit code.

    The output is UTF-8 in any locale. Texts stand in it as they are: one with a line end in it takes several lines.
    With `as_json` it is one object in one line: `steps`, each with `step`, `action` and `result` or `blocked` (why);
    `final`, the answer's text, or null; `stop`, what follows `stopped: `, or null; `status`, as the core calls it.
    """
    try:
        scenario = _read(path_or_dash)
    except InputError as error:
        return complain(f"{error.message}; {error.fix}", 2)
    except OSError as error:
        name = "standard input" if path_or_dash == "-" else path_or_dash
        return complain(f"cannot read {visible(name)}: {reason(error)}; name a file, or - for stdin", 2)
    said = document(play(scenario, consequential))
    return say(msgspec.json.encode(said).decode() if as_json else "\n".join(lines(said)), "output")


def _read(path_or_dash: str) -> Scenario:
    if path_or_dash != "-":
        with open(path_or_dash, "rb") as file:
            return read_scenario(file)
    if sys.stdin is None:  # it was closed before the start
        raise OSError("it is closed")
    return read_scenario(sys.stdin.buffer)


def play(scenario: Scenario, consequential: frozenset[str]) -> Outcome:
    """Run the scenario's actions under the remit that it describes."""
    named = dict.fromkeys(tool_of(action) for action in scenario.actions if not is_answer(action))
    gates: dict[str, Gate] = {
        tool: "allow" if tool in scenario.approved else "deny" for tool in named if tool in consequential
    }
    remit = Remit(
        tools=dict.fromkeys(named, "any"), turns=None, calls=min(scenario.max_steps, MANY), seconds=None,
        wall_seconds=None, gates=gates, stuck=Stuck(rule="plain", threshold=min(scenario.stuck_threshold, MANY)),
        result_bytes=None,
    )  # fmt: skip
    tools, environment = Toolbox(), Simulated(scenario.environment)
    for tool in named:
        tools.add(ToolSpec(name=tool, effect="read", schema=SCHEMA, problem=_sound), environment)
    return run("simulate", policy=ScriptedPolicy(map(_proposal, scenario.actions)), remit=remit, tools=tools)


def _proposal(action: str) -> Call | Final:
    """An answer is proposed as its whole line, so that a blank one is an answer as well."""
    return Final(action) if is_answer(action) else Call(tool_of(action), {"call": action})


def _sound(args: dict[str, Any]) -> ArgumentError | None:
    """The arguments are made here, just as the schema has them."""
    return None


def document(outcome: Outcome) -> dict[str, Any]:
    """Return what is printed, as data."""
    seen = [observation for observation in outcome.observations if observation.status != "not_run"]
    return {
        "steps": [_step(number, observation) for number, observation in enumerate(seen, 1)],
        "final": answer_text(outcome.answer) if outcome.status == "complete" else None,
        "stop": _stop(outcome),
        "status": outcome.status,
    }


def _step(number: int, seen: Observation) -> dict[str, Any]:
    said = {"ok": ("result", seen.text), "refused": ("blocked", "needs approval")}
    return {"step": number, "action": _action(seen), **dict([said[seen.status]])}


def _action(seen: Observation) -> str:
    call: str = decode(seen.args or "")["call"]
    return call


def _stop(outcome: Outcome) -> str | None:
    match outcome.status:
        case "complete":
            return None
        case "no_answer":
            return "no answer"
        case "budget_exhausted":
            return "step budget reached"
        case "denied":
            return f"approval denied for {outcome.observations[-1].tool}"
        case "stuck":
            return f"stuck on {_action(outcome.observations[-1])}"
    raise AssertionError(f"a simulated run cannot end as {outcome.error}")


def lines(said: dict[str, Any]) -> list[str]:
    """Return the document as the lines of the text format."""
    steps = [
        f"step {step['step']}: {step['action']} -> "
        + (step["result"] if "result" in step else f"blocked: {step['blocked']}")
        for step in said["steps"]
    ]
    return [*steps, f"final: {said['final']}" if said["stop"] is None else f"stopped: {said['stop']}"]
