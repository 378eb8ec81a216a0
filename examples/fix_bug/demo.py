"""Watch an agent fix a bug within its remit: `python -m examples.fix_bug.demo [--keep]`.

It runs the command line on a temporary copy of this folder. The exit code is 0 if the run was complete and supported.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REMIT = [sys.executable, "-m", "remit"]
# The tools are run by the `python3` that is found first: let it be this Python's.
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
NOT_COPIED = shutil.ignore_patterns("work", "deployed", "__pycache__")


def main() -> int:
    """Run the demo and return its exit code."""
    words = argparse.ArgumentParser(prog="python -m examples.fix_bug.demo", description="Watch an agent fix a bug.")
    words.add_argument("--keep", action="store_true", help="keep the temporary folder, with the log of the run")
    keep: bool = words.parse_args().keep
    folder = Path(tempfile.mkdtemp(prefix="remit-demo-"))
    try:
        shutil.copytree(HERE, folder, ignore=NOT_COPIED, dirs_exist_ok=True)
        supported = watch(folder)
        print("\nLook further:\n", *table(look_further(folder if keep else None)), sep="\n  ")
        return 0 if supported else 1
    except KeyboardInterrupt:
        return 130
    finally:
        if not keep:
            shutil.rmtree(folder)


def watch(folder: Path) -> bool:
    """Run the agent of a folder and report on it; return whether it was complete and supported."""
    store = ["--store", str(folder / "runs.db")]
    print("A test of a small project fails. An agent looks for the bug, within its remit, in a copy:\n", flush=True)
    ran = subprocess.run(
        [*REMIT, "run", str(folder / "agent.toml"), *store],
        env={**os.environ, "PATH": PATH},
        stdout=subprocess.PIPE,  # the live steps are on standard error
        encoding="utf-8",
        check=False,
    )
    lines = [line for line in ran.stdout.splitlines() if not line.startswith("next:")]  # said below, where it is true
    print("", *lines, "\nThe report:\n", sep="\n", flush=True)
    subprocess.run([*REMIT, "report", "latest", *store], check=False)
    return ran.returncode == 0 and "grade: supported" in lines


def look_further(kept: Path | None) -> list[tuple[str, str]]:
    """Return what to see next, and what to type: on the folder that was kept, or in place, where the project is not
    changed either."""
    folder = kept or HERE
    tries = [
        ("budgets, checks, receipts, the timeline", ["report", "latest", "--full"]),
        ("the run, event by event", ["show", "latest"]),
        ("is every record the one that was written?", ["verify"]),
        ("the same agent, going in a circle", ["run", near(folder / "stuck.toml")]),
        ("a deploy, which waits for your yes", ["run", near(folder / "deploy.toml")]),
        ("tests that are said to pass, and were not run", ["run", near(folder / "unsupported.toml")]),
    ]
    if kept is None:  # the log is gone with its folder, so begin with a run to look at
        tries.insert(0, ("this run again, in your own log", ["run", near(folder / "agent.toml")]))
    typed = [(why, shlex.join([near(Path(sys.executable)), "-m", "remit", *words])) for why, words in tries]
    if kept is not None:
        typed.insert(
            0, ("first: use this log, which is kept", f"export REMIT_STORE={shlex.quote(str(kept / 'runs.db'))}")
        )
    return typed


def table(rows: list[tuple[str, str]]) -> list[str]:
    """Return lines of two columns."""
    width = max(len(left) for left, _ in rows)
    return [f"{left:{width}}  {right}" for left, right in rows]


def near(path: Path) -> str:
    """Return a path from here, where it is below."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


if __name__ == "__main__":
    sys.exit(main())
