"""The real driver over a log in memory, with tools, a policy, a check and a person that all look into the log first.

Whatever leaves the process must be in the log by then (G1, G8): each of them folds what is stored and finds there the
very thing it is asked to do.
"""

from collections.abc import Iterable
from typing import Any

from remit import Call, Context, Final, Outcome, Remit, Reply, ScriptedPolicy, Toolbox, ToolError
from remit.core.canon import encode
from remit.core.fold import fold
from remit.core.recover import recover
from remit.core.run import Run
from remit.errors import StoreError
from remit.runtime.agent import begin, finish
from remit.runtime.check import Answer
from remit.runtime.loop import Driver
from remit.runtime.ports import Decision, HeldCall
from remit.stores.memory import MemoryStore


class FaultyStore(MemoryStore):
    """Fails at the appends of these numbers: `before` it writes, or `after`, when only the word of it is lost."""

    def __init__(self, faults: dict[int, str]) -> None:
        super().__init__()
        self.faults = faults
        self.appends = 0

    def append(self, run: str, seq: int, at: int, events: bytes, epoch: int | None = None) -> bytes:
        self.appends += 1
        fault = self.faults.get(self.appends)
        if fault == "before":
            raise StoreError("the disk is full")
        digest = super().append(run, seq, at, events, epoch)
        if fault == "after":
            raise StoreError("the connection was lost")
        return digest


class Clock:
    """A clock by which everything takes a millisecond."""

    def __init__(self) -> None:
        self.us = 1_700_000_000_000_000

    def now(self) -> int:
        self.us += 1000
        return self.us

    def tick(self) -> int:
        return self.now() * 1000


class World:
    """One run's surroundings. `wrote` has the effect id of every write that ran."""

    def __init__(self, script: Iterable[Call | Final | Reply], *, remote: bool, faults: dict[int, str]) -> None:
        self.store = FaultyStore(faults)
        self.clock = Clock()
        self.wrote: list[str] = []
        self.tools = Toolbox()
        self.tools.read(self.look)
        self.tools.read(self.broken)
        self.tools.write(self.pay)
        self.tools.write(consequential=True)(self.ship)
        self.remit = Remit(
            tools=dict.fromkeys(self.tools, "any"), on_refusal="continue", max_refusals=9, checks=[self.holds]
        )
        self.policy = Watching(script, self, remote)

    def logged(self) -> Run:
        return fold("r1", self.store.read("r1"))

    def seen_running(self, tool: str, args: dict[str, Any]) -> str | None:
        """The one call that the log says is running is this one; return its effect id."""
        (call,) = self.logged().open.values()
        assert (call.tool, call.phase, call.args) == (tool, "started", encode(args).decode())
        return call.effect_id

    def look(self, k: int) -> str:
        assert self.seen_running("look", {"k": k}) is None
        if k == 0:
            raise ToolError("nothing there")
        return f"seen {k}"

    def broken(self) -> str:
        self.seen_running("broken", {})
        raise ZeroDivisionError("a bug")

    def pay(self, k: int, *, effect_id: str) -> str:
        assert self.seen_running("pay", {"k": k}) == effect_id
        self.wrote.append(effect_id)
        if k == 0:
            raise ConnectionError("the line went dead")
        return "paid"

    def ship(self, k: int, *, effect_id: str) -> str:
        assert self.seen_running("ship", {"k": k}) == effect_id
        self.wrote.append(effect_id)
        return "shipped"

    def person(self, held: HeldCall) -> Decision:
        (call,) = self.logged().open.values()
        assert (call.phase, call.id, call.tool, call.args, call.digest) == (
            "held", held.call, held.tool, held.args, held.digest,
        )  # fmt: skip
        return Decision(held.args != '{"k":9}', "somebody")

    def holds(self, answer: Answer) -> bool:
        assert self.logged().answer == answer.text
        return True

    async def first(self) -> Outcome:
        """Begin the run."""
        options: Any = {"store": self.store, "clock": self.clock, "run_id": "r1", "ask": self.person}
        return await finish(begin("t", self.policy, self.remit, self.tools, options, loop=False))

    async def again(self) -> Outcome:
        """Go on from what the log holds, in another process: nothing else is left."""
        driver = Driver(
            self.logged(), policy=self.policy, remit=self.remit, tools=self.tools, store=self.store, clock=self.clock,
            epoch=self.store.claim("r1", "another process"), ask=self.person,
        )  # fmt: skip
        driver.happen(recover(driver.run))
        return await finish(driver)


class Watching(ScriptedPolicy):
    """A script that first sees to it that the log holds its request and no open call, or, where it sends none, at least
    what became of every write (G4, G8)."""

    def __init__(self, script: Iterable[Call | Final | Reply], world: World, remote: bool) -> None:
        super().__init__(script)
        self.world = world
        self.remote = remote

    def propose(self, context: Context) -> Call | Final | Reply:
        if self.remote:
            logged = self.world.logged()
            assert (logged.phase, logged.turns, logged.open) == ("asking", context.turn, {})
            assert context.observations == logged.observations
        elif context.observations and context.observations[-1].tool in ("pay", "ship"):
            assert context.observations[-1].status != "ok" or self.world.logged().observations == context.observations
        return super().propose(context)


def step(world: World, first: bool) -> Outcome:
    """Drive to the next rest, without an event loop."""
    try:
        (world.first() if first else world.again()).send(None)
    except StopIteration as done:
        result: Outcome = done.value
        return result
    raise AssertionError("nothing here waits for a loop")
