"""Whatever becomes of its files: what verify calls sound is exactly what was acknowledged (G9).

SQLite hides some of the damage: it recovers from a torn or flipped -wal by forgetting the end of it. The witness tells.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pytest

from remit import Call, Final, Remit, Reply, ScriptedPolicy, Toolbox, run
from remit.core.events import Record
from remit.core.verify import verify
from remit.errors import LogDamaged, RemitError
from remit.stores.sqlite import SQLiteStore

RUNS = ("r1", "r2")
PAGE = 4096
CALLS = 14


class Kept(NamedTuple):
    """The files of a store, by what their names add to the database's, and what was acknowledged."""

    files: dict[str, bytes]
    logs: dict[str, list[Record]]


def record(store: SQLiteStore, run_id: str) -> None:
    """Record a run; some of its records have a page of their own, or more than one."""
    tools = Toolbox()

    @tools.read
    def look(n: int) -> str:
        return f"{n} " * (600 if n % 5 == 3 else 1500 if n % 5 == 4 else 9)

    script: list[Call | Final | Reply] = [*(Call("look", {"n": n}) for n in range(CALLS)), Final("done")]
    remit = Remit(tools={"look": "any"})
    run("look", policy=ScriptedPolicy(script), remit=remit, tools=tools, store=store, run_id=run_id)


def files_of(path: Path) -> dict[str, bytes]:
    ends = ("", "-wal", "-heads")
    return {end: Path(f"{path}{end}").read_bytes() for end in ends if Path(f"{path}{end}").exists()}


def keep(path: Path, kind: str) -> Kept:
    """Make a store whose records are in the database, in its -wal, or the first run's in one and the second's in the
    other; and keep its files as they would be found after a crash."""
    store = SQLiteStore(path)
    for name in RUNS:
        record(store, name)
        if kind == "all in the database" or (kind == "half in the -wal" and name == RUNS[0]):
            store.close()  # the last to close it empties the -wal
            store = SQLiteStore(path)
    with closing(store):
        return Kept(files_of(path), {name: list(store.read(name)) for name in RUNS})


@pytest.fixture(
    scope="module", params=["all in the database", "all in the -wal", "half in the -wal"], ids=lambda kind: kind
)
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return keep(tmp_path_factory.mktemp("kept") / "runs.db", request.param)


class Place:
    """A folder in which a store is laid out with one of its files changed."""

    def __init__(self, folder: Path, kept: Kept) -> None:
        self.path, self.kept = folder / "runs.db", kept

    def outcomes(self, end: str, data: bytes | None) -> list[str]:
        """What comes of each run if the file that ends so holds this: `sound`, `damaged` or `refused`."""
        for name in ("-shm", "-wal", "-heads", ""):
            Path(f"{self.path}{name}").unlink(missing_ok=True)
        for name, content in {**self.kept.files, end: data}.items():
            if content is not None:
                Path(f"{self.path}{name}").write_bytes(content)
        try:
            with closing(SQLiteStore(self.path, readonly=True)) as store:
                return [self.outcome(store, name) for name in RUNS]
        except RemitError:
            return ["refused"] * len(RUNS)

    def outcome(self, store: SQLiteStore, name: str) -> str:
        try:
            records = list(store.read(name))
            witness = store.witness(name)
        except RemitError:
            return "refused"
        if not verify(name, records, witness).sound:
            return "damaged"
        assert records == self.kept.logs[name], "damage went unseen"
        return "sound"


@pytest.fixture
def place(tmp_path: Path, kept: Kept) -> Place:
    return Place(tmp_path, kept)


def large(kept: Kept) -> Iterator[tuple[str, bytes]]:
    yield from ((end, data) for end, data in kept.files.items() if end != "-heads" and data)


def test_what_is_whole_is_sound(place: Place) -> None:
    assert place.outcomes("", place.kept.files[""]) == ["sound", "sound"]
    assert place.outcomes("-heads", None) == ["sound", "sound"]
    assert [len(log) for log in place.kept.logs.values()] == [CALLS + 1] * 2


def test_no_flipped_byte_goes_unseen(place: Place) -> None:
    seen = []
    for end, data in large(place.kept):
        for at in range(5, len(data), 211):
            changed = data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :]
            seen += place.outcomes(end, changed)
    assert {"sound", "damaged", "refused"} >= set(seen) >= {"damaged"}


