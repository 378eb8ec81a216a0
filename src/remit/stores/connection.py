"""Opens the file of a SQLite store: makes it, brings it to the newest form, or says why it cannot be used."""

import os
import sqlite3
import stat
import sys
import time
from threading import Lock

from ..errors import InputError, LogDamaged, StoreError
from .faults import ELSEWHERE, damaged, fault, unusable
from .schema import APPLICATION, MIGRATIONS, migrate

_MAKING = Lock()
"""A file is closed again where it was made, and on POSIX that drops every lock this process has on it."""


def connect(path: str, *, readonly: bool, timeout: float) -> sqlite3.Connection:
    """Return a connection to the store at the absolute `path`; `timeout` is how many seconds to wait for a lock.

    Raises StoreError, and LogDamaged for a file that has lost what it held.
    """
    try:
        _check_place(path, readonly)
        return _reading(path, timeout) if readonly else _writing(path, timeout)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise fault(error, path) from error
    except (OSError, ValueError) as error:
        raise unusable(path, error) from error


def _check_place(path: str, readonly: bool) -> None:
    """Raise where no store can be; make an empty file, for its owner alone, where there is nothing."""
    with _MAKING:
        witnessed = os.path.exists(path + "-heads")  # looked for first: it is made after its store
        try:
            found = os.stat(path)
        except FileNotFoundError:
            found = None
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise OSError(f"{path} is not a regular file")
        if found is not None and found.st_size:
            if not readonly and not os.access(path, os.W_OK):  # SQLite would open it, and fail at the first append
                raise StoreError(f"the store {path} cannot be written", fix=f"see who may write to it, or {ELSEWHERE}")
            return
        if witnessed:
            what = f"the store {path} is {'missing' if found is None else 'empty'}, but runs were recorded in it"
            raise LogDamaged(what, fix=f"restore it from a copy; to begin anew, delete {path}-heads as well")
        if readonly:
            raise InputError(f"there is no store {path}", fix="start a run first, or name another store")
        if found is None:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def _writing(path: str, timeout: float) -> sqlite3.Connection:
    connection = _connection(path, "mode=rw", timeout)
    try:
        version = _version(connection, path)
        _use_wal(connection, path, timeout)
        if version < len(MIGRATIONS):
            migrate(connection, version)
    except BaseException:
        connection.close()
        raise
    return connection


def _reading(path: str, timeout: float) -> sqlite3.Connection:
    """Open without writing. SQLite needs files of its own beside the store to read what is in its -wal. Where it may
    not make them, and there is no -wal, nobody is writing and the file is read as it stands."""
    connection = _connection(path, "mode=ro", timeout)
    try:
        _check_ours(connection, path)
        return connection
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
        if _size(path + "-wal"):
            what = f"the store {path} has news in its -wal, which cannot be read where its folder cannot be written"
            raise StoreError(what, fix="copy the file and its -wal to a folder of yours, and name that") from error
    except BaseException:
        connection.close()
        raise
    connection = _connection(path, "immutable=1", timeout)
    try:
        _check_ours(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _connection(path: str, how: str, timeout: float) -> sqlite3.Connection:
    name = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(
        f"file://{name}?{how}", uri=True, timeout=timeout, isolation_level=None, check_same_thread=False
    )


def _check_ours(connection: sqlite3.Connection, path: str) -> None:
    if _version(connection, path) == 0:
        raise InputError(f"there are no runs in {path} yet", fix="start one, or name another store")


def _version(connection: sqlite3.Connection, path: str) -> int:
    """Return the number of the store's form; 0 if it is still empty. Raises where it is not ours, or too new."""
    application, version = _header(connection)
    if application == APPLICATION and 0 < version <= len(MIGRATIONS):
        return version
    connection.execute("BEGIN")  # one view: another process may be making the tables
    application, version = _header(connection)
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    connection.execute("COMMIT")
    if application != APPLICATION and (application or version or tables):
        what = f"{path} is a database of another program"
        raise StoreError(what, fix=ELSEWHERE)
    if version > len(MIGRATIONS):
        what = f"the store {path} was written by a newer remit: it has form {version}, this one knows {len(MIGRATIONS)}"
        raise StoreError(what, fix="use that remit, or name another store")
    if version < 0 or (version == 0 and tables):
        raise damaged(path, f"its header says that it has form {version}")
    return version


def _header(connection: sqlite3.Connection) -> tuple[int, int]:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return application, version


def _use_wal(connection: sqlite3.Connection, path: str, timeout: float) -> None:
    """Use a write-ahead log: readers and a writer do not wait for one another, and a commit costs one sync."""
    deadline = time.monotonic() + timeout
    mode = None
    while mode is None:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:  # several make it at once, and SQLite does not wait here
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.005)
    if mode != "wal":
        what = f"the folder of {path} cannot hold a store: its file system shares no memory between programs"
        raise StoreError(what, fix="name a store on a local disk")
    # The log in front of the database stays short: a commit that has to make it longer costs twice as much.
    connection.execute("PRAGMA wal_autocheckpoint = 64")
    if sys.platform == "darwin":  # there, a plain sync leaves the data in the disk's cache
        connection.execute("PRAGMA fullfsync = 1")


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
