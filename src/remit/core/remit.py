"""The remit: the frozen document of what one run may do. Its digest, with the tools' declarations, is in the log."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from ..errors import Invalid
from .canon import NotCanonical, admit, digest, encode
from .spec import ToolSpec

Scope: TypeAlias = Literal["any"] | Mapping[str, Literal["any"] | Sequence[Any]]
"""`any` arguments, or per argument `any` value or a list of exact values. What is not written is refused."""
Gate: TypeAlias = Literal["allow", "hold", "deny"]
CheckRule: TypeAlias = Literal["cites", "effect"] | Mapping[str, Any] | Callable[..., Any]


class Stuck(msgspec.Struct, frozen=True, kw_only=True):
    """When the same call with the same result is too much: `plain` counts over the whole run, `progress` since the
    last write that succeeded (stuck.py)."""

    rule: Literal["progress", "plain"] = "progress"
    threshold: int = 4


class Remit(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What one run may do. Every limit is finite unless its owner writes None.

    `tools` names the permitted tools and their scopes; nothing else is permitted. `turns` are requests to the policy,
    `calls` starts of tools (`calls_per_tool` of one tool), `seconds` working time, `wall_seconds` all time, waiting
    included. `gates` overrides, per tool, whether a call is held for a person;
    by default the consequential ones are. Raises Invalid, listing every mistake by its key path.
    """

    tools: Mapping[str, Scope]
    turns: int | None = 20
    calls: int | None = 50
    calls_per_tool: Mapping[str, int] = {}
    seconds: float | None = 600.0
    wall_seconds: float | None = 7_776_000.0
    gates: Mapping[str, Gate] = {}
    on_refusal: Literal["stop", "continue"] = "stop"
    max_refusals: int = 3
    max_invalid: int = 3
    parallel: Literal["refuse"] = "refuse"
    last_turn: bool = False
    stuck: Stuck = Stuck()
    checks: Sequence[CheckRule] = ()
    result_bytes: int | None = 51_200

    def __post_init__(self) -> None:
        found = problems({name: getattr(self, name) for name in self.__struct_fields__})
        if found:
            raise Invalid("remit", found)
        for name in ("tools", "calls_per_tool", "gates", "checks"):  # what the caller does to its own changes nothing
            force_setattr(self, name, _frozen(getattr(self, name)))
        _ = self.document

    @cached_property
    def document(self) -> dict[str, Any]:
        """The remit as plain JSON data; a Python check is there by its name. Raises Invalid for what is not text."""
        try:
            data = admit({name: plain(getattr(self, name)) for name in self.__struct_fields__})[1]
        except NotCanonical as error:
            raise Invalid("remit", [f"it {error}"]) from None
        return data  # type: ignore[no-any-return]

    def digest(self, tools: Mapping[str, ToolSpec]) -> str:
        """Digest of the document and of the declarations of the tools it names."""
        declared = {name: msgspec.to_builtins(tools[name].declared) for name in self.tools if name in tools}
        return digest(encode({"remit": self.document, "tools": declared}))


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return MappingProxyType({key: _frozen(item) for key, item in value.items()})
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(_frozen(item) for item in value)
    return value


