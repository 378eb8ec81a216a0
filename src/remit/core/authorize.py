"""Is this call within the remit's scope? Deny by default; each refusal names its rule."""

from collections.abc import Mapping
from typing import Any

from .canon import encode
from .events import Refused
from .rules import Rules


def authorize(rules: Rules, call: str, tool: str, args: Mapping[str, Any]) -> Refused | None:
    """Return the refusal of a call outside its scope, or None.

    A tool the remit does not name is refused, and so is an argument that its scope does not name. An argument that the
    scope does name must be given: a default that nobody wrote down would act unseen.
    """
    if tool not in rules.scopes:
        return Refused(call=call, rule="scope", reason=f"the remit does not name the tool `{tool}`")
    scope = rules.scopes[tool]
    if scope is None:
        return None
    for arg in args:
        if arg not in scope:
            return Refused(
                call=call,
                rule=f"scope.{tool}",
                reason=f"the remit does not name the argument `{arg}` of `{tool}`",
            )
    for arg, values in scope.items():
        if values is None:
            continue
        if arg not in args:
            return Refused(
                call=call,
                rule=f"scope.{tool}.{arg}",
                reason=f"`{arg}` must be given, for the remit limits it",
            )
        if encode(args[arg]) not in values:
            return Refused(
                call=call,
                rule=f"scope.{tool}.{arg}",
                reason=f"{_short(args[arg])} is not among the values permitted for `{arg}`",
            )
    return None


def _short(value: Any) -> str:
    text = encode(value).decode()
    return text if len(text) <= 200 else f"{text[:200]}… ({len(text)} characters)"
