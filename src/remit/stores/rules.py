"""What both stores of ours share: the form of a run id, when a lease is live, and how a refused append is told."""

import re
import time
from functools import cache
from typing import NamedTuple

from ..errors import Conflict, Fenced, StoreError

LEASE_SECONDS = 15.0
"""How long a lease lasts after a claim or a renewal; whoever drives a run renews it about three times as often."""

_RUN_ID = re.compile(r"[0-9a-z-]{1,64}").fullmatch


def is_run_id(run: str) -> bool:
    """Whether the text has the form of a run id. No other run can be in a store."""
    return _RUN_ID(run) is not None


def check_run_id(run: str) -> None:
    """Raise StoreError where the text could not be a run id of ours."""
    if not is_run_id(run):
        what = f"{run[:80]!a} cannot be a run id"
        raise StoreError(what, fix="use 1 to 64 of the characters 0-9, a-z and -")


class Grant(NamedTuple):
    """A lease as it is kept. `expires` is in seconds of the clock `boottime` of boot `boot`; None: it was given up."""

    owner: str
    epoch: int
    boot: str
    expires: float | None

    def live(self, boot: str, now: float) -> bool:
        """Whether it still keeps others out. No lease of another boot is live, nor one that lasts longer than
        any that was granted: that clock has begun anew, and its boot had no better name."""
        return self.boot == boot and self.expires is not None and 0 < self.expires - now <= LEASE_SECONDS


def boottime() -> float:
    """Seconds since this machine started, sleep included where the system can tell; no wall clock moves it."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


@cache
def boot_id() -> str:
    """Return the name of this boot; where the system has none, one name for all of them (Grant.live copes)."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return _bootsession() or "unnamed"


def _bootsession() -> str:
    """Return the name that macOS gives to a boot; empty elsewhere."""
    import ctypes  # here, because only macOS comes here

    try:
        ask = ctypes.CDLL(None).sysctlbyname
    except (OSError, AttributeError):
        return ""
    answer = ctypes.create_string_buffer(64)
    size = ctypes.c_size_t(len(answer))
    ask(b"kern.bootsessionuuid", answer, ctypes.byref(size), None, ctypes.c_size_t(0))
    return answer.value.decode("ascii", "replace")


def conflict(run: str, seq: int, last: int) -> Conflict:
    """The error for a record whose number is not the next."""
    what = f"record {seq} of run {run} cannot be appended: the next one is {last + 1}"
    return Conflict(what, fix="another writer was first: read, fold and try again")


def fenced(run: str, epoch: int) -> Fenced:
    """The error for an owner whose time is over."""
    what = f"epoch {epoch} of run {run} is over"
    return Fenced(what, fix="its owner gave it up, or another process took it over: see `remit runs`")
