"""The six-line summary of a run, counted event by event. Memory grows only with the number of tools."""

from collections import Counter
from collections.abc import Sequence

from remit.core.visible import visible

Milliseconds = int | float

_MOST: float = 1.7976931348623157e308  # the largest double: a larger total has no seconds to print


class Summary:
    """Counts events. Times are in milliseconds, finite and at least 0; the caller has checked that.

    Times are added in the order given with Python's `+`: integers exactly, from the first float on as floats.
    """

    __slots__ = ("errors", "slowest", "steps", "tools", "total_ms")

    def __init__(self) -> None:
        self.steps = 0
        self.errors = 0
        self.total_ms: Milliseconds = 0
        self.slowest: tuple[str, Milliseconds] | None = None
        """The action with the largest time, and that time; the first one where several are equal."""
        self.tools: Counter[str] = Counter()

    def add(self, action: str, tool: str, status: str, ms: Milliseconds) -> None:
        """Count one event. Raises OverflowError, counting nothing, if the total would be beyond a double."""
        self.total_ms = _total(self.total_ms, (ms,))
        self.steps += 1
        self.errors += status == "error"
        if self.slowest is None or ms > self.slowest[1]:
            self.slowest = action, ms
        self.tools[tool] += 1

    def add_all(
        self,
        actions: Sequence[str],
        tools: Sequence[str],
        statuses: Sequence[str],
        times: Sequence[Milliseconds],
    ) -> None:
        """Count events given as four columns of one length: `add` on each row, but all of them or none."""
        if not times:
            return
        self.total_ms = _total(self.total_ms, times)
        self.steps += len(times)
        self.errors += statuses.count("error")
        longest = max(times)
        if self.slowest is None or longest > self.slowest[1]:
            self.slowest = actions[times.index(longest)], longest
        self.tools.update(tools)

    def lines(self, stop: str) -> list[str]:
        """Return the six lines, without line ends. What could break or disguise one is shown as an escape."""
        slowest = "none"
        if self.slowest is not None:
            slowest = f"{visible(self.slowest[0])} ({_seconds(self.slowest[1])})"
        tools = ", ".join([f"{visible(tool)} {count}" for tool, count in sorted(self.tools.items())])
        return [
            f"steps: {self.steps}",
            f"errors: {self.errors}",
            f"total time: {_seconds(self.total_ms)}",
            f"slowest: {slowest}",
            f"tools: {tools or 'none'}",
            f"stop: {visible(stop)}",
        ]

    def document(self, stop: str) -> dict[str, object]:
        """Return the same as data, with texts as they are.

        {"steps", "errors", "total_ms", "slowest": {"action", "ms"} or None, "tools": {name: count}, "stop"}
        """
        slowest = None
        if self.slowest is not None:
            slowest = {"action": self.slowest[0], "ms": self.slowest[1] + 0}  # -0.0 + 0 is 0.0
        return {
            "steps": self.steps,
            "errors": self.errors,
            "total_ms": self.total_ms,
            "slowest": slowest,
            "tools": dict(sorted(self.tools.items())),
            "stop": stop,
        }


def _total(total: Milliseconds, times: Sequence[Milliseconds]) -> Milliseconds:
    for ms in times:  # not `sum`, which from Python 3.12 on rounds otherwise than adding one at a time
        total += ms
    if total > _MOST:
        raise OverflowError("the times add up to more than a double can hold")
    return total


def _seconds(ms: Milliseconds) -> str:
    return f"{ms / 1000 + 0:.1f} s"  # -0.0 + 0 is 0.0
