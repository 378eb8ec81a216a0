"""A process is killed while it appends: everything that was acknowledged is there, and the log goes on (G8)."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from remit.core.canon import GENESIS, chain
from remit.stores.sqlite import SQLiteStore

APPENDER = """
import os, sys
sys.path[:0] = {paths!r}
from remit.stores.sqlite import SQLiteStore
store = SQLiteStore({path!r}, boottime=lambda: {now})
epoch = store.claim("r", "owner {now}")
seq = getattr(store.head("r"), "seq", 0)
while True:
    seq += 1
    events = b'["%d", "%b"]' % (seq, b"x" * (150_000 if seq % 4 == 0 else 300))
    store.append("r", seq, seq, events, epoch)
    os.write(1, b"%d\\n" % seq)
"""
KILLED_AFTER = (1, 2, 3, 5, 8, 13, 21, 34, 55)
"""Records. A fourth of them are large, so that some of these kills come during or after a checkpoint."""


def killed(path: Path, after: int, now: int) -> list[int]:
    """Let a process append, kill it after so many acknowledgements, and return what it acknowledged."""
    code = APPENDER.format(paths=sys.path, path=str(path), now=now)
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert child.stdout is not None
    said = b"".join(child.stdout.readline() for _ in range(after))
    os.kill(child.pid, signal.SIGKILL)
    said += child.stdout.read()
    child.stdout.close()
    assert child.wait() == -signal.SIGKILL
    return [int(line) for line in said.split(b"\n")[:-1]]


def check(path: Path, acknowledged: list[int]) -> None:
    """See that everything acknowledged is there and chained, and at most one record more, that was on its way."""
    with closing(SQLiteStore(path)) as store:
        before, count = GENESIS, 0
        for record in store.read("r"):
            count += 1
            before = chain(before, "r", count, record.at, record.events)
            assert (record.seq, record.digest) == (count, before)
        noted = store.witness("r")
    assert noted is not None
    assert acknowledged[-1] - 1 <= noted[0] <= count
    assert count - acknowledged[-1] in (0, 1)


def test_a_killed_process_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    acknowledged: list[int] = []
    for number, after in enumerate(KILLED_AFTER):
        acknowledged += killed(path, after, 100 * number)
        check(path, acknowledged)
    assert acknowledged == sorted(set(acknowledged))
    assert len(acknowledged) >= sum(KILLED_AFTER)


def test_two_processes_that_are_killed_together_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    code = APPENDER.replace('"r"', "run").replace("import os, sys", "import os, sys; run = sys.argv[1]")
    code = code.format(paths=sys.path, path=str(path), now=100)
    children = [subprocess.Popen([sys.executable, "-c", code, run], stdout=subprocess.PIPE) for run in ("a", "b")]
    said = {}
    for child in children:
        assert child.stdout is not None
        said[child.args[-1]] = b"".join(child.stdout.readline() for _ in range(9))  # type: ignore[index]
    for child in children:
        os.kill(child.pid, signal.SIGKILL)
    for child in children:
        assert child.stdout is not None
        said[child.args[-1]] += child.stdout.read()  # type: ignore[index]
        child.stdout.close()
        child.wait()
    with closing(SQLiteStore(path)) as store:
        for run, lines in said.items():
            acknowledged = [int(line) for line in lines.split(b"\n")[:-1]]
            found = [record.seq for record in store.read(str(run))]
            assert found[: len(acknowledged)] == acknowledged
            assert len(found) - len(acknowledged) in (0, 1)
