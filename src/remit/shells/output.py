"""Say a result or a complaint in the end's own way: UTF-8 in any locale, an exit code, and never a traceback."""

import os
import sys


def ready() -> bool:
    """Is there a standard output? Standard input and error that were closed before the start become empty ones."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - for as long as the program runs
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    return sys.stdout is not None


def say(text: str, what: str) -> int:
    """Write the text and a line end to standard output; return 0, or 1 where it cannot be written (that the reader of a
    pipe has gone is told by the 1 alone). `what` is being written, for the complaint."""
    if sys.stdout is None:  # it was closed before the start
        return complain("cannot write: standard output is closed; open it", 1)
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode() + b"\n")
        sys.stdout.buffer.flush()
    except OSError as error:
        give_up()
        if isinstance(error, BrokenPipeError):
            return 1
        return complain(f"cannot write: {reason(error)}; the {what} is not complete", 1)
    return 0


def give_up() -> None:
    """Let what is still buffered go nowhere: at its end Python would try once more, and complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def complain(what: str, code: int) -> int:
    """Write one line to standard error, where there is one, and return the exit code."""
    if sys.stderr is not None:
        print(f"remit: {what}", file=sys.stderr)
    return code


def reason(error: OSError) -> str:
    """Return what the system says of an error, without its number."""
    return error.strerror or str(error)
