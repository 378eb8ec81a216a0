"""The errors remit raises. Each says what happened, where, and what to do next; `code` is stable.

A refusal is an event, not an error: these are for broken promises, bad input and broken stores.
"""


class RemitError(Exception):
    """Base of every error remit raises on purpose. `fix` says what to do; `exit_code` is the command line's."""

    code = "remit.error"
    exit_code = 1

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message}\n  fix: {self.fix}" if self.fix else self.message


class InputError(RemitError):
    """Input that does not have the documented form; nothing was done with it. `line` counts from 1."""

    code = "input.invalid"
    exit_code = 2

    def __init__(self, message: str, *, line: int | None = None, fix: str = "") -> None:
        super().__init__(message, fix=fix)
        self.line = line


class Invalid(InputError):
    """A remit, a tool or an agent file with mistakes. `problems` lists all of them, each with its key path."""

    code = "remit.invalid"

    def __init__(self, what: str, problems: list[str]) -> None:
        super().__init__(
            "\n".join([f"{what}: {len(problems)} problem{'s' * (len(problems) > 1)}", *(f"  {p}" for p in problems)])
        )
        self.problems = problems


class UnknownRun(InputError):
    """No run has this id, or several ids start with it."""

    code = "run.unknown"


class InsideLoop(RemitError):
    """`run` was called where an event loop runs already."""

    code = "run.inside_loop"
    exit_code = 2


class PolicyError(RemitError):
    """A policy returned something that is not a reply: a bug in the policy, never a proposal."""

    code = "policy.broken"


class IllegalMove(RemitError):
    """An event that the table of moves does not have: the log was edited, or two writers shared it."""

    code = "log.illegal_move"


class LogDamaged(RemitError):
    """A log whose chain does not hold. It is never continued as if nothing had happened."""

    code = "log.damaged"


class StoreError(RemitError):
    """The store could not do what was asked; nothing was acknowledged and nothing further may leave the process."""

    code = "store.failed"


class Conflict(StoreError):
    """Another writer appended first: read, fold, and try again."""

    code = "store.conflict"


class Fenced(StoreError):
    """This owner's epoch is over: another process owns the run now."""

    code = "store.fenced"


class Owned(StoreError):
    """Another process owns the run; `owner` names it."""

    code = "run.owned"
    exit_code = 3

    def __init__(self, run: str, owner: str) -> None:
        super().__init__(f"run {run} is owned by {owner}", fix="wait until it rests, or stop that process")
        self.owner = owner


class ToolError(Exception):
    """Raised by a tool for a failure it expects: the policy gets the observation `error` with this text."""
