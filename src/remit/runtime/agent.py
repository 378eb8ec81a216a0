"""Start a run and see it to its rest: `run` without an event loop where nothing needs one, `arun` inside one."""

import sys
from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

import msgspec

from ..core.canon import encode
from ..core.events import Began, Grade, Record, Status
from ..core.remit import Remit, mismatches
from ..core.run import Observation, Run
from ..core.spec import ToolSpec
from ..core.todo import resting
from ..errors import InsideLoop, Invalid, Owned, StoreError
from ..tools.toolbox import Toolbox
from .clock import SystemClock
from .diagnostics import log
from .identity import new_run_id, process_owner
from .loop import Driver, Watcher
from .ports import Asker, Clock, Policy, Store

CO_COROUTINE = 0x80
"""The flag of a code object that is an `async def`."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """How a run came to rest.

    `status` and `reason` are from the closed list of the guarantees; `error` is their one line, None if complete.
    `answer` is empty unless a final was accepted. `grade` is None unless complete. `usage` counts turns, calls, tokens,
    and seconds (working, waiting, backing off, wall). `records` reads the log.
    """

    run_id: str
    status: Status
    reason: str
    answer: str
    grade: Grade | None
    observations: tuple[Observation, ...]
    attempted_tools: tuple[str, ...]
    usage: dict[str, float | int | None]

    @property
    def error(self) -> str | None:
        """Why there is no complete answer, in one line; None if complete."""
        if self.status == "complete":
            return None
        return f"{self.status}: {self.reason}" if self.reason else self.status

    @property
    def records(self) -> tuple[Record, ...]:
        """The run's log, read from its store."""
        store: Store = self.__dict__["store"]
        return tuple(store.read(self.run_id))


class Options(TypedDict, total=False):
    """What `run` and `arun` take beside task, policy, remit and tools.

    `principal` is who the run acts for, `subject` whom it is about, `parent` the run that started it; they are the
    caller's, and no policy sees them. Without a `store` the log is in memory. `ask` asks a person about a held call at
    once; without it the run rests as `awaiting_approval`. `watch` is called with each event once it is durable.
    `agent_file` is where relative paths of checks start. `clock` and `run_id` are for tests.
    """

    principal: str | None
    subject: str | None
    parent: str | None
    store: Store | None
    ask: Asker | None
    watch: Watcher | None
    agent_file: str | None
    clock: Clock | None
    run_id: str | None


def run(task: str, *, policy: Policy, remit: Remit, tools: Toolbox, **options: Unpack[Options]) -> Outcome:
    """Run one task to its rest and return the outcome.

    Needs no event loop unless the policy or a permitted tool is asynchronous. Raises Invalid before anything starts,
    InsideLoop where an event loop runs already, StoreError where the log cannot be written, and what a policy, a read
    or a check raised by a bug, after recording it.
    """
    if _loop_runs():
        raise InsideLoop("run() was called inside a running event loop", fix="use `await arun(…)` there")
    code = getattr(policy.propose, "__code__", None)  # what inspect would look at, without its import
    asynchronous = code is not None and code.co_flags & CO_COROUTINE
    if asynchronous or any(tools.runners[name].asynchronous for name in remit.tools if name in tools):
        import asyncio

        return asyncio.run(arun(task, policy=policy, remit=remit, tools=tools, **options))
    coroutine = finish(begin(task, policy, remit, tools, options, loop=False))
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: Outcome = done.value
        return result
    coroutine.close()
    raise InsideLoop("something in this run waits for an event loop", fix="use `await arun(…)`")


async def arun(task: str, *, policy: Policy, remit: Remit, tools: Toolbox, **options: Unpack[Options]) -> Outcome:
    """Run one task to its rest in the running event loop; otherwise as `run`. Cancelling the task cancels the run."""
    return await finish(begin(task, policy, remit, tools, options, loop=True))


