"""Checks of a final answer, independent of the policy and read-only. They make the grade, and nothing else (G13).

`cites` and `effect` read the log and are pure; `command`, `file` and a Python callable are run by the shell, which is
told to by a to-do.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .events import Checked, Grade
from .remit import CheckRule, callable_name
from .run import Run


class Result(NamedTuple):
    """What a check found; `detail` is a sentence for the operator."""

    passed: bool
    detail: str


def plan(run: Run) -> list[CheckRule]:
    """Return the checks for the run's answer: those of the remit, and one for each kind of claim the answer makes."""
    checks = list(run.remit.checks)
    for kind, form in (("cites", "quote"), ("effect", "effect")):
        if kind not in checks and any(form in claim for claim in run.claims):
            checks.append(kind)  # type: ignore[arg-type]
    return checks


def name(check: CheckRule) -> str:
    """Return a short name of a check, for records and reports."""
    if isinstance(check, str):
        return check
    if isinstance(check, Mapping):
        if "command" in check:
            return "command " + " ".join(check["command"])
        return f"file {check['file']}" if "file" in check else f"callable {check['callable']}"
    return f"callable {callable_name(check)}"


def cites(run: Run) -> Result:
    """Does each quoted claim occur in the observation it names? At least one claim must be made."""
    claims = [claim for claim in run.claims if "quote" in claim]
    if not claims:
        return Result(False, "the answer cites nothing")
    seen = {observation.call: observation for observation in run.observations}
    for claim in claims:
        found = seen.get(claim["cites"])
        if found is None:
            return Result(False, f"there is no observation {claim['cites']}")
        if claim["quote"] not in found.text:
            return Result(False, f"{claim['cites']} does not contain {_short(claim['quote'])}")
    return Result(True, f"{len(claims)} quoted and found")


def effects(run: Run) -> Result:
    """Has each claimed effect the receipt of a successful call? At least one claim must be made."""
    claims = [claim["effect"] for claim in run.claims if "effect" in claim]
    if not claims:
        return Result(False, "the answer claims no effect")
    missing = [tool for tool in claims if tool not in run.succeeded]
    if missing:
        return Result(False, f"no successful call of {', '.join(missing)} is on record")
    return Result(True, f"{len(claims)} on record")


def grade(checked: Sequence[Checked], planned: int) -> Grade:
    """`supported` if every planned check passed, `unchecked` if none was planned."""
    if not planned:
        return "unchecked"
    return "supported" if len(checked) == planned and all(check.passed for check in checked) else "unsupported"


def _short(text: str, limit: int = 80) -> str:
    return repr(text if len(text) <= limit else text[:limit] + "…")


PURE: dict[str, Any] = {"cites": cites, "effect": effects}
