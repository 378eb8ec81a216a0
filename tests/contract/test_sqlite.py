"""The SQLite store keeps the contract, says what it cannot do, and stays usable after it."""

import logging
import os
import sqlite3
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

pytest.register_assert_rewrite("remit.stores.contract")

from remit.core.verify import verify  # noqa: E402
from remit.errors import LogDamaged, Owned, StoreError  # noqa: E402
from remit.runtime.ports import Lease, Store  # noqa: E402
from remit.stores.contract import AT, StoreContract  # noqa: E402
from remit.stores.rules import LEASE_SECONDS, Grant, boot_id, boottime  # noqa: E402
from remit.stores.schema import APPLICATION, MIGRATIONS  # noqa: E402
from remit.stores.sqlite import SQLiteStore  # noqa: E402


class TestSQLiteStore(StoreContract):
    now = 100.0

    def open(self, tmp_path: Path) -> Store:
        return SQLiteStore(tmp_path / "runs.db", boottime=lambda: self.now)

    def expire(self, store: Store, run: str) -> None:
        self.now += LEASE_SECONDS


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


# The file


def test_a_file_and_what_is_beside_it_is_its_owners_alone(store: SQLiteStore, path: Path) -> None:
    append(store, 1)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == dict.fromkeys(("runs.db", "runs.db-wal", "runs.db-shm", "runs.db-heads"), 0o600)


def test_an_append_writes_one_page_and_syncs_once(store: SQLiteStore, path: Path) -> None:
    append(store, 3)
    size = (path.parent / "runs.db-wal").stat().st_size
    append(store, 1)
    assert (path.parent / "runs.db-wal").stat().st_size - size == 24 + 4096  # the header of a frame, and a page


def test_who_looks_into_the_file_finds_a_readable_log(store: SQLiteStore, path: Path) -> None:
    last = store.append("r", 1, 1_754_000_000_123_456, b'[{"event":"x"}]')
    append(store, 1, "s")
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT * FROM log WHERE run = 'r'").fetchall() == [
            ("r", 1, "2025-07-31T22:13:20.123Z", '[{"event":"x"}]', last.hex())
        ]
        assert database.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
        assert database.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


def test_many_that_make_the_same_store_at_once_make_one(path: Path) -> None:
    def make(number: int) -> None:
        with closing(SQLiteStore(path)) as store:
            store.append(f"r{number}", 1, AT, b"[]")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, range(8)))
    with closing(SQLiteStore(path)) as store:
        assert [head.run for head in store.heads()] == [f"r{number}" for number in reversed(range(8))]


def test_a_store_works_under_any_name(tmp_path: Path) -> None:
    for name in ("a b?mode=memory&x#y%20.db", "\u00fc.db", os.fsdecode(b"\xff.db")):
        with closing(SQLiteStore(tmp_path / name)) as store:
            append(store, 1)
        assert (tmp_path / name).stat().st_size > 0
        with closing(SQLiteStore(tmp_path / name, readonly=True)) as store:
            assert numbers(store) == [1]


def test_a_reader_writes_nothing(path: Path, store: SQLiteStore) -> None:
    append(store, 2)
    with closing(SQLiteStore(path, readonly=True)) as reader:
        append(store, 1)
        assert numbers(reader) == [1, 2, 3]
        assert reader.witness("r") == (3, list(store.read("r"))[2].digest)
        writes: list[Callable[[], object]] = [
            lambda: reader.append("r", 4, AT, b"[]"),
            lambda: reader.claim("r", "me"),
            lambda: reader.renew("r", 1),
            lambda: reader.release("r", 1),
            lambda: reader.put(b"x"),
        ]
        for write in writes:
            with pytest.raises(StoreError, match="open for reading only"):
                write()
    assert numbers(store) == [1, 2, 3]


def test_a_damaged_result_is_not_returned_nor_taken_for_kept(path: Path, store: SQLiteStore) -> None:
    name = store.put(b"result")
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("UPDATE blobs SET data = x'00'")
    with pytest.raises(LogDamaged, match="is another"):
        store.get(name)
    with pytest.raises(LogDamaged, match="is another"):
        store.put(b"result")


def harm(store: SQLiteStore, run: str) -> list[tuple[int, int, str]]:
    """What verify finds, but for what these tests' records say: they are no run's."""
    found = verify(run, store.read(run), store.witness(run)).damage
    return [damage[:3] for damage in found if damage.kind not in ("undecodable", "illegal")]


def test_changes_made_behind_its_back_are_named(path: Path, store: SQLiteStore) -> None:
    append(store, 4)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("UPDATE records SET events = 'edited', at = 'x', digest = 1.5 WHERE id & 4294967295 = 2")
        database.execute("UPDATE runs SET run = 's'")
    assert store.witnessed() == ["r"]
    assert harm(store, "r") == [(1, 4, "truncated")]
    assert harm(store, "s") == [(1, 4, "edited")]
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("UPDATE runs SET run = 'r'")
    assert harm(store, "r") == [(2, 3, "edited")]  # its digest is gone too, so the next one has nothing to fit
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("UPDATE records SET digest = x'00' WHERE id & 4294967295 = 4")
    with pytest.raises(LogDamaged, match="record 4 of run r has no digest"):
        store.append("r", 5, AT, b"[]")
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("UPDATE runs SET run = char(27) || '[2J'")
    with pytest.raises(LogDamaged, match=r"a run is called '\\x1b\[2J'"):
        store.heads()


