"""What the driver does with tools of every kind: outcomes, limits, bugs, cancelling; through `run` and `arun` alike."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from remit import (
    Call,
    Context,
    Final,
    Outcome,
    Remit,
    RemitError,
    Reply,
    ScriptedPolicy,
    Toolbox,
    ToolError,
    Workflow,
    arun,
    run,
)
from remit.core.fold import fold
from remit.errors import InsideLoop, PolicyError
from remit.models.workflow import Step
from remit.runtime.ports import Decision
from remit.stores.memory import MemoryStore

tools = Toolbox()
ran: list[str] = []


@tools.read
def echo(text: str) -> str:
    ran.append(text)
    return text


@tools.read
def fails() -> str:
    raise ToolError("the record is locked")


@tools.read
def broken() -> str:
    raise ZeroDivisionError("a bug")


@tools.write
def pay(amount: int, *, effect_id: str) -> str:
    ran.append(effect_id)
    return f"paid {amount}"


@tools.write
def pay_broken(amount: int) -> str:
    raise ConnectionError("the line went dead")


@tools.write(consequential=True)
def deploy(target: str) -> str:
    ran.append(target)
    return "deployed"


@tools.read(timeout=0.05)
def slow() -> str:
    time.sleep(0.4)
    return "late"


@tools.write(timeout=0.05)
def slow_pay() -> str:
    time.sleep(0.4)
    return "paid"


@tools.read(timeout=5.0)
async def later(text: str) -> str:
    await asyncio.sleep(0)
    return text


@tools.read
def not_json() -> object:
    return object()


REMIT = Remit(tools=dict.fromkeys(tools, "any"))


@pytest.fixture(autouse=True)
def _forget() -> None:
    ran.clear()


def go(*script: Call | Final | Reply, remit: Remit = REMIT, **options: Any) -> Outcome:
    return run("a task", policy=ScriptedPolicy(script), remit=remit, tools=tools, run_id="r1", **options)


@pytest.mark.parametrize(
    ("call", "then"),
    [
        pytest.param(Call("echo", {"text": "hi"}), ("ok", "hi"), id="text comes back as it is"),
        pytest.param(Call("fails"), ("error", "the record is locked"), id="an expected failure is an error"),
        pytest.param(
            Call("slow"), ("timeout", "no result within 0.05 seconds"), id="blocking code is given up in time"
        ),
        pytest.param(Call("later", {"text": "hi"}), ("ok", "hi"), id="an async tool needs no loop of the caller's"),
        pytest.param(Call("pay", {"amount": 5}), ("ok", "paid 5"), id="a write that succeeds"),
    ],
)
def test_a_call_becomes_one_observation(call: Call, then: tuple[str, str]) -> None:
    outcome = go(call, Final("done"))
    assert [(o.status, o.text) for o in outcome.observations] == [then]
    assert outcome.status == "complete"


@pytest.mark.guarantee("G6")
def test_a_write_carries_an_effect_id_that_the_log_had_before_it_ran() -> None:
    outcome = go(Call("pay", {"amount": 5}), Final("done"))
    assert ran == ["r1.c1"]
    assert b'"effect_id":"r1.c1"' in outcome.records[0].events


@pytest.mark.guarantee("G6", "G7")
@pytest.mark.parametrize(
    ("call", "cause"),
    [
        pytest.param(
            Call("pay_broken", {"amount": 1}), "it raised ConnectionError: the line went dead", id="an exception"
        ),
        pytest.param(Call("slow_pay"), "no result within 0.05 seconds", id="a time-out"),
    ],
)
def test_a_write_with_an_unknown_outcome_rests_uncertain(call: Call, cause: str) -> None:
    store = MemoryStore()
    outcome = go(call, Final("done"), store=store)
    assert (outcome.status, outcome.reason) == ("uncertain", f"the outcome of c1 {call.tool} is unknown")
    assert outcome.observations == ()
    assert f'"cause":"{cause}"'.encode() in outcome.records[-1].events


@pytest.mark.guarantee("G12", "G7")
@pytest.mark.parametrize(("tool", "error"), [("broken", ZeroDivisionError), ("not_json", TypeError)])
def test_a_bug_in_a_read_ends_the_run_as_failed_and_is_raised(tool: str, error: type[Exception]) -> None:
    store = MemoryStore()
    with pytest.raises(error):
        go(Call(tool), Final("done"), store=store)
    state = fold("r1", store.read("r1"))
    assert state.ended is not None
    assert (state.ended.status, [o.status for o in state.observations]) == ("failed", ["error"])


class Saying:
    """A policy that says whatever it is told to, or raises it."""

    remote = False

    def __init__(self, said: object) -> None:
        self.said = said

    def propose(self, context: Context) -> Any:
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


@pytest.mark.guarantee("G12", "G7")
@pytest.mark.parametrize(
    ("said", "error"),
    [
        pytest.param(RuntimeError("a bug"), RuntimeError, id="it raises"),
        pytest.param(None, PolicyError, id="it returns nothing"),
        pytest.param("text", PolicyError, id="it returns text"),
        pytest.param(Reply([5]), PolicyError, id="an item is neither call nor final"),  # type: ignore[list-item]
        pytest.param(Reply([Final("x")], finish="odd"), PolicyError, id="an unknown finish"),  # type: ignore[arg-type]
        pytest.param(Reply([Final("x")], raw=object()), PolicyError, id="a raw reply that is not JSON"),
    ],
)
@pytest.mark.parametrize("remote", [False, True])
def test_a_bug_in_a_policy_ends_the_run_as_failed_and_is_raised(
    said: object, error: type[Exception], remote: bool
) -> None:
    store, policy = MemoryStore(), Saying(said)
    policy.remote = remote
    with pytest.raises(error):
        run("a task", policy=policy, remit=REMIT, tools=tools, store=store, run_id="r1")
    state = fold("r1", store.read("r1"))
    assert state.ended is not None
    assert state.ended.status == "failed"


@pytest.mark.guarantee("G12", "G4")
def test_a_guard_that_breaks_blocks_the_call_that_it_judged() -> None:
    broken_box = Toolbox()

    @broken_box.read
    def look(at: str) -> str:
        ran.append(at)
        return at

    def bug(args: object) -> None:
        raise KeyError("a bug in a guard")

    broken_box["look"].problem = bug
    store = MemoryStore()
    policy = ScriptedPolicy([Call("look", {"at": "x"})])
    with pytest.raises(KeyError):
        run("a task", policy=policy, remit=Remit(tools={"look": "any"}), tools=broken_box, store=store, run_id="r1")
    state = fold("r1", store.read("r1"))
    assert state.ended is not None
    assert (ran, state.ended.status, [o.status for o in state.observations]) == ([], "failed", ["not_run"])


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.guarantee("G7", "G4")
@pytest.mark.parametrize(
    ("effect", "then", "observed"),
    [("read", "cancelled", ["interrupted"]), ("write", None, [])],
    ids=["a read is interrupted", "a write is uncertain, and the run rests"],
)
def test_ctrl_c_while_a_tool_runs_cancels_the_run(effect: str, then: str | None, observed: list[str]) -> None:
    box, store = Toolbox(), MemoryStore()
    register: Callable[..., Any] = getattr(box, effect)
    register(interrupt)
    with pytest.raises(KeyboardInterrupt):
        run("t", policy=ScriptedPolicy([Call("interrupt")]), remit=Remit(tools={"interrupt": "any"}), tools=box,
            store=store, run_id="r1")  # fmt: skip
    state = fold("r1", store.read("r1"))
    assert ([o.status for o in state.observations], state.cancelled_by) == (observed, "Ctrl-C")
    assert (state.ended.status if state.ended else None) == then


class Torn(MemoryStore):
    """A store in which Ctrl-C arrives right after the second commit."""

    def append(self, run: str, seq: int, at: int, events: bytes, epoch: int | None = None) -> bytes:
        digest = super().append(run, seq, at, events, epoch)
        if seq == 2:
            raise KeyboardInterrupt
        return digest


@pytest.mark.guarantee("G7", "G8")
def test_ctrl_c_between_a_commit_and_its_return_loses_and_repeats_nothing() -> None:
    store = Torn()
    with pytest.raises(KeyboardInterrupt):
        go(Call("echo", {"text": "a"}), Call("echo", {"text": "b"}), Final("x"), store=store)
    state = fold("r1", store.read("r1"))
    assert state.ended is not None
    assert (ran, state.ended.status, [o.status for o in state.observations]) == (
        ["a"], "cancelled", ["ok", "interrupted"],
    )  # fmt: skip


def test_a_cancelled_task_ends_its_run_and_what_it_started() -> None:
    box, store = Toolbox(), MemoryStore()
    box.command("nap", ["sleep", "30"], effect="read", timeout=60)

    async def main() -> None:
        policy = ScriptedPolicy([Call("nap")])
        started = asyncio.Event()
        task = asyncio.create_task(
            arun("t", policy=policy, remit=Remit(tools={"nap": "any"}), tools=box, store=store, run_id="r1",
                 watch=lambda event: started.set())
        )  # fmt: skip
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    began = time.monotonic()
    asyncio.run(main())
    state = fold("r1", store.read("r1"))
    assert state.ended is not None
    assert (state.ended.status, [o.status for o in state.observations]) == ("cancelled", ["interrupted"])
    assert time.monotonic() - began < 25, "the command was ended with its run"
    assert not [thread for thread in threading.enumerate() if thread.name == "remit nap"]


@pytest.mark.guarantee("G1", "G3")
@pytest.mark.parametrize(
    ("answer", "status", "then"),
    [
        pytest.param(Decision(True, "ann"), "complete", ["staging"], id="yes"),
        pytest.param(Decision(False, "ann", "too late"), "denied", [], id="no"),
        pytest.param(None, "awaiting_approval", [], id="nobody"),
    ],
)
def test_a_consequential_call_runs_only_after_a_yes(answer: Decision | None, status: str, then: list[str]) -> None:
    outcome = go(Call("deploy", {"target": "staging"}), Final("done"), ask=lambda held: answer)
    assert (outcome.status, ran) == (status, then)


def test_run_says_to_use_arun_inside_an_event_loop() -> None:
    async def main() -> None:
        with pytest.raises(InsideLoop, match="arun"):
            go(Final("x"))

    asyncio.run(main())


def test_a_plain_and_an_async_run_leave_the_same_log() -> None:
    script: list[Call | Final] = [Call("echo", {"text": "a"}), Call("nope"), Call("pay", {"amount": 1}), Final("x")]
    policy = ScriptedPolicy(script)
    plain = run("t", policy=policy, remit=REMIT, tools=tools, run_id="r1")
    awaited = asyncio.run(arun("t", policy=policy, remit=REMIT, tools=tools, run_id="r1"))
    assert [o.status for o in plain.observations] == [o.status for o in awaited.observations] == ["ok", "invalid", "ok"]
    assert plain.attempted_tools == awaited.attempted_tools == ("echo", "nope", "pay")


def test_a_workflow_stops_where_a_step_did_not_end_well() -> None:
    steps: list[Step] = [Call("fails"), lambda context: Final(context.observations[-1].text)]
    stopped = run("t", policy=Workflow(steps), remit=REMIT, tools=tools)
    went_on = run("t", policy=Workflow(steps, go_on=True), remit=REMIT, tools=tools)
    assert (stopped.status, stopped.reason) == ("no_answer", "step 1, fails, ended error")
    assert (went_on.status, went_on.answer) == ("complete", "the record is locked")


def test_what_a_run_is_given_is_checked_before_it_starts() -> None:
    with pytest.raises(RemitError, match="did you mean echo"):
        run("t", policy=ScriptedPolicy([]), remit=Remit(tools={"ecko": "any"}), tools=tools)
    with pytest.raises(RemitError, match="task"):
        run(" ", policy=ScriptedPolicy([]), remit=REMIT, tools=tools)