def test_no_zeroed_stretch_goes_unseen(place: Place) -> None:
    seen = []
    for end, data in large(place.kept):
        for start in range(0, len(data), 1536):
            for size in (512, PAGE):
                seen += place.outcomes(
                    end, data[:start] + bytes(len(data[start : start + size])) + data[start + size :]
                )
    assert "damaged" in seen


def test_no_lost_end_goes_unseen(place: Place) -> None:
    seen = []
    for end, data in large(place.kept):
        for size in range(0, len(data), 1000):
            seen += place.outcomes(end, data[:size])
    assert "damaged" in seen or "refused" in seen


def test_no_torn_write_goes_unseen(place: Place) -> None:
    """A page that is half old and half new: here, half its neighbour's."""
    seen = []
    for end, data in large(place.kept):
        for start in range(0, len(data) - 2 * PAGE, PAGE // 2):
            seen += place.outcomes(end, data[:start] + data[start + PAGE : start + 2 * PAGE] + data[start + PAGE :])
    assert "damaged" in seen


def test_no_lost_wal_goes_unseen(place: Place) -> None:
    if place.kept.files.get("-wal"):
        assert "sound" not in place.outcomes("-wal", None)[1:]


def test_a_flipped_witness_is_never_taken_for_damage(place: Place) -> None:
    data = place.kept.files["-heads"]
    for at in range(len(data)):
        assert place.outcomes("-heads", data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]) == ["sound", "sound"]


def test_no_damaged_key_makes_reading_endless(tmp_path: Path) -> None:
    """SQLite goes where a key in an inner page sends it, and does not look whether it came to the right place."""
    path = tmp_path / "runs.db"
    with closing(SQLiteStore(path)) as store:
        for seq in range(1, 31):
            store.append("r1", seq, 0, b'["%b"]' % (b"x" * 900))
    whole = files_of(path)
    key = b"\x90\x80\x80\x80"  # the first run's, as every key of a record of it begins
    places = [at + len(key) for at in range(len(whole[""])) if whole[""].startswith(key, at)]
    assert len(places) > 30
    endings = set()
    for at in places:
        path.write_bytes(whole[""][:at] + bytes([whole[""][at] ^ 0xC1]) + whole[""][at + 1 :])
        with closing(SQLiteStore(path, readonly=True)) as store:
            try:
                found = [record.seq for record in islice(store.read("r1"), 1000)]
                endings.add("whole" if found == list(range(1, 31)) else "not whole")
                assert len(found) <= 30
            except LogDamaged as error:
                endings.add("out of order" if "stands after record" in error.message else "damaged")
    assert "out of order" in endings


def test_an_older_copy_of_the_database_is_named_and_an_older_witness_is_normal(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with closing(SQLiteStore(path)) as store:
        record(store, "r1")
    older = files_of(path)
    with closing(SQLiteStore(path)) as store:
        newest = (CALLS + 2, store.append("r1", CALLS + 2, 0, b"[]"))
    path.write_bytes(older[""])
    with closing(SQLiteStore(path, readonly=True)) as store:
        assert [d[:3] for d in verify("r1", store.read("r1"), store.witness("r1")).damage] == [
            (CALLS + 2, CALLS + 2, "truncated")
        ]
    with closing(SQLiteStore(path)) as store:  # and nobody goes on with it as if nothing had happened
        with pytest.raises(LogDamaged, match=f"record {CALLS + 2} had been written, and it ends with {CALLS + 1}"):
            store.append("r1", CALLS + 2, 0, b'["other"]')
        assert store.witness("r1") == newest
    Path(f"{path}-heads").write_bytes(older["-heads"])
    with closing(SQLiteStore(path)) as store:
        noted = store.witness("r1")
        store.append("r1", CALLS + 2, 0, b"[]")
        assert noted is not None
        assert noted[0] == CALLS + 1
        assert verify("r1", list(store.read("r1"))[:-1], noted).sound


def test_a_last_record_that_is_not_the_one_that_was_written_is_not_gone_on_from(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with closing(SQLiteStore(path)) as store:
        store.append("r1", 1, 0, b"[]")
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("UPDATE records SET digest = zeroblob(32)")
    with closing(SQLiteStore(path)) as store:
        with pytest.raises(LogDamaged, match="the last record of run r1, 1, is not the one that was written"):
            store.append("r1", 2, 0, b"[]")
        Path(f"{path}-heads").unlink()
    with closing(SQLiteStore(path)) as store:
        store.append("r1", 2, 0, b"[]")  # who deleted the witness has said so
