"""Where no store can be, and where one fails, it says why, leaves things as they are, and goes on after it."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from remit.errors import InputError, LogDamaged, RemitError, StoreError
from remit.runtime.ports import Store
from remit.stores.contract import AT
from remit.stores.schema import MIGRATIONS
from remit.stores.sqlite import SQLiteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    with closing(SQLiteStore(path)) as opened:
        yield opened


def append(store: Store, count: int, run: str = "r") -> None:
    head = store.head(run)
    for seq in range(head.seq + 1 if head else 1, count + (head.seq if head else 0) + 1):
        store.append(run, seq, AT + seq, b'["%d"]' % seq)


def numbers(store: Store, run: str = "r") -> list[int]:
    return [record.seq for record in store.read(run)]


# Places at which there is no store


def a_folder(path: Path) -> None:
    path.mkdir()


def a_text(path: Path) -> None:
    path.write_text("this is a text, and not a database; it is long enough to have a header of 100 bytes " * 2)


def a_database(sql: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            for statement in sql.split(";"):
                database.execute(statement)

    return make


def a_newer_store(path: Path) -> None:
    SQLiteStore(path).close()
    a_database(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")(path)


def a_store_without_number(path: Path) -> None:
    SQLiteStore(path).close()
    a_database("PRAGMA user_version = 0")(path)


def an_emptied_store(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        append(store, 1)
    os.truncate(path, 0)


def a_lost_store(path: Path) -> None:
    an_emptied_store(path)
    path.unlink()


def nothing(path: Path) -> None:
    pass


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        pytest.param(a_folder, StoreError, "{path} is a folder", id="a folder"),
        pytest.param(
            os.mkfifo, StoreError, "the store '{path}' cannot be opened: {path} is not a regular", id="a pipe"
        ),
        pytest.param(a_text, StoreError, "the store {path} is not a database (SQLITE_NOTADB", id="a text"),
        pytest.param(
            a_database("CREATE TABLE x (y)"), StoreError, "{path} is a database of another program", id="any database"
        ),
        pytest.param(
            a_database("PRAGMA application_id = 7"),
            StoreError,
            "{path} is a database of another program",
            id="an empty database of another program",
        ),
        pytest.param(
            a_newer_store, StoreError, "the store {path} was written by a newer remit: it has form 2", id="a newer one"
        ),
        pytest.param(a_store_without_number, LogDamaged, "its header says that it has form 0", id="a broken header"),
        pytest.param(an_emptied_store, LogDamaged, "the store {path} is empty, but runs were", id="an emptied store"),
        pytest.param(a_lost_store, LogDamaged, "the store {path} is missing, but runs were", id="a lost store"),
    ],
)
def test_what_is_no_store_is_refused_and_left_as_it_is(
    path: Path, make: Callable[[Path], None], kind: type[RemitError], text: str, readonly: bool
) -> None:
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(kind) as raised:
        SQLiteStore(path, readonly=readonly, timeout=0.1)
    assert text.format(path=path) in raised.value.message
    assert raised.value.fix
    assert (path.read_bytes() if path.is_file() else None) == before


@pytest.mark.parametrize(
    ("where", "text"),
    [
        pytest.param("none/x/runs.db", "there is no folder {folder}/none/x", id="no folder"),
        pytest.param("file/runs.db", "cannot be opened: Not a directory", id="a file for a folder"),
        pytest.param("n" * 300, "cannot be opened: File name too long", id="a name that is too long"),
        pytest.param("a\0b", "embedded null", id="a name with a null byte"),
        pytest.param("", "{folder} is a folder", id="no name"),
        pytest.param("loop", "cannot be opened: Too many levels of symbolic links", id="a loop of links"),
    ],
)
def test_a_place_for_no_file_is_refused(tmp_path: Path, where: str, text: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(StoreError) as raised:
        SQLiteStore(f"{tmp_path}/{where}")
    assert text.format(folder=tmp_path) in raised.value.message
    assert sorted(os.listdir(tmp_path)) == ["file", "loop"]


def use(path: Path) -> list[int]:
    with closing(SQLiteStore(path)) as store:
        assert store.lease("r") is None
        assert [head.run for head in store.heads()] == ["r"]
        return numbers(store)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(b"CREATE TABLE runs", b"CREATE TABLE \xfbuns", id="a table without a readable name"),
        pytest.param(b"key INTEGER", b"ke\xfb INTEGER", id="a column without a readable name"),
        pytest.param(b"key INTEGER PRIMARY", b"key INTEGEQ PRIMARY", id="a key that is none"),
    ],
)
def test_a_store_with_damaged_tables_says_so(path: Path, old: bytes, new: bytes) -> None:
    with closing(SQLiteStore(path)) as store:
        append(store, 1)
    assert use(path) == [1]
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(RemitError, match=r"is damaged|failed"):
        use(path)


def test_to_read_what_does_not_exist_makes_nothing(path: Path) -> None:
    with pytest.raises(InputError, match="there is no store"):
        SQLiteStore(path, readonly=True)
    assert not path.exists()
    path.touch()  # as it is while another process makes it
    with pytest.raises(InputError, match=r"there is no store|there are no runs"):
        SQLiteStore(path, readonly=True)
    SQLiteStore(path).close()
    with closing(SQLiteStore(path, readonly=True)) as reader:
        assert reader.heads() == []


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder in a place that every user may enter, as pytest's own is not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


UNPRIVILEGED = """
import os, sys
sys.path[:0] = {paths!r}
from remit.errors import RemitError
from remit.stores.sqlite import SQLiteStore
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
for readonly in (False, True):
    try:
        store = SQLiteStore({path!r}, readonly=readonly)
        print([r.seq for r in store.read("r")])
        if not readonly:
            store.append("r", 4, 0, b"[]")
    except RemitError as error:
        print(error.message)