# The witness


def test_a_witness_that_cannot_be_written_is_told_once_and_fails_nothing(
    path: Path, store: SQLiteStore, caplog: pytest.LogCaptureFixture
) -> None:
    Path(f"{path}-heads").mkdir()
    with caplog.at_level(logging.WARNING, "remit"):
        append(store, 3)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "runs.db-heads" in caplog.text
    assert numbers(store) == [1, 2, 3]


def test_a_missing_witness_is_no_witness_and_is_made_anew(path: Path, store: SQLiteStore) -> None:
    append(store, 2)
    append(store, 1, "s")
    store.close()
    Path(f"{path}-heads").unlink()
    with closing(SQLiteStore(path)) as again:
        assert (again.witness("r"), again.witnessed()) == (None, [])
        append(again, 1, "s")
        assert (again.witness("r"), again.witnessed()) == (None, ["s"])
        append(again, 1)
        assert again.witness("r") == (3, list(again.read("r"))[2].digest)


def test_a_torn_slot_is_no_witness(path: Path, store: SQLiteStore) -> None:
    append(store, 2)
    heads = Path(f"{path}-heads")
    whole = heads.read_bytes()
    start = whole.index(b"\2")
    for place in range(start, len(whole)):
        heads.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert store.witness("r") is None
    for size in (0, start, len(whole) - 1):
        heads.write_bytes(whole[:size])
        assert store.witness("r") is None


def test_many_runs_have_a_slot_each(path: Path, store: SQLiteStore) -> None:
    for number in range(1, 300):
        store.append(f"r{number}", 1, AT, b"[]")
    store.append("r7", 2, AT, b"[]")
    assert store.witnessed() == [f"r{number}" for number in range(1, 300)]
    assert [store.witness(head.run) for head in store.heads()] == [(head.seq, head.digest) for head in store.heads()]


# Leases


@pytest.mark.parametrize(
    ("grant", "boot", "now", "live"),
    [
        pytest.param(Grant("me", 1, "b", 115.0), "b", 100.0, True, id="just granted"),
        pytest.param(Grant("me", 1, "b", 115.0), "b", 114.9, True, id="about to run out"),
        pytest.param(Grant("me", 1, "b", 115.0), "b", 115.0, False, id="run out"),
        pytest.param(Grant("me", 1, "b", 115.0), "c", 101.0, False, id="of another boot"),
        pytest.param(Grant("me", 1, "b", 115.0), "b", 3.0, False, id="of a boot that has no name of its own"),
        pytest.param(Grant("me", 1, "b", None), "b", 100.0, False, id="given up"),
    ],
)
def test_a_lease_is_live(grant: Grant, boot: str, now: float, live: bool) -> None:
    assert grant.live(boot, now) is live


def test_a_lease_ends_with_the_boot(path: Path) -> None:
    with closing(SQLiteStore(path, boot="one", boottime=lambda: 50.0)) as before:
        assert before.claim("r", "me") == 1
        with closing(SQLiteStore(path, boot="one", boottime=lambda: 51.0)) as other, pytest.raises(Owned):
            other.claim("r", "you")
    with closing(SQLiteStore(path, boot="two", boottime=lambda: 51.0)) as after:
        assert after.lease("r") == Lease("me", 1, False)
        assert after.claim("r", "you") == 2


def test_the_clock_of_leases_is_the_boots() -> None:
    assert boot_id() == boot_id() != ""
    before = boottime()
    assert 0 < before <= boottime()
    if sys.platform == "linux":
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        assert abs(boottime() - uptime) < 5


def test_a_renewal_from_another_thread_does_not_disturb(store: SQLiteStore) -> None:
    epoch = store.claim("r", "me")
    stop = threading.Event()

    def beat() -> None:
        while not stop.is_set():
            store.renew("r", epoch)

    heart = threading.Thread(target=beat)
    heart.start()
    for seq in range(1, 101):
        store.append("r", seq, AT, b"[]", epoch)
    stop.set()
    heart.join()
    assert numbers(store) == list(range(1, 101))
    assert store.lease("r") == Lease("me", epoch, True)


def test_a_forked_process_must_open_the_store_again(store: SQLiteStore) -> None:
    append(store, 1)
    child = os.fork()
    if not child:
        status = 1
        try:
            append(store, 1)
        except StoreError as error:
            store.close()  # does nothing
            status = 42 if "forked" in error.message else 1
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
    append(store, 1)
    assert numbers(store) == [1, 2]
