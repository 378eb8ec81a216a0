"""Python functions as tools: the schema comes from the annotations, and arguments arrive as the annotated types."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, get_type_hints

import msgspec

from ..core.validate import ArgumentError
from ..errors import Invalid

PLAIN: set[Any] = {str, int, float, bool, Any, list, dict}
"""Annotations whose JSON value is the value itself, so that nothing has to be converted."""


class Function:
    """Runs a function with keyword arguments. `effect_id` is passed if the function asks for it."""

    blocking = False

    def __init__(self, function: Callable[..., Any], schema: dict[str, Any] | None) -> None:
        self.function = function
        self.asynchronous = inspect.iscoroutinefunction(function)
        parameters = inspect.signature(function).parameters
        self.wants_effect_id = "effect_id" in parameters
        self._type: Any = None
        self.typed: Callable[[dict[str, Any]], ArgumentError | None] | None = None
        if schema is not None:
            self.schema = schema
            return
        fields = _fields(function, parameters)
        model: Any = msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)
        self.schema = _schema(function, model)
        if any(kind not in PLAIN for _, kind, *_ in fields):
            self._type = model
            self.typed = self._problem

    def __call__(self, args: dict[str, Any], effect_id: str | None, timeout: float | None, stop: Any, /) -> Any:
        if self._type is not None:
            args = self._convert(args)
        if self.wants_effect_id:
            return self.function(**args, effect_id=effect_id)
        return self.function(**args)

    def _convert(self, args: dict[str, Any]) -> dict[str, Any]:
        typed = msgspec.convert(args, self._type)
        return {name: getattr(typed, name) for name in args}

    def _problem(self, args: dict[str, Any]) -> ArgumentError | None:
        try:
            msgspec.convert(args, self._type)
        except msgspec.ValidationError as error:
            return ArgumentError("args.value", str(error))
        return None


def _fields(function: Callable[..., Any], parameters: Any) -> list[Any]:
    hints = get_type_hints(function, include_extras=True)
    fields: list[Any] = []
    found = []
    for name, parameter in parameters.items():
        if name == "effect_id":
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            found.append(f"{name}: a tool takes named arguments only; write each one out, or give `schema`")
        elif name not in hints:
            found.append(f"{name}: has no annotation; annotate it, or give `schema`")
        elif parameter.default is parameter.empty:
            fields.append((name, hints[name]))
        else:
            fields.append((name, hints[name], msgspec.field(default_factory=partial(_given, parameter.default))))
    if found:
        raise Invalid(f"tool {function.__name__}", found)
    return fields


def _given(value: Any) -> Any:
    return value


def _schema(function: Callable[..., Any], model: Any) -> dict[str, Any]:
    """Return the schema with the arguments at its top; a default that is not JSON is only left out."""
    try:
        (schema,), defs = msgspec.json.schema_components([model], ref_template="#/$defs/{name}")
    except TypeError as error:
        raise Invalid(
            f"tool {function.__name__}",
            [f"annotations: {error}; use types that JSON can carry, or give `schema`"],
        ) from None
    top = dict(defs.pop(schema["$ref"].removeprefix("#/$defs/")))
    top.pop("title", None)
    return {**top, "$defs": defs} if defs else top
