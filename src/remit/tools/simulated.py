"""A simulated environment: the N-th call of a text gives the N-th result, the last one repeats (DESIGN §8)."""

from collections.abc import Mapping, Sequence
from typing import Any

UNKNOWN = "error: unknown tool call"


class Simulated:
    """Runs calls whose one argument, `call`, is the text of the whole action. Counts are the environment's own."""

    asynchronous = False
    blocking = False

    def __init__(self, environment: Mapping[str, Sequence[str]]) -> None:
        self._environment = environment
        self._counts: dict[str, int] = {}

    def __call__(self, args: dict[str, Any], effect_id: str | None, timeout: float | None, stop: Any, /) -> str:
        text: str = args["call"]
        results = self._environment.get(text)
        if not results:
            return UNKNOWN
        count = self._counts.get(text, 0)
        self._counts[text] = count + 1
        return results[min(count, len(results) - 1)]


SCHEMA: dict[str, Any] = {
    "type": "object", "properties": {"call": {"type": "string"}}, "required": ["call"], "additionalProperties": False,
}  # fmt: skip