def plain(value: Any) -> Any:
    """Return a value of a remit as JSON data: dict, list, text, numbers."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    if isinstance(value, Stuck):
        return {"rule": value.rule, "threshold": value.threshold}
    return {"callable": callable_name(value)} if callable(value) else value


def callable_name(check: Callable[..., Any]) -> str:
    """Return `module:qualified.name`, by which a Python check stands in the document."""
    return f"{check.__module__}:{getattr(check, '__qualname__', type(check).__qualname__)}"


def load(document: Mapping[str, Any]) -> Remit:
    """Make a remit of plain data: the `[remit]` table of an agent file, or the document in a log.

    There, `"none"` and null lift a limit. Raises Invalid with every mistake, unknown keys and near names included.
    """
    if not isinstance(document, Mapping):
        raise Invalid("remit", [f"it must be a table, not {_shown(document)}"])
    data: dict[str, Any] = {
        key: None if key in _LIFTABLE and value == "none" else value for key, value in document.items()
    }
    found = problems(data)
    if found:
        raise Invalid("remit", found)
    if isinstance(data.get("stuck"), Mapping):
        data["stuck"] = Stuck(**data["stuck"])
    return Remit(**data)


def problems(document: Mapping[str, Any]) -> list[str]:
    """Return every mistake in the document as `key.path: sentence`; an empty list is a sound remit."""
    found = [unknown_name(key, key, "key", _RULES) for key in document if key not in _RULES]
    if "tools" not in document:
        found.append('tools: missing; name what the agent may use, for example tools = {lookup = "any"}')
    for key, value in document.items():
        if key in _RULES and not (value is None and key in _LIFTABLE):
            found += _RULES[key](key, value)
    if document.get("last_turn") is True and document.get("turns", 1) is None:
        found.append("last_turn: needs a limit on turns, of which it is the last")
    return found


def unknown_name(path: str, name: str, kind: str, known: Any) -> str:
    """Return `path: unknown kind`, with near names."""
    from difflib import get_close_matches

    near = get_close_matches(str(name), [str(k) for k in known], n=3)
    hint = (
        f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(sorted(str(k) for k in known)) or 'none'}"
    )
    return f"{path}: unknown {kind} `{name}`; {hint}"


Rule: TypeAlias = Callable[[str, Any], list[str]]


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # Python writes out no integer of more than 4300 digits
        return "a number of thousands of digits"
    return text if len(text) <= 80 else text[:80] + "…"


def _whole(least: int) -> Rule:
    def rule(path: str, value: Any) -> list[str]:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**53:
            return []
        return [f"{path}: must be a whole number of at least {least}, not {_shown(value)}"]

    return rule


def _seconds(path: str, value: Any) -> list[str]:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 2**53:
        return []
    return [f"{path}: must be a finite number greater than 0, not {_shown(value)}"]


def _one_of(*choices: Any) -> Rule:
    def rule(path: str, value: Any) -> list[str]:
        if any(type(value) is type(choice) and value == choice for choice in choices):
            return []
        return [f"{path}: must be {' or '.join(repr(choice) for choice in choices)}, not {_shown(value)}"]

    return rule


def _table(path: str, value: Any, rule: Rule) -> list[str]:
    if not isinstance(value, Mapping):
        return [f"{path}: must be a table, not {_shown(value)}"]
    return [
        p
        for key, item in value.items()
        for p in (rule(f"{path}.{key}", item) if isinstance(key, str) else [f"{path}: {key!r} must be text"])
    ]


def _scope(path: str, scope: Any) -> list[str]:
    if scope == "any":
        return []
    if not isinstance(scope, Mapping):
        return [f'{path}: must be "any" or a table of arguments, not {_shown(scope)}']
    return _table(path, scope, _values)


def _values(path: str, values: Any) -> list[str]:
    if values == "any":
        return []
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        return [f'{path}: must be "any" or a list of exact values, not {_shown(values)}']
    found = []
    for number, value in enumerate(values):
        try:
            admit(value)
        except NotCanonical as error:
            found.append(f"{path}[{number}]: {error}")
    return found


def _stuck(path: str, value: Any) -> list[str]:
    data = {"rule": value.rule, "threshold": value.threshold} if isinstance(value, Stuck) else value
    if not isinstance(data, Mapping):
        return [f"{path}: must be a table with `rule` and `threshold`, not {_shown(value)}"]
    rules: dict[str, Rule] = {"rule": _one_of("progress", "plain"), "threshold": _whole(1)}
    found = [unknown_name(f"{path}.{key}", key, "key", rules) for key in data if key not in rules]
    if data.get("rule", "progress") == "progress":
        rules["threshold"] = _whole(2)
    return found + [p for key, rule in rules.items() if key in data for p in rule(f"{path}.{key}", data[key])]


def _checks(path: str, value: Any) -> list[str]:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        return [f"{path}: must be a list of checks, not {_shown(value)}"]
    return [p for number, check in enumerate(value) for p in _check(f"{path}[{number}]", check)]


def _text(path: str, value: Any) -> list[str]:
    return [] if isinstance(value, str) and value else [f"{path}: must be non-empty text, not {_shown(value)}"]


def _argv(path: str, value: Any) -> list[str]:
    sound = (
        isinstance(value, Sequence)
        and not isinstance(value, str | bytes)
        and value
        and all(isinstance(v, str) and "\0" not in v for v in value)
    )
    return [] if sound and value[0] else [f"{path}: must be a list of texts, the program first, not {_shown(value)}"]


def _sha256(path: str, value: Any) -> list[str]:
    hexes = value.removeprefix("sha256:") if isinstance(value, str) else ""
    return (
        []
        if len(hexes) == 64 and not set(hexes) - set("0123456789abcdef")
        else [f"{path}: must be 64 lower-case hex digits, not {_shown(value)}"]
    )


CHECK_FORMS: dict[str, dict[str, Rule]] = {
    "command": {"command": _argv, "timeout": _seconds},
    "file": {"file": _text, "exists": _one_of(True, False), "sha256": _sha256, "contains": _text},
    "callable": {"callable": _text},
}


def _check(path: str, check: Any) -> list[str]:
    if callable(check) or (isinstance(check, str) and check in ("cites", "effect")):
        return []
    if not isinstance(check, Mapping):
        return [
            f'{path}: must be "cites", "effect", {{command = […]}}, {{file = …}} or a callable, not {_shown(check)}'
        ]
    form = next((rules for name, rules in CHECK_FORMS.items() if name in check), None)
    if form is None:
        return [f"{path}: must have `command` or `file`"]
    found = [unknown_name(f"{path}.{key}", str(key), "key", form) for key in check if key not in form]
    if check.get("exists") is False and ("sha256" in check or "contains" in check):
        found.append(f"{path}.exists: a file that must not exist can hold nothing; write two checks, or remove one key")
    return found + [p for key, rule in form.items() if key in check for p in rule(f"{path}.{key}", check[key])]


_RULES: dict[str, Rule] = {
    "tools": lambda path, value: _table(path, value, _scope),
    "turns": _whole(1),
    "calls": _whole(0),
    "calls_per_tool": lambda path, value: _table(path, value, _whole(0)),
    "seconds": _seconds,
    "wall_seconds": _seconds,
    "gates": lambda path, value: _table(path, value, _one_of("allow", "hold", "deny")),
    "on_refusal": _one_of("stop", "continue"),
    "max_refusals": _whole(0),
    "max_invalid": _whole(1),
    "parallel": _one_of("refuse"),
    "last_turn": _one_of(True, False),
    "stuck": _stuck,
    "checks": _checks,
    "result_bytes": _whole(256),
}
_LIFTABLE = {"turns", "calls", "seconds", "wall_seconds", "result_bytes"}


def mismatches(remit: Remit, tools: Mapping[str, ToolSpec]) -> list[str]:
    """Return what the remit says about tools, arguments and values that the tools themselves do not have."""
    found = []
    for name, scope in remit.tools.items():
        if name not in tools:
            found.append(unknown_name(f"tools.{name}", name, "tool", tools))
        elif not isinstance(scope, str):
            found += _scope_mismatches(f"tools.{name}", scope, tools[name])
    for key in ("calls_per_tool", "gates"):
        found += [
            unknown_name(f"{key}.{name}", name, "tool", tools) for name in getattr(remit, key) if name not in tools
        ]
    return found


def _scope_mismatches(path: str, scope: Mapping[str, Any], spec: ToolSpec) -> list[str]:
    fields = spec.schema.get("properties", {})
    if spec.schema.get("additionalProperties") is not False or "$ref" in spec.schema:
        return []  # an open schema: any argument may be meant
    return [unknown_name(f"{path}.{arg}", arg, "argument", fields) for arg in scope if arg not in fields]
