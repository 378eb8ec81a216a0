"""`remit init`: a commented agent file that runs as it is, wherever there is a python3."""

from pathlib import Path
from typing import TextIO

from ..core.visible import visible
from ..errors import InputError

NAME = "agent.toml"
STARTER = r"""# An agent file: who proposes, what can run, and the remit of a run.
#   remit check                  what the agent may and may not do
#   remit check --call 'CALL'    what would become of one call, such as write_note {"name": "x.txt", "text": "Hello"}
#   remit run                    run it; you are asked before the note is written
#   remit report                 how it went

task = "List the files of this folder, and write a note of it"

# Who proposes. Nothing here can widen the remit below.
[policy]
kind = "scripted"  # item by item; a "workflow" ends at the first call that does not succeed
script = [
  {call = "list_files"},
  {call = "write_note", args = {name = "note.txt", text = "agent.toml is here"}},
  # Each claim is checked against the log: what a call has shown, and that a call has succeeded.
  {final = "The note is written.", claims = [{cites = "c1", quote = "agent.toml"}, {effect = "write_note"}]},
]

# What can run: a command as a list, never a shell string. It works in this file's folder, unless `cwd` names another.
[tools.list_files]
command = ["python3", "-c", 'import os; print(*sorted(os.listdir()), sep="\n")']
effect = "read"  # "read": local, repeatable; "egress": a read that sends something out; "write": changes the world

# A {placeholder} is an argument, here a text; `schema` (JSON Schema) can say more. A value never becomes an option.
[tools.write_note]
command = ["python3", "-c", 'import sys; print(sys.argv[2], file=open(sys.argv[1], "w"))', "{name}", "{text}"]
effect = "write"
consequential = true  # a person is asked before each call
idempotent = true     # writing the same note twice is writing it once
timeout = 10          # seconds; 60 if it is not written
# env = {LANG = "C"}     # what the command's environment has besides PATH, HOME, LANG, TZ and TMPDIR
# pass_env = ["EDITOR"]  # what it is lent of yours

# What a run may do. What is not written here is refused; every limit that is not written has a default.
[remit]
turns = 5     # requests to the policy
calls = 4     # starts of tools
seconds = 60  # of work; waiting for you is not counted
on_refusal = "stop"  # or "continue": the reason is given to the policy
# Per tool "any" arguments, or per argument "any" value or a list of the exact ones.
tools = {list_files = "any", write_note = {name = ["note.txt"], text = "any"}}
# What grades the answer, whatever the policy says of it. {command = ["./test.sh"]} passes if it exits with 0.
checks = [{file = "note.txt", contains = "agent.toml"}]
"""


def write_starter(folder: Path) -> list[Path]:
    """Write `agent.toml` into a folder, which is made if need be, and return the paths written.

    Nothing is overwritten, and what was made is removed again if the writing fails. Raises InputError where the file is
    there already or the folder cannot be used, OSError where the writing fails.
    """
    path = folder / NAME
    made: list[Path] = []
    try:
        with _opened(path, made) as file:
            made.append(path)
            file.write(STARTER)
    except BaseException:
        for one in reversed(made):
            one.rmdir() if one.is_dir() else one.unlink()
        raise
    return [path]


def _opened(path: Path, made: list[Path]) -> TextIO:
    try:
        _make(path.parent, made)
        return path.open("x", encoding="utf-8", newline="\n")
    except OSError as error:
        if isinstance(error, FileExistsError) and error.filename == str(path):
            raise InputError(f"{visible(str(path))} is there already", fix="name another folder") from None
        why = f"cannot write {visible(str(path))}: {error.strerror}"
        raise InputError(why, fix="name a folder that you may write to") from None


def _make(folder: Path, made: list[Path]) -> None:
    """Make a folder and what is missing above it, and note each that was made."""
    if not folder.is_dir() and folder != folder.parent:
        _make(folder.parent, made)
        folder.mkdir()
        made.append(folder)
