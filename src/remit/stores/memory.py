"""The log in memory: as light as a log can be, and gone with the process."""

from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any

from ..core.canon import GENESIS, chain, digest
from ..core.events import Record
from ..errors import Owned
from ..runtime.ports import Head, Lease
from .rules import LEASE_SECONDS, Grant, boottime, check_run_id, conflict, fenced


class _Log:
    """One run. `fields` holds time, events and digest of each record in turn: one list is lighter than a tuple a
    record, and as it grows by one record in one step, there is no instant at which half of one is in it.
    `current` is the epoch that may append; None once it was given up."""

    __slots__ = ("current", "fields", "grant")

    def __init__(self) -> None:
        self.fields: list[Any] = []
        self.current: int | None = None
        self.grant: Grant | None = None


class MemoryStore:
    """Keeps the log in this process. Any thread may use it. `boottime` is the leases' clock, in seconds."""

    durable = False

    def __init__(self, *, boottime: Callable[[], float] = boottime) -> None:
        self._logs: dict[str, _Log] = {}
        self._blobs: dict[str, bytes] = {}
        self._lock = Lock()
        self._boottime = boottime

    def append(self, run: str, seq: int, at: int, events: bytes, epoch: int | None = None) -> bytes:
        """Append record `seq` and return its digest. Raises Conflict, Fenced, and StoreError for an illegal id."""
        with self._lock:
            log = self._logs.get(run) or self._log(run)
            if epoch is not None and epoch != log.current:
                raise fenced(run, epoch)
            fields = log.fields
            if 3 * seq != len(fields) + 3:
                raise conflict(run, seq, len(fields) // 3)
            new = chain(fields[-1] if fields else GENESIS, run, seq, at, events)
            fields += (at, events, new)
            return new

    def _log(self, run: str) -> _Log:
        log = self._logs.get(run)
        if log is None:
            check_run_id(run)
            log = self._logs[run] = _Log()
        return log

    def read(self, run: str, after: int = 0) -> Iterator[Record]:
        """Yield the run's records with `seq` greater than `after`, those included that are appended meanwhile."""
        log = self._logs.get(run)
        if log is not None:
            fields, seq = log.fields, max(after, 0)
            while 3 * seq < len(fields):
                at, events, kept = fields[3 * seq : 3 * seq + 3]
                seq += 1
                yield Record(run, seq, at, events, kept)

    def head(self, run: str) -> Head | None:
        """Return the run's last record's head, or None."""
        log = self._logs.get(run)
        with self._lock:
            return _head(run, log.fields) if log is not None and log.fields else None

    def heads(self) -> list[Head]:
        """Return the head of every run, the one that began last first."""
        with self._lock:
            found = [_head(run, log.fields) for run, log in self._logs.items() if log.fields]
        return sorted(found, key=lambda head: (head.began_at, head.run), reverse=True)

    def witness(self, run: str) -> None:
        """Return None: no note outlives this log."""

    def witnessed(self) -> list[str]:
        """Return no run."""
        return []

    def claim(self, run: str, owner: str) -> int:
        """Become the run's owner and return the new epoch. Raises Owned, and StoreError for an illegal id."""
        with self._lock:
            log = self._log(run)
            now, last = self._boottime(), log.grant
            if last is not None and last.owner != owner and last.live("", now):
                raise Owned(run, last.owner)
            log.current = 1 + (last.epoch if last is not None else 0)
            log.grant = Grant(owner, log.current, "", now + LEASE_SECONDS)
            return log.current

    def renew(self, run: str, epoch: int) -> None:
        """Extend the lease. Raises Fenced where the epoch is over."""
        with self._lock:
            log = self._logs.get(run)
            if log is None or log.grant is None or log.current != epoch:
                raise fenced(run, epoch)
            log.grant = log.grant._replace(expires=self._boottime() + LEASE_SECONDS)

    def release(self, run: str, epoch: int) -> None:
        """Give the lease up, and with it the epoch; no error where that is over."""
        with self._lock:
            log = self._logs.get(run)
            if log is not None and log.grant is not None and log.current == epoch:
                log.grant = log.grant._replace(expires=None)
                log.current = None

    def lease(self, run: str) -> Lease | None:
        """Return the last lease of a run, or None."""
        log = self._logs.get(run)
        grant = log.grant if log is not None else None
        return Lease(grant.owner, grant.epoch, grant.live("", self._boottime())) if grant is not None else None

    def put(self, data: bytes) -> str:
        """Keep a large result and return its digest."""
        name = digest(data)
        self._blobs[name] = data
        return name

    def get(self, digest: str) -> bytes | None:
        """Return what `put` kept, or None."""
        return self._blobs.get(digest)

    def close(self) -> None:
        """Do nothing: there are no files, and what was recorded stays readable."""


def _head(run: str, fields: list[Any]) -> Head:
    return Head(run, len(fields) // 3, fields[-1], began_at=fields[0], at=fields[-3])
