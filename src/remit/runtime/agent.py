"""Start a run and see it to its rest: `run` without an event loop where nothing needs one, `arun` inside one."""

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from ..core.canon import encode
from ..core.events import Began, Grade, Record, Status
from ..core.remit import Remit, mismatches
from ..core.run import Observation, Run
from ..core.todo import resting
from ..errors import InsideLoop, Invalid, StoreError
from ..tools.toolbox import Toolbox
from .clock import SystemClock
from .identity import new_run_id, process_owner
from .loop import Driver, Watcher
from .ports import Asker, Clock, Policy, Store


@dataclass(frozen=True)
class Outcome:
    """How a run came to rest.

    `status` and `reason` are from the closed list of the guarantees; `error` is their one line, None if complete.
    `answer` is empty unless a final was accepted. `grade` is None unless complete. `usage` counts turns, calls, seconds
    (working, waiting, backing off, wall). `records` reads the log.
    """

    run_id: str
    status: Status
    reason: str
    answer: str
    grade: Grade | None
    observations: tuple[Observation, ...]
    attempted_tools: tuple[str, ...]
    usage: dict[str, float | int]
    _read: Callable[[], Sequence[Record]] = field(repr=False, compare=False)

    @property
    def error(self) -> str | None:
        """Why there is no complete answer, in one line; None if complete."""
        if self.status == "complete":
            return None
        return f"{self.status}: {self.reason}" if self.reason else self.status

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """The run's log, from its store."""
        return tuple(self._read())


def run(task: str, *, policy: Policy, remit: Remit, tools: Toolbox, **options: Any) -> Outcome:
    """Run one task to its rest and return the outcome; options as in `arun`.

    Needs no event loop unless the policy or a permitted tool is asynchronous. Raises InsideLoop where one runs.
    """
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and asyncio._get_running_loop() is not None:
        raise InsideLoop("run() was called inside a running event loop", fix="use `await arun(…)` there")
    if _asynchronous(policy, remit, tools):
        import asyncio as loops

        return loops.run(arun(task, policy=policy, remit=remit, tools=tools, **options))
    driver = begin(task, policy=policy, remit=remit, tools=tools, **options)
    coroutine = finish(driver)
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: Outcome = done.value
        return result
    coroutine.close()
    raise InsideLoop("something in this run waits for an event loop", fix="use `await arun(…)`")


async def arun(
    task: str, *, policy: Policy, remit: Remit, tools: Toolbox, principal: str | None = None, subject: str | None = None,
    parent: str | None = None, store: Store | None = None, ask: Asker | None = None, watch: Watcher | None = None,
    agent_file: str | None = None, clock: Clock | None = None, run_id: str | None = None,
) -> Outcome:  # fmt: skip
    """Run one task to its rest and return the outcome.

    `principal` is who the run acts for, `subject` whom it is about, `parent` the run that started it; they are the
    caller's, and no policy sees them. Without a `store` the log is in memory. `ask` asks a person about a held call at
    once; without it the run rests as `awaiting_approval`. `watch` is called with each event once it is durable.
    Raises Invalid before anything starts, StoreError where the log cannot be written, and what a policy, a read or a
    check raised by a bug, after recording it.
    """
    driver = begin(
        task, policy=policy, remit=remit, tools=tools, principal=principal, subject=subject, parent=parent, store=store,
        ask=ask, watch=watch, agent_file=agent_file, clock=clock, run_id=run_id, loop=True,
    )  # fmt: skip
    return await finish(driver)


def _asynchronous(policy: Policy, remit: Remit, tools: Toolbox) -> bool:
    return inspect.iscoroutinefunction(policy.propose) or any(
        tools.runners[name].asynchronous for name in remit.tools if name in tools
    )


def begin(
    task: str, *, policy: Policy, remit: Remit, tools: Toolbox, principal: str | None = None, subject: str | None = None,
    parent: str | None = None, store: Store | None = None, ask: Asker | None = None, watch: Watcher | None = None,
    agent_file: str | None = None, clock: Clock | None = None, run_id: str | None = None, loop: bool = False,
) -> Driver:  # fmt: skip
    """Check everything that can be checked before a run, claim it, and note its beginning."""
    found = mismatches(remit, tools)
    if not isinstance(task, str) or not task.strip():
        found.append("task: must be non-empty text")
    if found:
        raise Invalid("run", found)
    if store is None:
        from ..stores.memory import MemoryStore

        store = MemoryStore()
    clock = clock or SystemClock()
    state = Run(run_id or new_run_id(clock.now()))
    owner = process_owner()
    epoch = store.claim(state.id, owner)
    driver = Driver(
        state,
        policy=policy,
        tools=tools,
        store=store,
        clock=clock,
        epoch=epoch,
        ask=ask,
        watch=watch,
        loop=loop,
    )
    declared = {name: tools[name].declared for name in remit.tools}
    document = msgspec.Raw(encode(remit.document))
    driver.happen([Began(
        task=task, principal=principal, subject=subject, parent=parent, remit=document, digest=remit.digest(tools),
        tools=declared, agent_file=agent_file, owner=owner,
    )])  # fmt: skip
    state.remit = remit  # the caller's own, with its Python checks; the log holds the same document
    return driver


async def finish(driver: Driver) -> Outcome:
    """Drive a run to its rest, give it up, and return its outcome."""
    try:
        await driver.drive()
    finally:
        try:
            driver.store.release(driver.run.id, driver.epoch)
        except StoreError:
            if sys.exc_info()[0] is None:
                raise
    return outcome(driver.run, driver.store)


def outcome(run: Run, store: Store) -> Outcome:
    """Return the outcome of a run at rest."""
    rest = resting(run)
    assert rest is not None, f"run {run.id} is not at rest"
    status, reason = rest
    return Outcome(
        run_id=run.id,
        status=status,
        reason=reason,
        answer=run.answer or "" if status == "complete" else "",
        grade=run.ended.grade if run.ended else None,
        observations=tuple(run.observations),
        attempted_tools=(*(o.tool for o in run.observations), *(call.tool for call in run.open.values())),
        usage=usage(run),
        _read=lambda: tuple(store.read(run.id)),
    )


def usage(run: Run) -> dict[str, float | int]:
    """Return what the run has used: turns, calls, tokens, and seconds of each kind."""
    return {
        "turns": run.turns,
        "calls": run.started,
        "tokens": run.tokens,
        "seconds": run.working_us / 1e6,
        "waiting_seconds": run.waiting_us / 1e6,
        "backoff_seconds": run.backoff_us / 1e6,
        "wall_seconds": (run.at - run.began_at) / 1e6,
    }
