"""The agent file: a policy, its tools and a `[remit]` table, in TOML. Every mistake is told at once, by its key path.

Only the form is checked here. What the script proposes is the controller's to refuse when it is proposed, so a call of
an unknown tool loads; `remit check` tells of it (explain.py). Relative paths start at the file's folder.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, time
from pathlib import Path
from typing import Any, TypeAlias

from ..core.events import Effect
from ..core.remit import Remit, load, mismatches, unknown_name
from ..core.reply import Call, Final
from ..core.spec import ToolSpec
from ..core.visible import visible
from ..errors import InputError, Invalid
from ..models.scripted import ScriptedPolicy
from ..models.workflow import Workflow
from ..tools.commands import Command, command_schema
from ..tools.toolbox import Toolbox, declare

MAX_BYTES = 1 << 20
"""Bytes an agent file may have."""
TIMEOUT = 60.0
"""Seconds a tool may take if it does not say."""
OUTPUT_BYTES = 51_200
"""Bytes of a tool's output that are kept if it does not say."""


@dataclass(frozen=True)
class Agent:
    """A sound agent file. `path` is absolute; `task` is None where the file leaves it to `run --task`; `script` is what
    `policy` proposes, item by item."""

    path: Path
    task: str | None
    script: tuple[Call | Final, ...]
    policy: ScriptedPolicy | Workflow
    tools: Toolbox
    remit: Remit


def load_agent(path: Path) -> Agent:
    """Read an agent file. Raises InputError where it cannot be read, Invalid with every mistake where it is wrong."""
    name = visible(str(path))
    found: list[str] = []
    try:
        document = _plain(_parse(name, _read(name, path)), "", found)
    except RecursionError:
        raise Invalid(name, ["is nested too deep to be read"]) from None
    folder = path.resolve().parent
    found += _wrong("", document, _FILE, _FILE_NEEDS)
    given = _sound(document, _FILE)
    policy, script, wrong = _policy(given["policy"]) if "policy" in given else (None, (), [])
    found += wrong
    tools = Toolbox()
    for tool, table in given.get("tools", {}).items():
        found += _tool(f"tools.{tool}", tool, table, folder, tools)
    remit, wrong = _remit(given["remit"], given.get("tools", {}), tools) if "remit" in given else (None, [])
    found += wrong
    if found or policy is None or remit is None:
        raise Invalid(name, [visible(problem) for problem in found])
    return Agent(path.resolve(), given.get("task"), script, policy, tools, remit)


def _read(name: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"there is no {name}", fix="write one with `remit init`, or name another file") from None
    except IsADirectoryError:
        raise InputError(f"{name} is a folder", fix="name the agent file in it") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {name}: {why}", fix="name a file that can be read") from None
    if len(data) > MAX_BYTES:
        raise InputError(f"{name} is larger than {MAX_BYTES} bytes", fix="shorten it; is it an agent file?")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}, line {line}: not UTF-8 text", line=line, fix="save the file as UTF-8") from None


_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


def _parse(name: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise Invalid(name, ["nested too deeply to be read"]) from None
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.fullmatch(str(error))
        if found is None:
            raise Invalid(name, [visible(f"not TOML: {error}")]) from None
        lines = text.split("\n")
        line, column = (int(found[2]), int(found[3])) if found[2] else (len(lines), len(lines[-1]) + 1)
        broken = Invalid(name, [visible(f"line {line}, column {column}: {found[1]}")])
        broken.line = line
        raise broken from None
    except ValueError:  # Python's own limit, far beyond TOML's
        raise Invalid(name, ["holds a whole number of thousands of digits; one has at most 64 bits"]) from None


def _plain(value: Any, path: str, found: list[str]) -> Any:
    """Return the value with text in place of what TOML has and JSON has not, after noting it as a mistake."""
    if isinstance(value, dict):
        return {key: _plain(item, f"{path}.{key}" if path else key, found) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, f"{path}[{number}]", found) for number, item in enumerate(value)]
    if isinstance(value, date | time):
        found.append(f"{path}: an agent file has no dates and times; where text is meant, put it in quotes")
        return value.isoformat()
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        found.append(f"{path}: a whole number has at most 64 bits; where text is meant, put it in quotes")
        return str(value)
    return value


Form: TypeAlias = tuple[Callable[[Any], bool], str]
"""Is a value of the form, and the form in words after `must be`."""


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and "\0" not in item for item in value)


def _is_environment(value: object) -> bool:
    return (
        isinstance(value, dict)
        and all(name and not {"=", "\0"} & set(name) for name in value)
        and _is_texts([*value.values()])
    )


