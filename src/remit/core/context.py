"""What a policy is shown: an immutable view of the run, in constant time however long the run is.

It holds no remit, no principal, no check and no evaluator reference: nothing by which a policy could widen what it may
do, or learn what it is graded by.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from .canon import decode
from .remit import Remit
from .run import Notice, Observation, Run, View
from .spec import ToolSpec


class ToolView(msgspec.Struct, frozen=True, gc=False):
    """A permitted tool as the policy sees it."""

    name: str
    description: str
    json: str
    """Its schema as JSON text."""

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of its arguments: a new copy each time, so that what is done to it changes nothing."""
        copy: dict[str, Any] = decode(self.json)
        return copy


class Context(msgspec.Struct, frozen=True, gc=False):
    """One request: the task, what was observed, what else was said, the permitted tools, and what remains.

    `turn` counts from 1; what is left of a limit that was lifted is infinite. In the last turn of a remit with
    `last_turn`, `last` is true and `tools` is empty.
    """

    task: str
    turn: int
    last: bool
    observations: Sequence[Observation]
    notices: Sequence[Notice]
    tools: Sequence[ToolView]
    turns_left: float
    calls_left: float
    seconds_left: float


def permitted(remit: Remit, tools: Mapping[str, ToolSpec]) -> tuple[ToolView, ...]:
    """Return the tools a remit names, in its order."""
    return tuple(ToolView(name, tools[name].description, tools[name].json) for name in remit.tools if name in tools)


def context(run: Run, turn: int, tools: tuple[ToolView, ...]) -> Context:
    """Return what the policy is shown for turn `turn`."""
    rules, seen = run.rules, run.observations
    last = turn == rules.last_turn
    return Context(
        run.began.task,
        turn,
        last,
        View(seen, len(seen)),
        View(run.notices, len(run.notices)) if run.notices else (),
        () if last else tools,
        rules.turns - turn,
        rules.calls - run.started,
        (rules.seconds_us - run.working_us) / 1e6,
    )
