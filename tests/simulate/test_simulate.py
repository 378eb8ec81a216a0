"""`remit simulate` prints what its six rules say, and nothing else."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remit.readers.scenario import read_scenario
from remit.shells import simulate as shell
from remit.shells.simulate import DEFAULT_CONSEQUENTIAL, document, lines, names, plain, play

SOURCE = Path(shell.__file__).parents[2]
REMIT = [sys.executable, "-W", "error", "-m", "remit", "simulate"]

Answer = tuple[int | None, bytes, str]


def scenario(actions: str, environment: object = None, **limits: object) -> bytes:
    """Return the text of a scenario: five steps and threshold three unless said otherwise."""
    first = {"max_steps": 5, "stuck_threshold": 3} | limits
    return "\n".join([json.dumps(first), json.dumps(environment or {}), actions]).encode()


def here(data: bytes, *flags: str) -> Answer:
    """Simulate in this process; return exit code, output and errors."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="ascii"), io.StringIO()
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = plain([file.name, *flags])
    assert isinstance(out.buffer, io.BytesIO)
    return code, out.buffer.getvalue(), err.getvalue()


def printed(data: bytes, *flags: str) -> str:
    """Return what is printed in this process for a sound scenario."""
    code, out, err = here(data, *flags)
    assert (code, err) == (0, "")
    return out.decode()


TWICE = {"read(x)": ["one", "two"], "wait()": ["", "a\nb"], "pay(1)": ["paid"]}


