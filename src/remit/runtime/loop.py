"""The driver: read the to-do, commit, act, take the outcome. It decides nothing (core/judge.py and core/todo.py do).

One coroutine serves both ways: where everything is plain it never suspends, and `run` steps it without an event loop.
Events between two barriers share one record. A barrier stands before anything leaves the process: the start of a tool,
a question to a person, a request of a remote policy; and after a write (G8).
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from ..core import check as checks
from ..core import judge
from ..core.canon import clean, decode
from ..core.context import ToolView, context, permitted
from ..core.events import AnyEvent, CancelRequested, Checked, Observed, Started, Unsettled, encode_events
from ..core.fold import FOLD, enter, fold
from ..core.remit import Remit
from ..core.reply import Call, Final, Reply
from ..core.run import OpenCall, Run
from ..core.todo import Ask, Check, Judge, Note, Question, Start, todo
from ..errors import IllegalMove, LogDamaged, PolicyError, StoreError, ToolError
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
        "_lost", "_opened", "_pending", "_seq", "ask", "clock", "epoch", "loop", "policy", "remit", "remote", "run",
        "specs", "store", "tools", "views", "watch",
    )  # fmt: skip

    def __init__(
        self, run: Run, *, policy: Policy, remit: Remit, tools: Toolbox, store: Store, clock: Clock, epoch: int,
        ask: Asker | None = None, watch: Watcher | None = None, loop: bool = False,
    ) -> None:  # fmt: skip
        self.run = run
        self.policy = policy
        self.remit = remit
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
        self._pending: list[AnyEvent] = []  # the record being assembled, and its number
        self._seq = 0
        self._opened = False
        self._lost = False

    def open(self) -> None:
        """Open the next record, if none is being assembled: all its events share this one time."""
        if not self._opened:
            run = self.run
            self._seq = run.seq + 1
            self._opened = True
            enter(run, self._seq, self.clock.now())

    def note(self, event: AnyEvent) -> None:
        """Take one event into the record being assembled, then into the state: an interrupt in between loses nothing
        (see `_restore`)."""
        if not self._opened:
            self.open()
        self._pending.append(event)
        FOLD[type(event)](self.run, event)

    def happen(self, events: Iterable[AnyEvent]) -> None:
        """Take events likewise, each before the next is asked for."""
        if not self._opened:
            self.open()
        append, run = self._pending.append, self.run
        for event in events:
            append(event)
            FOLD[type(event)](run, event)

    def flush(self) -> None:
        """The barrier: when it returns, every event so far is durable. If the store fails it raises, and this state is
        never used again: the log as it stands is the truth."""
        if self._pending:
            run, events = self.run, self._pending
            data = encode_events(events)  # what no log can hold raises here, before anything has left the process
            try:
                self.store.append(run.id, run.seq, run.at, data, self.epoch)
            except (StoreError, LogDamaged):
                self._lost = True  # noted apart: a tool may have a store, and errors, of its own
                raise
            self._pending = []
            self._opened = False
            if self.watch is not None:
                self._show(events)

    def _show(self, events: list[AnyEvent]) -> None:
        """Show what is durable now. A watcher that breaks is not shown any more, and changes nothing."""
        assert self.watch is not None
        try:
            for event in events:
                self.watch(event)
        except Exception:  # noqa: BLE001 - logged; a broken display is no reason to stop a run
            log().exception("the watcher of run %s raised, and is not called again", self.run.id)
            self.watch = None

    async def drive(self) -> None:
        """Go on until the run rests. Raises what a policy, a read or a guard raised, after recording it."""
        self.run.remit = self.remit  # the owner's own, with its Python checks; the log holds the same document
        self.views = permitted(self.remit, self.tools)
        try:
            await self._steps()
        except (KeyboardInterrupt, SystemExit) as error:
            ctrl_c = isinstance(error, KeyboardInterrupt)
            self._cancel("Ctrl-C" if ctrl_c else getattr(error, "by", "the program's exit"))
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
                if self.loop:
                    await _breathe()
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
            left = min(run.rules.seconds_us - run.working_us, run.deadline - run.at)
            timeout = min(timeout, max(left / 1e6, 0.001))
        began = tick()
        try:
            if timeout is None and not runner.asynchronous:
                value = runner(args, effect_id, None, None)
            else:
                value = await execute(runner, call.tool, args, effect_id, timeout, self.loop)
            us = (tick() - began) // 1000
            seen, whole = observe(call.id, value, us, keep, write=effect_id is not None)
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
            try:
                self.store.put(whole)
            except (StoreError, LogDamaged):
                self._lost = True
                raise
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
        self.happen(
            [Checked(check=number, name=checks.name(rule), passed=result.passed, detail=clean(result.detail), us=us)]
        )

    def _restore(self) -> None:
        """Make the state anew of the log and what was to come after it: an interrupt may arrive between any two steps,
        after a commit or in the middle of a fold, and memory is then no witness."""
        pending, self._pending, self._opened = self._pending, [], False
        self.run = fold(self.run.id, self.store.read(self.run.id))
        if self.run.seq < self._seq:  # else it was committed, and only not noted here
            if pending and isinstance(pending[-1], Started):  # not durable, so nothing was started
                pending.pop()
            for event in pending:
                try:
                    encode_events([event])
                    self.note(event)
                except (TypeError, ValueError, IllegalMove):  # what failed was this event; it never happened
                    if self._pending[-1:] == [event]:
                        self._pending.pop()
                    break
        if self.run.phase != "new":
            self.run.remit = self.remit

    def _cancel(self, by: str) -> None:
        self._restore()
        run = self.run
        if run.phase != "new" and run.phase != "ended":
            self.happen([CancelRequested(by=by), *judge.cancel(run, by)])
        self._finish()

    def _fail(self, error: Exception) -> None:
        if self._lost:  # not an end: the log stays as it is, and the run is resumable
            return
        self._restore()
        self.happen(judge.fail(self.run, _named(error)))
        self._finish()

    def _finish(self) -> None:
        """Record the end that is due, if nothing is uncertain."""
        while self.run.phase != "new" and isinstance(do := todo(self.run), Note):
            self.happen(do.events)
        self.flush()


async def _breathe() -> None:
    """Let others have their turn, and a cancelled task hear of it, though no tool ever waits."""
    from asyncio import sleep

    await sleep(0)


def _named(error: BaseException) -> str:
    text = clean(str(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
