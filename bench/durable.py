"""What a step costs on disk: its time over one append and sync of the same bytes, and its bytes.

After each step, and just before the next, the same bytes are appended to a file in the same folder and synced: each
step has a neighbour of its own to be compared with.
"""

import os
import sqlite3
import sys
from collections.abc import Sequence
from itertools import chain, pairwise
from pathlib import Path
from statistics import fmean, median
from time import perf_counter_ns
from typing import Any

from remit import Call, Final, Remit, ScriptedPolicy, open_store

from .harness import Measured, Place, ratios
from .scenario import governed, remit_for, script


class Paired:
    """A script that appends the bytes and syncs them each time it is asked; it notes when it came and when it went."""

    remote = False

    def __init__(self, items: Sequence[Call | Final], file: int, record: bytes) -> None:
        self.times: list[tuple[int, int]] = []
        self._script = ScriptedPolicy(items)
        self._file = file
        self._record = record

    def propose(self, context: Any) -> Any:
        """Return the item of this turn."""
        came = perf_counter_ns()
        os.write(self._file, self._record)
        sync(self._file)
        self.times.append((came, perf_counter_ns()))
        return self._script.propose(context)


def sync(file: int) -> None:
    """Sync as the store does."""
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(file, fcntl.F_FULLFSYNC)  # there, a plain sync leaves the data in the disk's cache
    else:
        os.fdatasync(file)


def read_step(place: Place) -> Measured:
    """A durable step with one sync."""
    return _durable(place, "lookup")


def write_step(place: Place) -> Measured:
    """A durable step with two syncs: before the tool starts and after it ended."""
    return _durable(place, "note")


def _durable(place: Place, tool: str) -> Measured:
    """Measure runs in stores that are new, where a write-ahead log has yet to grow, as it has for a short program."""
    steps = place.size(400)
    items, remit = script(steps, tool), remit_for(steps)
    record = max((record.events for record in governed(ScriptedPolicy(items), remit).records[1:]), key=len)
    ours, plain = [], []
    for number in range(place.rounds(7)):
        base = place.folder / f"{tool}-{number}"
        policy = _paired(base, items, record, remit)
        ours.append([after - went for (_, went), (after, _) in pairwise(policy.times)])
        plain.append([went - came for came, went in policy.times[:-1]])
    say = f"a step {_us(ours)}; append and sync of {len(record)} bytes {_us(plain)}; on {file_system(place.folder)}"
    return Measured([ratios([median(times) for times in ours], [median(times) for times in plain])], [say])


def _paired(base: Path, items: Sequence[Call | Final], record: bytes, remit: Remit) -> Paired:
    file = os.open(base.with_suffix(".log"), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    store = open_store(base.with_suffix(".db"))
    try:
        policy = Paired(items, file, record)
        governed(policy, remit, store)
        return policy
    finally:
        store.close()
        os.close(file)


def _us(rounds: Sequence[Sequence[int]]) -> str:
    times = [*chain.from_iterable(rounds)]
    return f"median {median(times) / 1e3:,.0f} µs, mean {fmean(times) / 1e3:,.0f} µs"


class Weighed:
    """A script that looks at the size of the database when it is asked for one of these turns."""

    remote = False

    def __init__(self, items: Sequence[Call | Final], turns: Sequence[int], path: Path) -> None:
        self.sizes: list[int] = []
        self._script = ScriptedPolicy(items)
        self._turns = frozenset(turns)
        self._path = path

    def propose(self, context: Any) -> Any:
        """Return the item of this turn."""
        if context.turn in self._turns:
            self.sizes.append(_pages(self._path))
        return self._script.propose(context)


def log_size(place: Place) -> Measured:
    """Bytes a step, and those of a step in the second half of the run over those in the first."""
    steps = place.size(10_000, least=200)
    path = place.folder / "size.db"
    store = open_store(path)
    policy = Weighed(script(steps), (1, 1 + steps // 2, 1 + steps), path)
    try:
        outcome = governed(policy, remit_for(steps), store)
        events = sum(len(record.events) for record in outcome.records)
    finally:
        store.close()  # the last connection takes the write-ahead log into the file
    began, half, ended = policy.sizes
    files = sorted(place.folder.glob("size.db*"))
    total = sum(file.stat().st_size for file in files)
    parts = ", ".join(f"{file.name.removeprefix('size.db') or 'file'} {file.stat().st_size:,} bytes" for file in files)
    return Measured(
        [[total / steps], [(ended - half) / (half - began)]],
        [f"{steps:,} steps: {parts}; {events / steps:,.0f} bytes of events a step"],
    )


def _pages(path: Path) -> int:
    """Return the size of the database with what is still in its write-ahead log."""
    other = sqlite3.connect(path)
    try:
        (count,), (size,) = (other.execute(f"PRAGMA page_{what}").fetchone() for what in ("count", "size"))
        return int(count) * int(size)
    finally:
        other.close()


def file_system(folder: Path) -> str:
    """Return the kind of file system the folder is on, where the system tells."""
    try:
        mounts = [line.split(" ")[1:3] for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return "a file system of unknown kind"
    inside = [(len(at), kind) for at, kind in mounts if folder.resolve().is_relative_to(at)]
    return max(inside, default=(0, "a file system of unknown kind"))[1]
