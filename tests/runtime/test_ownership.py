"""One owner drives a run: a second one is told who the first is, and a former one can write nothing."""

from pathlib import Path

import pytest

from remit import Call, Final, Remit, RemitError, ScriptedPolicy, Toolbox, open_store, run
from remit.core.canon import GENESIS, chain
from remit.errors import Conflict, Fenced, LogDamaged, Owned
from remit.stores.memory import MemoryStore

REMIT = Remit(tools={})
DONE = ScriptedPolicy([Final("done")])


@pytest.mark.guarantee("G10")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_owner_records_need_the_epoch_and_control_records_only_the_number(kind: str, tmp_path: Path) -> None:
    store = MemoryStore() if kind == "memory" else open_store(tmp_path / "runs.db")
    first = store.claim("r", "ann")
    store.append("r", 1, 5, b"[]", first)
    store.release("r", first)
    second = store.claim("r", "bob")
    with pytest.raises(Fenced):
        store.append("r", 2, 6, b"[]", first)
    with pytest.raises(Conflict):
        store.append("r", 1, 6, b"[]", second)
    one = chain(GENESIS, "r", 1, 5, b"[]")
    assert store.append("r", 2, 6, b"[]") == chain(one, "r", 2, 6, b"[]")
    assert [record.seq for record in store.read("r")] == [1, 2]
    store.close()


@pytest.mark.guarantee("G10")
def test_a_second_driver_of_a_run_is_told_who_the_first_is_and_nothing_is_lost() -> None:
    store, tools, told = MemoryStore(), Toolbox(), []

    @tools.write
    def put() -> str:
        with pytest.raises(Owned) as second:
            run("t", policy=DONE, remit=REMIT, tools=tools, store=store, run_id="r")
        told.append(second.value.owner)
        return "done"

    policy = ScriptedPolicy([Call("put"), Final("done")])
    outcome = run("t", policy=policy, remit=Remit(tools={"put": "any"}), tools=tools, store=store, run_id="r")
    assert (outcome.status, [o.status for o in outcome.observations], len(told)) == ("complete", ["ok"], 1)


@pytest.mark.guarantee("G7")
def test_a_run_that_has_ended_is_not_begun_again() -> None:
    store = MemoryStore()
    run("t", policy=DONE, remit=REMIT, tools=Toolbox(), store=store, run_id="r")
    before = list(store.read("r"))
    with pytest.raises(RemitError, match="run r is in the store already"):
        run("t", policy=DONE, remit=REMIT, tools=Toolbox(), store=store, run_id="r")
    assert list(store.read("r")) == before


class Damaged(MemoryStore):
    """A store that finds its log damaged at the second append; counts what is tried after that."""

    tried = 0

    def append(self, run: str, seq: int, at: int, events: bytes, epoch: int | None = None) -> bytes:
        if seq < 2:
            return super().append(run, seq, at, events, epoch)
        self.tried += 1
        raise LogDamaged("the log has lost its end")


@pytest.mark.guarantee("G9", "G8")
def test_a_log_that_is_found_damaged_is_not_continued_with_an_end() -> None:
    store, tools = Damaged(), Toolbox()

    @tools.read
    def look() -> str:
        return "seen"

    policy = ScriptedPolicy([Call("look"), Call("look"), Final("done")])
    with pytest.raises(LogDamaged, match="lost its end"):
        run("t", policy=policy, remit=Remit(tools={"look": "any"}), tools=tools, store=store, run_id="r")
    assert (store.tried, [record.seq for record in store.read("r")]) == (1, [1])
