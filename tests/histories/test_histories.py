"""Random histories of a run. Each step starts again from the log, as after a crash, and must agree with the model.

REMIT_EXAMPLES asks for more histories than the few hundred of every run.
"""

import os
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

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
from remit.core.spec import ToolSpec
from remit.core.todo import Ask, Check, Judge, Note, Question, Rest, Settle, Start, Todo, resting, todo
from remit.core.validate import ArgumentError, Validator
from tests.histories.interpreter import GuardBroke, History
from tests.histories.model import EFFECTS, Model

START = 1_700_000_000_000_000
SECOND = 1_000_000
SCHEMA = {"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"], "additionalProperties": False}
VALID = Validator(SCHEMA)


def guard(args: dict[str, Any]) -> ArgumentError | None:
    if args.get("k") == 13:
        raise GuardBroke("a guard broke")
    return VALID.problem(args)


def toolbox(source: str) -> dict[str, ToolSpec]:
    return {
        name: ToolSpec(
            name=name, effect=effect, schema=SCHEMA, consequential=name == "ship", problem=guard, source=source
        )
        for name, effect in EFFECTS.items()
    }  # fmt: skip


TOOLS, MOVED = toolbox("as shown"), toolbox("another program")

SCOPES = st.sampled_from([None, None, [1], [1, 2, 13]])
LIMITS = st.fixed_dictionaries(
    {
        "tools": st.dictionaries(st.sampled_from(["look", "send", "pay", "ship"]), SCOPES, min_size=2),
        "turns": st.sampled_from([3, 8, 30]),
        "calls": st.sampled_from([0, 2, 5, 30]),
        "calls_per_tool": st.dictionaries(st.sampled_from(["look", "pay"]), st.integers(0, 2), max_size=1),
        "seconds": st.sampled_from([2.5, 1000]),
        "wall_seconds": st.sampled_from([12.5, 10_000]),
        "gates": st.dictionaries(
            st.sampled_from(["look", "pay", "ship"]), st.sampled_from(["allow", "hold", "deny"]), max_size=2
        ),
        "on_refusal": st.sampled_from(["stop", "continue", "continue"]),
        "max_refusals": st.integers(0, 3),
        "max_invalid": st.integers(1, 4),
        "last_turn": st.booleans(),
        "checks": st.sampled_from([[], ["cites"], ["effect"], ["cites", "effect"]]),
    }
)
STUCK = st.builds(Stuck, rule=st.sampled_from(["plain", "progress", "progress"]), threshold=st.integers(2, 4))
NAMES = st.sampled_from(["look", "look", "send", "pay", "ship"])
GOOD = st.builds(Call, NAMES, st.sampled_from(['{"k":1}', '{"k":1}', '{ "k" : 2 }']))
ARGS = """{"k":1} {"k":3} {"k":13} {"k":1.0} {"k":true} {"k":"1"} {"k":1,"z":1} {"z":1} {} {"k":1 {"k": [1] k=1 null"""
ANY_CALL = st.builds(
    Call,
    NAMES | st.sampled_from(["hidden", "nothing", "Look"]),
    st.sampled_from(ARGS.split()) | st.just(""),
)
FINAL = st.builds(
    Final,
    st.sampled_from(["yes", "yes", " "]),
    st.sampled_from([(), ({"cites": "c1", "quote": "a"},), ({"effect": "pay"},)]),
)
ITEMS = st.one_of([st.tuples(GOOD)] * 5 + [st.tuples(ANY_CALL), st.tuples(FINAL)]) | st.lists(
    ANY_CALL | FINAL, max_size=3
).map(tuple)
FINISH = st.sampled_from(["stop"] * 12 + ["length", "length", "refusal", "filter"])
REPLIES = st.one_of([st.builds(Reply, ITEMS, finish=FINISH)] * 12 + [st.just(Reply((), finish="end"))])
MICROSECONDS = st.sampled_from([0, 0, 0, SECOND, 3 * SECOND])
OUTCOMES = st.sampled_from(
    ["ok a"] * 4 + ["ok b", "error a", "error a", "timeout t", "bug", "crash", "crash", "cancel"]
)


F = TypeVar("F", bound=Callable[..., None])