@pytest.mark.parametrize(
    ("data", "then"),
    [
        pytest.param(scenario("answer: done"), "final: done\n", id="rule 1: an answer stops the run"),
        pytest.param(scenario("answer:done\nread(x)"), "final: done\n", id="rule 1: without the space too"),
        pytest.param(scenario("answer:"), "final: \n", id="rule 1: nothing at all is an answer"),
        pytest.param(scenario("answer:   \t"), "final:   \t\n", id="rule 1: a blank answer stands as it is"),
        pytest.param(
            scenario(" answer: x\nanswer(y)"),
            "step 1:  answer: x -> error: unknown tool call\nstep 2: answer(y) -> error: unknown tool call\n"
            "stopped: no answer\n",
            id="rule 1: what does not begin with the word and its colon is a call",
        ),
        pytest.param(
            scenario("a\nb\nc", max_steps=2),
            "step 1: a -> error: unknown tool call\nstep 2: b -> error: unknown tool call\n"
            "stopped: step budget reached\n",
            id="rule 2: no step runs beyond the budget",
        ),
        pytest.param(
            scenario("a\nanswer: b", max_steps=1),
            "step 1: a -> error: unknown tool call\nfinal: b\n",
            id="rule 2: the budget does not gate an answer",
        ),
        pytest.param(
            scenario("a", max_steps=0), "stopped: step budget reached\n", id="rule 2: no step at all is legal"
        ),
        pytest.param(scenario("answer: b\na", max_steps=0), "final: b\n", id="rule 2: and so is an answer then"),
        pytest.param(scenario("", max_steps=0), "stopped: no answer\n", id="rule 2: a budget is reached by an action"),
        pytest.param(
            scenario("read(x)\npay(1)\nread(x)", TWICE),
            "step 1: read(x) -> one\nstep 2: pay(1) -> blocked: needs approval\nstopped: approval denied for pay\n",
            id="rule 3: a consequential tool needs approval",
        ),
        pytest.param(
            scenario("pay(1)\nanswer: ok", TWICE, approvals={"pay": True}),
            "step 1: pay(1) -> paid\nfinal: ok\n",
            id="rule 3: which is exactly true",
        ),
        *(
            pytest.param(
                scenario("pay(1)\nanswer: ok", TWICE, approvals={"pay": value, "deploy": True}),
                "step 1: pay(1) -> blocked: needs approval\nstopped: approval denied for pay\n",
                id=f"rule 3: {value!r} is not",
            )
            for value in (False, 1, 1.0, "true", None, [True], {"pay": True})
        ),
        pytest.param(
            scenario("pay"),
            "step 1: pay -> blocked: needs approval\nstopped: approval denied for pay\n",
            id="rule 3: without arguments too, whatever the environment has",
        ),
        pytest.param(
            scenario("pay (1)\n pay(1)\nPay(1)\npayer(1)", max_steps=9),
            "".join(
                f"step {n}: {call} -> error: unknown tool call\n"
                for n, call in enumerate(("pay (1)", " pay(1)", "Pay(1)", "payer(1)"), 1)
            )
            + "stopped: no answer\n",
            id="rule 3: a name is matched exactly",
        ),
        pytest.param(
            scenario("read(x)\nread(x)\nwait()\nwait()\nread(x)", TWICE),
            "step 1: read(x) -> one\nstep 2: read(x) -> two\nstep 3: wait() -> \nstep 4: wait() -> a\nb\n"
            "step 5: read(x) -> two\nstopped: no answer\n",
            id="rule 4: results come in order for each call, and the last repeats",
        ),
        pytest.param(
            scenario("read(x)\nread(x )\nread(x"),
            "step 1: read(x) -> error: unknown tool call\nstep 2: read(x ) -> error: unknown tool call\n"
            "step 3: read(x -> error: unknown tool call\nstopped: no answer\n",
            id="rule 4: a call is known by its whole text",
        ),
        pytest.param(
            scenario("(x)\n支付(1)\n[{(", {"(x)": ["empty name"], "支付(1)": ["\u2028"], "[{(": ["}"]}),
            "step 1: (x) -> empty name\nstep 2: 支付(1) -> \u2028\nstep 3: [{( -> }\nstopped: no answer\n",
            id="rule 4: a name is any text, or none",
        ),
        pytest.param(
            scenario("a\na\na\na"),
            "".join(f"step {n}: a -> error: unknown tool call\n" for n in (1, 2, 3)) + "stopped: stuck on a\n",
            id="rule 5: an unknown call counts like any",
        ),
        pytest.param(
            scenario("read(x)\nb\nread(x)\nc\nread(x)", TWICE, stuck_threshold=2),
            "step 1: read(x) -> one\nstep 2: b -> error: unknown tool call\nstep 3: read(x) -> two\n"
            "step 4: c -> error: unknown tool call\nstep 5: read(x) -> two\nstopped: stuck on read(x)\n",
            id="rule 5: the same result is counted over the whole run, another starts its own count",
        ),
        pytest.param(
            scenario("e\ne\ne\n", {"e": ["a", "b", "a"]}, stuck_threshold=2),
            "step 1: e -> a\nstep 2: e -> b\nstep 3: e -> a\nstopped: stuck on e\n",
            id="rule 5: in a row or not",
        ),
        pytest.param(
            scenario("e\nf\n", {"e": ["same"], "f": ["same"]}, stuck_threshold=2),
            "step 1: e -> same\nstep 2: f -> same\nstopped: no answer\n",
            id="rule 5: the same result of another call does not count",
        ),
        pytest.param(
            scenario("e", stuck_threshold=1),
            "step 1: e -> error: unknown tool call\nstopped: stuck on e\n",
            id="rule 5: a threshold of one stops at the first result",
        ),
        pytest.param(
            scenario("e", {"e": ["error: unknown tool call"]}, stuck_threshold=1),
            "step 1: e -> error: unknown tool call\nstopped: stuck on e\n",
            id="rule 5: also where the environment says the same",
        ),
        pytest.param(scenario(""), "stopped: no answer\n", id="the end: no action is no answer"),
        pytest.param(
            scenario("pay(1)", max_steps=0), "stopped: step budget reached\n", id="2 before 3: nobody is asked in vain"
        ),
        pytest.param(
            scenario("e\npay(1)", max_steps=1),
            "step 1: e -> error: unknown tool call\nstopped: step budget reached\n",
            id="2 before 3: after a step as well",
        ),
        pytest.param(
            scenario("e\ne\ne", max_steps=2, stuck_threshold=2),
            "step 1: e -> error: unknown tool call\nstep 2: e -> error: unknown tool call\nstopped: stuck on e\n",
            id="5 before 2: stuck on the last step of the budget",
        ),
        pytest.param(
            scenario("e\nanswer: x", stuck_threshold=1),
            "step 1: e -> error: unknown tool call\nstopped: stuck on e\n",
            id="5 before 1: an answer comes too late",
        ),
        pytest.param(
            scenario("pay(1)\npay(1)\nanswer: x", stuck_threshold=1),
            "step 1: pay(1) -> blocked: needs approval\nstopped: approval denied for pay\n",
            id="3 before 5: a blocked call has no result that counts",
        ),
        pytest.param(
            scenario("e\nf", max_steps=10**40, stuck_threshold=2**64),
            "step 1: e -> error: unknown tool call\nstep 2: f -> error: unknown tool call\nstopped: no answer\n",
            id="limits may be of any size",
        ),
    ],
)
def test_each_rule(data: bytes, then: str) -> None:
    assert printed(data) == then
    assert printed(data.replace(b"\n", b"\r\n")) == then


