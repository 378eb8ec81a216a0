"""Where diagnostics go: the logger `remit` of the standard library, imported when there is something to say."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger


def log() -> "Logger":
    """Return the logger; importing it costs a start several milliseconds, and most starts log nothing."""
    from logging import getLogger

    return getLogger("remit")
