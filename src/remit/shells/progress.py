"""Live progress on standard error: one line as a call starts, one as it ends. Never a result, never a decision."""

import re
from collections.abc import Callable

from ..core.events import (
    Answered,
    AnyEvent,
    Checked,
    Denied,
    Held,
    Nudged,
    Observed,
    Proposed,
    Rejected,
    Started,
    Unsettled,
)
from ..core.visible import visible

WIDTH = 100
ERRORS = "[standard error]"
MARK = re.compile(r"(.*: )?\[(standard error|exit code -?[0-9]+)\]")
"""A line that a command's output was given, or that only leads to one (tools/commands.py)."""
STYLES = {"ok": "green", "error": "red", "refused": "yellow", "denied": "yellow", "invalid": "yellow", "timeout": "red"}


class Progress:
    """Says what happens through `say(text, style)`; remembers only the calls that are open."""

    def __init__(self, say: Callable[[str, str], None]) -> None:
        self._say = say
        self._open: dict[str, str] = {}

    def __call__(self, event: AnyEvent) -> None:
        if isinstance(event, Proposed):
            args = bytes(event.args).decode() or event.text or ""
            self._open[event.call] = visible(f"{event.tool}({args})")
        elif isinstance(event, Started):
            self._say(f"{event.call:>4}  {_short(self._open[event.call])}", "bold")
        elif isinstance(event, Observed):
            started = self._open.pop(event.call, "")
            what = "" if event.us or event.status in ("ok", "error") else f"{started}  "
            self._line(
                event.call,
                f"{event.status} {event.us / 1e6:.1f} s",
                f"{what}{event.text}",
                STYLES.get(event.status, ""),
            )
        elif isinstance(event, Held):
            self._line(event.call, "held", f"{self._open[event.call]}  waits for a person ({event.rule})", "yellow")
        elif isinstance(event, Denied):
            self._line(event.call, "denied", f"by {event.by}", "yellow")
        elif isinstance(event, Unsettled):
            self._line(event.call, "uncertain", event.cause, "red")
        elif isinstance(event, Nudged):
            self._line(event.call, "nudged", event.text, "yellow")
        elif isinstance(event, Rejected):
            self._line("", "rejected", f"{event.code}: {event.text}", "yellow")
        elif isinstance(event, Answered):
            self._line("", "answer", event.text, "bold")
        elif isinstance(event, Checked):
            label, style = ("check passed", "green") if event.passed else ("check failed", "red")
            self._line("", label, f"{event.name}: {_telling(event.detail)}", style)

    def _line(self, call: str, label: str, text: str, style: str) -> None:
        self._say(f"{'':>4}  {label:<14} {_short(visible(_telling(text)))}".rstrip(), style)


def _telling(text: str) -> str:
    """Return the one line of a text that tells most: the first, or where something was complained of the last."""
    lines = [line for line in text.splitlines() if line.strip() and not MARK.fullmatch(line)]
    if not lines:
        return ""
    return lines[-1 if ERRORS in text else 0]


def _short(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def to_stderr() -> Progress:
    """Return a progress that writes to standard error, in colour where that is a terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    return Progress(lambda text, style: console.print(Text(text, style=style)))