def test_every_other_limit_is_lifted() -> None:
    long = "é" * 100_000
    calls = [f"read({n})" for n in range(200)]
    data = scenario("\n".join([*calls, "answer: " + long]), {calls[0]: [long]}, max_steps=200)
    results = [long] + ["error: unknown tool call"] * 199
    steps = [f"step {n}: {call} -> {result}\n" for n, (call, result) in enumerate(zip(calls, results, strict=True), 1)]
    assert printed(data) == "".join([*steps, f"final: {long}\n"])


@pytest.mark.parametrize("tool", sorted(DEFAULT_CONSEQUENTIAL))
def test_the_usual_consequential_tools(tool: str) -> None:
    blocked = f"step 1: {tool}(x) -> blocked: needs approval\nstopped: approval denied for {tool}\n"
    assert printed(scenario(f"{tool}(x)")) == blocked
    assert len(DEFAULT_CONSEQUENTIAL) == 12


@pytest.mark.parametrize(
    ("value", "blocked"),
    [
        pytest.param("", [], id="none"),
        pytest.param("read", ["read"], id="others in place of the usual"),
        pytest.param("read,支付", ["read", "支付"], id="several"),
        pytest.param(" read , pay", ["read", "pay"], id="spaces around a name"),
        pytest.param("re ad,READ", ["re ad"], id="spaces in a name, letters as they are"),
        pytest.param(",", [], id="no name at all"),
    ],
)
def test_consequential_replaces_the_usual_set(value: str, blocked: list[str]) -> None:
    tools = ["read", "pay", "支付", "re ad"]
    assert [tool for tool in tools if "blocked" in printed(scenario(tool), "--consequential", value)] == blocked


def test_json_gives_one_object() -> None:
    data = scenario("read(日)\npay(1)", {"read(日)": ["a\n\u2028"]})
    assert json.loads(printed(data, "--json")) == {
        "steps": [
            {"step": 1, "action": "read(日)", "result": "a\n\u2028"},
            {"step": 2, "action": "pay(1)", "blocked": "needs approval"},
        ],
        "final": None,
        "stop": "approval denied for pay",
        "status": "denied",
    }
    assert printed(data, "--json").count("\n") == 1
    assert printed(scenario("answer: "), "--json") == '{"steps":[],"final":"","stop":null,"status":"complete"}\n'


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (scenario("a"), "no_answer"),
        (scenario("a", max_steps=0), "budget_exhausted"),
        (scenario("a", stuck_threshold=1), "stuck"),
    ],
)
def test_json_has_the_status_of_the_core(data: bytes, status: str) -> None:
    assert json.loads(printed(data, "--json"))["status"] == status


# The whole output, against the rules written down once more


def restated(data: bytes, consequential: set[str]) -> str:
    """Interpret a sound scenario, rule by rule."""
    rows = [row.removesuffix("\r") for row in data.decode().split("\n")]
    first, second, *actions = [row for row in rows if row.strip(" \t")]
    limits, environment = json.loads(first), json.loads(second)
    out: list[str] = []
    calls: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for action in actions:
        if action.startswith("answer:"):
            text = action[len("answer:") :]
            return "".join([*out, "final: ", text[1:] if text.startswith(" ") else text, "\n"])
        if len(out) == limits["max_steps"]:
            return "".join([*out, "stopped: step budget reached\n"])
        step = f"step {len(out) + 1}: {action} -> "
        tool = action.split("(")[0]
        if tool in consequential and limits.get("approvals", {}).get(tool) is not True:
            return "".join([*out, step, f"blocked: needs approval\nstopped: approval denied for {tool}\n"])
        results = environment.get(action, ["error: unknown tool call"])
        result = results[min(calls[action], len(results) - 1)]
        calls[action] += 1
        pairs[action, result] += 1
        out.append(f"{step}{result}\n")
        if pairs[action, result] == limits["stuck_threshold"]:
            return "".join([*out, f"stopped: stuck on {action}\n"])
    return "".join([*out, "stopped: no answer\n"])


