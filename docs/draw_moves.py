"""Draw the tables of moves as docs/moves.md: two Mermaid diagrams, and which observation may close a call where."""

from collections.abc import Mapping
from typing import Any

from remit.core import moves
from remit.core.events import AnyEvent

NONE = "none: it must be settled first"


def page() -> str:
    """Return the page."""
    return "\n".join(
        [
            "# The legal moves",
            "",
            "Drawn from `src/remit/core/moves.py` by `make docs`. What is not drawn is illegal.",
            "",
            "## A run",
            "",
            *diagram("new", moves.RUN),
            "",
            "While it is `acting`, its open calls move as below; it is `ready` again when the last is closed by its",
            f"observation. In every phase but `new` and `ended` these may happen too: {controls()}.",
            "",
            "## A call",
            "",
            *diagram("proposed", moves.CALL),
            "",
            "## What closes a call",
            "",
            "| phase | observations |",
            "|---|---|",
            *(f"| {phase} | {', '.join(sorted(found)) or NONE} |" for phase, found in moves.OBSERVED.items()),
            "",
            "A started write is closed by `ok` or `error` alone: with any other outcome it is uncertain.",
            "",
        ]
    )


def diagram(start: str, table: Mapping[Any, Mapping[type[AnyEvent], str]]) -> list[str]:
    """Return a Mermaid state diagram of a table."""
    arrows = [f"    {phase} --> {after}: {name(event)}" for phase, row in table.items() for event, after in row.items()]
    return ["```mermaid", "stateDiagram-v2", f"    [*] --> {start}", *arrows, "```"]


def controls() -> str:
    """Return the control events, by name."""
    return ", ".join(f"`{event}`" for event in sorted(name(event) for event in moves.CONTROL))


def name(event: type[AnyEvent]) -> str:
    """Return an event's name as the log has it."""
    return str(event.__struct_config__.tag)
