"""Live progress on standard error: one line as a call starts, one as it ends. Never a result, never a decision."""

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
            passed = "passed" if event.passed else "failed"
            self._line("", f"check {passed}", f"{event.name}: {event.detail}", "green" if event.passed else "red")

    def _line(self, call: str, label: str, text: str, style: str) -> None:
        first = next((line for line in text.splitlines() if line.strip()), "")
        self._say(f"{'':>4}  {label:<14} {_short(visible(first))}".rstrip(), style)


def _short(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def to_stderr() -> Progress:
    """Return a progress that writes to standard error, in colour where that is a terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    return Progress(lambda text, style: console.print(Text(text, style=style)))
