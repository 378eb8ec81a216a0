"""Random histories of a run. Each step starts again from the log, as after a crash, and must agree with the model.

REMIT_EXAMPLES asks for more histories than the 150 of every run.
"""

import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from remit import Call, Final, Remit, Reply
from remit.core import check, judge
from remit.core.canon import decode, parse
from remit.core.events import (
    Allowed,
    Approved,
    Asked,
    AttemptFailed,
    CancelRequested,
    Checked,
    Ended,
    Held,
    Observed,
    Proposed,
    Replied,
    Settled,
    Started,
    Unsettled,
)
from remit.core.fold import fold
from remit.core.remit import Stuck
from remit.core.run import OpenCall, Run
from remit.core.todo import Ask, Check, Judge, Note, Question, Rest, Settle, Start, Todo, resting, todo
from tests.histories.interpreter import Decide, History
from tests.histories.model import Model
from tests.histories.worlds import (
    DECISIONS,
    FAULTS,
    LIMITS,
    MOVED,
    OUTCOMES,
    PASSING,
    REPLIES,
    SECOND,
    SELDOM,
    STUCK,
    TOOLS,
    WORKING,
)

START = 1_700_000_000_000_000


class AnyHistory(RuleBasedStateMachine):
    """Every rule takes what is due from the state that the log gives, and appends what happened."""

    @initialize(limits=LIMITS, stuck=STUCK, remote=st.booleans())
    def begin(self, limits: dict[str, Any], stuck: Stuck, remote: bool) -> None:
        tools, gates, per_tool = limits["tools"], limits["gates"], limits["calls_per_tool"]
        limits["gates"] = {name: gates[name] for name in gates.keys() & tools.keys()}
        limits["calls_per_tool"] = {name: per_tool[name] for name in per_tool.keys() & tools.keys()}
        scopes = {name: "any" if values is None else {"k": values} for name, values in tools.items()}
        self.remit = Remit(**{**limits, "tools": scopes, "stuck": stuck})
        limits["tools"] = {name: values or range(100) for name, values in tools.items()}
        limits["last_turn"] = limits["last_turn"] and limits["turns"]
        self.model = Model({**limits, "plain": stuck.rule == "plain", "threshold": stuck.threshold})
        self.now, self.latest, self.us, self.remote = START, START, 0, remote
        self.ran: list[tuple[str, Any, str | None]] = []
        self.history = History(self.remit, TOOLS, START)
        self.run = self.history.run

    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        """Do what is due; sometimes another process does, or somebody cancels. At rest another run begins."""
        draw = data.draw
        do = todo(self.run)
        if isinstance(do, Rest):
            self.begin(draw(LIMITS), draw(STUCK), draw(st.booleans()))
            return
        self.now += draw(PASSING)
        self.remote ^= draw(SELDOM)
        if draw(SELDOM):
            self.cancel()
        elif isinstance(do, Note):
            self.note()
        elif isinstance(do, Ask):
            self.ask(draw(REPLIES), draw(WORKING), draw(FAULTS))
        elif isinstance(do, Judge):
            self.judge_again(draw(st.booleans()))
        elif isinstance(do, Start):
            self.start(draw(OUTCOMES), draw(WORKING))
        elif isinstance(do, Question):
            self.question(draw(DECISIONS))
        elif isinstance(do, Settle):
            self.settle(draw(st.booleans()))
        else:
            self.check(do.number, draw(WORKING))

    def commit(self, decide: Decide) -> bool:
        """Append a record; from then on the state is what the log gives, and nothing else is known."""
        taken = self.history.commit(decide, self.now)
        self.run = self.history.run
        return bool(taken)

    def note(self) -> None:
        self.tell_time()
        self.commit(lambda run: todo(run).events)  # type: ignore[union-attr]

    def tell_time(self, us: int = 0) -> None:
        """A record is about to be written: its time is the clock's, but never before the last. `us` was worked."""
        self.us += us
        self.latest = max(self.latest, self.now)
        waited, limits = self.latest - START, self.remit
        self.model.late = self.us >= limits.seconds * SECOND or waited >= limits.wall_seconds * SECOND  # type: ignore[operator]

    def ask(self, reply: Reply, us: int, fault: str | None) -> None:
        self.tell_time()
        self.model.ask(self.run.phase == "retrying")
        asked = self.commit(lambda run: filter(None, [judge.ask(run, self.remote)]))
        if self.model.due:
            return
        if asked and fault == "crash":
            self.crash()
        elif asked and fault == "no reply":
            self.tell_time(us)
            self.commit(lambda run: [AttemptFailed(kind="connection", us=us, backoff_us=SECOND)])
        elif asked and fault == "cancel":
            self.cancel()
        else:
            self.tell_time(us)
            calls = [(item.tool, str(item.args)) for item in reply.items if isinstance(item, Call)]
            finals = [item.text for item in reply.items if isinstance(item, Final)]
            self.model.reply(calls, finals, reply.finish)
            turn = self.run.turns + (not asked)
            self.commit(lambda run: judge.reply(run, TOOLS, reply, turn, us))

    def judge_again(self, moved: bool) -> None:
        self.tell_time()
        self.model.judge(approved=True, moved=moved)
        tools = MOVED if moved else TOOLS
        self.commit(lambda run: judge.judge(run, tools, only(run), decode(only(run).args or "")))

    def start(self, outcome: str, us: int) -> None:
        self.tell_time()
        if only(self.run).number and self.model.spent():  # it starts again, after a crash
            self.model.close("not_run", "budget_exhausted")
        else:
            self.model.started.append(self.model.tool)
        self.commit(lambda run: [judge.start(run, TOOLS, only(run))])
        if not self.model.state:
            return
        call = only(self.run)
        self.ran.append((call.id, decode(call.args or ""), call.effect_id))
        if outcome == "cancel":
            self.cancel()
        elif outcome == "crash":
            if call.effect_id:
                self.model.state = "uncertain"
            elif self.model.state == "approved":  # its approval is spent
                self.model.ran("interrupted", "the process ended while it ran")
            self.crash()
        elif call.effect_id and outcome in ("timeout t", "bug"):
            self.tell_time(us)
            self.model.state = "uncertain"
            self.commit(lambda run: [Unsettled(call=call.id, cause=outcome, us=us)])
        elif outcome == "bug":
            self.model.ran("error", "a bug")
            self.model.due = "failed"
            self.commit(lambda run: judge.fail(run, "a bug"))
        else:
            self.tell_time(us)
            status, _, text = outcome.partition(" ")
            self.model.ran(status, text)
            self.commit(lambda run: [Observed(call=call.id, status=status, text=text, us=us)])  # type: ignore[arg-type]

    def crash(self) -> None:
        self.history.crash(self.now)
        self.run = self.history.run

    def question(self, decision: str | None) -> None:
        if decision is None:
            return
        self.tell_time()
        if decision == "yes":
            self.model.state = "approved"
        else:
            self.model.close("denied")
        self.commit(lambda run: judge.decide(only(run), decision == "yes", "somebody"))

    def settle(self, done: bool) -> None:
        self.tell_time()
        self.model.close("settled")
        call = only(self.run).id
        settled = Settled(call=call, how="person", done=done, by="somebody")
        self.commit(lambda run: [settled, Observed(call=call, status="settled", text=f"done: {done}")])

    def check(self, number: int, us: int) -> None:
        self.tell_time(us)
        name = check.name(check.plan(self.run)[number])
        found = check.PURE[name](self.run)
        self.commit(lambda run: [Checked(check=number, name=name, passed=found.passed, us=us)])

    def cancel(self) -> None:
        self.tell_time()
        model, running = self.model, [call.effect_id for call in self.run.open.values() if call.phase == "started"]
        model.due = "cancelled" if model.due in ("", "complete") else model.due
        if running == [None]:
            model.ran("interrupted", "cancelled by somebody while it ran")
        elif running:
            model.state = "uncertain"
        elif model.state not in ("", "uncertain"):
            model.close("not_run")
        self.commit(lambda run: [CancelRequested(by="somebody")])
        self.commit(lambda run: judge.cancel(run, "somebody"))

    @invariant()
    def the_model_agrees(self) -> None:
        run, model = self.run, self.model
        assert [seen.status for seen in run.observations] == model.seen
        assert (run.turns, run.started, run.invalid, run.refusals, run.working_us) == (
            model.turns, len(model.started), model.invalid, model.refused, self.us,
        )  # fmt: skip
        if run.phase == "ended":
            assert run.ended is not None
            assert run.ended.status == model.due
        else:
            rest = {"held": "awaiting_approval", "uncertain": "uncertain"}.get(model.state)
            assert (resting(run) or (None,))[0] == rest
        if isinstance(todo(run), Ask):
            assert model.due == ""

    @invariant()
    def g1_what_ran_was_proposed_allowed_and_where_it_was_held_approved(self) -> None:
        events = self.history.events
        for place, event in enumerate(events):
            if isinstance(event, Started):
                before = [e for e in events[:place] if getattr(e, "call", None) == event.call]
                (proposed,) = (e for e in before if isinstance(e, Proposed))
                verdicts = [e for e in before if isinstance(e, Allowed | Held | Approved)]
                assert isinstance(verdicts[-1], Allowed)
                gate = self.remit.gates.get(proposed.tool, "hold" if proposed.tool == "ship" else "allow")
                if gate != "allow":
                    held, approved, _ = verdicts
                    assert isinstance(held, Held)
                    assert isinstance(approved, Approved)
                    assert held.digest == approved.digest

    @invariant()
    def g2_what_ran_is_what_was_proposed_in_its_canonical_form(self) -> None:
        proposed = {e.call: bytes(e.args) for e in self.history.events if isinstance(e, Proposed)}
        assert all(parse(args) == (args, decode(args)) for args in proposed.values() if args)
        assert all(decode(proposed[call]) == args for call, args, _ in self.ran)
        assert [o.args for o in self.run.observations] == [
            proposed[o.call].decode() or None for o in self.run.observations
        ]

    @invariant()
    def g4_every_proposal_has_one_observation_before_the_next_request(self) -> None:
        waiting: Counter[str] = Counter()
        for event in self.history.events:
            if isinstance(event, Proposed):
                assert event.call not in waiting
                waiting[event.call] = 1
            elif isinstance(event, Observed):
                waiting[event.call] -= 1
                assert waiting[event.call] == 0
            elif isinstance(event, Asked | Replied | Ended):
                assert not any(waiting.values())

    @invariant()
    def g5_no_budget_is_exceeded_and_no_counter_restarts(self) -> None:
        events, limits, tool = self.history.events, self.remit, {}
        working, turns = 0, set()
        started: Counter[str] = Counter()
        for event in events:
            if isinstance(event, Proposed):
                tool[event.call] = event.tool
            elif isinstance(event, Started | Asked):
                assert working < limits.seconds * 1e6  # type: ignore[operator]
                started[tool[event.call] if isinstance(event, Started) else ""] += 1
            elif isinstance(event, Replied):
                turns.add(event.turn)
            working += getattr(event, "us", 0)
        del started[""]
        assert len(turns) <= limits.turns  # type: ignore[operator]
        assert started.total() == self.run.started <= limits.calls  # type: ignore[operator]
        assert all(started[name] <= limit for name, limit in limits.calls_per_tool.items())
        assert self.run.started_by_tool == started
        assert self.run.working_us == working

    @invariant()
    def g7_a_run_ends_once_and_nothing_follows(self) -> None:
        events = self.history.events
        ends = [place for place, event in enumerate(events) if isinstance(event, Ended)]
        assert ends in ([], [len(events) - 1])
        assert bool(ends) == isinstance(todo(self.run), Rest)

    @invariant()
    def g8_any_prefix_folds_and_no_write_ran_twice(self) -> None:
        records = self.history.records
        kept = fold("r1", records[: len(records) // 2])
        assert kept.phase in ("new", "ready", "asking", "retrying", "replied", "acting", "answered")
        writes = [effect for _, _, effect in self.ran if effect is not None]
        assert len(writes) == len(set(writes))

    @invariant()
    def g12_what_is_not_written_or_breaks_a_guard_never_starts(self) -> None:
        proposed = {e.call: e for e in self.history.events if isinstance(e, Proposed)}
        for event in self.history.events:
            if isinstance(event, Started):
                tool, args = proposed[event.call].tool, decode(proposed[event.call].args)
                scope = self.remit.tools[tool]
                assert scope == "any" or args["k"] in scope["k"]
                assert args["k"] != 13

    def teardown(self) -> None:
        """From wherever it is, a run comes to rest in a few steps."""
        for _ in range(12 if hasattr(self, "run") else 0):
            self.finish(todo(self.run))
            self.the_model_agrees()
        if hasattr(self, "run"):
            assert isinstance(todo(self.run), Rest)
            self.g7_a_run_ends_once_and_nothing_follows()

    def finish(self, do: Todo) -> None:
        if isinstance(do, Ask):
            self.ask(Reply((), finish="end"), 0, None)
        elif isinstance(do, Start):
            self.start("ok c", 0)
        elif isinstance(do, Judge):
            self.judge_again(False)
        elif isinstance(do, Question):
            self.question("no")
        elif isinstance(do, Settle):
            self.settle(True)
        elif isinstance(do, Check):
            self.check(do.number, 0)
        elif isinstance(do, Note):
            self.note()


def only(run: Run) -> OpenCall:
    (call,) = run.open.values()
    return call


@pytest.mark.guarantee("G1", "G2", "G4", "G5", "G7", "G8", "G12")
class TestAnyHistory(AnyHistory.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(
        derandomize=True,
        deadline=None,
        database=None,
        max_examples=int(os.environ.get("REMIT_EXAMPLES", "150")),
        stateful_step_count=50,
    )
