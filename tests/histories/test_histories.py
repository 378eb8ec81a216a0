"""Random histories of a run, each step of which starts again from the log, as after a crash.

Set REMIT_EXAMPLES for more histories than the 150 of every run.
"""

import os
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from remit import Call, Final, Remit, Reply
from remit.core import check, judge
from remit.core.canon import parse
from remit.core.events import (
    Allowed,
    AnyEvent,
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
from remit.core.remit import Stuck
from remit.core.spec import ToolSpec
from remit.core.todo import Ask, Check, Judge, Note, Question, Rest, Settle, Start, resting, todo
from remit.core.validate import ArgumentError, Validator
from tests.histories.interpreter import GuardBroke, History
from tests.histories.model import TOOLS, Model

START = 1_700_000_000_000_000
SECOND = 1_000_000
SCHEMA = {"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"], "additionalProperties": False}
VALID = Validator(SCHEMA)


def guard(args: dict[str, Any]) -> ArgumentError | None:
    if args.get("k") == 13:
        raise GuardBroke("the guard broke")
    return VALID.problem(args)


def specs(source: str | None = None) -> dict[str, ToolSpec]:
    return {
        name: ToolSpec(
            name=name, effect=effect, schema=SCHEMA, consequential=name == "ship", problem=guard, source=source
        )
        for name, effect in TOOLS.items()
    }


SPECS = specs()
MOVED = specs("another program")
"""The same tools, but what runs is no longer what was shown."""

NAMED = st.lists(st.sampled_from(["look", "send", "pay", "ship"]), min_size=1, max_size=4, unique=True)
SCOPE = st.sampled_from(["any", {"k": "any"}, {"k": [1]}, {"k": [1, 2, 13]}])
REMITS = st.fixed_dictionaries(
    {
        "tools": NAMED.flatmap(lambda names: st.fixed_dictionaries(dict.fromkeys(names, SCOPE))),
        "turns": st.integers(1, 12),
        "calls": st.integers(0, 8),
        "per_tool": st.none() | st.integers(0, 2),
        "seconds": st.sampled_from([2.5, 1000]),
        "wall_seconds": st.sampled_from([12.5, 1000]),
        "gate": st.none() | st.sampled_from(["allow", "hold", "deny"]),
        "on_refusal": st.sampled_from(["stop", "continue"]),
        "max_refusals": st.integers(0, 2),
        "max_invalid": st.integers(1, 3),
        "last_turn": st.booleans(),
        "stuck": st.fixed_dictionaries(
            {"rule": st.sampled_from(["plain", "progress"]), "threshold": st.integers(2, 3)}
        ),
        "checks": st.sampled_from([[], ["cites"], ["effect"], ["cites", "effect"]]),
    }
)
GOOD = st.builds(Call, st.sampled_from(["look", "send", "pay", "ship"]), st.sampled_from([{"k": 1}, {"k": 1}, {"k": 2}]))
ANY_CALL = st.builds(
    Call,
    st.sampled_from(["look", "send", "pay", "ship", "hidden", "nothing", "Look"]),
    st.sampled_from(
        ['{"k":1}', '{ "k" : 2}', '{"k":3}', '{"k":13}', '{"k":1.0}', '{"k":true}', '{"k":"1"}', '{"k":1,"z":1}']
        + ["{}", "", "null", "[1]", '{"k":1', '{"k":', "k"]
    ),
)
FINAL = st.builds(
    Final,
    st.sampled_from(["yes", "yes", " "]),
    st.sampled_from([(), ({"cites": "c1", "quote": "a"},), ({"effect": "pay"},)]),
)
ITEMS = (
    st.tuples(GOOD) | st.tuples(GOOD) | st.tuples(ANY_CALL) | st.tuples(FINAL) | st.lists(ANY_CALL | FINAL, max_size=3)
)
REPLIES = st.builds(
    Reply, ITEMS.map(tuple), finish=st.sampled_from(["stop"] * 8 + ["length", "refusal", "filter"])
) | st.just(Reply((), finish="end", raw="out of steps"))
PASSING = st.sampled_from([0, 0, 0, SECOND, 5 * SECOND])
OUTCOMES = st.sampled_from([("ok", "a"), ("ok", "a"), ("ok", "b"), ("error", "a"), ("timeout", "t"), ("bug", "b")])


class AnyHistory(RuleBasedStateMachine):
    """Every rule reads the log, does the one thing that is due, and appends what happened."""

    @initialize(limits=REMITS, remote=st.booleans())
    def begin(self, limits: dict[str, Any], remote: bool) -> None:
        per_tool, gate = limits.pop("per_tool"), limits.pop("gate")
        self.limits = {
            **limits,
            "calls_per_tool": {} if per_tool is None else {name: per_tool for name in list(limits["tools"])[:1]},
            "gates": {} if gate is None else {list(limits["tools"])[-1]: gate},
        }
        self.remit = Remit(**{**self.limits, "stuck": Stuck(**limits["stuck"])})
        self.now, self.remote = START, remote
        self.history = History(self.remit, SPECS, START)
        self.model = Model(self.limits, START)
        self.acted: list[tuple[str, str, str | None]] = []  # (call, canonical arguments, effect id) of what ran

    def commit(self, events: Any, run: Any = None) -> None:
        self.history.commit(events, self.now, run)

    @rule(seconds=st.sampled_from([1, 10]))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds * SECOND

    @rule()
    def the_clock_goes_back(self) -> None:
        self.now -= SECOND

    def due(self) -> Any:
        run = self.history.run
        return run, todo(run)

    @precondition(lambda self: type(todo(self.history.run)) is Note)
    @rule()
    def note(self) -> None:
        run, do = self.due()
        self.commit(do.events, run)

    @precondition(lambda self: type(todo(self.history.run)) is Ask)
    @rule(reply=REPLIES, us=PASSING, fault=st.sampled_from([None] * 6 + ["crash", "no reply"]))
    def ask(self, reply: Reply, us: int, fault: str | None) -> None:
        run, _ = self.due()
        self.tell_time(run)
        self.model.ask(run.phase == "retrying")
        event = judge.ask(run, self.remote)
        turn = run.turns + (event is None)
        if event is not None:
            self.commit([event])
            run = self.history.run
            if run.phase == "ended":
                return
            turn = run.turns
            if fault == "crash":
                self.history.crash(self.now)
                return
            if fault == "no reply":
                self.commit([AttemptFailed(kind="connection", us=us, backoff_us=SECOND)])
                self.model.us += us
                return
        calls = [(item.tool, str(item.args) if isinstance(item.args, str) else '{"k":%d}' % item.args["k"])
                 for item in reply.items if isinstance(item, Call)]
        self.model.us += us
        self.model.reply(calls, [item.text for item in reply.items if isinstance(item, Final)], reply.finish)
        self.commit(judge.reply(run, SPECS, reply, turn, us), run)

    def tell_time(self, run: Any) -> None:
        self.model.now = max(self.model.now, self.now)

