"""Commands as tools: an argv template, never a shell string.

The command runs in a process group of its own, with a clean environment (PATH, HOME, LANG, TZ, TMPDIR and what the
operator writes), no standard input, and `REMIT_EFFECT_ID` for a write. Its whole group is ended at the timeout and when
the run is cancelled. Output beyond the bound is read, counted and digested, not kept; the text says so. Bytes that are
not UTF-8 become replacement marks, output that is not text at all is described, and both keep length and digest.
"""

import hashlib
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core.canon import encode
from ..errors import Invalid
from .result import CommandResult

if TYPE_CHECKING:
    from threading import Event

PLACEHOLDER = re.compile(r"\{(?P<literal>\{)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}(?(literal)\})")
"""`{name}`; doubled braces, `{{name}}`, are the text `{name}`."""
NO_NUL = r"^[^\x00]*$"
NO_OPTION = r"^([^\-\x00][^\x00]*)?$"
PASSED = ("PATH", "HOME", "LANG", "TZ", "TMPDIR")
LOOK = 0.05
"""Seconds between looks at whether a silent command has ended or is to stop."""
GRACE = 2.0
"""Seconds between asking a command's group to end (SIGTERM) and ending it (SIGKILL)."""


def command_schema(argv: Sequence[str]) -> dict[str, Any]:
    """Return the schema of an argv template: each placeholder is required text. One that begins an element of argv must
    not begin with `-`, so that a value cannot become an option."""
    names = sorted({name for element in argv for name, _ in _placeholders(element)})
    leading = {name for element in argv for name, leads in _placeholders(element) if leads}
    fields = {name: {"type": "string", "pattern": NO_OPTION if name in leading else NO_NUL} for name in names}
    return {"type": "object", "properties": fields, "required": names, "additionalProperties": False}


def _placeholders(element: str) -> Iterator[tuple[str, bool]]:
    """Yield the name of each placeholder, and whether only placeholders, which may be empty, stand before it."""
    reached = 0
    for match in PLACEHOLDER.finditer(element):
        if match["literal"] is None:
            yield match["name"], match.start() == reached
            reached = match.end() if match.start() == reached else -1


class Command:
    """Runs one argv template."""

    asynchronous = False
    blocking = True

    def __init__(
        self,
        argv: tuple[str, ...],
        *,
        cwd: str | None,
        env: dict[str, str],
        pass_env: tuple[str, ...],
        output_bytes: int,
    ) -> None:
        found = []
        if not argv or not argv[0] or any("\0" in element for element in argv):
            found.append(f"command: must be a list of texts, the program first, not {list(argv)!r}")
        elif any(_placeholders(argv[0])):
            found.append("command[0]: the program must be written out, not taken from an argument")
        if type(output_bytes) is not int or output_bytes < 256:
            found.append(f"output_bytes: must be a whole number of at least 256, not {output_bytes!r}")
        if found:
            raise Invalid("command", found)
        self.argv = argv
        self.cwd = cwd
        self.env = env
        self.pass_env = pass_env
        self.output_bytes = output_bytes
        self.source = {"argv": list(argv), "env": dict(env), "pass_env": list(pass_env)}

    def __call__(
        self, args: dict[str, Any], effect_id: str | None, timeout: float | None, stop: "Event | None", /
    ) -> CommandResult:
        env = {name: os.environ[name] for name in (*PASSED, *self.pass_env) if name in os.environ} | self.env
        if effect_id is not None:
            env["REMIT_EFFECT_ID"] = effect_id
        argv = fill(self.argv, args)
        return run_command(argv, cwd=self.cwd, env=env, timeout=timeout, keep=self.output_bytes, stop=stop)


def fill(argv: Sequence[str], args: Mapping[str, Any]) -> list[str]:
    """Return argv with its placeholders filled: text as it is, other values as canonical JSON."""

    def value(match: re.Match[str]) -> str:
        if match["literal"] is not None:
            return match[0][1:-1]
        given = args[match["name"]]
        return given if isinstance(given, str) else encode(given).decode()

    return [PLACEHOLDER.sub(value, element) for element in argv]


