"""What most rows measure: an agent that looks things up, with everything on, and the bare loop it is compared with."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from remit import Call, Final, Outcome, Remit, ScriptedPolicy, Toolbox, run
from remit.core.remit import Stuck
from remit.runtime.ports import Policy, Store

tools = Toolbox()


@tools.read
def lookup(record_id: str, source: str) -> str:
    """Look a record up."""
    return f"{record_id} of {source}: complete"


@tools.write
def note(record_id: str, source: str) -> str:
    """Note a record."""
    return f"{record_id} of {source}: noted"


@tools.write(consequential=True)
def deploy(target: str) -> str:
    """Deploy to a target."""
    raise AssertionError("no script of ours deploys")


def script(steps: int, tool: str = "lookup", gap: str = "") -> list[Call | Final]:
    """Return so many calls, no two alike, and a final. The arguments are JSON text, as from a model, with this gap
    after each colon and comma."""

    def args(number: int) -> str:
        return json.dumps({"record_id": f"r-{number:06}", "source": "synthetic-a"}, separators=(f",{gap}", f":{gap}"))

    return [*(Call(tool, args(number)) for number in range(steps)), Final("All were looked up.")]


def remit_for(steps: int) -> Remit:
    """Return a remit with everything on that just allows so many steps."""
    scope = {"record_id": "any", "source": ["synthetic-a", "synthetic-b"]}
    return Remit(
        tools={"lookup": scope, "note": scope, "deploy": {"target": ["staging"]}},
        turns=steps + 1,
        calls=steps,
        calls_per_tool={"lookup": steps, "note": steps},
        seconds=3600.0,
        wall_seconds=86_400.0,
        gates={"deploy": "hold"},
        stuck=Stuck(rule="progress", threshold=4),
    )


def governed(policy: Policy, remit: Remit, store: Store | None = None) -> Outcome:
    """Run to the end under the remit; without a store the log is in memory."""
    return complete(run("Look all records up.", policy=policy, remit=remit, tools=tools, store=store))


def complete(outcome: Outcome) -> Outcome:
    """Return the outcome. Raises RuntimeError for a run that did not do its work: its time would mean nothing."""
    if outcome.status != "complete":
        raise RuntimeError(f"a measured run ended otherwise: {outcome.error}")
    return outcome


class Turn:
    """The least that a script must be shown."""

    __slots__ = ("turn",)

    def __init__(self) -> None:
        self.turn = 0


def raw(policy: ScriptedPolicy, function: Callable[..., str]) -> str:
    """The bare loop: ask, decode the arguments, call; until the final."""
    context: Any = Turn()
    while True:
        context.turn += 1
        said: Any = policy.propose(context)
        if type(said) is Final:
            return said.text
        function(**json.loads(said.args))


class Clocked:
    """A script that notes the time when it is asked for one of these turns."""

    remote = False

    def __init__(self, items: Sequence[Call | Final], turns: Sequence[int], clock: Callable[[], int]) -> None:
        self.times: list[int] = []
        self._script = ScriptedPolicy(items)
        self._turns = frozenset(turns)
        self._clock = clock

    def propose(self, context: Any) -> Any:
        """Return the item of this turn."""
        if context.turn in self._turns:
            self.times.append(self._clock())
        return self._script.propose(context)
