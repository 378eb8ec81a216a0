"""`remit run`: load the agent file, run it to its rest, and say how it came out."""

import shlex
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import msgspec

from ..core.fold import fold
from ..core.visible import visible
from ..errors import RemitError
from ..runtime.agent import Outcome, outcome
from ..runtime.agent import run as run_to_rest
from ..runtime.clock import SystemClock
from ..runtime.identity import login, new_run_id
from ..runtime.ports import Store
from .agent_file import load_agent

EXIT = {"complete": 0, "failed": 1, "awaiting_approval": 3, "uncertain": 3}


class Said(NamedTuple):
    """What the command line says of an outcome."""

    exit_code: int
    document: dict[str, Any]
    lines: list[str]


class Terminated(SystemExit):
    """A signal that ends programs: the run is cancelled first, by its name."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.by = signal.Signals(number).name


def run_agent(path: Path, task: str | None, store: Store, where: str | None, *, ask: bool, progress: bool) -> Said:
    """Run an agent file to its rest. It asks only where standard input and standard error are terminals."""
    agent = load_agent(path)
    run_id = new_run_id(SystemClock.now())
    from .ask import ask as ask_person
    from .progress import to_stderr

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminate)
    try:
        done = run_to_rest(
            (agent.task or "") if task is None else task,
            policy=agent.policy,
            remit=agent.remit,
            tools=agent.tools,
            principal=login(),
            store=store,
            ask=ask_person if ask and sys.stdin.isatty() and sys.stderr.isatty() else None,
            watch=to_stderr() if progress else None,
            agent_file=str(path.resolve()),
            run_id=run_id,
        )
    except RemitError:
        raise
    except (Exception, KeyboardInterrupt, Terminated):
        # What broke or stopped the run is on record; what is printed is what the record says.
        recorded = fold(run_id, store.read(run_id))
        if recorded.phase == "new":
            raise
        done = outcome(recorded, store)
    return say(done, where)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated(number)


def say(done: Outcome, where: str | None) -> Said:
    """Return the exit code, the JSON object and the lines for an outcome; `where` is the store that was named."""
    code = 5 if done.grade == "unsupported" else EXIT.get(done.status, 4)
    stop = f"{done.status}: {done.reason}" if done.reason else done.status
    document = {
        "run": done.run_id,
        "status": done.status,
        "answer": done.answer,
        "grade": done.grade,
        "observations": [msgspec.to_builtins(observation) for observation in done.observations],
        "attempted_tools": done.attempted_tools,
        "error": done.error,
        "usage": done.usage,
        "stop": stop,
    }
    lines = [f"run: {done.run_id}", f"status: {visible(stop)}"]
    if done.status == "complete":
        lines += [f"answer: {visible(done.answer)}", f"grade: {done.grade}"]
    named = f" --store {shlex.quote(where)}" if where else ""
    lines.append(f"next: remit report {done.run_id} --full{named}")
    return Said(code, document, lines)
