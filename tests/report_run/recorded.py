"""Logs of runs that were really run, with a clock of their own, for the reports on them."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Raw, structs

from remit import Call, Final, Remit, Reply, ScriptedPolicy, Toolbox, ToolError, run
from remit.core.canon import chain
from remit.core.events import (
    Allowed,
    AnyEvent,
    Approved,
    Asked,
    AttemptFailed,
    CancelRequested,
    Ended,
    Held,
    Interrupted,
    Messaged,
    Observed,
    Proposed,
    Record,
    Rejected,
    Replied,
    Resumed,
    Settled,
    Started,
    Unsettled,
    Usage,
    decode_events,
    encode_events,
)  # fmt: skip
from remit.runtime.ports import Asker, Decision, HeldCall
from remit.stores.memory import MemoryStore

Item: TypeAlias = Call | Final | Reply
SECOND = 1_000_000
MINUTE = 60 * SECOND
START = 1_767_323_045 * SECOND
"""2026-01-02T03:04:05Z"""
HOSTILE = (
    "\u202estop: complete\u202c | <script>alert(1)</script> `x`\n```\nsteps: 0\n\n## Run\n| a | b |\n"
    "\x1b[2J[click](http://evil.example) **bold** &lt; \\| \\` $x$ 日本語 e\u0301 \u200b\U000e0041"
)


class FixedClock:
    """Each look at the wall clock is a quarter of a second after the last; whatever is timed took 12.5 ms."""

    def __init__(self) -> None:
        self.at, self.ticks = START, 0

    def now(self) -> int:
        self.at += SECOND // 4
        return self.at

    def tick(self) -> int:
        self.ticks += 12_500_000
        return self.ticks


def toolbox() -> Toolbox:
    tools = Toolbox()
    source = ["def add(a, b):\n    return a - b\n"]

    @tools.read
    def read_file(path: str) -> str:
        if path != "calc.py":
            raise ToolError(f"{path}: no such file")
        return source[0]

    @tools.read
    def run_tests() -> str:
        if "a + b" not in source[0]:
            raise ToolError("FAILED test_add: assert -1 == 3")
        return "1 passed"

    @tools.write
    def write_file(path: str, text: str) -> str:
        source[0] = text
        return f"wrote {len(text)} characters to {path}"

    @tools.write(consequential=True)
    def deploy(target: str) -> str:
        return f"deployed to {target}"

    @tools.write
    def pay(amount: int) -> str:
        raise ConnectionError("connection reset by peer")

    @tools.read
    def fetch(page: str) -> str:
        return HOSTILE

    @tools.read
    def divide() -> str:
        raise ZeroDivisionError("division by zero")

    return tools


def recorded(
    task: str,
    script: Sequence[Item],
    remit: Remit | None = None,
    ask: Callable[[FixedClock], Asker] | None = None,
) -> list[Record]:
    """Run the script and return its log, also where a bug was raised after it was recorded."""
    tools, store, clock = toolbox(), MemoryStore(), FixedClock()
    try:
        run(
            task, policy=ScriptedPolicy(script), remit=remit or Remit(tools=dict.fromkeys(tools, "any")), tools=tools,
            principal="analyst@example.org", store=store, clock=clock, run_id="r1", ask=ask and ask(clock),
        )  # fmt: skip
    except ZeroDivisionError:
        pass
    return list(store.read("r1"))


def asker(yes: bool, reason: str, minutes: int) -> Callable[[FixedClock], Asker]:
    """A person who takes some minutes to decide."""

    def with_clock(clock: FixedClock) -> Asker:
        def ask(held: HeldCall) -> Decision:
            clock.at += minutes * MINUTE
            return Decision(yes, "alice", reason)

        return ask

    return with_clock


def continued(records: list[Record], *batches: tuple[int, list[AnyEvent]]) -> list[Record]:
    """Return the log with more records, each so many microseconds after the one before it."""
    records = list(records)
    for later, events in batches:
        last = records[-1]
        seq, at, raw = last.seq + 1, last.at + later, encode_events(events)
        records.append(Record(last.run, seq, at, raw, chain(last.digest, last.run, seq, at, raw)))
    return records


def complete() -> list[Record]:
    fixed = "def add(a, b):\n    return a + b\n"
    script: list[Item] = [
        Call("run_tests"),
        Call("read_file", {"path": "calc.py"}),
        Call("write_file", {"path": "calc.py", "text": fixed}),
        Call("run_tests"),
        Final(
            "Fixed: add subtracted.\nThe tests pass now.",
            claims=[{"cites": "c4", "quote": "1 passed"}, {"effect": "write_file"}],
        ),
    ]
    remit = Remit(
        tools={"run_tests": "any", "read_file": "any", "write_file": "any"},
        calls_per_tool={"write_file": 2},
        checks=[tests_pass],
    )
    return recorded("Fix the failing test", script, remit)


def tests_pass(answer: object) -> tuple[bool, str]:
    return True, "collected 1 item\n1 passed"


def approved() -> list[Record]:
    script: list[Item] = [Call("deploy", {"target": "staging"}), Final("Shipped.", claims=[{"effect": "deploy"}])]
    return recorded("Ship the fix", script, ask=asker(True, "", 125))


def denied() -> list[Record]:
    return recorded(
        "Ship the fix", [Call("deploy", {"target": "production"})], ask=asker(False, "not on a Friday\n:-)", 3)
    )


def refused() -> list[Record]:
    script: list[Item] = [
        Call("read_file", {"path": "/etc/passwd"}),
        Call("read_file", {"path": "/etc/shadow"}),
        Call("deploy", {"target": "x"}),
        Call("read_file", {"path": "calc.py"}),
        Final("I may not read it.", claims=[{"effect": "deploy"}]),
    ]
    return recorded("Look around", script, Remit(tools={"read_file": {"path": ["calc.py"]}}, on_refusal="continue"))


def stuck() -> list[Record]:
    return recorded("Read it", [Call("read_file", {"path": "calc.py"})] * 6)


def awaiting() -> list[Record]:
    return recorded("Ship the fix", [Call("read_file", {"path": "calc.py"}), Call("deploy", {"target": "production"})])


def budget() -> list[Record]:
    script: list[Item] = [Call("read_file", {"path": f"{n}.py"}) for n in range(9)]
    return recorded("Find it", script, Remit(tools={"read_file": "any"}, turns=3, seconds=None))


def failed() -> list[Record]:
    return recorded("Divide", [Call("divide")])


def invalid() -> list[Record]:
    script: list[Item] = [
        Call("read_file", '{"path": "calc.py'),
        Call("raed_file", {"path": "calc.py"}),
        Final("  "),
        Call("read_file", {"path": 1, "mode": "r"}),
        Reply((Call("read_file", {"path": "a"}), Call("read_file", {"path": "b"}))),
    ]
    return recorded("Read it", script, Remit(tools={"read_file": "any"}, max_invalid=5))


def uncertain() -> list[Record]:
    return recorded("Pay the invoice", [Call("pay", {"amount": 100}), Final("Paid.")])


def hostile() -> list[Record]:
    script: list[Item] = [Call("fetch", {"page": HOSTILE}), Call(HOSTILE, {HOSTILE: HOSTILE}), Final(HOSTILE)]
    return recorded(HOSTILE, script)


def at_once() -> list[Record]:
    return recorded("Say hello", [Final("Hello.")])


def no_answer() -> list[Record]:
    return recorded("Read it", [Call("read_file", {"path": "calc.py"})])


def lasting() -> list[Record]:
    """What a run lives through that outlasts its process: a yes, crashes, a write of unknown outcome, a busy provider,
    a message, a cancel. The first part is a real run; what follows is what its log would go on with."""
    real = recorded("Ship the fix", [Call("deploy", {"target": "staging"})])
    held = next(event for event in decode_events(real[-1].events) if isinstance(event, Held))
    usage = Usage(input=1200, output=80, cached=1000, microusd=4100)
    return continued(
        real,
        (9 * 3600 * SECOND, [Approved(call="c1", by="bob", claim="signed", digest=held.digest)]),
        (SECOND, [Resumed(owner="worker-2", epoch=2), Allowed(call="c1", rule="approval"),
                  Started(call="c1", effect_id="r1.c1")]),
        (MINUTE, [Resumed(owner="worker-3", epoch=3),
                  Unsettled(call="c1", cause="the process ended while it ran", us=2_500_000)]),
        (MINUTE, [Settled(call="c1", how="person", done=True, by="carol", note="seen on staging"),
                  Observed(call="c1", status="settled", text="done")]),
        (SECOND, [Asked(turn=2)]),
        (SECOND, [AttemptFailed(kind="rate_limit", detail="429: slow down", us=900_000, backoff_us=30 * SECOND)]),
        (30 * SECOND, [Asked(turn=2, attempt=2)]),
        (SECOND, [Replied(turn=2, us=700_000, usage=usage), *_reads("c2")]),
        (MINUTE, [Resumed(owner="worker-4", epoch=4), Interrupted(call="c2"), Started(call="c2", number=2)]),
        (SECOND, [Observed(call="c2", status="timeout", text="no result within 30 seconds", us=30 * SECOND)]),
        (SECOND, [Messaged(by="dave", text="please hurry"), Asked(turn=3)]),
        (SECOND, [Replied(turn=3, us=400_000), Rejected(code="final.empty", text="the answer is empty")]),
        (SECOND, [CancelRequested(by="dave"), Ended(status="cancelled", reason="by dave")]),
    )  # fmt: skip


def _reads(call: str) -> list[AnyEvent]:
    proposed = Proposed(call=call, tool="fetch", args=Raw(b'{"page":"status"}'), ref="toolu_1")
    return [proposed, Allowed(call=call, rule="scope.fetch"), Started(call=call)]


def reading(number: int) -> list[AnyEvent]:
    """What call `number` ends with, and how the one after it starts."""
    call = f"c{number + 1}"
    args = Raw(b'{"path":"%0200d.py"}' % number)
    return [
        Observed(call=f"c{number}", status="ok", text=f"{number} ".ljust(1_000, "x"), us=500),
        Replied(turn=number + 1, us=500),
        Proposed(call=call, tool="read_file", args=args),
        Allowed(call=call, rule="scope.read_file"),
        Started(call=call),
    ]


def damaged() -> list[Record]:
    """The log of `complete` after an accident: a record lost, another overwritten with zeros."""
    whole = complete()
    zeros = structs.replace(whole[3], events=bytes(40))
    return [*whole[:2], zeros, *whole[4:]]


RUNS: dict[str, Callable[[], list[Record]]] = {
    run.__name__: run
    for run in (
        complete, approved, denied, refused, stuck, awaiting, budget, failed, invalid, uncertain, hostile, at_once,
        no_answer, lasting, damaged,
    )
}  # fmt: skip
