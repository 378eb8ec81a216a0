"""Run the checks of an answer that need the outside: a command, a file, a Python callable. None of them may write."""

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.check import PURE, Result
from ..core.remit import CheckRule
from ..core.run import Observation, Run
from .execute import in_thread

if TYPE_CHECKING:
    from threading import Event

TIMEOUT = 60.0
"""Seconds a command check may take if it does not say."""


class Answer(NamedTuple):
    """What a Python check is given. It returns True or False, or a pair of that and a sentence for the operator."""

    run: str
    task: str
    text: str
    claims: Sequence[Mapping[str, str]]
    observations: Sequence[Observation]


async def run_check(rule: CheckRule, run: Run, loop: bool) -> Result:
    """Run one check. What cannot be run or read fails the check; a callable that raises is a bug, and raised."""
    if isinstance(rule, str):
        return PURE[rule](run)  # type: ignore[no-any-return]
    folder = Path(run.began.agent_file).parent if run.began.agent_file else Path()
    if isinstance(rule, Mapping):
        if "command" in rule:
            return await in_thread(lambda stop: _command(rule, folder, stop), "check", loop)
        if "callable" in rule:
            return Result(False, "is a Python check: only the program that has it can run it")
        return _file(rule, folder)
    answer = Answer(
        run.id, run.began.task, run.answer or "", tuple(dict(claim) for claim in run.claims), tuple(run.observations)
    )
    found: Any = rule(answer)
    if hasattr(found, "__await__"):
        found = await found
    passed, detail = found if isinstance(found, tuple) else (found, "")
    if not isinstance(passed, bool):
        raise TypeError(f"the check {rule!r} returned {passed!r}; it must return True or False, or that and a text")
    return Result(passed, str(detail))


def _command(rule: Mapping[str, Any], folder: Path, stop: "Event | None") -> Result:
    from ..tools.commands import PASSED, run_command

    limit: float = rule.get("timeout", TIMEOUT)
    environment = {name: os.environ[name] for name in PASSED if name in os.environ}
    done = run_command(rule["command"], cwd=str(folder), env=environment, timeout=limit, keep=2_000, stop=stop)
    said = f": {done.text}" if done.text else ""
    if done.timed_out:
        return Result(False, f"did not end within {limit:g} seconds{said}")
    if done.exit_code is None:
        return Result(False, done.text)
    return Result(done.exit_code == 0, f"exit code {done.exit_code}{said}")


def _file(rule: Mapping[str, Any], folder: Path) -> Result:
    path = folder / rule["file"]
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return Result(rule.get("exists") is False, "does not exist")
    except OSError as error:
        return Result(False, f"cannot be read: {error}")
    if rule.get("exists") is False:
        return Result(False, "exists")
    wanted = [key for key in ("sha256", "contains") if key in rule]
    if not wanted:
        return Result(True, "exists")
    if not stat.S_ISREG(mode):
        return Result(False, "is not a regular file")
    try:
        failed = [key for key in wanted if not _FILE[key](path, rule[key])]
    except OSError as error:
        return Result(False, f"cannot be read: {error}")
    return Result(not failed, f"{failed[0]} does not hold" if failed else "holds " + " and ".join(wanted))


def _has_digest(path: Path, digest: str) -> bool:
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest.removeprefix("sha256:")


def _contains(path: Path, text: str) -> bool:
    wanted = text.encode()
    kept = b""
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            kept += block
            if wanted in kept:
                return True
            kept = kept[-len(wanted) :]
    return False


_FILE = {"sha256": _has_digest, "contains": _contains}
