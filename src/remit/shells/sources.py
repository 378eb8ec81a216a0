"""Where a log is read from: a run in a store, or an export in a file or on standard input."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

from ..core.events import Record
from ..core.verify import Verified, verify
from ..readers import export
from ..runtime.ports import Store
from .runs import resolve


def is_file(source: str) -> bool:
    """Is this a file (`-` is standard input) rather than a run? An existing path wins."""
    return source == "-" or Path(source).exists()


def is_piped() -> bool:
    """Is standard input a pipe or a file, so that somebody meant it to be read?"""
    mode = os.fstat(sys.stdin.fileno()).st_mode if sys.stdin is not None else 0
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def runs_in(source: str) -> Iterator[Iterator[Record]]:
    """Yield the records of each run of an export, run by run. Raises InputError for a line that is not a record."""
    with opened(source) as stream:
        for _, records in groupby(export.records(stream, source), key=lambda record: record.run):
            yield records


def verified(store: Store, name: str | None) -> Iterator[Verified]:
    """Verify one run of a store, or all: those too that were noted beside the log, and that it has lost."""
    runs = [head.run for head in store.heads()] if name is None else [resolve(store, name)]
    lost = [run for run in store.witnessed() if run not in set(runs)] if name is None else []
    for run in [*runs, *lost]:
        yield verify(run, store.read(run), store.witness(run))


@contextmanager
def opened(source: str) -> Iterator[BinaryIO]:
    """Open a file, or standard input, for reading bytes."""
    if source == "-":
        yield sys.stdin.buffer
    else:
        with open(source, "rb") as file:
            yield file
