"""An agent from the ground up: the policy proposes, the application executes, the loop ends for a reason."""

import argparse
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal, Protocol

from tool_runtime import Call, Observation, execute

__all__ = ["Call", "Final", "InspectPolicy", "Observation"]
__all__ += ["Policy", "Run", "ScriptedPolicy", "run", "supported"]


@dataclass(frozen=True)
class Final:
    """A proposal to stop with this answer. Each claim quotes the whole text of one observation."""

    text: str
    claims: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """How it ended. An attempted tool was proposed; only an observation says that it ran."""

    status: Literal["complete", "denied", "budget_exhausted"]
    attempted_tools: tuple[str, ...]
    observations: tuple[Observation, ...]
    answer: str = ""
    claims: tuple[str, ...] = ()
    error: str | None = None


class Policy(Protocol):
    """Who proposes. It is shown the observations and nothing else: no tool, no allowed id, no budget."""

    def propose(self, observations: tuple[Observation, ...], /) -> Call | Final: ...


@dataclass(frozen=True)
class InspectPolicy:
    """Reads whether a record is complete, then answers from what it was shown."""

    record_id: str = "synthetic-a"

    def propose(self, observations: tuple[Observation, ...]) -> Call | Final:
        if not observations:
            return Call("read_completeness", self.record_id)
        seen = observations[-1].text
        _, lacks, missing = seen.partition(" is missing: ")
        return Final(f"Manual review: missing {missing}" if lacks else seen, claims=(seen,))


class ScriptedPolicy:
    """Proposes what it was told to, in order; the observations so far are its place in the script."""

    def __init__(self, script: Iterable[Call | Final]) -> None:
        self._script = tuple(script)
        if not self._script:
            raise ValueError("the script is empty")

    def propose(self, observations: tuple[Observation, ...]) -> Call | Final:
        if len(observations) >= len(self._script):
            raise ValueError("the script ended without a final")
        return self._script[len(observations)]


def run(policy: Policy, allowed_ids: Iterable[str], max_turns: int = 3) -> Run:
    """Ask, execute, show the result and ask again, until a final, a refusal or the last turn."""
    if type(max_turns) is not int or max_turns < 1:  # isinstance would take True for 1
        raise ValueError(f"max_turns must be a positive integer, not {max_turns!r}")
    allowed = frozenset(allowed_ids)  # a copy: whoever holds the original cannot widen a run under way
    attempted: tuple[str, ...] = ()
    observations: tuple[Observation, ...] = ()
    for _ in range(max_turns):
        proposal = policy.propose(observations)
        if isinstance(proposal, Final):
            if not proposal.text.strip():
                raise ValueError("the final answer is empty")
            return Run("complete", attempted, observations, answer=proposal.text, claims=proposal.claims)
        attempted += (proposal.name,)
        try:
            observations += execute([proposal], allowed)
        except PermissionError as refusal:
            return Run("denied", attempted, observations, error=str(refusal))
    return Run("budget_exhausted", attempted, observations, error="no final answer within turn budget")


def supported(run: Run) -> bool:
    """Whether the final made claims and every one stands in an observation."""
    return bool(run.claims) and {seen.text for seen in run.observations}.issuperset(run.claims)


def main() -> None:
    parser = argparse.ArgumentParser(description="Run one small agent, once.", allow_abbrev=False)
    parser.add_argument("--turns", type=int, default=3, help="how often to ask the policy (default 3)")
    parser.add_argument("--allow", metavar="ID", default="synthetic-a", help="the only record it may read")
    flags = parser.parse_args()
    if flags.turns < 1:
        parser.error("argument --turns: must be at least 1")
    shown = asdict(run(InspectPolicy(), [flags.allow], flags.turns))
    del shown["claims"]  # those are for `supported` to judge
    print(json.dumps(shown, sort_keys=True))


if __name__ == "__main__":
    main()
