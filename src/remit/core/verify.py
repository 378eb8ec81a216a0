"""Is a log whole? Follows the chain of digests through a run's records and names what is wrong with each (G9).

After damage it goes on: the next record is held against the digest that the damaged one carries, so that one bad
record does not make all after it bad. What a record says is folded only as long as everything before it is sound.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from ..errors import Invalid, LogDamaged, RemitError
from .canon import GENESIS, chain
from .events import Record, decode_events
from .fold import take
from .run import Run
from .visible import visible

Kind: TypeAlias = Literal[
    "edited", "illegal", "missing", "repeated", "reordered", "rewritten", "truncated", "undecodable", "unreadable"
]


class Damage(NamedTuple):
    """What is wrong with the records `seq` to `last` (most often one); `text` completes a sentence about them."""

    seq: int
    last: int
    kind: Kind
    text: str

    def line(self) -> str:
        """Return it as one line."""
        which = f"record {self.seq}" if self.seq == self.last else f"records {self.seq} to {self.last}"
        return f"{which}: {visible(self.text)}"


class Verified(NamedTuple):
    """What was found of a run: how many `records` stand there, of how many the chain holds (`good`, and of those
    `before` the first damage), and the damage in the order of the records it begins with."""

    run: str
    records: int
    good: int
    before: int
    damage: tuple[Damage, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.damage

    def lines(self) -> Iterator[str]:
        """Yield the finding as text: one line, and one for each damage."""
        if self.sound:
            yield f"{self.run}: sound, {self.records} record{'s' * (self.records != 1)}"
            return
        after = self.good - self.before
        yield f"{self.run}: damaged; of {self.records} records {self.before} good before the damage, {after} after it"
        for damage in self.damage:
            yield f"  {damage.line()}"


def verify(run: str, records: Iterable[Record], witness: tuple[int, bytes] | None = None) -> Verified:
    """Return what is wrong with a run's log, given its records in the order in which they stand.

    `witness` is (seq, digest) of the newest head that was noted elsewhere (Store.witness). A LogDamaged that is raised
    by `records` is damage like any other. Nothing is raised for what a log holds.
    """
    verifier = Verifier(run, witness)
    try:
        for record in records:
            verifier.add(record)
    except LogDamaged as error:
        return verifier.done(broken=error)
    return verifier.done()


class Verifier:
    """Takes a run's records one by one, in the order in which they stand; `done` tells what was found.

    One record is held back, for what follows it tells whether it came early or those before it are missing. Where a
    record is out of place its own digest is not checked; only the digest it carries is kept, for the record after it.
    Without `folding` what the records say is left to who tells of it, and memory does not grow.
    """

    def __init__(self, run: str, witness: tuple[int, bytes] | None = None, *, folding: bool = True) -> None:
        self.run = run
        self._witness = witness
        self._next = 1
        self._behind = 0
        """Number of the record that stands before the one to be placed."""
        self._anchors: tuple[bytes, ...] = (GENESIS,)
        """What the next record may be chained on; empty if the one before it is missing."""
        self._state: Run | None = Run(run) if folding else None
        self._waiting: Record | None = None
        self._early: dict[int, bytes] = {}
        self._missing: list[list[int]] = []
        self._damage: list[Damage] = []
        self._newest: dict[Kind, int] = {}
        self._records = self._good = self._before = 0
        self._witnessed: bytes | None = None

    def add(self, record: Record) -> None:
        """Take the next record."""
        self._records += 1
        if self._witness is not None and record.seq == self._witness[0]:
            self._witnessed = record.digest
        waiting, self._waiting = self._waiting, record
        if waiting is not None:
            self._place(waiting, record.seq)

    def done(self, broken: LogDamaged | None = None) -> Verified:
        """Return what was found. `broken` is why no more could be read, if something is."""
        if self._waiting is not None:
            self._place(self._waiting, None)
        self._take_early()
        if broken is not None:
            self._harm(self._next, "unreadable", f"cannot be read, nor any after it: {broken.message}")
        elif self._witness is not None:
            self._compare(*self._witness)
        for first, last in self._missing:
            self._harm(first, "missing", "missing", last)
        damage = tuple(sorted(self._damage))
        return Verified(self.run, self._records, self._good, self._before if damage else self._good, damage)

    def _compare(self, seq: int, digest: bytes) -> None:
        """Compare with the witness."""
        if seq >= self._next:
            self._harm(self._next, "truncated", "missing from the end: they had been written", seq)
        elif self._witnessed is not None and self._witnessed != digest:
            self._harm(seq, "rewritten", "not the one that was written: its digest is another")

    def _place(self, record: Record, following: int | None) -> None:
        """Take a record whose follower's number is known: it is the next, or came early, or late, or after a gap."""
        self._take_early()
        seq = record.seq
        if seq < self._next:
            self._late(seq)
        elif seq > self._next and following is not None and self._next <= following < seq:
            self._harm(self._next, "reordered", f"record {seq} stands in its place")
            self._early.setdefault(seq, record.digest)
        else:
            self._skip_to(seq)
            self._check(record)
        self._behind = seq

    def _take_early(self) -> None:
        while self._next in self._early:
            self._anchors = (self._early.pop(self._next),)
            self._next += 1

    def _skip_to(self, seq: int) -> None:
        """Note what is missing before record `seq`: all but those that came early."""
        came = sorted(early for early in self._early if early < seq)
        for early in [*came, seq]:
            if self._next < early:
                self._missing.append([self._next, early - 1])
                self._harmed()
                self._anchors = ()
            if early < seq:
                self._anchors = (self._early.pop(early),)
                self._next = early + 1
        self._next = seq

    def _late(self, seq: int) -> None:
        """Take a record that ought to have come before: one that seemed to be missing, or one that was there."""
        at = bisect_right(self._missing, [seq, self._next]) - 1
        if at >= 0 and seq <= self._missing[at][1]:
            first, last = self._missing[at]
            self._missing[at : at + 1] = [part for part in ([first, seq - 1], [seq + 1, last]) if part[0] <= part[1]]
            self._harm(seq, "reordered", f"stands after record {self._behind}")
        else:
            self._harm(seq, "repeated", "stands there more than once")

    def _check(self, record: Record) -> None:
        """Hold a record against what stands before it, and read what it says."""
        seq, digest = record.seq, record.digest
        wanted = [chain(anchor, self.run, seq, record.at, record.events) for anchor in self._anchors]
        if not wanted or digest in wanted:
            self._good += bool(wanted)
            self._anchors = (digest,)
        else:
            self._harm(seq, "edited", "it or its digest was changed: they do not fit")
            self._anchors = (digest, wanted[0])  # whichever of the two was changed, the next one fits the other
        self._next = seq + 1
        self._understand(record)

    def _understand(self, record: Record) -> None:
        try:
            if self._state is None:
                decode_events(record.events)
            else:
                take(self._state, record)
        except (msgspec.DecodeError, RecursionError) as error:
            self._harm(record.seq, "undecodable", f"what it says cannot be read: {error}")
        except Invalid as error:
            self._harm(record.seq, "undecodable", f"its remit cannot be read: {error.problems[0]}")
        except RemitError as error:
            self._harm(record.seq, "illegal", error.message)

    def _harm(self, seq: int, kind: Kind, text: str, last: int = 0) -> None:
        """Note damage; what is wrong with many records in a row is told once."""
        self._harmed()
        at = self._newest.get(kind)
        if at is not None and (self._damage[at].last + 1, self._damage[at].text) == (seq, text):
            self._damage[at] = self._damage[at]._replace(last=max(seq, last))
        else:
            self._newest[kind] = len(self._damage)
            self._damage.append(Damage(seq, max(seq, last), kind, text))

    def _harmed(self) -> None:
        """From here on a state means nothing, and what is good is good after damage."""
        if self._state is not None:
            self._state = None
            self._before = self._good
