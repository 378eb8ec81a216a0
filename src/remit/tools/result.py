"""What a command left, apart from what runs one: a run without commands need not import that."""

import msgspec


class CommandResult(msgspec.Struct, frozen=True):
    """What a command left: text for the policy, exit code (negative: the signal), or that it timed out. `size` and
    `digest` are of the whole standard output where the text is not exactly that."""

    text: str
    exit_code: int | None
    timed_out: bool = False
    size: int | None = None
    digest: str | None = None
