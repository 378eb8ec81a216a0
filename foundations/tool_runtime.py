"""The application's half of the loop: a policy can name a tool, only this file can run one."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

__all__ = ["RECORDS", "TOOLS", "Call", "Observation", "ToolError", "execute"]


@dataclass(frozen=True)
class Call:
    """A proposal to run one tool on one record. Making one runs nothing."""

    name: str
    record_id: str


@dataclass(frozen=True)
class Observation:
    """What a tool returned, written by the application and shown to the policy."""

    tool: str
    record_id: str
    text: str


class ToolError(Exception):
    """A failure the tool expects: it becomes an observation, so the policy can try something else."""


# Synthetic, so that nothing here can leak. A field that is there but empty is a missing one.
RECORDS: Mapping[str, Mapping[str, str]] = {
    "synthetic-a": {"title": "Tide table", "source date": ""},
    "synthetic-b": {"title": "Lamp register", "source date": "2021-04-09"},
}


def read_completeness(record_id: str) -> str:
    """Say which fields of the record are missing."""
    missing = [field for field, value in RECORDS[record_id].items() if not value]
    return f"{record_id} is missing: {', '.join(missing)}" if missing else f"{record_id} is complete"


def read_source_date(record_id: str) -> str:
    """Say when the record's source was dated, or fail if it was not."""
    date = RECORDS[record_id]["source date"]
    if not date:
        raise ToolError(f"{record_id} has no source date")
    return f"{record_id} has source date {date}"


# The only way from a name to code. What is absent cannot run, and a near name is an absent one.
# Both tools only read, and touch no file: a tool that does must turn its own PermissionError into a
# ToolError, or the loop would take a fault of the disk for a refusal by the rules.
TOOLS: Mapping[str, Callable[[str], str]] = {
    "read_completeness": read_completeness,
    "read_source_date": read_source_date,
}


def execute(calls: Iterable[Call], allowed_ids: Iterable[str]) -> tuple[Observation, ...]:
    """Run the calls, one observation each, once all of them are authorized."""
    # frozenset also makes one bare string match nothing: `in` on a str would accept any part of it.
    batch, allowed = tuple(calls), frozenset(allowed_ids)
    for call in batch:  # judge all before any runs, so that a refused batch is never half done
        authorize(call, allowed)
    return tuple(observe(call) for call in batch)


def authorize(call: Call, allowed: frozenset[str]) -> None:
    """Raise unless the tool exists, the caller allowed the record, and the record exists."""
    if call.name not in TOOLS:
        raise PermissionError(f"unknown tool {call.name!r}")
    if call.record_id not in allowed:
        raise PermissionError(f"record {call.record_id!r} is not allowed")
    if call.record_id not in RECORDS:  # asked last: who may not read a record may not learn if it exists
        raise LookupError(f"record {call.record_id!r} is allowed but does not exist")


def observe(call: Call) -> Observation:
    """Run one authorized call. Any exception but ToolError is a bug, and is left to be seen."""
    try:
        text = TOOLS[call.name](call.record_id)
    except ToolError as failure:
        text = f"error: {failure}"
    return Observation(tool=call.name, record_id=call.record_id, text=text)
