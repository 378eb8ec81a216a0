"""The driver: read the to-do, commit, act, take the outcome. It decides nothing (core/judge.py and core/todo.py do).

One coroutine serves both ways: where everything is plain it never suspends, and `run` steps it without an event loop.
Events between two barriers share one record. A barrier stands before anything leaves the process: the start of a tool,
a question to a person, a request of a remote policy; and after a write (G8).
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from ..core import check as checks
from ..core import judge
from ..core.canon import decode
from ..core.context import ToolView, context, permitted
from ..core.events import AnyEvent, CancelRequested, Checked, Observed, Unsettled, encode_events
from ..core.fold import FOLD, enter
from ..core.recover import recover
from ..core.reply import Call, Final, Reply
from ..core.run import OpenCall, Run
from ..core.todo import Ask, Check, Judge, Note, Question, Start, todo
from ..errors import PolicyError, StoreError, ToolError
from ..tools.toolbox import Toolbox
from .diagnostics import log
from .execute import TimedOut, bounded, execute, observe
from .ports import Asker, Clock, HeldCall, Policy, Store

PROPOSALS = {Call, Final, Reply}
Watcher: TypeAlias = Callable[[AnyEvent], None]
"""Called with each event once it is durable; for progress, never for decisions."""


class Driver:
    """Drives one run that this process owns."""

    __slots__ = (
        "_opened", "_pending", "ask", "clock", "epoch", "loop", "policy", "remote", "run", "specs", "store", "tools",
        "views", "watch",
    )  # fmt: skip

    def __init__(
        self, run: Run, *, policy: Policy, tools: Toolbox, store: Store, clock: Clock, epoch: int,
        ask: Asker | None = None, watch: Watcher | None = None, loop: bool = False,
    ) -> None:  # fmt: skip
        self.run = run
        self.policy = policy
        self.remote = bool(getattr(policy, "remote", True))
        self.tools = tools
        self.specs = tools.specs
        self.store = store
        self.clock = clock
        self.epoch = epoch
        self.ask = ask
        self.watch = watch
        self.loop = loop
        self.views: tuple[ToolView, ...] = ()
        self._pending: list[AnyEvent] = []
        self._opened = False

    def open(self) -> None:
        """Open the next record, if none is being assembled: all its events share this one time."""
        if not self._opened:
            self._opened = True
            run = self.run
            enter(run, run.seq + 1, self.clock.now())

    def note(self, event: AnyEvent) -> None:
        """Take one event into the state and into the record being assembled."""
        if not self._opened:
            self.open()
        FOLD[type(event)](self.run, event)
        self._pending.append(event)

    def happen(self, events: Iterable[AnyEvent]) -> None:
        """Take events likewise, each before the next is asked for."""
        if not self._opened:
            self.open()
        append, run = self._pending.append, self.run
        for event in events:
            FOLD[type(event)](run, event)
            append(event)

    def flush(self) -> None:
        """The barrier: when it returns, every event so far is durable. If the store fails it raises, and this state is
        never used again: the log as it stands is the truth."""
        pending, run = self._pending, self.run
        if pending:
            self.store.append(run.id, run.seq, run.at, encode_events(pending), self.epoch)
            self._pending = []
            self._opened = False
            if self.watch is not None:
                for event in pending:
                    self.watch(event)

    async def drive(self) -> None:
        """Go on until the run rests. Raises what a policy, a read or a guard raised, after recording it."""
        self.views = permitted(self.run.remit, self.tools)
        try:
            await self._steps()
        except (KeyboardInterrupt, SystemExit) as error:
            self._cancel("Ctrl-C" if isinstance(error, KeyboardInterrupt) else "the program's exit")
            raise
        except Exception as error:
            self._fail(error)
            raise
        except BaseException:  # a cancelled task, or a coroutine that is closed
            self._cancel("the caller")
            raise

    async def _steps(self) -> None:
        run = self.run
        while True:
            do: Any = todo(run)
            kind = type(do)
            if kind is Ask:
                await self._ask()
            elif kind is Start:
                await self._start(do.call)
            elif kind is Note:
                self.happen(do.events)
            elif kind is Judge:
                self.open()
                self.happen(judge.judge(run, self.specs, do.call, decode(do.call.args or "{}")))
            elif kind is Check:
                await self._check(do.number)
            elif kind is not Question or not self._question(do.call):
                self.flush()  # at rest, or nobody here can answer
                return

    async def _ask(self) -> None:
        run, tick = self.run, self.clock.tick
        if not self._opened:
            self.open()
        event = judge.ask(run, self.remote)
        if event is not None:
            self.note(event)
            if run.phase == "ended":
                return
            self.flush()
        turn = run.turns if event is not None else run.turns + 1
        shown = context(run, turn, self.views)
        began = tick()
        said: Any = self.policy.propose(shown)
        if type(said) not in PROPOSALS and hasattr(said, "__await__"):
            if not self.loop:
                raise PolicyError("the policy is asynchronous", fix="make `propose` an `async def`, or use `arun`")
            said = await said
        self.happen(judge.reply(run, self.specs, said, turn, (tick() - began) // 1000))

    async def _start(self, call: OpenCall) -> None:
        run, tick = self.run, self.clock.tick
        if not self._opened:
            self.open()
        self.note(judge.start(run, self.specs, call))
        if call.phase != "started":
            return
        self.flush()
        args = decode(call.args or "{}")  # a private copy of the canonical arguments: what was logged is what runs
        runner, effect_id, keep = self.tools.runners[call.tool], call.effect_id, run.remit.result_bytes
        timeout = self.specs[call.tool].timeout
        if timeout is not None and effect_id is None:  # a write is not given up early: its outcome would be unknown
            timeout = min(timeout, max((run.rules.seconds_us - run.working_us) / 1e6, 0.001))
        began = tick()
        try:
            if timeout is None and not runner.asynchronous:
                value = runner(args, effect_id, None, None)
            else:
                value = await execute(runner, call.tool, args, effect_id, timeout, self.loop)
            seen, whole = observe(call.id, value, (tick() - began) // 1000, keep)
        except ToolError as error:
            seen, whole = bounded(call.id, "error", str(error), (tick() - began) // 1000, keep)
        except TimedOut:
            text = f"no result within {timeout:g} seconds"
            seen, whole = (
                Observed(call=call.id, status="timeout", text=text, us=(tick() - began) // 1000),
                None,
            )
        except Exception as error:
            if effect_id is None:
                raise
            log().exception("the write %s of run %s raised; its outcome is unknown", call.id, run.id)
            self._uncertain(call, f"it raised {_named(error)}", (tick() - began) // 1000)
            return
        if whole is not None:
            self.store.put(whole)
        if effect_id is None:
            self.note(seen)
        elif seen.status == "timeout":
            self._uncertain(call, seen.text, seen.us)
        else:
            self.note(seen)
            self.flush()

    def _uncertain(self, call: OpenCall, cause: str, us: int) -> None:
        self.happen([Unsettled(call=call.id, cause=cause, us=us)])
        self.flush()

    def _question(self, call: OpenCall) -> bool:
        """Ask a person, after everything so far is durable; return False where the run is to rest."""
        self.flush()
        if self.ask is None:
            return False
        shown = HeldCall(self.run.id, call.id, call.tool, call.args or "", call.rule, call.digest, self.run.began.task)
        decision = self.ask(shown)
        if decision is None:
            return False
        self.happen(judge.decide(call, decision.yes, decision.by, decision.reason, decision.claim))
        return True

    async def _check(self, number: int) -> None:
        rule = checks.plan(self.run)[number]
        self.flush()
        began = self.clock.tick()
        from .check import run_check  # paths and processes, which not every run needs

        result = await run_check(rule, self.run, self.loop)
        us = (self.clock.tick() - began) // 1000
        self.happen([Checked(check=number, name=checks.name(rule), passed=result.passed, detail=result.detail, us=us)])

    def _cancel(self, by: str) -> None:
        run = self.run
        if run.phase in ("new", "ended"):
            return
        head = self.store.head(run.id) if self._pending else None
        if head is not None and head.seq >= run.seq:  # it was interrupted after the commit, before it was noted here
            self._pending, self._opened = [], False
        self.happen([CancelRequested(by=by), *judge.cancel(run, by)])
        self._finish()

    def _fail(self, error: Exception) -> None:
        if isinstance(error, StoreError):  # not an end: the log stays as it is, and the run is resumable
            return
        self.happen(judge.fail(self.run, _named(error)))
        self._finish()

    def _finish(self) -> None:
        """Record the end that is due, if nothing is uncertain."""
        while isinstance(do := todo(self.run), Note):
            self.happen(do.events)
        self.flush()

    def recover(self) -> None:
        """Bring an interrupted run to where `todo` can go on."""
        self.happen(recover(self.run))


def _named(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
