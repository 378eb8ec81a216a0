"""What SQLite says when it fails, in words that help: the error, what it means here, and what to do."""

import os
import sqlite3

from ..errors import LogDamaged, RemitError, StoreError

ELSEWHERE = "name another store with --store or $REMIT_STORE"

_FAULTS = {
    sqlite3.SQLITE_BUSY: (
        "is locked by another program",
        "try again; if it stays so, end the program that holds it",
    ),
    sqlite3.SQLITE_FULL: (
        "cannot grow: the disk is full",
        "free some space, then go on: nothing that was acknowledged is lost",
    ),
    sqlite3.SQLITE_READONLY: (
        "cannot be written",
        f"see who may write to the file and to its folder, or {ELSEWHERE}",
    ),
    sqlite3.SQLITE_PERM: ("cannot be written", f"see who may write to the file, or {ELSEWHERE}"),
    sqlite3.SQLITE_CANTOPEN: (
        "cannot be opened",
        f"see that its folder exists and who may use it, or {ELSEWHERE}",
    ),
    sqlite3.SQLITE_NOTADB: ("is not a database", f"restore it from a copy, or {ELSEWHERE}"),
    sqlite3.SQLITE_IOERR: (
        "cannot be read or written",
        "see to the disk and to limits on file sizes, then go on: nothing that was acknowledged is lost",
    ),
    sqlite3.SQLITE_TOOBIG: ("cannot hold so much in one record", "lower the remit's `result_bytes`"),
}
_FAULTS[sqlite3.SQLITE_LOCKED] = _FAULTS[sqlite3.SQLITE_PROTOCOL] = _FAULTS[sqlite3.SQLITE_BUSY]


def fault(error: sqlite3.Error | UnicodeDecodeError, path: str) -> RemitError:
    """Return the StoreError, or for a damaged file the LogDamaged, that tells of this error of SQLite.

    Python itself raises an OperationalError without a code where text of the file is not UTF-8, and a
    UnicodeDecodeError where a message quotes such text.
    """
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
    if code == sqlite3.SQLITE_CORRUPT or isinstance(error, UnicodeDecodeError) or name == "OperationalError":
        return damaged(path, str(error))
    what, fix = _FAULTS.get(code, ("failed", "see that no other program changed the file"))
    return StoreError(f"the store {path} {what} ({name}: {error})", fix=fix)


def damaged(path: str, what: str) -> LogDamaged:
    """The error for a file whose content cannot be right."""
    fix = "copy it away together with its -wal and -heads files, then see what `remit verify` finds"
    return LogDamaged(f"the store {path} is damaged: {what}", fix=fix)


def unusable(path: str, error: OSError | ValueError) -> StoreError:
    """The error for a place at which there can be no store."""
    folder = os.path.dirname(path)
    if os.path.isdir(path):
        return StoreError(f"{path} is a folder", fix="name a file in it")
    if isinstance(error, FileNotFoundError) and not os.path.isdir(folder):
        return StoreError(f"there is no folder {folder}", fix="make it, or name another store")
    why = getattr(error, "strerror", None) or str(error)
    return StoreError(f"the store {path!r} cannot be opened: {why}", fix=ELSEWHERE)