"""


@pytest.mark.parametrize(
    ("open_meanwhile", "folder", "file", "expected"),
    [
        pytest.param(False, 0o555, 0o644, ["cannot be", "[1, 2, 3]"], id="a folder that cannot be written, at rest"),
        pytest.param(True, 0o555, 0o444, ["cannot be", "[1, 2, 3]"], id="the same while somebody has it open"),
        pytest.param(False, 0o777, 0o444, ["cannot be written", "[1, 2, 3]"], id="a file that cannot be written"),
        pytest.param(False, 0o777, 0o000, ["cannot be written", "cannot be opened"], id="a file that cannot be read"),
        pytest.param(False, 0o000, 0o644, ["Permission denied", "Permission denied"], id="a folder one cannot enter"),
    ],
)
def test_without_permission_it_says_so_and_reads_what_it_may(
    shared: Path, open_meanwhile: bool, folder: int, file: int, expected: list[str]
) -> None:
    path = shared / "runs.db"
    store = SQLiteStore(path)
    append(store, 3)
    if not open_meanwhile:
        store.close()
    for name in os.listdir(shared):
        (shared / name).chmod(file)
    shared.chmod(folder)
    said = as_nobody(path)
    shared.chmod(0o755)
    store.close()
    assert len(said) == 2
    for line, part in zip(said, expected, strict=True):
        assert part in line


def as_nobody(path: Path) -> list[str]:
    """Open the store as somebody without rights, to write and to read, and return what comes of it."""
    import msgspec

    roots = [str(Path(__file__).parents[2] / "src"), str(Path(msgspec.__file__).parents[1])]
    code = UNPRIVILEGED.format(paths=roots, path=str(path))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={"PYTHONDONTWRITEBYTECODE": "1"}
    )
    if done.returncode and "ModuleNotFoundError" in done.stderr:
        pytest.skip("another user may not read this Python's packages")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_news_in_the_wal_are_not_passed_over_by_a_reader_that_cannot_see_them(shared: Path, path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        append(store, 3)
        for end in ("", "-wal"):
            (shared / f"runs.db{end}").write_bytes(Path(f"{path}{end}").read_bytes())
    shared.chmod(0o555)
    assert "has news in its -wal" in as_nobody(shared / "runs.db")[1]


# Failures in the middle


def test_a_locked_store_says_so_and_goes_on_after_it(path: Path) -> None:
    with closing(SQLiteStore(path, timeout=0.02)) as store, closing(sqlite3.connect(path)) as other:
        append(store, 1)
        other.execute("BEGIN IMMEDIATE")
        for write in (lambda: append(store, 1), lambda: store.claim("r", "me"), lambda: store.put(b"x")):
            with pytest.raises(StoreError, match=r"is locked by another program \(SQLITE_BUSY") as raised:
                write()
            assert "try again" in raised.value.fix
        assert numbers(store) == [1]  # a reader waits for nobody
        other.rollback()
        append(store, 1)
        assert numbers(store) == [1, 2]


FULL = """
import resource, sys
sys.path[:0] = {paths!r}
from remit.errors import StoreError
from remit.stores.sqlite import SQLiteStore
store = SQLiteStore({path!r})
seq, failed = 0, 0
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
while failed < 3:
    try:
        store.append("r", seq + 1, 0, b'["' + b"x" * 5000 + b'"]')
        seq += 1
    except StoreError as error:
        failed += 1
        if failed == 1:
            print(error.message)
assert [r.seq for r in store.read("r")] == list(range(1, seq + 1))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
store.append("r", seq + 1, 0, b"[]")
print(seq + 1)
"""


def test_a_file_that_may_not_grow_says_so_and_goes_on_after_it(path: Path) -> None:
    code = FULL.format(paths=sys.path, path=str(path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    message, count = done.stdout.splitlines()
    assert "cannot be read or written (SQLITE_IOERR_WRITE" in message
    with closing(SQLiteStore(path)) as store:
        assert numbers(store) == list(range(1, int(count) + 1))


def test_a_full_disk_says_so_and_goes_on_after_it(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)]
    if os.getuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        fill_disk(disk)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def fill_disk(disk: Path) -> None:
    with closing(SQLiteStore(disk / "runs.db")) as store:
        other = disk / "other"
        other.write_bytes(bytes(100_000))
        seq = 0
        with pytest.raises(StoreError, match=r"cannot grow: the disk is full \(SQLITE_FULL") as raised:  # noqa: PT012
            while True:
                store.append("r", seq + 1, AT, b'["' + b"x" * 3000 + b'"]')
                seq += 1
        assert "nothing that was acknowledged is lost" in raised.value.fix
        with pytest.raises(StoreError):
            store.append("r", seq + 1, AT, b'["' + b"x" * 3000 + b'"]')
        assert numbers(store) == list(range(1, seq + 1))
        other.unlink()
        append(store, 1)
        assert numbers(store) == list(range(1, seq + 2))
        assert store.witness("r") == (seq + 1, list(store.read("r"))[-1].digest)
