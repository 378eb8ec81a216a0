"""Many runs at once in one process. Run as a program it prints the memory that so many runs took."""

import asyncio
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from remit import Call, Final, Remit, ScriptedPolicy, arun
from remit.stores.memory import MemoryStore

from .harness import Measured, Place, cpu_seconds
from .scenario import complete, remit_for, script, tools

STEPS = 10


class Meeting:
    """Where all runs wait for one another: `resident` is the memory when the last one has come."""

    def __init__(self, missing: int) -> None:
        self.resident = 0
        self._missing = missing
        self._all_here = asyncio.Event()

    async def wait(self) -> None:
        """Come, and wait for the others."""
        self._missing -= 1
        if not self._missing:
            self.resident = resident()
            self._all_here.set()
        await self._all_here.wait()


class Together:
    """A script that lets the other runs go on at each turn, and meets them all before its final."""

    remote = False

    def __init__(self, items: Sequence[Call | Final], meeting: Meeting) -> None:
        self._script = ScriptedPolicy(items)
        self._meeting = meeting

    async def propose(self, context: Any) -> Any:
        """Return the item of this turn."""
        await (self._meeting.wait() if context.turn > STEPS else asyncio.sleep(0))
        return self._script.propose(context)


async def at_once(runs: int, items: Sequence[Call | Final], remit: Remit) -> Meeting:
    """Run so many runs at once, their logs in one store."""
    store, meeting = MemoryStore(), Meeting(runs)
    policies = [Together(items, meeting) for _ in range(runs)]
    for outcome in await asyncio.gather(
        *(arun("Look all records up.", policy=policy, remit=remit, tools=tools, store=store) for policy in policies)
    ):
        complete(outcome)
    return meeting


def many(place: Place) -> Measured:
    """Steps per CPU second, and memory of a run while all are alive and all logs are held."""
    runs = place.size(1_000, least=200)
    items, remit = script(STEPS), remit_for(STEPS)
    times = [cpu_seconds(lambda: asyncio.run(at_once(runs, items, remit))) for _ in range(place.rounds(7))]
    kilobytes = [_memory(runs) / runs / 1e3 for _ in range(place.rounds(3))]
    return Measured(
        [[runs * STEPS / seconds for seconds in times], kilobytes],
        [f"{median(times) / runs * 1e6:,.0f} CPU µs a run; memory is the growth of a fresh process's resident set"],
    )


def _memory(runs: int) -> int:
    """Return the bytes by which a process grew: a fresh one each time, for this one has room to use again."""
    command = [sys.executable, "-m", __name__, str(runs)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return int(done.stdout)


def resident() -> int:
    """Return the bytes of memory this process has now; where the system does not tell, has had at most."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def _growth(runs: int) -> int:
    items, remit = script(STEPS), remit_for(STEPS)
    asyncio.run(at_once(1, items, remit))  # what is imported and compiled at the first run is not a run's own
    before = resident()
    return asyncio.run(at_once(runs, items, remit)).resident - before


if __name__ == "__main__":
    print(_growth(int(sys.argv[1])))
