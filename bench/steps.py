"""What a step costs in memory: over the bare loop, late in a run over early, and read back from the log."""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from time import process_time_ns

from remit import Call, Final, ScriptedPolicy
from remit.core.fold import fold

from .harness import Measured, Place, cpu_seconds, in_turn, ratios
from .scenario import Clocked, governed, lookup, raw, remit_for, script

RAW_LOOPS = 5
"""The bare loop is so short that it runs several times a round."""


def step(place: Place) -> Measured:
    """A governed step over the same step of the bare loop."""
    steps = place.size(10_000)
    compact, spaced = (_sides(script(steps, gap=gap), steps) for gap in ("", " "))
    under, over, spaced_under, spaced_over = in_turn(place.rounds(15), *compact, *spaced)
    return Measured(
        [ratios(over, under)],
        [
            f"raw {_ns(under)}, governed {_ns(over)} a step",
            f"with spaces in the arguments' text raw {_ns(spaced_under)}, governed {_ns(spaced_over)}:"
            f" {median(ratios(spaced_over, spaced_under)):.2f} ×",
        ],
    )


def _sides(items: Sequence[Call | Final], steps: int) -> tuple[Callable[[], float], Callable[[], float]]:
    """Return what gives the CPU seconds of a raw and of a governed step."""
    policy, remit = ScriptedPolicy(items), remit_for(steps)

    def bare() -> None:
        for _ in range(RAW_LOOPS):
            raw(policy, lookup.function)

    return lambda: cpu_seconds(bare) / RAW_LOOPS / steps, lambda: cpu_seconds(lambda: governed(policy, remit)) / steps


def _ns(seconds: Sequence[float]) -> str:
    return f"{median(seconds) * 1e9:,.0f} ns"


def growth(place: Place) -> Measured:
    """The last tenth of a run over its first tenth."""
    steps = place.size(10_000)
    tenth = steps // 10
    items, remit = script(steps), remit_for(steps)
    found = []
    for _ in range(place.rounds(15)):
        policy = Clocked(items, (1, 1 + tenth, steps + 1 - tenth, steps + 1), process_time_ns)
        cpu_seconds(partial(governed, policy, remit))
        began, early, late, ended = policy.times
        found.append((ended - late) / (early - began))
    return Measured([found])


def folding(place: Place) -> Measured:
    """A log of five events a step, folded to its state."""
    steps = place.size(20_000)
    outcome = governed(ScriptedPolicy(script(steps)), remit_for(steps))
    records = outcome.records
    if fold(outcome.run_id, records).started != steps:
        raise RuntimeError("the log does not fold to the run that was recorded")
    times = [cpu_seconds(lambda: fold(outcome.run_id, records)) for _ in range(place.rounds(7))]
    return Measured([times], [f"{len(records):,} records, {sum(len(record.events) for record in records):,} bytes"])
