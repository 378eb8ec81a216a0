"""`remit report` on a file of the simple event format: read all of it, then print.

Exit codes: 0 whatever the run's end; 2 if the input cannot be opened, read or understood, with one line on
stderr and nothing on stdout; 1 if the output cannot be written. That the reader of a pipe has gone (`remit
report x | head -1`) is told by the 1 alone, which is what Python's documentation and click do where a C
tool would die of SIGPIPE.
"""

import os
import sys

import msgspec

from ..core.report import Summary
from ..core.visible import visible
from ..errors import InputError
from ..readers.simple import summarize
from .output import complain, reason, say

EXPORT = b'{"run":'
"""How each line of an exported log begins, and no line of this format does."""


def plain(source: str) -> int | None:
    """Report on a file of events at once, without the command line's own imports; None where it is something else."""
    if not os.path.isfile(source) or is_export(source):
        return None
    return report_stream(source, as_json=False)


def report_stream(path_or_dash: str, as_json: bool) -> int:
    """Summarize the file (`-` is stdin) on stdout, as UTF-8 in any locale; return the exit code.

    Six lines, or one JSON object in one line with sorted keys, in which what could hide is escaped.
    """
    name = "standard input" if path_or_dash == "-" else path_or_dash
    try:
        summary, stop = _summarize(path_or_dash, name)
    except InputError as error:
        return complain(f"{error.message}; {error.fix}", 2)
    except OSError as error:
        return complain(f"cannot read {visible(name)}: {reason(error)}; name a file, or - for stdin", 2)
    return say(_json(summary, stop) if as_json else "\n".join(summary.lines(stop)), "report")


def is_export(source: str) -> bool:
    """Does this file (`-` is standard input, of which nothing is taken) hold an exported log, and no events?"""
    if source == "-":
        waiting: bytes = getattr(sys.stdin.buffer, "peek", lambda size: b"")(len(EXPORT)) if sys.stdin else b""
        return waiting.lstrip().startswith(EXPORT)
    with open(source, "rb") as file:
        return file.read(4096).lstrip().startswith(EXPORT)


def _summarize(path_or_dash: str, name: str) -> tuple[Summary, str]:
    if path_or_dash != "-":
        with open(path_or_dash, "rb") as file:
            return summarize(file, name)
    if sys.stdin is None:  # it was closed before the start
        raise OSError("it is closed")
    return summarize(sys.stdin.buffer, name)


def _json(summary: Summary, stop: str) -> str:
    return visible(msgspec.json.encode(summary.document(stop), order="sorted").decode())