TOOLS = st.sampled_from(["read", "deploy", "pay", "", " pay", "支付", "a b", "answer", "\u2028", '"\\{'])
ARGUMENTS = st.sampled_from(["", "(", "(x)", "(x) ", "(pay(x))", "(é\u202e)", "(\x01\x85)"])
CALLS = st.builds(str.__add__, TOOLS, ARGUMENTS)
ANSWERS = st.sampled_from(["answer: done", "answer:", "answer:x", "answer:  two", "answer: ", "answer: answer: 日"])
ACTIONS = st.lists(st.one_of(CALLS, CALLS, CALLS, CALLS, CALLS, ANSWERS) | st.just("read(x)"), max_size=12)
RESULTS = st.sampled_from(["ok", "", "a\nb", "error: unknown tool call", "日", "stopped: no answer", '"\\"'])
LIMITS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"max_steps": st.integers(0, 9) | st.just(2**70), "stuck_threshold": st.integers(1, 4) | st.just(2**70)},
    optional={"approvals": st.dictionaries(TOOLS, st.sampled_from([True, True, True, False, 1, "true", None, {}]))},
)
BLANKS = st.sampled_from(["", "", "", "\n", " \t\n"])


@st.composite
def scenarios(draw: st.DrawFn) -> bytes:
    environment = draw(st.dictionaries(CALLS, st.lists(RESULTS, min_size=1, max_size=3), max_size=8))
    ascii_only = draw(st.booleans())
    heads = [json.dumps(draw(LIMITS)), json.dumps(environment, ensure_ascii=ascii_only)]
    rows = [draw(BLANKS) + row for row in [*heads, *draw(ACTIONS)]]
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = end.join("\n".join(rows).split("\n")) + draw(st.sampled_from(["", end]))
    return text.encode()


@given(data=scenarios(), consequential=st.none() | st.frozensets(TOOLS, max_size=4))
@example(data=scenario("pay(1)\nanswer: x", max_steps=0), consequential=None)
def test_the_output_is_what_the_rules_say(data: bytes, consequential: frozenset[str] | None) -> None:
    chosen = DEFAULT_CONSEQUENTIAL if consequential is None else consequential
    said = document(play(read_scenario(io.BytesIO(data)), chosen))
    assert "\n".join(lines(said)) + "\n" == restated(data, set(chosen))


@given(data=scenarios())
def test_the_json_and_the_text_say_the_same(data: bytes) -> None:
    said: dict[str, Any] = json.loads(printed(data, "--json"))
    assert "\n".join(lines(said)) + "\n" == printed(data) == restated(data, set(DEFAULT_CONSEQUENTIAL))


# Bad input, and what is around the text


@pytest.mark.parametrize("flags", [[], ["--json"]])
@pytest.mark.parametrize(
    ("data", "then"),
    [
        (b"", "remit: line 1: is missing: there is no first line of JSON; write {"),
        (scenario("a", max_steps=-1), "remit: line 1: `max_steps` is -1, not a whole number of at least 0; write "),
        (scenario("a", {"\n\u202e": []}), 'remit: line 2: the results of "\\n\\u202e" are [], not a list of at least '),
        (scenario("a\n") + b"\xff", "remit: line 4: is not UTF-8 (byte 1); save the file as UTF-8"),
        (scenario("answer: x\n") + b"\xff", "remit: line 4: is not UTF-8 (byte 1); save the file as UTF-8"),
    ],
)
def test_bad_input_prints_one_line_on_stderr_only(data: bytes, then: str, flags: list[str]) -> None:
    code, out, err = here(data, *flags)
    assert (code, out, err.count("\n"), err[-1]) == (2, b"", 1, "\n")
    assert err.startswith(then)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        pytest.param("missing\n.txt", "No such file or directory", id="a file that is not there"),
        pytest.param(".", "Is a directory", id="a directory"),
        pytest.param("x" * 999, "File name too long", id="a name that is too long"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    name: str, why: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = str(tmp_path / name)
    assert plain([path]) == 2
    shown = path.replace("\n", "\\u000a")
    assert capsysbinary.readouterr() == (
        b"",
        f"remit: cannot read {shown}: {why}; name a file, or - for stdin\n".encode(),
    )


@pytest.mark.parametrize(
    "args",
    [
        ["--help"],
        ["-h"],
        ["a", "b"],
        ["--consequential"],
        ["--consequential", "a", "--consequential", "b"],
        ["--consequential=a"],
        ["--", "a"],
        [""],
    ],
    ids=" ".join,
)
def test_other_arguments_are_left_to_the_command_line(args: list[str]) -> None:
    assert plain(args) is None


DATA = scenario("read(日本)\n支付(😀)\nanswer: é\u2028", {"read(日本)": ["— ok"]}, approvals={"支付": False})
SAID = "step 1: read(日本) -> — ok\nstep 2: 支付(😀) -> error: unknown tool call\nfinal: é\u2028\n"
BLOCKED = "step 1: read(日本) -> — ok\nstep 2: 支付(😀) -> blocked: needs approval\nstopped: approval denied for 支付\n"


def environment(**more: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))}
    return clean | {"PYTHONPATH": str(SOURCE)} | more


