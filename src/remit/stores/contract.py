"""What every store promises, as tests that its author can run.

    from remit.stores.contract import StoreContract

    class TestMyStore(StoreContract):
        def open(self, tmp_path): return MyStore(tmp_path / "log")
        def expire(self, store, run): ...   # let the run's lease run out

Needs pytest, for its `tmp_path`. A durable store opened twice in the same folder must be one log; the tests do that
in this process and, where it can fork, in others. `pytest.register_assert_rewrite("remit.stores.contract")` before
the import makes failures tell more.
"""

import os
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from unittest import SkipTest

from ..core.canon import GENESIS, chain, digest
from ..core.events import Record
from ..errors import Conflict, Fenced, Owned, StoreError
from ..runtime.ports import Head, Lease, Store

AT = 1_754_000_000_000_000
"""A time, in microseconds since 1970 UTC."""


class StoreContract(ABC):
    """Derive from it, and define `open` and `expire`."""

    @abstractmethod
    def open(self, tmp_path: Path) -> Store:
        """Open the store in this folder: a new one the first time, the same one again if it is durable."""

    @abstractmethod
    def expire(self, store: Store, run: str) -> None:
        """Let the lease of the run run out, as if its owner had renewed it no more."""

    # Append and read

    def test_what_was_appended_is_read_in_order_and_chained(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        digests = [store.append("r", n, AT + n, b'["%d"]' % n) for n in (1, 2, 3)]
        expected = _records("r", [(AT + n, b'["%d"]' % n) for n in (1, 2, 3)])
        assert list(store.read("r")) == expected
        assert digests == [record.digest for record in expected]
        store.close()

    def test_reading_begins_after_the_record_that_is_named(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        _fill(store, "r", 3)
        wholes = list(store.read("r"))
        assert [list(store.read("r", after)) for after in (0, 1, 2, 3, 99)] == [
            wholes, wholes[1:], wholes[2:], [], [],
        ]  # fmt: skip
        store.close()

    def test_an_unknown_run_reads_empty(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        assert (list(store.read("r")), store.head("r"), store.witness("r"), store.lease("r"), store.heads()) == (
            [], None, None, None, [],
        )  # fmt: skip
        store.close()

    def test_a_long_log_is_read_whole(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        _fill(store, "r", 600)
        assert [record.seq for record in store.read("r")] == list(range(1, 601))
        store.close()

    def test_a_record_may_be_large(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        large = b'["' + b"x" * 2_000_000 + b'"]'
        for n in (1, 2, 3):
            store.append("r", n, AT, large)
        assert [record.events for record in store.read("r")] == [large] * 3
        store.close()

    def test_bytes_come_back_as_they_went(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        events = '[{"text":"\u00fc \u4e16 \U0001f600 \\u0000 \\" \x7f"}]'.encode()
        store.append("r", 1, 0, events)
        store.append("r", 2, 2**53, b"[]")
        assert [(record.at, record.events) for record in store.read("r")] == [(0, events), (2**53, b"[]")]
        store.close()

    def test_reading_goes_on_while_another_appends(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        _fill(store, "r", 2)
        reading = store.read("r")
        seen = [next(reading).seq]
        store.append("r", 3, AT, b"[]")
        seen += [record.seq for record in reading]
        assert seen[:2] == [1, 2]
        assert [record.seq for record in store.read("r")] == [1, 2, 3]
        store.close()

    def test_an_id_that_is_not_a_run_id_is_refused(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        for run in ("", "R", "a b", "a/b", "\u00fc", "a\n", "x" * 65, "\ud800", "a\0"):
            _raises(StoreError, store.append, run, 1, AT, b"[]")
            _raises(StoreError, store.claim, run, "me")
            assert list(store.read(run)) == []
        store.append("01-az" + "9" * 59, 1, AT, b"[]")
        assert [head.run for head in store.heads()] == ["01-az" + "9" * 59]
        store.close()

    # Conflicts

    def test_only_the_next_number_is_appended(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        for wrong in (0, 2, -1):
            _raises(Conflict, store.append, "r", wrong, AT, b"[]")
        _fill(store, "r", 2)
        before = list(store.read("r"))
        for wrong in (0, 1, 2, 4):
            _raises(Conflict, store.append, "r", wrong, AT, b"[]")
        assert list(store.read("r")) == before
        store.append("r", 3, AT, b"[]")
        store.close()

    def test_two_threads_that_race_append_each_record_once(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        other = self.open(tmp_path) if store.durable else store
        with ThreadPoolExecutor(2) as pool:
            tries = [pool.submit(_race, one, name, 100) for one, name in ((store, "a"), (other, "b"))]
            won = [attempt.result() for attempt in tries]
        _check_race(store, won, 200)
        store.close()
        other.close()

    def test_two_processes_that_race_append_each_record_once(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        if not store.durable or not hasattr(os, "fork"):
            raise SkipTest("this store is one process's, or the system cannot fork")
        store.close()
        won = _in_processes([partial(_open_and_race, self.open, tmp_path, name) for name in "ab"])
        store = self.open(tmp_path)
        _check_race(store, [set(map(int, line.split())) for line in won], 100)
        store.close()

    # Ownership

    def test_each_claim_begins_an_epoch(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        assert store.claim("r", "me") == 1
        assert store.lease("r") == Lease("me", 1, True)
        assert store.claim("r", "me") == 2
        store.release("r", 2)
        assert store.lease("r") == Lease("me", 2, False)
        assert store.claim("r", "you") == 3
        assert (store.heads(), store.head("r")) == ([], None)  # a claimed run without a record has no head
        store.close()

    def test_a_live_lease_keeps_others_out(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        epoch = store.claim("r", "me")
        error = _raises(Owned, store.claim, "r", "you")
        assert error.owner == "me"
        store.append("r", 1, AT, b"[]", epoch)
        assert store.lease("r") == Lease("me", epoch, True)
        assert store.claim("s", "you") == 1
        store.close()

    def test_an_owner_whose_epoch_is_over_is_fenced(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        old = store.claim("r", "me")
        store.append("r", 1, AT, b"[]", old)
        self.expire(store, "r")
        new = store.claim("r", "you")
        _raises(Fenced, store.append, "r", 2, AT, b"[]", old)
        _raises(Fenced, store.append, "r", 9, AT, b"[]", old)  # told before the conflict: it is the end
        _raises(Fenced, store.renew, "r", old)
        store.release("r", old)
        assert store.lease("r") == Lease("you", new, True)
        store.append("r", 2, AT, b"[]", new)
        assert [record.seq for record in store.read("r")] == [1, 2]
        store.close()

    def test_nobody_owns_a_run_that_was_not_claimed(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        _raises(Fenced, store.append, "r", 1, AT, b"[]", 1)
        _raises(Fenced, store.append, "r", 1, AT, b"[]", 0)
        _raises(Fenced, store.renew, "r", 0)
        store.release("r", 0)
        assert (list(store.read("r")), store.lease("r")) == ([], None)
        store.close()

    def test_a_released_epoch_is_over(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        epoch = store.claim("r", "me")
        store.release("r", epoch)
        store.release("r", epoch)
        _raises(Fenced, store.append, "r", 1, AT, b"[]", epoch)
        _raises(Fenced, store.renew, "r", epoch)
        assert store.lease("r") == Lease("me", epoch, False)
        store.close()

    def test_a_lease_that_ran_out_is_its_owners_until_somebody_claims_it(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        epoch = store.claim("r", "me")
        self.expire(store, "r")
        assert store.lease("r") == Lease("me", epoch, False)
        store.append("r", 1, AT, b"[]", epoch)
        store.renew("r", epoch)
        assert store.lease("r") == Lease("me", epoch, True)
        _raises(Owned, store.claim, "r", "you")
        store.close()

    def test_control_records_need_no_epoch(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        epoch = store.claim("r", "me")
        store.append("r", 1, AT, b"[]", epoch)
        store.append("r", 2, AT, b'["control"]')
        _raises(Conflict, store.append, "r", 2, AT, b"[]", epoch)
        store.append("r", 3, AT, b"[]", epoch)
        assert store.lease("r") == Lease("me", epoch, True)
        store.close()

    # Heads

    def test_heads_are_in_order_the_newest_run_first(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        for run, began in (("b", 5), ("a", 5), ("d", 1), ("c", 9)):
            store.append(run, 1, AT + began, b"[]")
        last = store.append("a", 2, AT + 99, b"[1]")
        assert [head.run for head in store.heads()] == ["c", "b", "a", "d"]
        assert store.head("a") == store.heads()[2] == Head("a", 2, last, AT + 5, AT + 99)
        store.close()

    def test_the_witness_is_not_ahead_of_the_log(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        for n in (1, 2, 3):
            store.append("r", n, AT, b"[]")
            noted = store.witness("r")
            assert noted is None or noted in [(record.seq, record.digest) for record in store.read("r")]
            assert set(store.witnessed()) <= {"r"}
        store.close()

    # Large results

    def test_a_large_result_is_kept_by_its_digest(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        for data in (b"", b"x", os.urandom(3_000_000)):
            assert store.put(data) == digest(data)
            assert store.put(data) == digest(data)
            assert store.get(digest(data)) == data
        assert store.get(digest(b"another")) is None
        assert store.get("no digest") is None
        store.close()

    # Durability

    def test_what_was_acknowledged_is_there_after_reopening(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        if not store.durable:
            raise SkipTest("this store ends with its process")
        epoch = store.claim("r", "me")
        _fill(store, "r", 3)
        name = store.put(b"result")
        before, heads = list(store.read("r")), store.heads()
        store.close()
        store = self.open(tmp_path)
        assert (list(store.read("r")), store.heads(), store.get(name)) == (before, heads, b"result")
        assert store.claim("r", "me") == epoch + 1
        store.append("r", 4, AT, b"[]", epoch + 1)
        store.close()

    def test_two_handles_see_each_other_at_once(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        if not store.durable:
            raise SkipTest("this store is one handle's")
        other = self.open(tmp_path)
        epoch = store.claim("r", "me")
        _raises(Owned, other.claim, "r", "you")
        store.append("r", 1, AT, b"[]", epoch)
        other.append("r", 2, AT, b"[]")
        _raises(Conflict, store.append, "r", 2, AT, b"[]", epoch)
        store.append("r", 3, AT, b"[]", epoch)
        assert list(other.read("r")) == list(store.read("r"))
        assert other.heads() == store.heads()
        store.close()
        other.close()

    def test_a_closed_store_may_be_closed_again(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        store.close()
        store.close()
        if store.durable:
            _raises(StoreError, store.append, "r", 1, AT, b"[]")
            _raises(StoreError, lambda: list(store.read("r")))


def _records(run: str, said: Iterable[tuple[int, bytes]]) -> list[Record]:
    records, before = [], GENESIS
    for seq, (at, events) in enumerate(said, 1):
        before = chain(before, run, seq, at, events)
        records.append(Record(run, seq, at, events, before))
    return records


def _fill(store: Store, run: str, count: int) -> None:
    for n in range(1, count + 1):
        store.append(run, n, AT + n, b'["%d"]' % n)


def _raises(kind: type[Any], act: Callable[..., object], *given: object) -> Any:
    try:
        act(*given)
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def _race(store: Store, name: str, wins: int) -> set[int]:
    """Append until that many of this contestant's records are in; return their numbers."""
    won: set[int] = set()
    seq = 1
    while len(won) < wins:
        try:
            store.append("r", seq, AT, b'["%b"]' % name.encode())
            won.add(seq)
            seq += 1
        except Conflict:
            head = store.head("r")
            assert head is not None
            assert head.seq >= seq
            seq = head.seq + 1
    return won


def _open_and_race(open_store: Callable[[Path], Store], folder: Path, name: str) -> set[int]:
    return _race(open_store(folder), name, 50)


def _check_race(store: Store, won: list[set[int]], total: int) -> None:
    found = list(store.read("r"))
    assert found == _records("r", [(record.at, record.events) for record in found])
    assert len(found) == total
    for name, numbers in zip("ab", won, strict=True):
        assert {record.seq for record in found if record.events == b'["%b"]' % name.encode()} == numbers


def _in_processes(acts: list[Callable[[], set[int]]]) -> list[str]:
    """Do each in a process of its own, all at once; return the numbers that each returned, as text."""
    children = []
    for act in acts:
        reads, writes = os.pipe()
        child = os.fork()
        if not child:
            status = 1
            try:
                os.write(writes, " ".join(map(str, act())).encode())
                status = 0
            except Exception:  # noqa: BLE001 - whatever it is, it is this process's end
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(writes)
        children.append((child, reads))
    said = []
    for child, reads in children:
        with open(reads, encoding="ascii") as pipe:
            said.append(pipe.read())
        assert os.waitpid(child, 0)[1] == 0, "a process that raced has failed"
    return said
