"""The log in a SQLite file: durable, shared by processes, one sync a commit. Tables and reasons: schema.py.

A record is in the file, and synced, when `append` returns. Leases and large results are written without a sync of
their own: the next append's covers them, and until then nothing refers to them. (After a power cut no lease of that
boot is live, and an epoch that was lost has appended nothing.)
"""

import logging
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any, Literal

from ..core import canon
from ..core.events import Record
from ..errors import LogDamaged, Owned, StoreError
from ..runtime.ports import Head, Lease
from . import rules
from .connection import connect
from .faults import damaged, fault, unusable
from .rules import Grant, check_run_id, conflict, fenced, is_run_id
from .schema import LAST_SEQ, SEQ_BITS
from .witness import Slot, Witness

log = logging.getLogger("remit")

PAGE_RECORDS, PAGE_BYTES = 500, 256 << 10
"""A reader fetches so much at a time, whichever is less, and holds no lock or transaction in between."""

_RECORDS = f"FROM records WHERE id BETWEEN key << {SEQ_BITS} AND key << {SEQ_BITS} | {LAST_SEQ}"
_STAND = f"""SELECT key, CASE WHEN expires IS NULL THEN NULL ELSE epoch END, id & {LAST_SEQ}, digest
    FROM runs LEFT JOIN records ON id = (SELECT max(id) {_RECORDS}) WHERE run = ?"""
# What was written as one type may have become another: a damaged row is still read, for verify to name it.
_GRANT = """SELECT CAST(owner AS TEXT), CAST(epoch AS INTEGER), CAST(boot AS TEXT), CAST(expires AS REAL) FROM runs
    WHERE run = ? AND epoch > 0"""
_PAGE = f"""SELECT id & {LAST_SEQ}, ifnull(CAST(at AS INTEGER), -1), ifnull(CAST(events AS BLOB), x''),
    ifnull(CAST(digest AS BLOB), x'') FROM records WHERE id > ? AND id <= ? ORDER BY id LIMIT {PAGE_RECORDS}"""
_HEADS = f"""SELECT run, last.id & {LAST_SEQ}, ifnull(CAST(last.digest AS BLOB), x''),
    ifnull(CAST(first.at AS INTEGER), -1), ifnull(CAST(last.at AS INTEGER), -1) FROM runs
    JOIN records AS last ON last.id = (SELECT max(id) {_RECORDS})
    JOIN records AS first ON first.id = (SELECT min(id) {_RECORDS})"""


