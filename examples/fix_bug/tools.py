"""The agent's tools, each a verb of this script: `prepare`, `read PATH`, `edit PATH OLD NEW`, `deploy TARGET`.

They work in `work/`, a copy of `project/` that `prepare` makes, and never on the project itself. Which of them may run,
and on what, is not decided here: that is the remit's, in the agent file.
"""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORK = HERE / "work"


def prepare() -> str:
    """Make a fresh copy of the project to work in."""
    if WORK.exists():
        shutil.rmtree(WORK)
    shutil.copytree(HERE / "project", WORK, ignore=shutil.ignore_patterns("__pycache__"))
    return "work/ is a fresh copy of project/\n"


def read(path: str) -> str:
    """Return a file of the copy."""
    return inside(path).read_text("utf-8")


def edit(path: str, old: str, new: str) -> str:
    """Replace a text that occurs exactly once in a file of the copy."""
    file = inside(path)
    text = file.read_text("utf-8")
    if text.count(old) != 1:
        sys.exit(f"{path}: the text to replace occurs {text.count(old)} times, not once")
    file.write_text(text.replace(old, new), "utf-8")
    return f"{path}, line {text[: text.index(old)].count(chr(10)) + 1}: replaced by {new}\n"


def deploy(target: str) -> str:
    """Put the copy where `target` would serve it from."""
    shutil.copytree(WORK, HERE / "deployed" / target, dirs_exist_ok=True)
    return f"deployed to {target}\n"


def inside(path: str) -> Path:
    """Return a file of the copy by its relative path, links followed. Nothing outside the copy is read or written."""
    file = (WORK / path).resolve()
    if not file.is_relative_to(WORK):
        sys.exit(f"{path} is not in the copy")
    if not file.is_file():
        sys.exit(f"{path} is not a file of the copy")
    return file


if __name__ == "__main__":
    verbs: dict[str, Callable[..., str]] = {"prepare": prepare, "read": read, "edit": edit, "deploy": deploy}
    sys.stdout.write(verbs[sys.argv[1]](*sys.argv[2:]))
