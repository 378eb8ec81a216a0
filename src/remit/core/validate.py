"""Arguments against a tool's schema, strictly: unknown fields, missing ones and wrong types are each named.

JSON Schema 2020-12 through jsonschema-rs, with remote references off and a linear-time pattern engine. One rule is
stricter than the standard: `1.0` is not an `integer`, for a tool written for whole numbers must not be handed a float.
"""

from typing import Any

import msgspec


class ArgumentError(msgspec.Struct, frozen=True):
    """Why arguments were refused: a stable code and a sentence with the path."""

    code: str
    text: str


CODES = {
    "required": "args.missing",
    "additionalProperties": "args.unexpected",
    "unevaluatedProperties": "args.unexpected",
    "type": "args.type",
    "x-whole": "args.type",
}


class Validator:
    """A compiled schema. Raises ValueError, saying what is wrong, where the schema itself is not valid."""

    def __init__(self, schema: dict[str, Any]) -> None:
        import jsonschema_rs  # not needed to fold or to report, and a start has to pay for it

        strict = _whole(schema)
        assert isinstance(strict, dict)
        try:
            self._validator = jsonschema_rs.Draft202012Validator(
                strict,
                offline=True,
                pattern_options=jsonschema_rs.RegexOptions(),
                keywords={"x-whole": _Whole},
                validate_formats=True,
            )
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            where = ".".join(str(step) for step in getattr(error, "instance_path", ()))
            why = (f"{where}: " if where else "") + " ".join(str(getattr(error, "message", error)).split())
            raise ValueError(f"not a JSON Schema 2020-12 that can be checked offline: {why}") from None
        self.is_valid = self._validator.is_valid

    def problem(self, args: object) -> ArgumentError | None:
        """Return why `args` do not fit, or None. Several mistakes are all in the text; the first gives the code."""
        if self.is_valid(args):
            return None
        found = list(self._validator.iter_errors(args))
        code = CODES.get(next((str(k) for k in reversed(found[0].schema_path) if isinstance(k, str)), ""), "args.value")
        return ArgumentError(code, "; ".join(_sentence(error) for error in found[:8]))


def _sentence(error: Any) -> str:
    where = ".".join(str(step) for step in error.instance_path)
    message = error.message if len(error.message) <= 300 else error.message[:300] + "…"
    return f"{where}: {message}" if where else message


class _Whole:
    """The keyword `x-whole`: a number must be written as a whole number."""

    def __init__(self, parent_schema: object, value: object, schema_path: object) -> None: ...

    def validate(self, instance: object) -> None:
        if isinstance(instance, float):
            raise ValueError(f"{instance} is not of type integer (write it without a fraction)")


_DATA = {"const", "enum", "default", "examples"}
_NAMED = {"properties", "patternProperties", "$defs", "dependentSchemas"}


def _whole(schema: object) -> object:
    """Return the schema with `x-whole` beside each `integer` type; data inside it (enum, const, …) is left alone."""
    if isinstance(schema, list):
        return [_whole(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _NAMED and isinstance(value, dict):
            out[key] = {name: _whole(part) for name, part in value.items()}
        else:
            out[key] = value if key in _DATA else _whole(value)
    kinds = schema.get("type")
    if kinds == "integer" or (isinstance(kinds, list) and "integer" in kinds and "number" not in kinds):
        out["x-whole"] = True
    return out
