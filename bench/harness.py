"""Rows are data; this measures them and prints each figure beside its must and its aim.

A figure is the median of several rounds, printed with their spread. Sides that are compared take turns in one process,
so that what else the machine does meets both alike. Garbage collection stays on.
"""

import gc
import os
import platform
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from time import process_time_ns
from typing import Any, NamedTuple

import remit


class Target(NamedTuple):
    """One figure of a row: its unit and what is asked of it. It may be at most that; with `floor`, at least."""

    unit: str
    must: float
    aim: float
    floor: bool = False

    def holds(self, value: float, limit: float) -> bool:
        """Whether the value, as it is printed, keeps to the limit."""
        shown = round(value, _digits(value))
        return shown >= limit if self.floor else shown <= limit


class Place(NamedTuple):
    """Where and how much to measure: a folder that is deleted afterwards, and a scale (1 is what the row says)."""

    folder: Path
    scale: float = 1.0

    def size(self, full: int, least: int = 10) -> int:
        """Return the scaled size."""
        return max(least, round(full * self.scale))

    def rounds(self, full: int) -> int:
        """Return the scaled number of rounds."""
        return self.size(full, least=1)


class Measured(NamedTuple):
    """Per target of a row the figure of each round; and what else there is to say."""

    figures: Sequence[Sequence[float]]
    notes: Sequence[str] = ()


class Row(NamedTuple):
    """One line of the table of targets. `does` says what is measured."""

    name: str
    does: str
    targets: Sequence[Target]
    measure: Callable[[Place], Measured]


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of this process for the work. Garbage of what went before is not charged to it."""
    gc.collect()
    began = process_time_ns()
    work()
    return (process_time_ns() - began) / 1e9


def in_turn(rounds: int, *sides: Callable[[], float]) -> list[list[float]]:
    """Return what each side gave in each round. Every other round goes backwards: drift hits all sides alike."""
    results: list[list[float]] = [[] for _ in sides]
    for number in range(rounds):
        order = [*zip(sides, results, strict=True)]
        for side, result in order if number % 2 else reversed(order):
            result.append(side())
    return results


def ratios(over: Sequence[float], under: Sequence[float]) -> list[float]:
    """Return the ratio of each round."""
    return [a / b for a, b in zip(over, under, strict=True)]


def machine() -> dict[str, str | float]:
    """Return what the figures depend on."""
    return {
        "remit": remit.__version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count() or 1,
        "load": round(os.getloadavg()[0], 1),  # with the caches shared, a busy machine makes the longer code look worse
    }


def head() -> str:
    """Return the machine as one line."""
    about = machine()
    return (
        f"remit {about['remit']} on {about['python']}, SQLite {about['sqlite']}, {about['system']},"
        f" {about['cores']} cores, load {about['load']}; garbage collection is {'on' if gc.isenabled() else 'OFF'}"
    )


_LINE = "{:<14} {:>10} {:<18} {:<22} {:<18} {:<18}".format


def table_head() -> str:
    """Return the names of the columns."""
    return _LINE("row", "median", "", "spread (rounds)", "must", "aim").rstrip()


def lines(row: Row, measured: Measured) -> Iterator[str]:
    """Yield the printed lines of a measured row."""
    name = row.name
    for target, values in zip(row.targets, measured.figures, strict=True):
        value, than = median(values), "≥" if target.floor else "≤"
        spread = f"{_number(min(values))} – {_number(max(values))} ({len(values)})"
        limits = [
            f"{than} {limit:,g} {'met' if target.holds(value, limit) else 'MISSED'}"
            for limit in (target.must, target.aim)
        ]
        yield _LINE(name, _number(value), target.unit, spread, *limits).rstrip()
        name = ""
    for note in (row.does, *measured.notes):
        yield f"{'':<14} {note}"


def documents(row: Row, measured: Measured) -> Iterator[dict[str, Any]]:
    """Yield each figure of a measured row as data."""
    for target, values in zip(row.targets, measured.figures, strict=True):
        value = median(values)
        yield {
            "row": row.name,
            "does": row.does,
            "unit": target.unit,
            "median": value,
            "rounds": list(values),
            "at_least" if target.floor else "at_most": {"must": target.must, "aim": target.aim},
            "meets": {"must": target.holds(value, target.must), "aim": target.holds(value, target.aim)},
            "notes": list(measured.notes),
        }


def _digits(value: float) -> int:
    return 2 if value < 100 else 0


def _number(value: float) -> str:
    return f"{value:,.{_digits(value)}f}"
