"""Budgets gate requests and starts, never a final that has arrived (G5).

Counters and the time (`run.at`, that of the record in the making) are part of the run's state, so they never restart. A
budget that is used up is named with its use and limit.
"""

from typing import NamedTuple

from .run import Run


class Exhausted(NamedTuple):
    """`budget` is used up: `text` says how much of what."""

    budget: str
    text: str


def before_request(run: Run) -> Exhausted | None:
    """May the policy be asked for one more turn?"""
    rules = run.rules
    if run.turns >= rules.turns and run.phase == "ready":  # a retry is no new turn
        return Exhausted("turns", f"turns {run.turns} of {rules.turns}")
    if run.working_us >= rules.seconds_us or run.at >= run.deadline:
        return _time(run)
    return None


def before_start(run: Run, tool: str) -> Exhausted | None:
    """May one more tool start?"""
    rules = run.rules
    if run.started >= rules.calls:
        return Exhausted("calls", f"calls {run.started} of {rules.calls}")
    if rules.calls_per_tool:
        used, limit = run.started_by_tool.get(tool, 0), rules.calls_per_tool.get(tool)
        if limit is not None and used >= limit:
            return Exhausted(f"calls.{tool}", f"calls of {tool} {used} of {limit}")
    if run.working_us >= rules.seconds_us or run.at >= run.deadline:
        return _time(run)
    return None


def _time(run: Run) -> Exhausted:
    if run.working_us >= run.rules.seconds_us:
        return Exhausted("seconds", f"seconds {run.working_us / 1e6:.1f} of {run.rules.seconds_us / 1e6:g}")
    return Exhausted("wall_seconds", f"wall_seconds {(run.at - run.began_at) / 1e6:.1f} of {run.rules.wall_us / 1e6:g}")
