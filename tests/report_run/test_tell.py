"""Each event in one line: what is known first, what somebody wrote last."""

from typing import get_args

import pytest
from msgspec import Raw

from remit.core.events import (
    Allowed,
    Answered,
    AnyEvent,
    Approved,
    Asked,
    AttemptFailed,
    Began,
    CancelRequested,
    Checked,
    Denied,
    Edited,
    Ended,
    GapAccepted,
    Held,
    Interrupted,
    Messaged,
    Nudged,
    Observed,
    Proposed,
    Refused,
    Rejected,
    Replied,
    Resumed,
    Settled,
    Started,
    Unsettled,
    Usage,
)  # fmt: skip
from remit.core.tell import event_name, tell

TOLD: list[tuple[AnyEvent, str]] = [
    (Began(task="Fix it", remit=Raw(b"{}"), digest="d", tools={}), "Fix it"),
    (Began(task="Fix it", principal="ann", remit=Raw(b"{}"), digest="d", tools={}), "for ann: Fix it"),
    (Asked(turn=2), "turn 2"),
    (Asked(turn=2, attempt=3), "turn 2, attempt 3"),
    (AttemptFailed(kind="interrupted"), "interrupted"),
    (
        AttemptFailed(kind="rate_limit", detail="429", us=1500, backoff_us=2_000_000),
        "rate_limit after 1.5 ms, then waited 2.0 s: 429",
    ),
    (Replied(turn=1, us=0), "turn 1 in 0.0 ms"),
    (
        Replied(turn=1, us=20, usage=Usage(input=7, output=3), finish="length", raw="text"),
        "turn 1 in 0.0 ms, 7 tokens in, 3 out, finish length: text",
    ),
    (Replied(turn=1, us=0, raw={"text": "a reply"}), "turn 1 in 0.0 ms"),
    (Proposed(call="c1", tool="look", args=Raw(b'{"a":1}')), 'c1 look({"a":1})'),
    (Proposed(call="c2", tool="look", args=Raw(b"{}"), edit_of="c1"), "c2 in place of c1 look({})"),
    (Proposed(call="c1", tool="look", text="{" * 90), f"c1 look({'{' * 80}… (90 characters))"),
    (Rejected(code="final.empty", text="the answer is empty"), "final.empty: the answer is empty"),
    (Allowed(call="c1", rule="scope.look"), "c1 by scope.look"),
    (Held(call="c1", rule="consequential", digest="d"), "c1 by consequential"),
    (Refused(call="c1", rule="scope", reason="not named"), "c1 by scope: not named"),
    (Approved(call="c1", by="ann", digest="d"), "c1 by ann (self)"),
    (Denied(call="c1", by="ann", claim="signed"), "c1 by ann (signed)"),
    (Denied(call="c1", by="ann", reason="not now"), "c1 by ann (self): not now"),
    (Edited(call="c1", by="ann", into="c2"), "c1 by ann (self) into c2"),
    (Started(call="c1"), "c1"),
    (Started(call="c1", effect_id="r1.c1", number=2), "c1, try 2, effect id r1.c1"),
    (Interrupted(call="c1"), "c1, to start again"),
    (Unsettled(call="c1", cause="it raised", us=2_500_000), "c1 after 2.5 s: it raised"),
    (Settled(call="c1", how="probe", done=False), "c1 not done, by probe"),
    (Settled(call="c1", how="person", done=True, by="ann", note="seen"), "c1 done, by person ann: seen"),
    (Observed(call="c1", status="ok", text="found", us=12_500), "c1 ok in 12.5 ms: found"),
    (Observed(call="c1", status="error", text="1 failed", exit_code=1), "c1 error (exit code 1): 1 failed"),
    (Observed(call="c1", status="refused", text="scope: no", code="scope"), "c1 refused: scope: no"),
    (Observed(call="c1", status="ok", text="a…z", size=90_000), "c1 ok, 90000 bytes in all: a…z"),
    (Nudged(call="c1", text="again?"), "c1: again?"),
    (Answered(text="Done."), "Done."),
    (Answered(text="Done.", claims=[{"effect": "deploy"}]), "1 claim: Done."),
    (Checked(check=0, name="cites", passed=True), "passed cites"),
    (Checked(check=0, name="cites", passed=False, detail="not found"), "failed cites: not found"),
    (CancelRequested(by="ann"), "by ann"),
    (Messaged(by="ann", text="hurry"), "ann: hurry"),
    (Resumed(owner="worker-2", epoch=2), "by worker-2, epoch 2"),
    (GapAccepted(by="ann", detail="records 3 to 4"), "by ann: records 3 to 4"),
    (Ended(status="complete", grade="supported"), "complete, supported"),
    (Ended(status="stuck", reason="a cycle"), "stuck: a cycle"),
]


@pytest.mark.parametrize(("event", "then"), TOLD, ids=[f"{n} {event_name(e)}" for n, (e, _) in enumerate(TOLD)])
def test_an_event_is_told_in_one_line(event: AnyEvent, then: str) -> None:
    assert tell(event) == then


def test_every_event_is_told() -> None:
    assert {type(event) for event, _ in TOLD} == set(get_args(AnyEvent))


def test_of_a_long_text_the_beginning_is_told_and_how_long_it_is() -> None:
    assert tell(Nudged(call="c1", text="x" * 500), 10) == "c1: xxxxxx… (504 characters)"
