"""What the command line costs: starting, simulating, and reporting on a large file. CPU time is the child's own."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from .harness import Measured, Place, in_turn, ratios

PASS = (sys.executable, "-c", "pass")
MODULE = (sys.executable, "-m", "remit")
SCRIPT = Path(sys.executable).with_name("remit")
ROUNDS = 41


def version(place: Place) -> Measured:
    """`remit --version` over a Python that does nothing."""
    sides = {"through `python -m remit`": _command(*MODULE, "--version")}
    if SCRIPT.exists():
        sides["through the console script"] = _command(str(SCRIPT), "--version")
    under, *overs = in_turn(place.rounds(ROUNDS), _command(*PASS), *sides.values())
    said = [
        f"{how} {_median_ms(over)}, {median(ratios(over, under)):.2f} ×" for how, over in zip(sides, overs, strict=True)
    ]
    return Measured([ratios(overs[-1], under)], [f"{'; '.join(said)}; `python -c pass` {_median_ms(under)}"])


def simulate(place: Place) -> Measured:
    """`remit simulate` on a small scenario over a Python that does nothing."""
    scenario = place.folder / "scenario.txt"
    environment = {f"read_file(module_{n}.py)": [f"text of module {n}"] for n in range(8)} | {"run_tests()": ["ok"]}
    first = {"max_steps": 10, "stuck_threshold": 3, "approvals": {"deploy": True}}
    actions = [*environment, "answer: all modules were read"]
    scenario.write_text("\n".join([json.dumps(first), json.dumps(environment), *actions]) + "\n")
    ours = (str(SCRIPT),) if SCRIPT.exists() else MODULE
    command = _command(*ours, "simulate", str(scenario))
    under, over = in_turn(place.rounds(ROUNDS), _command(*PASS), command)
    return Measured([ratios(over, under)], [f"{_median_ms(over)}; `python -c pass` {_median_ms(under)}"])


def report(place: Place) -> Measured:
    """`remit report` on a large file of events: CPU seconds and peak memory."""
    file, events = place.folder / "events.jsonl", place.size(1_000_000)
    write_events(file, events)
    spent = [_launch([*MODULE, "report", str(file)]) for _ in range(place.rounds(7))]
    size = f"{events:,} events, {file.stat().st_size / 1e6:,.1f} MB"
    return Measured([[seconds for seconds, _ in spent], [peak / 1e6 for _, peak in spent]], [size])


def write_events(file: Path, events: int) -> None:
    """Write a file of so many events in the simple format, always the same one, about 80 bytes a line."""
    chance = random.Random(13)
    tools = ["read_file", "search", "run_tests", "list_folder", "edit_file", "http_get"]
    with file.open("w", encoding="utf-8") as out:
        for step in range(1, events + 1):
            status = "error" if chance.random() < 0.03 else "ok"
            action = f"{chance.choice(tools)}(src/part_{chance.randrange(1000)}.py)"
            out.write(f'{{"step":{step},"action":"{action}","status":"{status}","ms":{chance.randrange(1, 5000)}}}\n')
        out.write('{"stop":"complete"}\n')


def _command(*argv: str) -> Callable[[], float]:
    """Return what runs a command to its end and gives its CPU seconds. The first time, now, is not counted."""

    def spend() -> float:
        process = subprocess.Popen(argv, env=_environment(), stdout=subprocess.DEVNULL)
        _, status, spent = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, argv)
        return spent.ru_utime + spent.ru_stime

    spend()
    return spend


def _environment() -> dict[str, str]:
    """Return the environment of a command. Like an installed program's, its modules are compiled once and kept."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


# On Linux a child's peak is at least the size of the process that started it; so a small one does.
_LAUNCHER = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, spent = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), spent.ru_utime + spent.ru_stime, spent.ru_maxrss, file=sys.stderr)
"""


def _launch(argv: Sequence[str]) -> tuple[float, int]:
    """Run a command to its end; return its CPU seconds and the peak of its memory in bytes."""
    done = subprocess.run(
        [sys.executable, "-IS", "-c", _LAUNCHER, *argv],
        env=_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    code, seconds, peak = done.stderr.splitlines()[-1].split()
    if code != "0":
        raise subprocess.CalledProcessError(int(code), argv, stderr=done.stderr)
    return float(seconds), int(peak) * (1 if sys.platform == "darwin" else 1024)


def _median_ms(seconds: Sequence[float]) -> str:
    return f"{median(seconds) * 1e3:.1f} ms"