def when(kind: type) -> Callable[[F], F]:
    """A rule for the moment at which this is due."""
    return precondition(lambda self: type(self.do) is kind)


class AnyHistory(RuleBasedStateMachine):
    """Every rule takes what is due from the state that the log gives, and appends what happened."""

    @initialize(limits=LIMITS, stuck=STUCK, remote=st.booleans())
    def begin(self, limits: dict[str, Any], stuck: Stuck, remote: bool) -> None:
        tools, gates, per_tool = limits["tools"], limits["gates"], limits["calls_per_tool"]
        limits["gates"] = {name: gates[name] for name in gates.keys() & tools.keys()}
        limits["calls_per_tool"] = {name: per_tool[name] for name in per_tool.keys() & tools.keys()}
        scopes = {name: "any" if values is None else {"k": values} for name, values in tools.items()}
        self.remit = Remit(**{**limits, "tools": scopes, "stuck": stuck})
        self.model = Model(
            {
                **limits,
                "tools": {name: values or range(100) for name, values in tools.items()},
                "last_turn": limits["last_turn"] and limits["turns"],
                "plain": stuck.rule == "plain",
                "threshold": stuck.threshold,
            },
            START,
        )
        self.now, self.remote = START, remote
        self.ran: list[tuple[str, Any, str | None]] = []
        self.history = History(self.remit, TOOLS, START)
        self.look()

    def look(self) -> None:
        """Take the state from the log, and from nothing else."""
        self.run = self.history.run

    @property
    def do(self) -> Todo:
        return todo(self.run)

    def commit(self, decide: Any) -> None:
        self.history.commit(decide, self.now)
        self.look()

    def clock(self) -> None:
        """A record is about to be written: its time is that of the clock, but never earlier than the last."""
        self.model.now = max(self.model.now, self.now)

    @rule(seconds=st.sampled_from([1, 1, 10, -5]))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds * SECOND

    @rule()
    def another_process_takes_over(self) -> None:
        self.remote = not self.remote
        self.look()

    @when(Note)
    @rule()
    def note(self) -> None:
        self.clock()
        self.commit(lambda run: todo(run).events)  # type: ignore[union-attr]

    @when(Ask)
    @rule(reply=REPLIES, us=MICROSECONDS, fault=st.sampled_from([None] * 8 + ["crash", "no reply", "cancel"]))
    def ask(self, reply: Reply, us: int, fault: str | None) -> None:
        self.clock()
        self.model.ask(self.run.phase == "retrying")
        asked = list(self.history.commit(lambda run: filter(None, [judge.ask(run, self.remote)]), self.now))
        self.look()
        if self.model.due:
            return
        if asked and fault == "crash":
            self.history.crash(self.now)
        elif asked and fault == "no reply":
            self.model.us += us
            self.commit(lambda run: [AttemptFailed(kind="connection", us=us, backoff_us=SECOND)])
        elif asked and fault == "cancel":
            self.cancel()
        else:
            self.model.us += us
            calls = [(item.tool, str(item.args)) for item in reply.items if isinstance(item, Call)]
            finals = [item.text for item in reply.items if isinstance(item, Final)]
            self.model.reply(calls, finals, reply.finish)
            turn = self.run.turns + (not asked)
            self.history.commit(lambda run: judge.reply(run, TOOLS, reply, turn, us), self.now)
        self.look()

    @when(Judge)
    @rule(moved=st.sampled_from([False, False, True]))
    def judge_again(self, moved: bool) -> None:
        self.clock()
        self.model.judge(approved=True, moved=moved)
        tools = MOVED if moved else TOOLS
        self.commit(lambda run: judge.judge(run, tools, only(run), decode(only(run).args or "")))

    @when(Start)
    @rule(outcome=OUTCOMES, us=MICROSECONDS)
    def start(self, outcome: str, us: int) -> None:
        self.clock()
        again = only(self.run).number > 0
        if again and self.model.spent():
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
            self.crashed(call)
        elif call.effect_id and outcome in ("timeout t", "bug"):
            self.model.us += us
            self.model.state = "uncertain"
            self.commit(lambda run: [Unsettled(call=call.id, cause=outcome, us=us)])
        elif outcome == "bug":
            self.model.ran("error", "a bug")
            self.model.due = "failed"
            self.commit(lambda run: judge.fail(run, "a bug"))
        else:
            self.model.us += us
            status, _, text = outcome.partition(" ")
            self.model.ran(status, text)
            self.commit(lambda run: [Observed(call=call.id, status=status, text=text, us=us)])  # type: ignore[arg-type]

    def crashed(self, call: OpenCall) -> None:
        if call.effect_id:
            self.model.state = "uncertain"
        elif self.model.state == "approved":
            self.model.ran("interrupted", "the process ended while it ran")
        self.history.crash(self.now)
        self.look()

    @when(Question)
    @rule(decision=st.sampled_from(["yes", "yes", "no", None]))
    def question(self, decision: str | None) -> None:
        if decision is not None:
            self.clock()
            if decision == "no":
                self.model.close("denied")
            self.commit(lambda run: judge.decide(only(run), decision == "yes", "somebody"))

    @when(Settle)
    @rule(done=st.booleans())
    def settle(self, done: bool) -> None:
        self.clock()
        self.model.close("settled")
        call = only(self.run).id
        self.commit(
            lambda run: [
                Settled(call=call, how="person", done=done, by="somebody"),
                Observed(call=call, status="settled", text="done" if done else "not done"),
            ]
        )

    @when(Check)
    @rule(us=MICROSECONDS)
    def check(self, us: int) -> None:
        self.clock()
        self.model.us += us
        number = self.do.number  # type: ignore[union-attr]
        name = check.name(check.plan(self.run)[number])
        found = check.PURE[name](self.run)
        self.commit(lambda run: [Checked(check=number, name=name, passed=found.passed, us=us)])

    @precondition(lambda self: type(self.do) is not Rest)
    @rule(really=st.sampled_from([False] * 9 + [True]))
    def somebody_cancels(self, really: bool) -> None:
        if really:
            self.cancel()

    def cancel(self) -> None:
        self.clock()
        call = next(iter(self.run.open.values()), None)
        if self.model.due in ("", "complete"):
            self.model.due = "cancelled"
        if call is not None and call.phase == "started":
            if call.effect_id:
                self.model.state = "uncertain"
            else:
                self.model.ran("interrupted", "cancelled by somebody while it ran")
        elif self.model.state not in ("", "uncertain"):
            self.model.close("not_run")
        self.commit(lambda run: [CancelRequested(by="somebody")])
        self.commit(lambda run: judge.cancel(run, "somebody"))

    @invariant()
    def the_model_agrees(self) -> None:
        run, model = self.run, self.model
        assert [seen.status for seen in run.observations] == model.seen
        assert (run.turns, run.started, run.invalid, run.refusals, run.working_us) == (
            model.turns, len(model.started), model.invalid, model.refused, model.us,
        )  # fmt: skip
        if run.phase == "ended":
            assert run.ended is not None
            assert run.ended.status == model.due
        else:
            rest = {"held": "awaiting_approval", "uncertain": "uncertain"}.get(model.state)
            assert (resting(run) or (None,))[0] == rest
        if type(self.do) is Ask:
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
        assert bool(ends) == (type(self.do) is Rest)

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
        if not hasattr(self, "history"):
            return
        for _ in range(12):
            if type(self.do) is Rest:
                break
            self.finish()
            self.the_model_agrees()
        assert type(self.do) is Rest
        self.g7_a_run_ends_once_and_nothing_follows()

    def finish(self) -> None:
        kind = type(self.do)
        if kind is Ask:
            self.ask(Reply((), finish="end"), 0, None)
        elif kind is Start:
            self.start("ok c", 0)
        elif kind is Judge:
            self.judge_again(False)
        elif kind is Question:
            self.question("no")
        elif kind is Settle:
            self.settle(True)
        elif kind is Check:
            self.check(0)
        else:
            self.note()


def only(run: Run) -> OpenCall:
    (call,) = run.open.values()
    return call


TestAnyHistory = pytest.mark.guarantee("G1", "G2", "G4", "G5", "G7", "G8", "G12")(AnyHistory.TestCase)
TestAnyHistory.settings = settings(
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=int(os.environ.get("REMIT_EXAMPLES", "300")),
    stateful_step_count=30,
)