def _loop_runs() -> bool:
    asyncio = sys.modules.get("asyncio")  # where nobody imported it, no loop runs
    if asyncio is None:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def begin(task: str, policy: Policy, remit: Remit, tools: Toolbox, options: Options, *, loop: bool) -> Driver:
    """Check everything that can be checked before a run, claim it, and note its beginning."""
    found = mismatches(remit, tools)
    names: dict[str, Any] = {key: options.get(key) for key in ("principal", "subject", "parent", "agent_file")}
    for key, text in {"task": task, **names}.items():
        found += [f"{key}: must be text, not {text!r}"] if text is not None and not _is_text(text) else []
    if found or not task or not task.strip():
        raise Invalid("run", found or ["task: must not be empty"])
    store = options.get("store")
    if store is None:
        from ..stores.memory import MemoryStore

        store = MemoryStore()
    clock = options.get("clock") or SystemClock()
    state = Run(options.get("run_id") or new_run_id(clock.now()))
    owner = process_owner()
    lease = store.lease(state.id)
    if lease is not None and lease.live:  # a second driver in this process is another owner too
        raise Owned(state.id, lease.owner)
    if store.head(state.id) is not None:
        raise Invalid("run", [f"run_id: the run {state.id} is in the store already"])
    driver = Driver(
        state, policy=policy, remit=remit, tools=tools, store=store, clock=clock, epoch=store.claim(state.id, owner),
        ask=options.get("ask"), watch=options.get("watch"), loop=loop,
    )  # fmt: skip
    driver.note(beginning(task, remit, tools, owner=owner, **names))
    return driver


def beginning(task: str, remit: Remit, tools: Mapping[str, ToolSpec], **who: str | None) -> Began:
    """Return the first event of a run; `who` are its principal, subject, parent, agent file and owner."""
    facts: dict[str, Any] = who
    return Began(
        task=task,
        remit=msgspec.Raw(encode(remit.document)),
        digest=remit.digest(tools),
        tools={name: tools[name].declared for name in remit.tools},
        **facts,
    )


def _is_text(value: object) -> bool:
    try:
        return type(value) is str and value.encode() is not None
    except UnicodeEncodeError:
        return False


async def finish(driver: Driver) -> Outcome:
    """Drive a run to its rest, give it up, and return its outcome."""
    heart = None
    if driver.store.durable:
        from .heart import Heart

        heart = Heart(driver.store, driver.run.id, driver.epoch)
    try:
        await driver.drive()
    finally:
        if heart is not None:
            heart.stop()
        _release(driver)
    return outcome(driver.run, driver.store)


def _release(driver: Driver) -> None:
    try:
        driver.store.release(driver.run.id, driver.epoch)
    except StoreError as error:  # what happened is on record; a lease that is not given up runs out
        log().warning("the lease of run %s could not be given up: %s", driver.run.id, error.message)


def outcome(run: Run, store: Store) -> Outcome:
    """Return the outcome of a run at rest."""
    rest = resting(run)
    assert rest is not None, f"run {run.id} is not at rest"
    status, reason = rest
    done = Outcome(
        run_id=run.id,
        status=status,
        reason=reason,
        answer=run.answer or "" if status == "complete" else "",
        grade=run.ended.grade if run.ended else None,
        observations=tuple(run.observations),
        attempted_tools=(*(o.tool for o in run.observations), *(call.tool for call in run.open.values())),
        usage=usage(run),
    )
    done.__dict__["store"] = store  # no part of what an outcome is, equals or shows
    return done


def usage(run: Run) -> dict[str, float | int | None]:
    """Return what the run has used: turns, calls, tokens (None where none are on record), and seconds of each kind."""
    return {
        "turns": run.turns,
        "calls": run.started,
        "tokens": run.tokens,
        "seconds": run.working_us / 1e6,
        "waiting_seconds": run.waiting_us / 1e6,
        "backoff_seconds": run.backoff_us / 1e6,
        "wall_seconds": (run.at - run.began_at) / 1e6,
    }
