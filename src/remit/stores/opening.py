"""Where the log is: a path or URL, `$REMIT_STORE`, or a file in the user's data folder."""

import os
import re
import sys

from ..errors import InputError, StoreError
from ..runtime.ports import Store

_MEMORY = ":memory:"
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://").match
_SQLITE = "sqlite:///"


def open_store(where: str | os.PathLike[str] | None = None, *, readonly: bool = False) -> Store:
    """Open the store at `where`.

    A path, or `sqlite:///` and a path (`sqlite:////var/x.db` is absolute), is a SQLite file; `:memory:` is this
    process's memory; None is `$REMIT_STORE` or else `runs.db` in the user's data folder, which is made if need be.
    `readonly` writes nothing, and needs a file that exists. Raises InputError for a name that cannot be one, and
    StoreError where there can be no store.
    """
    place = os.fsdecode(where) if where is not None else os.environ.get("REMIT_STORE", "")
    if not place and where is not None:
        raise InputError("the name of the store is empty", fix=_supported())
    place = _path(place) if place else _default(readonly)
    if place == _MEMORY:
        from .memory import MemoryStore

        return MemoryStore()
    from .sqlite import SQLiteStore  # here, for who has no log in a file need not import sqlite3

    return SQLiteStore(place, readonly=readonly)


def _path(place: str) -> str:
    url = _URL(place)
    if url is None:
        return place if place == _MEMORY else os.path.expanduser(place)
    if not place.startswith(_SQLITE) or place == _SQLITE:
        what = f"a store of the kind `{url[1]}://` is not supported" if url[1] != "sqlite" else f"{place} names no file"
        raise InputError(what, fix=_supported())  # the rest of a URL may hold a password: it is not shown
    return place.removeprefix(_SQLITE)


def _supported() -> str:
    return f"give a file's path, {_SQLITE}PATH, or {_MEMORY}"


def _default(readonly: bool) -> str:
    folder = _data_folder()
    if not readonly:
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError as error:
            what = f"cannot make the folder {folder}: {error.strerror}"
            raise StoreError(what, fix="name a store with --store or $REMIT_STORE") from error
    return os.path.join(folder, "runs.db")


def _data_folder() -> str:
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise StoreError("you have no home folder", fix="name a store with --store or $REMIT_STORE")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "remit")
    data = os.environ.get("XDG_DATA_HOME", "")
    return os.path.join(data if os.path.isabs(data) else os.path.join(home, ".local", "share"), "remit")
