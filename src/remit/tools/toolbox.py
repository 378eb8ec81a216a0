"""What can run: a registry of tools by exact name. Whether one may run is the remit's word, not the toolbox's."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, overload

from ..core.canon import NotCanonical, admit
from ..core.events import Effect
from ..core.spec import ToolSpec
from ..errors import Invalid

if TYPE_CHECKING:
    from threading import Event

P = ParamSpec("P")
R = TypeVar("R")


class Runner(Protocol):
    """How a tool runs. `asynchronous` runners return an awaitable; `blocking` ones stop by themselves at the timeout,
    and when `stop` is set."""

    asynchronous: bool
    blocking: bool

    def __call__(
        self, args: dict[str, Any], effect_id: str | None, timeout: float | None, stop: "Event | None", /
    ) -> Any: ...


class Tool(Generic[P, R]):
    """A registered function: still callable as it was; `spec` is what it declared."""

    def __init__(self, function: Callable[P, R], spec: ToolSpec) -> None:
        self.function = function
        self.spec = spec
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)


class Toolbox(Mapping[str, ToolSpec]):
    """A registry of tools; as a mapping it gives their declarations by name.

    `@tools.read`, `@tools.egress` and `@tools.write` register a function (plain or async), bare or with options:
    `name`, `description`, `schema` (JSON Schema 2020-12 in place of the annotations), `timeout` in seconds,
    `consequential`, `idempotent` (writes), `poll`. Raises Invalid for a declaration that cannot be enforced.
    """

    def __init__(self) -> None:
        self.specs: dict[str, ToolSpec] = {}
        self.runners: dict[str, Runner] = {}

    def __getitem__(self, name: str) -> ToolSpec:
        return self.specs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.specs)

    def __len__(self) -> int:
        return len(self.specs)

    @overload
    def read(self, function: Callable[P, R], /) -> Tool[P, R]: ...
    @overload
    def read(self, /, **options: Any) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
    def read(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Register a tool that changes nothing and may be repeated."""
        return self._register("read", function, options)

    @overload
    def egress(self, function: Callable[P, R], /) -> Tool[P, R]: ...
    @overload
    def egress(self, /, **options: Any) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
    def egress(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Register a tool that reads but sends something out, such as one that fetches a URL it is given."""
        return self._register("egress", function, options)

    @overload
    def write(self, function: Callable[P, R], /) -> Tool[P, R]: ...
    @overload
    def write(self, /, **options: Any) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
    def write(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Register a tool that changes the world. A parameter `effect_id` is given the call's idempotency key."""
        return self._register("write", function, options)

    def command(
        self,
        name: str,
        argv: Sequence[str],
        *,
        effect: Effect,
        schema: Mapping[str, Any] | None = None,
        description: str = "",
        timeout: float = 60.0,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        pass_env: Sequence[str] = (),
        output_bytes: int = 51_200,
        consequential: bool = False,
        idempotent: bool = False,
        poll: int | None = None,
    ) -> ToolSpec:
        """Register a command: `argv` with `{argument}` placeholders, run without a shell (commands.py)."""
        from .commands import Command, command_schema

        runner = Command(tuple(argv), cwd=cwd, env=dict(env or {}), pass_env=tuple(pass_env), output_bytes=output_bytes)
        options = {
            "description": description or f"Runs {' '.join(argv)}", "timeout": timeout, "consequential": consequential,
            "idempotent": idempotent, "poll": poll, "source": runner.source,
        }  # fmt: skip
        return self.add(
            declare(name, effect, dict(schema) if schema is not None else command_schema(argv), options),
            runner,
        )

    def add(self, spec: ToolSpec, run: Runner) -> ToolSpec:
        """Register a declaration with its runner, whatever its kind."""
        if spec.name in self.specs:
            raise Invalid(f"tool {spec.name}", ["name: another tool has this name"])
        self.specs[spec.name] = spec
        self.runners[spec.name] = run
        return spec

    def _register(self, effect: Effect, function: Callable[..., Any] | None, options: dict[str, Any]) -> Any:
        if function is None:
            return lambda given: self._register(effect, given, options)
        from .functions import Function

        runner = Function(function, options.pop("schema", None))
        name = options.pop("name", None) or function.__name__
        options["typed"] = runner.typed
        options.setdefault("description", (function.__doc__ or "").strip())
        return Tool(function, self.add(declare(name, effect, runner.schema, options), runner))


def declare(name: str, effect: Effect, schema: dict[str, Any], options: Mapping[str, Any]) -> ToolSpec:
    """Return a checked declaration. Raises Invalid, listing every mistake."""
    found = [f"{key}: {why}" for key, why in _mistakes(name, effect, schema, options)]
    if found:
        raise Invalid(f"tool {name}", found)
    spec = ToolSpec(name=name, effect=effect, schema=schema, **options)
    try:
        spec.compile()
    except ValueError as error:
        raise Invalid(f"tool {name}", [f"schema: {error}"]) from None
    return spec


OPTIONS = {"description", "timeout", "consequential", "idempotent", "poll", "source", "typed"}


def _mistakes(name: object, effect: Effect, schema: object, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if not isinstance(name, str) or not 0 < len(name) <= 128 or not name.isprintable():
        yield "name", f"must be 1 to 128 printable characters, not {name!r}"
    for key in options.keys() - OPTIONS:
        yield key, "unknown option"
    if effect not in ("read", "egress", "write"):
        yield "effect", f'must be "read", "egress" or "write", not {effect!r}'
    timeout, poll = options.get("timeout"), options.get("poll")
    sound = isinstance(timeout, int | float) and not isinstance(timeout, bool) and 0 < timeout < 2**53
    if timeout is not None and not sound:
        yield "timeout", f"must be a finite number of seconds greater than 0, not {timeout!r}"
    if poll is not None and (isinstance(poll, bool) or not isinstance(poll, int) or poll < 2):
        yield "poll", f"must be a whole number of at least 2, not {poll!r}"
    for key in ("consequential", "idempotent"):
        if not isinstance(options.get(key, False), bool):
            yield key, f"must be true or false, not {options[key]!r}"
    if options.get("idempotent") and effect != "write":
        yield "idempotent", "only a write can be idempotent; a read may be repeated anyway"
    try:
        admit(schema)
    except NotCanonical as error:
        yield "schema", str(error)
    if not isinstance(schema, dict) or schema.get("type") != "object":
        yield "schema", 'must be a JSON Schema with type = "object"'
