"""Which calls wait for a person, and what exactly a decision on one is bound to (G3)."""

from typing import Literal

from .canon import digest, encode
from .events import Held, Refused
from .rules import Rules
from .run import Run
from .spec import ToolSpec


def gate(rules: Rules, spec: ToolSpec) -> tuple[Literal["allow", "hold", "deny"], str]:
    """Return the gate of a tool and the rule that set it: the remit's word first, then the tool's own declaration."""
    written = rules.gates.get(spec.name)
    if written is not None:
        return written, f"gate.{spec.name}"
    return ("hold", "consequential") if spec.consequential else ("allow", f"scope.{spec.name}")


def bound(run: Run, spec: ToolSpec, args: str) -> str:
    """Return the digest over tool, canonical arguments, tool schema, remit, run and principal."""
    return digest(
        encode(
            [
                spec.name,
                args,
                spec.declared.schema,
                spec.declared.source,
                run.began.digest,
                run.id,
                run.began.principal,
            ]
        )
    )


def hold(run: Run, call: str, spec: ToolSpec, args: str) -> Held | Refused | None:
    """Return the hold or the refusal that the tool's gate puts on a call, or None where the gate is open."""
    verdict, rule = gate(run.rules, spec)
    if verdict == "allow":
        return None
    if verdict == "deny":
        return Refused(call=call, rule=rule, reason=f"the remit closes the gate of `{spec.name}`")
    return Held(call=call, rule=rule, digest=bound(run, spec, args))
