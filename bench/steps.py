"""What a step costs in memory: over the bare loop, late in a run over early, and read back from the log."""

from statistics import median
from time import process_time_ns

from remit import ScriptedPolicy
from remit.core.fold import fold

from .harness import Measured, Place, cpu_seconds, in_turn, ratios
from .scenario import Clocked, governed, lookup, raw, remit_for, script

RAW_LOOPS = 5
"""The bare loop is so short that it runs several times a round."""


def step(place: Place) -> Measured:
    """A governed step over the same step of the bare loop."""
    steps = place.size(10_000)
    policy, remit = ScriptedPolicy(script(steps)), remit_for(steps)

    def bare() -> float:
        return cpu_seconds(lambda: [raw(policy, lookup.function) for _ in range(RAW_LOOPS)]) / RAW_LOOPS

    def ours() -> float:
        return cpu_seconds(lambda: governed(policy, remit))

    under, over = in_turn(place.rounds(15), bare, ours)
    each = f"raw {median(under) / steps * 1e9:,.0f} ns, governed {median(over) / steps * 1e9:,.0f} ns a step"
    return Measured([ratios(over, under)], [each])


def growth(place: Place) -> Measured:
    """The last tenth of a run over its first tenth."""
    steps = place.size(10_000)
    tenth = steps // 10
    items, remit = script(steps), remit_for(steps)
    found = []
    for _ in range(place.rounds(15)):
        policy = Clocked(items, (1, 1 + tenth, steps + 1 - tenth, steps + 1), process_time_ns)
        cpu_seconds(lambda policy=policy: governed(policy, remit))  # type: ignore[misc]
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
