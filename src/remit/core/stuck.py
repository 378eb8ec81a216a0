"""Is the agent going in a circle? Two rules over (call, result), O(1) a step, folded from the log like all state.

*plain*: one pair has occurred `threshold` times in the run.

*progress*: pairs are counted since the last write that succeeded, for until then nothing can have changed by what
the agent does. The same success `threshold` times is stuck; the same error (or time-out) one time sooner. A tool with
`poll = N` may return the same result N times. A cycle of up to six pairs that repeats `threshold` times is stuck even
if it contains writes, which the counting would forgive. The policy is told once before it is stopped.
"""

from collections import deque
from typing import Literal, NamedTuple

LONGEST_CYCLE = 6
Pair = tuple[str, str | None, str, str]
"""Tool, canonical arguments, status, result."""


class Loop(NamedTuple):
    """What repeats: `times` occurrences of the last call in a cycle of `length` calls; `stop` or first a `nudge`."""

    verdict: Literal["stop", "nudge"]
    times: int
    length: int


class Repeats:
    """The counts of one run."""

    __slots__ = ("_cleared", "_counts", "_cycles", "_nudged", "_recent", "plain", "threshold")

    def __init__(self, rule: Literal["progress", "plain"], threshold: int) -> None:
        self.plain = rule == "plain"
        self.threshold = threshold
        self._counts: dict[Pair, int] = {}
        self._recent: deque[Pair] = deque(maxlen=LONGEST_CYCLE)  # newest first
        self._cycles: list[int] | None = None  # per length: how many pairs in a row equalled the one `length` before
        self._cleared = False  # while the counts go back to the start, a pair counted once cannot be a recent one
        self._nudged = False

    def add(self, pair: Pair, write: bool, poll: int | None) -> Loop | None:
        """Count one executed call; return the loop it closes, if any."""
        counts = self._counts
        times = counts[pair] = counts.get(pair, 0) + 1
        if self.plain:
            return Loop("stop", times, 1) if times >= self.threshold else None
        cycle = 0
        if times > 1 or self._cleared:
            cycle = self._cycle(pair)
        else:
            self._cycles = None
            self._recent.appendleft(pair)
        if write and pair[2] == "ok":
            self.changed()
        if times == 1 and not cycle:
            return None
        if cycle > 0 and poll is None:
            return Loop("stop", self.threshold, cycle)
        counted = times > 1 and not (write and pair[2] == "ok")
        limit = poll if poll is not None else max(self.threshold - (pair[2] != "ok"), 2)
        if counted and times >= limit:
            return Loop("stop", times, 1)
        if counted and times == limit - 1:
            return self._nudge(times, 1)
        return self._nudge(self.threshold - 1, -cycle) if cycle < 0 and poll is None else None

    def changed(self) -> None:
        """A write succeeded: what a call returned before may be otherwise now. The plain rule counts on."""
        if not self.plain:
            self._counts.clear()
            self._cleared = True

    def _nudge(self, times: int, length: int) -> Loop | None:
        if self._nudged:
            return None
        self._nudged = True
        return Loop("nudge", times, length)

    def _cycle(self, pair: Pair) -> int:
        """Return the length of the shortest cycle that has now repeated `threshold` times; negated, of one that will
        have with the next call; or 0."""
        recent = self._recent
        found = 0
        if pair not in recent:  # nearly always: nothing repeats
            self._cycles = None
        else:
            cycles = self._cycles = self._cycles or [0] * LONGEST_CYCLE
            for index, before in enumerate(recent):
                cycles[index] = cycles[index] + 1 if before == pair else 0
                left = (index + 1) * (self.threshold - 1) - cycles[index]
                if left <= 0 and found <= 0:
                    found = index + 1
                elif left == 1 and not found:
                    found = -(index + 1)
        recent.appendleft(pair)
        return found

    def document(self) -> tuple[object, ...]:
        """The counts as data."""
        return self._counts, tuple(self._recent), self._cycles, self._nudged
