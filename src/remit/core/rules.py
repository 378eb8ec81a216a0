"""A remit made ready for judging: limits that compare without a question, scopes as sets of canonical values."""

from math import inf

from .canon import encode
from .remit import Gate, Remit, plain


class Rules:
    """What each step reads of a remit. A limit that was lifted is infinite; times are in microseconds."""

    __slots__ = (
        "calls",
        "calls_per_tool",
        "gates",
        "last_turn",
        "remit",
        "scopes",
        "seconds_us",
        "turns",
        "wall_us",
    )

    def __init__(self, remit: Remit) -> None:
        self.remit = remit
        self.turns = inf if remit.turns is None else remit.turns
        self.calls = inf if remit.calls is None else remit.calls
        self.calls_per_tool = dict(remit.calls_per_tool)
        self.seconds_us = inf if remit.seconds is None else remit.seconds * 1e6
        self.wall_us = inf if remit.wall_seconds is None else remit.wall_seconds * 1e6
        self.last_turn = remit.turns if remit.last_turn else None
        self.gates: dict[str, Gate] = dict(remit.gates)
        self.scopes: dict[str, dict[str, frozenset[bytes] | None] | None] = {
            tool: None if isinstance(scope, str) else {
                arg: None if isinstance(values, str) else frozenset(encode(plain(value)) for value in values)
                for arg, values in scope.items()
            }
            for tool, scope in remit.tools.items()
        }  # fmt: skip
        """Per tool None (any arguments), or per argument None (any value) or the canonical values permitted."""
