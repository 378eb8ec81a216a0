"""The table: what is measured, what it must keep to, and what it aims at."""

from . import commands, durable, many, steps
from .harness import Row, Target

ROWS = (
    Row("step", "one governed step in memory, everything on, over the bare loop", [Target("× raw", 10, 6)], steps.step),
    Row("growth", "CPU of the last tenth of a run over its first tenth", [Target("×", 1.1, 1)], steps.growth),
    Row(
        "durable-read",
        "a read step on disk (one sync) over append and sync of the same bytes",
        [Target("× append", 2, 1.5)],
        durable.read_step,
    ),
    Row(
        "durable-write",
        "a write step on disk (two syncs) over one append and sync",
        [Target("× append", 3.2, 2.6)],
        durable.write_step,
    ),
    Row(
        "log-size",
        "bytes on disk a step, and the second half of the run over the first",
        [Target("bytes a step", 1_000, 500), Target("× first half", 1.1, 1)],
        durable.log_size,
    ),
    Row(
        "many",
        "1,000 runs of 10 steps at once in one process, logs in memory",
        [Target("steps a CPU s", 20_000, 40_000, floor=True), Target("KB a run", 20, 15)],
        many.many,
    ),
    Row("version", "`remit --version` over `python -c pass`", [Target("× pass", 2, 1.3)], commands.version),
    Row("simulate", "`remit simulate` over `python -c pass`", [Target("× pass", 6, 4)], commands.simulate),
    Row(
        "report",
        "`remit report` on a million events",
        [Target("CPU s", 1.5, 0.85), Target("MB at most", 32, 24)],
        commands.report,
    ),
    Row("fold", "a log of 100,000 events folded to its state", [Target("CPU s", 1, 0.3)], steps.folding),
)