def run_command(
    argv: Sequence[str],
    *,
    cwd: str | None,
    env: Mapping[str, str],
    timeout: float | None,
    keep: int,
    stop: "Event | None" = None,
) -> CommandResult:
    """Run argv to its end, to the timeout in seconds, or until `stop` is set. A program that cannot be started is a
    result, no exception."""
    try:
        process = subprocess.Popen(
            [element.encode() for element in argv],  # the bytes that were approved, whatever the locale
            cwd=cwd,
            env={_bytes(name): _bytes(value) for name, value in env.items()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return CommandResult(f"could not start {argv[0]!r}: {error}", None)
    out, err = _Stream(keep), _Stream(keep)
    try:
        timed_out = _drain(process, out, err, timeout, stop)
    finally:
        end_group(process)
    return _result(process.returncode, out, err, timeout if timed_out else None)


def _bytes(text: str) -> bytes:
    """Encode a name or value of the environment: one that came from ours goes back as it was."""
    return text.encode("utf-8", "surrogateescape")


class _Stream:
    """The kept head of one stream, with the length and digest of all of it."""

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self.head = bytearray()
        self.size = 0
        self.hash = hashlib.sha256()

    def add(self, data: bytes) -> None:
        self.size += len(data)
        self.hash.update(data)
        if len(self.head) < self.keep:
            self.head += data[: self.keep - len(self.head)]


def _drain(
    process: subprocess.Popen[bytes], out: _Stream, err: _Stream, timeout: float | None, stop: "Event | None"
) -> bool:
    """Read both streams until the command ends; return whether the timeout came first.

    A child left behind may hold the streams open: the command's own end is what counts, then what is there is read.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    deadline = None if timeout is None else time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        for pipe, stream in ((process.stdout, out), (process.stderr, err)):
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, selectors.EVENT_READ, stream)
        while stop is None or not stop.is_set():
            if deadline is not None and time.monotonic() >= deadline:
                return True
            ended = process.poll() is not None
            ready = selector.select(0 if ended else LOOK) if selector.get_map() else []
            if ended and not ready:
                return False
            for key, _ in ready:
                data = os.read(key.fd, 65_536)
                if data:
                    key.data.add(data)
                else:
                    selector.unregister(key.fileobj)
            if not ended and not selector.get_map():  # it closed its output; usually it is about to end
                _wait(process, LOOK)
    return False


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the command's process group, first by asking."""
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    if _signal(process.pid, signal.SIGTERM):
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline and (process.poll() is None or _signal(process.pid, 0)):
            time.sleep(0.01)
        _signal(process.pid, signal.SIGKILL)
    process.wait()


def _signal(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _result(code: int, out: _Stream, err: _Stream, timeout: float | None) -> CommandResult:
    """Return the result; `timeout` is given where it was reached."""
    text, exact = _text(out)
    errors, _ = _text(err)
    marks = [f"[standard error]\n{errors}"] if errors else []
    if timeout is not None:
        marks.append(f"[ended: no result within {timeout:g} seconds]")
    elif code:
        marks.append(f"[exit code {code}]")
    for mark in marks:
        text += ("" if text.endswith("\n") or not text else "\n") + mark
    size, digest = (None, None) if exact else (out.size, "sha256:" + out.hash.hexdigest())
    return CommandResult(text, code, timeout is not None, size, digest)


def _text(stream: _Stream) -> tuple[str, bool]:
    """Return a stream's text, and whether it is exactly what the command wrote."""
    head = bytes(stream.head)
    cut = stream.size > len(head)
    if cut:  # not in the middle of a character
        for back in range(1, 4):
            if len(head) >= back and head[-back] >= 0xC0:
                wanted = 2 + (head[-back] >= 0xE0) + (head[-back] >= 0xF0)
                head = head[:-back] if wanted > back else head
                break
    text = head.decode(errors="replace")
    exact = not cut and text.encode() == head
    if len(text) > 16 and (text.count("�") + text.count("\0")) * 10 > len(text):
        return f"[{stream.size} bytes that are not text, sha256:{stream.hash.hexdigest()}]", False
    if cut:
        text += f"\n[cut: {len(head)} of {stream.size} bytes shown, sha256:{stream.hash.hexdigest()} of all]"
    return text, exact
