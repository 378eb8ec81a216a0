"""Ask a person at the terminal about a held call, showing exactly what would run."""

import sys

from ..core.visible import visible
from ..runtime.identity import login
from ..runtime.ports import Decision, HeldCall


def shown(held: HeldCall) -> str:
    """Return the call as one line: canonical JSON in which every character that cannot be seen, or that changes how
    others are seen, stands as \\uXXXX. The line parses back to the very call that would run."""
    return f"{visible(held.tool)} {visible(held.args)}"


def ask(held: HeldCall) -> Decision | None:
    """Return the person's decision, or None where there is none: end of input, Ctrl-C, a signal, or `later`."""
    say = sys.stderr
    say.write(f"\nHeld for you ({visible(held.rule)}), call {held.call} of run {held.run}. Exactly this would run:\n")
    say.write(f"  {shown(held)}\n  bound to {held.digest}\n")
    try:
        while True:
            answer = _line("Run it? yes / no / later: ")
            if answer is None:
                say.write("\n")
            if answer is None or answer in ("later", "l"):
                return None
            if answer in ("yes", "y"):
                return Decision(True, login())
            if answer in ("no", "n"):
                return Decision(False, login(), _line("Why not? (the policy is told; empty is fine): ") or "")
            say.write("Please type yes, no or later.\n")
    except (KeyboardInterrupt, SystemExit):  # also a signal to end: the run rests, and nothing is lost
        say.write("\n")
        return None


def _line(prompt: str) -> str | None:
    sys.stderr.write(prompt)
    sys.stderr.flush()
    line = sys.stdin.readline()
    return line.strip() if line else None