class SQLiteStore:
    """The store at `path`; any thread may use it, but no process that was forked after it was opened.

    `timeout` is how many seconds to wait for another program's lock. `boottime` (seconds) and `boot` are the leases'
    clock, given in tests. `readonly` opens an existing store and writes nothing.
    """

    durable = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        readonly: bool = False,
        timeout: float = 10.0,
        boottime: Callable[[], float] = rules.boottime,
        boot: str | None = None,
    ) -> None:
        self.path = os.path.abspath(os.fsdecode(path))
        self.readonly = readonly
        self._boottime = boottime
        self._boot = boot
        self._lock = RLock()
        self._pid = os.getpid()
        self._witness = Witness(self.path + "-heads")
        self._unwitnessed = False
        self._level = ""
        self._connection: sqlite3.Connection | None = connect(self.path, readonly=readonly, timeout=timeout)

    def append(self, run: str, seq: int, at: int, events: bytes, epoch: int | None = None) -> bytes:
        """Append record `seq` and return its digest. Raises Conflict, Fenced, StoreError, or LogDamaged where the log
        has lost its end; and then wrote nothing."""
        check_run_id(run)
        with self._lock:
            with self._transaction() as db:
                key, current, last, before = self._stand(db, run)
                if epoch is not None and epoch != current:
                    raise fenced(run, epoch)
                self._check_end(run, key, last, before)
                if seq != last + 1:
                    raise conflict(run, seq, last)
                if key is None:
                    key = db.execute("INSERT INTO runs (run) VALUES (?)", (run,)).lastrowid or 0
                digest = canon.chain(before, run, seq, at, events)
                db.execute("INSERT INTO records VALUES (?, ?, ?, ?)", (key << SEQ_BITS | seq, at, digest, events))
            self._note(key, Slot(run, seq, digest))
        return digest

    def _stand(self, db: sqlite3.Connection, run: str) -> tuple[int | None, int | None, int, bytes]:
        """Return the run's key, its current epoch, and number and digest of its last record."""
        key, epoch, last, digest = db.execute(_STAND, (run,)).fetchone() or (None, None, None, None)
        if last is None:
            return key, epoch, 0, canon.GENESIS
        if not (isinstance(digest, bytes) and len(digest) == len(canon.GENESIS)):
            raise damaged(self.path, f"record {last} of run {run} has no digest")
        return key, epoch, last, digest

    def _check_end(self, run: str, key: int | None, last: int, digest: bytes) -> None:
        """Raise LogDamaged where the witness knows a later record than the last, or another: to go on would be to
        forget that. Nobody can have committed meanwhile, and a note follows its commit."""
        try:
            noted = None if key is None else self._witness.newest(key)
        except OSError:  # told when the note is written
            return
        if noted is None or noted.run != run or noted.seq < last or (noted.seq, noted.digest) == (last, digest):
            return
        what = f"the log of run {run} has lost its end: record {noted.seq} had been written, and it ends with {last}"
        if noted.seq == last:
            what = f"the last record of run {run}, {last}, is not the one that was written"
        fix = f"restore {self.path} from a copy; to go on with what is left, delete {self._witness.path}"
        raise LogDamaged(what, fix=fix)

    def _note(self, key: int, slot: Slot) -> None:
        """Note a record in the witness. It is in the log: that the witness fails is told, once, but is no failure."""
        try:
            self._witness.note(key, slot, like=self.path)
        except OSError as error:
            if not self._unwitnessed:
                log.warning("cannot write %s (%s): a log that loses its end may look whole", self._witness.path, error)
            self._unwitnessed = True

    def read(self, run: str, after: int = 0) -> Iterator[Record]:
        """Yield the run's records with `seq` greater than `after`, as they stand, those included that are appended
        meanwhile. Raises LogDamaged where the file cannot be read on."""
        after = max(after, 0)
        while page := self._page(run, min(after, LAST_SEQ)):
            for record in page:
                yield record
                if record.seq <= after:  # a damaged file might go on for ever
                    raise damaged(self.path, f"record {record.seq} of run {run} stands after record {after}")
                after = record.seq

    def _page(self, run: str, after: int) -> list[Record]:
        with self._session() as db:
            key = self._key(db, run)
            if key is None:
                return []
            page, size = [], 0
            rows = db.execute(_PAGE, (key << SEQ_BITS | after, key << SEQ_BITS | LAST_SEQ))
            for seq, at, events, digest in rows:
                page.append(Record(run, seq, at, events, digest))
                size += len(events)
                if size > PAGE_BYTES:
                    break
            rows.close()
            return page

    def head(self, run: str) -> Head | None:
        """Return the run's last record's head, or None."""
        if not is_run_id(run):
            return None
        with self._session() as db:
            row = db.execute(f"{_HEADS} WHERE run = ?", (run,)).fetchone()
            return None if row is None else self._head(row)

    def heads(self) -> list[Head]:
        """Return the head of every run, the one that began last first."""
        with self._session() as db:
            return [self._head(row) for row in db.execute(f"{_HEADS} ORDER BY first.at DESC, run DESC")]

    def _head(self, row: tuple[Any, ...]) -> Head:
        run, seq, digest, began_at, at = row
        if not isinstance(run, str) or not is_run_id(run):
            raise damaged(self.path, f"it says that a run is called {run!a}")
        return Head(run, seq, digest, began_at, at)

    def witness(self, run: str) -> tuple[int, bytes] | None:
        """Return (seq, digest) of the newest head noted beside the database, or None. It may know a run that the
        database has lost."""
        with self._session() as db:
            try:
                slot = self._witness.find(run, self._key(db, run))
            except OSError as error:
                raise unusable(self._witness.path, error) from error
        return None if slot is None else (slot.seq, slot.digest)

    def witnessed(self) -> list[str]:
        """Return every run noted beside the database, whether or not the database still has it."""
        with self._lock:
            try:
                return [slot.run for slot in self._witness.slots()]
            except OSError as error:
                raise unusable(self._witness.path, error) from error

    def claim(self, run: str, owner: str) -> int:
        """Become the run's owner and return the new epoch. Raises Owned or StoreError."""
        check_run_id(run)
        with self._transaction("NORMAL") as db:
            last, now = self._grant(db, run), self._boottime()
            if last is not None and last.owner != owner and last.live(self._this_boot, now):
                raise Owned(run, last.owner)
            new = Grant(owner, 1 + (last.epoch if last else 0), self._this_boot, now + rules.LEASE_SECONDS)
            db.execute("INSERT INTO runs (run) VALUES (?) ON CONFLICT DO NOTHING", (run,))
            db.execute("UPDATE runs SET owner = ?, epoch = ?, boot = ?, expires = ? WHERE run = ?", (*new, run))
            return new.epoch

    def renew(self, run: str, epoch: int) -> None:
        """Extend the lease. Raises Fenced where the epoch is over."""
        with self._transaction("NORMAL") as db:
            last = self._grant(db, run)
            if last is None or last.epoch != epoch or last.expires is None:
                raise fenced(run, epoch)
            until = self._boottime() + rules.LEASE_SECONDS
            db.execute("UPDATE runs SET boot = ?, expires = ? WHERE run = ?", (self._this_boot, until, run))

    def release(self, run: str, epoch: int) -> None:
        """Give the lease up, and with it the epoch; no error where that is over."""
        if is_run_id(run):
            with self._transaction("NORMAL") as db:
                db.execute("UPDATE runs SET expires = NULL WHERE run = ? AND epoch = ?", (run, epoch))

    def lease(self, run: str) -> Lease | None:
        """Return the last lease of a run, or None."""
        with self._session() as db:
            last = self._grant(db, run)
        return last and Lease(last.owner, last.epoch, last.live(self._this_boot, self._boottime()))

    def put(self, data: bytes) -> str:
        """Keep a large result and return its digest. It is durable with the next append."""
        name = canon.digest(data)
        with self._transaction("NORMAL") as db:
            made = db.execute("INSERT INTO blobs VALUES (?, ?) ON CONFLICT DO NOTHING", (name, data)).rowcount
        if not made:
            self.get(name)  # what is kept under this name must still be it
        return name

    def get(self, digest: str) -> bytes | None:
        """Return what `put` kept, or None. Raises LogDamaged where it no longer has that digest."""
        with self._session() as db:
            row = db.execute("SELECT CAST(data AS BLOB) FROM blobs WHERE digest = ?", (digest,)).fetchone()
        if row is None:
            return None
        data = row[0] or b""
        if canon.digest(data) != digest:
            raise damaged(self.path, f"the result kept as {digest} is another")
        return bytes(data)

    def close(self) -> None:
        """Close the files; nothing can be asked of the store after that. In a forked process, do nothing."""
        if os.getpid() == self._pid:
            with self._lock:
                self._witness.close()
                if self._connection is not None:
                    self._connection.close()
                    self._connection = None

    @property
    def _this_boot(self) -> str:
        return self._boot or rules.boot_id()

    def _key(self, db: sqlite3.Connection, run: str) -> int | None:
        row = db.execute("SELECT key FROM runs WHERE run = ?", (run,)).fetchone() if is_run_id(run) else None
        if row is not None and not isinstance(row[0], int):
            raise damaged(self.path, f"run {run} has no key")
        return row and int(row[0])

    @staticmethod
    def _grant(db: sqlite3.Connection, run: str) -> Grant | None:
        row = db.execute(_GRANT, (run,)).fetchone() if is_run_id(run) else None
        return None if row is None else Grant(*row)

    @contextmanager
    def _session(self) -> Iterator[sqlite3.Connection]:
        """Have the connection alone; leave it without a transaction, and tell errors of SQLite in our words."""
        if os.getpid() != self._pid:
            raise StoreError("this store was opened by the process that this one was forked from", fix="open it again")
        with self._lock:
            if self._connection is None:
                raise StoreError(f"the store {self.path} is closed", fix="open it again")
            try:
                yield self._connection
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise fault(error, self.path) from error
            finally:
                if self._connection.in_transaction:
                    _roll_back(self._connection)

    @contextmanager
    def _transaction(self, level: Literal["FULL", "NORMAL"] = "FULL") -> Iterator[sqlite3.Connection]:
        """Write in one transaction; synced at its end if `level` is FULL, else with the next one that is."""
        if self.readonly:
            raise StoreError(f"the store {self.path} is open for reading only", fix="open it without `readonly`")
        with self._session() as db:
            if self._level != level:
                self._level = ""  # an interrupt between these lines must not leave us believing in a sync
                db.execute(f"PRAGMA synchronous = {level}")
                self._level = level
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")


def _roll_back(connection: sqlite3.Connection) -> None:
    try:
        connection.execute("ROLLBACK")
    except sqlite3.Error as error:  # SQLite may have done it itself
        log.debug("rollback: %s", error)
