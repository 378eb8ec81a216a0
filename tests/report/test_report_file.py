"""The report on a file: what is printed where, and the exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from remit.shells import report_file
from remit.shells.report_file import report_stream

LOG = """\
{"step": 1, "action": "read_file(日本.py)", "status": "ok", "ms": 120}
{"step": 2, "action": "search(\\u202e)", "status": "error", "ms": 2040.5}
{"step": 3, "action": "read_file(é😀)", "status": "ok", "ms": 2040.5}
{"stop": "fertig\\n— Ende"}
"""
SIX = r"""steps: 3
errors: 1
total time: 4.2 s
slowest: search(\u202e) (2.0 s)
tools: read_file 2, search 1
stop: fertig\u000a— Ende
"""
ONE_OBJECT = (
    r'{"errors":1,"slowest":{"action":"search(\u202e)","ms":2040.5},"steps":3,'
    r'"stop":"fertig\n— Ende","tools":{"read_file":2,"search":1},"total_ms":4201.0}'
    "\n"
)
SOURCE = Path(report_file.__file__).parents[2]
PROGRAM = """
import sys
from remit.shells.report_file import report_stream
sys.exit(report_stream(sys.argv[1], len(sys.argv) > 2))
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_bytes(LOG.encode())
    return path


def command(*arguments: str | Path, program: str = PROGRAM) -> list[str | Path]:
    return [sys.executable, "-W", "error", "-c", program, *arguments]


def environment(**more: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "PYTHON"))}
    return clean | {"PYTHONPATH": str(SOURCE)} | more


def test_a_file_gives_six_lines(log: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert report_stream(str(log), False) == 0
    assert capsysbinary.readouterr() == (SIX.encode(), b"")


def test_a_file_gives_one_object(log: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert report_stream(str(log), True) == 0
    out, err = capsysbinary.readouterr()
    assert (out, err) == (ONE_OBJECT.encode(), b"")
    assert json.loads(out)["stop"] == "fertig\n— Ende"


@pytest.mark.parametrize(
    "locale",
    [
        {},
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "utf-16"},
        {"PYTHONIOENCODING": "latin-1:strict"},
    ],
    ids=str,
)
@pytest.mark.parametrize(("flags", "then"), [([], SIX), (["--json"], ONE_OBJECT)], ids=["text", "json"])
def test_the_output_is_utf_8_in_any_locale(locale: dict[str, str], flags: list[str], then: str) -> None:
    done = subprocess.run(
        command("-", *flags), input=LOG.encode(), capture_output=True, env=environment(**locale), check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, then.encode(), b"")


def test_bad_input_prints_one_line_on_stderr_only(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "a\nb.jsonl"
    path.write_bytes(LOG.encode().replace(b'"ok"', b"null"))
    assert report_stream(str(path), False) == 2
    out, err = capsysbinary.readouterr()
    shown = str(path).replace("\n", r"\u000a")
    assert out == b""
    assert err.decode() == f'remit: {shown}, line 1: `status` is null, not text; write "status": "ok"\n'


def test_bad_input_on_stdin_is_named_so() -> None:
    done = subprocess.run(command("-"), input=b"", capture_output=True, env=environment(), check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"remit: standard input, line 1: the input is empty; write events as {")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("name", "why"),
    [
        pytest.param("missing.jsonl", "No such file or directory", id="a file that is not there"),
        pytest.param(".", "Is a directory", id="a directory"),
        pytest.param("x" * 999, "File name too long", id="a name that is too long"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_a_file_that_cannot_be_read_prints_one_line_on_stderr_only(
    name: str, why: str, as_json: bool, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = str(tmp_path / name)
    assert report_stream(path, as_json) == 2
    assert capsysbinary.readouterr() == (
        b"",
        f"remit: cannot read {path}: {why}; name a file, or - for stdin\n".encode(),
    )


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_file_that_may_not_be_read_is_named(log: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    log.chmod(0)
    assert report_stream(str(log), False) == 2
    assert b"Permission denied" in capsysbinary.readouterr().err


def test_a_reader_that_has_gone_is_met_with_silence(log: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(command(log), stdout=writing, stderr=subprocess.PIPE, env=environment(), check=False)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_output_that_cannot_be_written_is_said(log: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command(log), stdout=full, stderr=subprocess.PIPE, env=environment(), check=False)
    assert done.returncode == 1
    assert done.stderr == b"remit: cannot write: No space left on device; the report is not complete\n"


@pytest.mark.skipif(os.name != "posix", reason="closes descriptors in a shell")
@pytest.mark.parametrize(
    ("closed", "code", "said"),
    [
        ("<&-", 2, b"remit: cannot read standard input: it is closed; name a file, or - for stdin\n"),
        (">&-", 1, b"remit: cannot write: standard output is closed; open it\n"),
    ],
)
def test_a_stream_that_was_closed_is_said(closed: str, code: int, said: bytes) -> None:
    shell = ["sh", "-c", f'exec "$0" "$@" {closed}']
    done = subprocess.run(
        [*shell, *command("-")], input=LOG.encode(), capture_output=True, env=environment(), check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", said)


def test_a_good_file_is_read_without_heavy_imports(log: Path) -> None:
    program = (
        "import sys; before = set(sys.modules)"
        + PROGRAM.replace("sys.exit(", "code = ").replace(" > 2))", " > 2)")
        + "print(sorted({'asyncio', 'click', 'json', 'rich'} & (set(sys.modules) - before)), code)"
    )
    done = subprocess.run(command(log, program=program), capture_output=True, env=environment(), check=False, text=True)
    assert done.stdout.splitlines()[-1:] == ["[] 0"], done.stderr