def process(*args: str | Path, data: bytes = b"", locale: dict[str, str] | None = None) -> tuple[int, str, bytes]:
    """Run the command; return exit code, output and errors."""
    done = subprocess.run(
        [*REMIT, *args], input=data, capture_output=True, env=environment(**(locale or {})), check=False
    )
    return done.returncode, done.stdout.decode(), done.stderr


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "日.txt"
    path.write_bytes(DATA)
    return path


@pytest.mark.parametrize(
    "locale",
    [
        {},
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "utf-16"},
        {"PYTHONIOENCODING": "latin-1:strict"},
    ],
    ids=str,
)
def test_input_output_and_arguments_are_utf_8_in_any_locale(locale: dict[str, str], file: Path) -> None:
    assert process(data=DATA, locale=locale) == (0, SAID, b"")
    assert process(file, "--consequential", "pay,支付", locale=locale) == (0, BLOCKED, b"")


@pytest.mark.parametrize(
    "args",
    [
        pytest.param([], id="no file"),
        pytest.param(["-"], id="a dash"),
        pytest.param(["--consequential", "", "-"], id="options first"),
        pytest.param(["--consequential="], id="by the command line's own parser"),
        pytest.param(["--", "-"], id="and by that without options"),
    ],
)
def test_standard_input_is_read(args: list[str]) -> None:
    assert process(*args, data=DATA) == (0, SAID, b"")


def test_both_ways_in_do_the_same(file: Path) -> None:
    for more in ([], ["--json"]):
        quick = process(file, "--consequential", "支付", *more)
        assert quick == process(file, "--consequential=支付", *more)
        assert quick[0] == 0
    assert names("deploy") == {"deploy"}


def test_bad_input_on_stdin_is_one_line() -> None:
    code, out, err = process(data=DATA.replace(b'"stuck_threshold": 3', b'"stuck_threshold": 0'))
    assert (code, out) == (2, "")
    what = b'`stuck_threshold` is 0, not a whole number of at least 1; write "stuck_threshold": 5'
    assert err == b"remit: line 1: " + what + b"\n"


def test_a_reader_that_has_gone_is_met_with_silence(file: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run([*REMIT, file], stdout=writing, stderr=subprocess.PIPE, env=environment(), check=False)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_output_that_cannot_be_written_is_said(file: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*REMIT, file], stdout=full, stderr=subprocess.PIPE, env=environment(), check=False)
    assert done.returncode == 1
    assert done.stderr == b"remit: cannot write: No space left on device; the output is not complete\n"


@pytest.mark.skipif(os.name != "posix", reason="closes descriptors in a shell")
@pytest.mark.parametrize(
    ("closed", "code", "said"),
    [
        ("<&-", 2, b"remit: cannot read standard input: it is closed; name a file, or - for stdin\n"),
        (">&-", 1, b"remit: cannot write: standard output is closed; open it\n"),
        ("<&- 2>&-", 2, b""),
    ],
)
def test_a_stream_that_was_closed_is_said(closed: str, code: int, said: bytes) -> None:
    shell = ["sh", "-c", f'exec "$0" "$@" {closed}']
    done = subprocess.run([*shell, *REMIT], input=DATA, capture_output=True, env=environment(), check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", said)


def test_a_good_scenario_is_run_without_heavy_imports(file: Path) -> None:
    program = (
        "import sys; before = set(sys.modules)\n"
        "from remit.shells.simulate import plain\n"
        "code = plain(sys.argv[1:])\n"
        "heavy = {'asyncio', 'click', 'difflib', 'json', 'jsonschema_rs', 'rich', 'sqlite3', 'subprocess'}\n"
        "print(sorted(heavy & (set(sys.modules) - before)), code)"
    )
    command: list[str | Path] = [sys.executable, "-W", "error", "-c", program, file]
    done = subprocess.run(command, capture_output=True, env=environment(PYTHONUTF8="1"), check=False)
    assert done.stdout.decode() == SAID + "[] 0\n", done.stderr
