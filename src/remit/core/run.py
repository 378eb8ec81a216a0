"""The state of a run: nothing that its log cannot rebuild. fold.py is the only thing that changes it."""

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, NamedTuple, overload

import msgspec

from .events import Began, Checked, Ended, Proposed, Status
from .moves import CallPhase, RunPhase
from .remit import Remit
from .rules import Rules
from .stuck import Loop, Repeats


class Observation(msgspec.Struct, frozen=True, gc=False):
    """What the policy gets back for one call. `args` is canonical JSON text, or None where the arguments were unusable;
    `call` is the run's id of the call, `ref` the policy's own."""

    call: str
    tool: str
    args: str | None
    status: str
    text: str
    code: str | None = None
    ref: str | None = None


class Notice(msgspec.Struct, frozen=True, gc=False):
    """Something else the policy is told: a `rejected` reply, a `nudge`, a person's `message`. `after` counts the
    observations before it."""

    kind: str
    text: str
    after: int
    by: str | None = None


class OpenCall:
    """A call that has no observation yet."""

    phase: CallPhase = "proposed"
    held_at: int | None = None
    rule: str = ""
    digest: str = ""
    effect_id: str | None = None
    number: int = 0

    def __init__(self, event: Proposed) -> None:
        self.id = event.call
        self.tool = event.tool
        self.args = bytes(event.args).decode() or None
        self.ref = event.ref


class Halt(NamedTuple):
    """Why the run must end once every open call is answered."""

    status: Status
    reason: str

    def end(self) -> Ended:
        """The end that is due."""
        return Ended(status=self.status, reason=self.reason)


class View(Sequence[Any]):
    """An immutable view of the first `size` items of a list that only ever grows."""

    __slots__ = ("_items", "_size")

    def __init__(self, items: list[Any], size: int) -> None:
        self._items = items
        self._size = size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return tuple(self._items[i] for i in range(*index.indices(self._size)))
        if not -self._size <= index < self._size:
            raise IndexError(index)
        return self._items[index if index >= 0 else index + self._size]

    def __iter__(self) -> Iterator[Any]:
        return (self._items[i] for i in range(self._size))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))


class Run:
    """One run's state. It changes in place, so that a step costs the same at any length of the run; the events are the
    frozen values. `at` and `began_at` are microseconds since 1970 UTC, from the records; `seq` counts records."""

    __slots__ = (
        "answer", "at", "attempt", "backoff_us", "began", "began_at", "cancelled_by", "checked", "claims", "deadline",
        "ended", "epoch", "halt", "id", "invalid", "invalid_turn", "loop", "notices", "observations", "open", "phase",
        "polls", "proposed", "refusals", "remit", "repeats", "rules", "seq", "started", "started_by_tool", "succeeded",
        "tokens", "turns", "waiting_us", "working_us",
    )  # fmt: skip

    began: Began
    """The first record's first event; not there while the phase is `new`, like the remit and the repeats."""
    remit: Remit
    rules: Rules
    repeats: Repeats
    polls: dict[str, int]

    def __init__(self, run_id: str) -> None:
        self.id = run_id
        self.phase: RunPhase = "new"
        self.seq = self.at = self.began_at = self.epoch = 0
        self.deadline = inf  # of all time, waiting included; in the unit of `at`
        self.turns = self.attempt = self.proposed = self.started = 0
        self.tokens: int | None = None  # until a reply says what it was billed
        self.invalid = self.invalid_turn = self.refusals = 0
        self.working_us = self.waiting_us = self.backoff_us = 0
        self.started_by_tool: dict[str, int] = {}
        self.succeeded: set[str] = set()
        self.open: dict[str, OpenCall] = {}
        self.observations: list[Observation] = []
        self.notices: list[Notice] = []
        self.checked: list[Checked] = []
        self.loop: tuple[Loop, str] | None = None
        self.halt: Halt | None = None
        self.answer: str | None = None
        self.claims: Sequence[Any] = ()
        self.cancelled_by: str | None = None
        self.ended: Ended | None = None

    def halt_with(self, status: Status, reason: str) -> None:
        """Note why the run must end; the first reason stands."""
        if self.halt is None:
            self.halt = Halt(status, reason)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and _document(self) == _document(other)

    __hash__ = None  # type: ignore[assignment]


def _document(run: Run) -> dict[str, Any]:
    """The whole state as data."""
    data = {name: getattr(run, name, None) for name in Run.__slots__ if name not in ("repeats", "remit", "rules")}
    data["open"] = {name: vars(call) for name, call in run.open.items()}
    data["repeats"] = run.repeats.document() if run.phase != "new" else None
    return data