def _is_whole(least: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


_TEXT: Form = (_is_text, "text that is not blank")
_TABLE: Form = (lambda value: isinstance(value, dict), "a table")
_LIST: Form = (lambda value: isinstance(value, list), "a list")
_TRUTH: Form = (lambda value: isinstance(value, bool), "true or false")
_DECLARED: Form = (lambda value: True, "")  # its form is for `declare` to check

_FILE: dict[str, Form] = {"task": _TEXT, "policy": _TABLE, "tools": _TABLE, "remit": _TABLE}
_FILE_NEEDS = {
    "policy": 'say who proposes, for example kind = "scripted" and a script',
    "remit": "nothing is permitted until it is written down",
}
_POLICY: dict[str, Form] = {
    "kind": (lambda value: value in ("scripted", "workflow"), '"scripted" or "workflow"'),
    "script": _LIST,
    "go_on": _TRUTH,
}
_POLICY_NEEDS = {"kind": 'write "scripted" or "workflow"', "script": "list what is proposed, turn by turn"}
_CALL: dict[str, Form] = {"call": _TEXT, "args": _TABLE}
_FINAL: dict[str, Form] = {"final": (lambda value: isinstance(value, str), "text"), "claims": _LIST}
_TOOL: dict[str, Form] = {
    "command": (
        lambda value: _is_texts(value) and bool(value) and _is_text(value[0]),
        "a list of texts, the program first",
    ),
    "effect": (lambda value: value in ("read", "egress", "write"), '"read", "egress" or "write"'),
    "description": _TEXT,
    "schema": _TABLE,
    "timeout": _DECLARED,
    "consequential": _DECLARED,
    "idempotent": _DECLARED,
    "poll": _DECLARED,
    "cwd": _TEXT,
    "env": (_is_environment, "a table of texts, whose names have no `=`"),
    "pass_env": (_is_texts, "a list of names of environment variables"),
    "output_bytes": (_is_whole(256), "a whole number of at least 256"),
}
_TOOL_NEEDS = {
    "command": 'write what runs as a list, for example ["./deploy.sh", "{target}"]',
    "effect": 'write "read" (local, repeatable), "egress" (a read that sends something out) or "write"',
}


def _wrong(path: str, table: Mapping[str, Any], forms: Mapping[str, Form], needs: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong with the keys of a table and the forms of their values, then what is missing."""
    dot = f"{path}." if path else ""
    for key, value in table.items():
        if key not in forms:
            yield unknown_name(f"{dot}{key}", key, "key", forms)
        elif not forms[key][0](value):
            yield f"{dot}{key}: must be {forms[key][1]}, not {_shown(value)}"
    for key, advice in needs.items():
        if key not in table:
            yield f"{dot}{key}: missing; {advice}"


def _sound(table: Mapping[str, Any], forms: Mapping[str, Form]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key in forms and forms[key][0](value)}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "…"


def _policy(table: dict[str, Any]) -> tuple[ScriptedPolicy | Workflow, tuple[Call | Final, ...], list[str]]:
    found = list(_wrong("policy", table, _POLICY, _POLICY_NEEDS))
    given = _sound(table, _POLICY)
    workflow = given.get("kind") == "workflow"
    if given.get("kind") == "scripted" and "go_on" in table:
        found.append('policy.go_on: a script always goes on; remove it, or write kind = "workflow"')
    script: list[Call | Final] = []
    for number, item in enumerate(given.get("script", [])):
        wrong = list(_item_mistakes(f"policy.script[{number}]", item))
        found += wrong
        if not wrong:
            script.append(_item(item))
    policy = Workflow(script, go_on=given.get("go_on", False)) if workflow else ScriptedPolicy(script)
    return policy, tuple(script), found


def _item_mistakes(path: str, item: object) -> Iterator[str]:
    if not isinstance(item, dict) or ("call" in item) == ("final" in item):
        yield f"{path}: must be {{call = NAME, args = {{…}}}} or {{final = TEXT, claims = […]}}, not {_shown(item)}"
        return
    yield from _wrong(path, item, _CALL if "call" in item else _FINAL, {})
    claims = item.get("claims")
    for number, claim in enumerate(claims if isinstance(claims, list) else []):
        if not (
            isinstance(claim, dict)
            and claim.keys() in ({"cites", "quote"}, {"effect"})
            and _is_texts([*claim.values()])
        ):
            form = "must be {cites = CALL, quote = TEXT} or {effect = TOOL}"
            yield f"{path}.claims[{number}]: {form}, not {_shown(claim)}"


def _item(item: Mapping[str, Any]) -> Call | Final:
    return Call(item["call"], item.get("args")) if "call" in item else Final(item["final"], item.get("claims", ()))


_OPEN: dict[str, Any] = {"type": "object"}
_OPTIONS = ("description", "timeout", "consequential", "idempotent", "poll")


def _tool(path: str, name: str, table: object, folder: Path, tools: Toolbox) -> list[str]:
    """Register the tool if it is sound, and return its mistakes."""
    if not isinstance(table, dict):
        return [f"{path}: must be a table, not {_shown(table)}"]
    given = _sound(table, _TOOL)
    argv: list[str] = given.get("command", [])
    arguments = command_schema(argv)
    schema: dict[str, Any] = given.get("schema", arguments)
    options: dict[str, Any] = {"description": f"Runs {' '.join(argv)}", "timeout": TIMEOUT}
    options.update({key: given[key] for key in _OPTIONS if key in given})
    runner, unrunnable = _runner(given, folder)
    found = [*_wrong(path, table, _TOOL, _TOOL_NEEDS), *(f"{path}.{wrong}" for wrong in unrunnable)]
    effect: Effect = given.get("effect", "write")
    # The schema and the options apart, so that a mistake in one hides none in the other.
    found += dict.fromkeys([*_declared(path, name, effect, schema, {}), *_declared(path, name, effect, _OPEN, options)])
    if "command" in given and "schema" in given:
        found += _misfits(path, arguments, schema)
    if not found and runner is not None:
        options["source"] = {**runner.source, "argv": argv, **({"cwd": given["cwd"]} if "cwd" in given else {})}
        tools.add(declare(name, effect, schema, options), runner)
    return found


def _declared(path: str, name: str, effect: Effect, schema: dict[str, Any], options: dict[str, Any]) -> list[str]:
    try:
        declare(name, effect, schema, options)
    except Invalid as invalid:
        return [_named(path, " ".join(wrong.split())) for wrong in invalid.problems]
    return []


def _named(path: str, wrong: str) -> str:
    """The name of a tool is no key of its table, but the path of it."""
    return f"{path}: its name {wrong.removeprefix('name: ')}" if wrong.startswith("name: ") else f"{path}.{wrong}"


def _misfits(path: str, arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield where a schema and the placeholders of its command differ: what is approved is what runs, so an argument
    that the command has no place for, or a place that may stay empty, is a mistake."""
    fields, required = schema.get("properties"), schema.get("required")
    fields = fields if isinstance(fields, dict) else {}
    for name in arguments["required"]:
        if name not in fields:
            yield unknown_name(f"{path}.command", f"{{{name}}}", "placeholder", [f"{{{field}}}" for field in fields])
        elif not isinstance(required, list) or name not in required:
            yield f"{path}.schema.required: must name `{name}`, for the command cannot run without it"
    for name in fields:
        if name not in arguments["properties"]:
            yield f"{path}.schema.properties.{name}: is not used; the command has no placeholder {{{name}}}"
    if schema.get("additionalProperties") is not False:
        yield f"{path}.schema.additionalProperties: must be false, for the command has no place for other arguments"


def _runner(given: Mapping[str, Any], folder: Path) -> tuple[Command | None, list[str]]:
    argv = tuple(given.get("command", ["true"]))
    if "cwd" in given and "/" in argv[0]:  # the program starts at the file's folder, wherever it then works
        argv = (str(folder / argv[0]), *argv[1:])
    try:
        command = Command(
            argv,
            cwd=str(folder / given.get("cwd", ".")),
            env=given.get("env", {}),
            pass_env=tuple(given.get("pass_env", ())),
            output_bytes=given.get("output_bytes", OUTPUT_BYTES),
        )
    except Invalid as invalid:
        return None, invalid.problems
    return command, []


def _remit(document: dict[str, Any], declared: Mapping[str, Any], tools: Toolbox) -> tuple[Remit | None, list[str]]:
    """Return the remit, and its mistakes; those about tools are found beside mistakes of other keys."""
    remit, found = _loaded(document)
    sound = {key: value for key, value in document.items() if not _loaded({"tools": {}, key: value})[1]}
    known, _ = _loaded(sound)
    if known is not None:
        broken = {name: ToolSpec(name=name, effect="read", schema=_OPEN) for name in declared}
        found += mismatches(known, {**broken, **tools})
    found += _callables(document.get("checks"))
    return remit, [f"remit.{wrong}" for wrong in found]


def _loaded(document: dict[str, Any]) -> tuple[Remit | None, list[str]]:
    try:
        return load(document), []
    except Invalid as invalid:
        return None, invalid.problems


def _callables(checks: object) -> Iterator[str]:
    for number, check in enumerate(checks if isinstance(checks, list) else []):
        if isinstance(check, Mapping) and "callable" in check:
            yield f"checks[{number}].callable: a Python check is for the library; write `command` or `file`"
