"""The seams: what the loop needs of a policy, a store, a clock and a person. Anything of these shapes will do."""

from collections.abc import Awaitable, Callable, Iterator
from typing import NamedTuple, Protocol, TypeAlias

from ..core.context import Context
from ..core.events import Record
from ..core.reply import Proposal


class Policy(Protocol):
    """Who proposes. `propose` may be plain or async; it returns a Reply, or a Call or a Final alone.

    Everything so far is durable before it is asked, for a request may leave the process. A policy that only computes
    may say `remote = False`: then its request shares a record, and a sync, with what comes after.
    """

    def propose(self, context: Context, /) -> Proposal | Awaitable[Proposal]: ...


class Clock(Protocol):
    """Time, passed in so that tests need not wait."""

    def now(self) -> int:
        """Microseconds since 1970 UTC, by the wall clock."""
        ...

    def tick(self) -> int:
        """Nanoseconds by a clock that never goes back."""
        ...


class Lease(NamedTuple):
    """Who owns a run. `live` is false once the lease ran out or was released; `epoch` grows with each claim."""

    owner: str
    epoch: int
    live: bool


class Head(NamedTuple):
    """The last record of a run. `at` is in microseconds since 1970 UTC; `began_at` that of the first record."""

    run: str
    seq: int
    digest: bytes
    began_at: int
    at: int


class Store(Protocol):
    """The log of many runs. Every method raises StoreError (Conflict, Fenced, Owned), or LogDamaged for a file that
    cannot be read, and never half-writes. A run id has 1 to 64 of the characters 0-9, a-z and -; `append` and `claim`
    refuse another, and no other is known.

    Exported suite: `remit.stores.contract.StoreContract`; a store that passes it may be used for `open_store`'s.
    """

    durable: bool
    """Whether an append that returned survives the process and the power."""

    def append(self, run: str, seq: int, at: int, events: bytes, epoch: int | None = None) -> bytes:
        """Append record `seq` and return its digest, chained on the record before it.

        In one transaction: raises Conflict unless `seq` is the last one plus 1 (the first is 1), and, where `epoch` is
        given, Fenced unless it is the run's current epoch, which one that was released is not. Control records give
        none. When it returns, it is durable.
        """
        ...

    def read(self, run: str, after: int = 0) -> Iterator[Record]:
        """Yield the run's records with `seq` greater than `after`, in order; none where the run is unknown."""
        ...

    def head(self, run: str) -> Head | None:
        """Return the run's last record's head, or None."""
        ...

    def heads(self) -> list[Head]:
        """Return the head of every run, the one that began last first."""
        ...

    def witness(self, run: str) -> tuple[int, bytes] | None:
        """Return (seq, digest) of the newest head noted outside the log itself, where the store keeps such a note.
        It may lag behind the log; if it is ahead, or differs, the log is damaged."""
        ...

    def witnessed(self) -> list[str]:
        """Return every run of which there is such a note, whether or not the log still has it."""
        ...

    def claim(self, run: str, owner: str) -> int:
        """Become the owner of a run (that may have no record yet) and return the new epoch. Raises Owned where another
        owner's lease is live."""
        ...

    def renew(self, run: str, epoch: int) -> None:
        """Extend the lease. Raises Fenced where the epoch is over."""
        ...

    def release(self, run: str, epoch: int) -> None:
        """Give the lease up, and with it the epoch; no error where that is over."""
        ...

    def lease(self, run: str) -> Lease | None:
        """Return the last lease of a run, or None."""
        ...

    def put(self, data: bytes) -> str:
        """Keep a large result beside the log and return its digest (`sha256:` and 64 hex digits). It is durable with
        the next append at the latest."""
        ...

    def get(self, digest: str) -> bytes | None:
        """Return what `put` kept, or None. Raises LogDamaged where it no longer has that digest."""
        ...

    def close(self) -> None:
        """Release files and connections."""
        ...


class HeldCall(NamedTuple):
    """What a person is shown about a held call. `args` is its canonical JSON; a decision is bound to `digest`."""

    run: str
    call: str
    tool: str
    args: str
    rule: str
    digest: str
    task: str


class Decision(NamedTuple):
    """A person's answer. `by` is who; `claim` how that is known (`self`: the login at the terminal)."""

    yes: bool
    by: str
    reason: str = ""
    claim: str = "self"


Asker: TypeAlias = Callable[[HeldCall], Decision | None]
"""Asks a person at once; None means that nobody decided, and the run rests."""
