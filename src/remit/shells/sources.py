"""Tell an export from a file of events, and read it run by run."""

import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import BinaryIO

from ..core.events import Record
from ..readers import export

MARK = b'{"run":'
"""How each line of an export begins, and no line of the simple event format does."""


def is_export(source: str) -> bool:
    """Does this file, or standard input for `-`, hold an export? Nothing is consumed."""
    if source == "-":
        stdin: BinaryIO = sys.stdin.buffer
        return stdin.peek(len(MARK)).lstrip().startswith(MARK)  # type: ignore[attr-defined, no-any-return]
    with open(source, "rb") as file:
        return file.read(4096).lstrip().startswith(MARK)
