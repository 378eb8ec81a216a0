"""What happened in a run, as past-tense frozen values. State is a fold of these (run.py); a record holds several.

Ids and times are given to an event, never made inside it. `us` is a duration in integer microseconds; `call` is the
run's own id of a call (`c1`, `c2`, …), `ref` the id the policy gave it. Fields at their default stay out of the log.
"""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

ObservationStatus = Literal[
    "ok",
    "error",
    "invalid",
    "refused",
    "denied",
    "expired",
    "superseded",
    "not_run",
    "timeout",
    "interrupted",
    "settled",
]
Status = Literal[
    "complete", "denied", "budget_exhausted", "stuck", "no_answer", "declined", "invalid_proposal", "provider_error",
    "cancelled", "failed", "awaiting_approval", "uncertain",
]  # fmt: skip
Grade = Literal["supported", "unsupported", "unchecked"]
Effect = Literal["read", "egress", "write"]
Finish = Literal["stop", "length", "refusal", "filter", "end"]


def _tag(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="event", tag=_tag, gc=False):
    """Base of every event; the log names each by its tag, `event`. Events form no cycles, so none is tracked."""


Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one reply was billed: tokens (`cached` is the part of `input` read from a cache) and micro-dollars."""

    input: Count = 0
    output: Count = 0
    cached: Count = 0
    microusd: Count | None = None


class Declared(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a tool declared when the run began, as the log keeps it. `schema` and `source` are digests."""

    effect: Effect
    schema: str
    source: str = ""
    consequential: bool = False
    idempotent: bool = False
    poll: int | None = None


class Began(Event, frozen=True, kw_only=True):
    """The run began: its task, its remit (document and digest), its tools, and on whose behalf."""

    task: str
    principal: str | None = None
    subject: str | None = None
    parent: str | None = None
    remit: msgspec.Raw
    digest: str
    tools: dict[str, Declared]
    agent_file: str | None = None
    owner: str = ""
    format: int = 1


class Asked(Event, frozen=True, kw_only=True):
    """A request for turn `turn` is about to leave the process; tokens and micro-dollars are what is reserved for its
    reply. A policy that only computes sends no request: its turn is on record with its reply."""

    turn: int
    attempt: int = 1
    tokens: int = 0
    microusd: int = 0


class AttemptFailed(Event, frozen=True, kw_only=True):
    """A request brought no reply: `kind` is the failure's kind; `backoff_us` was waited before the next attempt."""

    kind: str
    detail: str = ""
    us: int = 0
    backoff_us: int = 0


class Replied(Event, frozen=True, kw_only=True):
    """The policy's reply to turn `turn` arrived. What it proposed follows as events of its own."""

    turn: int
    us: int
    finish: Finish = "stop"
    usage: Usage | None = None
    raw: Any = None


NO_ARGS = msgspec.Raw()
"""Stands in a proposal whose arguments were unusable."""


class Proposed(Event, frozen=True, kw_only=True):
    """A call was proposed: canonical `args`, or as `text` what was sent in their place and could not be used."""

    call: str
    tool: str
    args: msgspec.Raw = NO_ARGS
    text: str | None = None
    ref: str | None = None
    edit_of: str | None = None


class Rejected(Event, frozen=True, kw_only=True):
    """A reply without a usable proposal was returned to the policy. `code` names the refusal."""

    code: str
    text: str


class Allowed(Event, frozen=True, kw_only=True):
    """The call may start; `rule` allowed it."""

    call: str
    rule: str


class Held(Event, frozen=True, kw_only=True):
    """The call waits for a person; `rule` held it, `digest` is what a decision is bound to (G3)."""

    call: str
    rule: str
    digest: str


class Refused(Event, frozen=True, kw_only=True):
    """A rule refused the call."""

    call: str
    rule: str
    reason: str


class Approved(Event, frozen=True, kw_only=True):
    """A person said yes to exactly this held call. `claim` says how we know who: `self` is the login at a terminal."""

    call: str
    by: str
    claim: str = "self"
    digest: str


class Denied(Event, frozen=True, kw_only=True):
    """A person said no to the held call."""

    call: str
    by: str
    claim: str = "self"
    reason: str = ""


class Edited(Event, frozen=True, kw_only=True):
    """A person changed the held call: `into` is the new call, judged and shown as what it is."""

    call: str
    by: str
    claim: str = "self"
    into: str


class Started(Event, frozen=True, kw_only=True):
    """The call is about to run. A write carries its effect id, the same on every try; `number` counts from 1."""

    call: str
    effect_id: str | None = None
    number: int = 1


class Interrupted(Event, frozen=True, kw_only=True):
    """The process died while a repeatable read ran; it may start again."""

    call: str


class Unsettled(Event, frozen=True, kw_only=True):
    """A write's outcome is unknown: a crash, a timeout, a lost connection or an exception while it ran. `then` is the
    end that is due once it is settled, where there is one already."""

    call: str
    cause: str
    us: int = 0
    then: Status | None = None


class Settled(Event, frozen=True, kw_only=True):
    """An uncertain write was settled: by its `probe`, a `late` result or a `person` (`by`)."""

    call: str
    how: Literal["probe", "late", "person"]
    done: bool
    by: str | None = None
    note: str = ""


class Observed(Event, frozen=True, kw_only=True):
    """The one observation the policy gets for the call. `code` names a refusal; `size` and `digest` are of the whole
    result where `text` is a part of it or describes it."""

    call: str
    status: ObservationStatus
    text: str = ""
    code: str | None = None
    us: int = 0
    exit_code: int | None = None
    size: int | None = None
    digest: str | None = None


class Nudged(Event, frozen=True, kw_only=True):
    """The policy was told once that it repeats itself, before the stuck rule stops it."""

    call: str
    text: str


class Answered(Event, frozen=True, kw_only=True):
    """A non-empty final answer was accepted."""

    text: str
    claims: list[dict[str, str]] = []


class Checked(Event, frozen=True, kw_only=True):
    """Check number `check` of the final answer ran, independent of the policy."""

    check: int
    name: str
    passed: bool
    detail: str = ""
    us: int = 0


class CancelRequested(Event, frozen=True, kw_only=True):
    """Somebody asked for the run to end."""

    by: str


class Messaged(Event, frozen=True, kw_only=True):
    """A person added a message to the context."""

    by: str
    text: str


class Resumed(Event, frozen=True, kw_only=True):
    """A process took the run over, with this epoch."""

    owner: str
    epoch: int


class GapAccepted(Event, frozen=True, kw_only=True):
    """The operator went on over damage in the log."""

    by: str
    detail: str


class Ended(Event, frozen=True, kw_only=True):
    """The run came to its one end. `reason` completes the status; `grade` is set where an answer was checked."""

    status: Status
    reason: str = ""
    grade: Grade | None = None


AnyEvent = (
    Began | Asked | AttemptFailed | Replied | Proposed | Rejected | Allowed | Held | Refused | Approved | Denied
    | Edited | Started | Interrupted | Unsettled | Settled | Observed | Nudged | Answered | Checked | CancelRequested
    | Messaged | Resumed | GapAccepted | Ended
)  # fmt: skip

encode_events = msgspec.json.Encoder().encode
"""A record's events as a JSON array."""
decode_events = msgspec.json.Decoder(list[AnyEvent]).decode


class Record(msgspec.Struct, frozen=True):
    """One commit to a run's log: `seq` from 1, `at` in microseconds since 1970 UTC, `events` the JSON array as
    written, `digest` chained on the record before (canon.chain)."""

    run: str
    seq: int
    at: int
    events: bytes
    digest: bytes
