"""What a tool declares: the part of it that the core reads. How it runs is the toolbox's."""

from collections.abc import Callable
from typing import Any, TypeAlias

from .canon import admit, decode, digest, encode
from .events import Declared, Effect
from .validate import ArgumentError, Validator

Problem: TypeAlias = Callable[[dict[str, Any]], ArgumentError | None]


class ToolSpec:
    """One tool's declaration.

    `schema` is JSON Schema 2020-12 of the arguments. `timeout` is in seconds; None means that it runs inline until it
    returns. `poll` is how often it may return the same result to the same call before that counts as stuck. `source`
    is what runs (a command's argv), so that a changed command is a changed remit. `typed` finds what a schema cannot
    say, such as a date that does not exist. `problem` returns why arguments cannot be used, or None; a tool whose
    arguments its own shell makes may bring its own.
    """

    __slots__ = (
        "_declared",
        "consequential",
        "description",
        "effect",
        "idempotent",
        "json",
        "name",
        "poll",
        "problem",
        "schema",
        "source",
        "timeout",
        "typed",
        "writes",
    )  # fmt: skip

    def __init__(
        self, *, name: str, effect: Effect, schema: dict[str, Any], description: str = "", consequential: bool = False,
        idempotent: bool = False, timeout: float | None = None, poll: int | None = None, source: Any = None,
        typed: Problem | None = None, problem: Problem | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.effect: Effect = effect
        self.writes = effect == "write"
        self.schema = schema
        self.json = admit(schema)[0].decode()  # taken now: what is done to the schema later changes nothing
        self.description = description
        self.consequential = consequential
        self.idempotent = idempotent
        self.timeout = timeout
        self.poll = poll
        self.source = source
        self.typed = typed
        self.problem: Problem = problem or self._compile
        self._declared: Declared | None = None

    @property
    def declared(self) -> Declared:
        """The declaration as the log keeps it."""
        if self._declared is None:
            self._declared = Declared(
                effect=self.effect,
                schema=digest(self.json.encode()),
                source="" if self.source is None else digest(encode(self.source)),
                consequential=self.consequential,
                idempotent=self.idempotent,
                poll=self.poll,
            )
        return self._declared

    def compile(self) -> None:
        """Compile the schema now rather than at the first call. Raises ValueError where it is not a schema."""
        validator, typed = Validator(decode(self.json)), self.typed
        is_valid = validator.is_valid
        if typed is None:
            self.problem = lambda args: None if is_valid(args) else validator.problem(args)
        else:
            self.problem = lambda args: typed(args) if is_valid(args) else validator.problem(args)

    def _compile(self, args: dict[str, Any]) -> ArgumentError | None:
        self.compile()
        return self.problem(args)
