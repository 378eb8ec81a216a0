"""A scenario is read as documented, and each fault in it is named with its line."""

import io

import pytest

from remit.errors import InputError
from remit.readers.scenario import LONGEST, NAMES, Scenario, answer_text, is_answer, read_scenario, tool_of

LIMITS = b'{"max_steps": 5, "stuck_threshold": 3}\n'
BOTH = LIMITS + b"{}\n"
READ = Scenario(5, 3, frozenset(), {}, ("read(x)",))
MIB = 1 << 20

FIX_1 = 'write {"max_steps": 5, "stuck_threshold": 3, "approvals": {"deploy": true}}'
FIX_2 = 'write {"read(a.py)": ["first result", "every later result"]}'


def read(data: bytes) -> Scenario | tuple[int | None, str]:
    """Return the scenario, or the line and the words of the error."""
    try:
        return read_scenario(io.BytesIO(data))
    except InputError as error:
        return error.line, f"{error.message.removeprefix(f'line {error.line}: ')}; {error.fix}"


@pytest.mark.parametrize(
    ("data", "then"),
    [
        pytest.param(BOTH, Scenario(5, 3, frozenset(), {}, ()), id="no action is a scenario too"),
        pytest.param(BOTH + b"read(x)\n", READ, id="lines end at a line feed"),
        pytest.param(BOTH + b"read(x)", READ, id="the last line may lack its end"),
        pytest.param(
            (BOTH + b"read(x)\n").replace(b"\n", b"\r\n"), READ, id="one carriage return before it is dropped"
        ),
        pytest.param(BOTH + b"a\r\r\nb\rc\n", Scenario(5, 3, frozenset(), {}, ("a\r", "b\rc")), id="and only that one"),
        pytest.param(
            b"\n \t\n" + LIMITS + b"\r\n{}\n\n\nread(x)\n  \n", READ, id="blank lines are skipped wherever they stand"
        ),
        pytest.param(b"\xef\xbb\xbf" + BOTH + b"read(x)\n", READ, id="a byte order mark at the beginning is skipped"),
        pytest.param(
            BOTH + "a\u2028b\x0bc\x0cd\x85e\x1cf\u2029\n\x0c\n\u3000\n".encode(),
            Scenario(5, 3, frozenset(), {}, ("a\u2028b\x0bc\x0cd\x85e\x1cf\u2029", "\x0c", "\u3000")),
            id="every other separator is an ordinary character",
        ),
        pytest.param(
            BOTH + b"  read(x) \t\n",
            Scenario(5, 3, frozenset(), {}, ("  read(x) \t",)),
            id="spaces belong to an action",
        ),
        pytest.param(
            b' {"approvals": {"a": true, "b": false, "c": 1, "d": "true", "e": null, "f": [true], "g": {"x": "\\"y"}},'
            b' "stuck_threshold": 1, "max_steps": 0} \n{}',
            Scenario(0, 1, frozenset({"a"}), {}, ()),
            id="an approval is exactly true",
        ),
        pytest.param(
            LIMITS + '{"": ["", "\\u65e5\\\\\\""], "日(\\ud83d\\ude00)": ["a\\nb"]}'.encode(),
            Scenario(5, 3, frozenset(), {"": ["", '日\\"'], "日(😀)": ["a\nb"]}, ()),
            id="an empty call and an empty result are texts",
        ),
        pytest.param(
            BOTH + b"answer:" + b"x" * MIB,
            Scenario(5, 3, frozenset(), {}, ("answer:" + "x" * MIB,)),
            id="an answer may be longer than any call",
        ),
        pytest.param(
            b'{"max_steps": 99999999999999999999999, "stuck_threshold": 18446744073709551616}\n{}',
            Scenario(99999999999999999999999, 2**64, frozenset(), {}, ()),
            id="a whole number may be of any size",
        ),
    ],
)
def test_a_sound_scenario_is_read_as_documented(data: bytes, then: Scenario) -> None:
    assert read(data) == then


@pytest.mark.parametrize(
    ("line", "what"),
    [
        pytest.param("nonsense", f"is not JSON: Expecting value (character 1); {FIX_1}", id="no JSON"),
        pytest.param(
            '{"max_steps": 5',
            f"is not JSON: Expecting ',' delimiter (character 16); {FIX_1}",
            id="JSON that was cut off",
        ),
        pytest.param(
            '{"max_steps": 5, "stuck_threshold": 3} x',
            f"is not JSON: Extra data (character 40); {FIX_1}",
            id="something after the JSON",
        ),
        pytest.param("[]", f"is [], not an object; {FIX_1}", id="an empty array"),
        pytest.param('[{"max_steps": 5}]', f"is an array, not an object; {FIX_1}", id="an array"),
        pytest.param("null", f"is null, not an object; {FIX_1}", id="null"),
        pytest.param('{"max_steps": 5}', f"has no `stuck_threshold`; {FIX_1}", id="no threshold"),
        pytest.param('{"stuck_threshold": 5}', f"has no `max_steps`; {FIX_1}", id="no max_steps"),
        pytest.param(
            '{"max_steps": 5, "stuck_threshold": 3, "approval": {}}',
            'has the unknown key "approval"; the keys are max_steps, stuck_threshold, approvals',
            id="an unknown key",
        ),
        *(
            pytest.param(
                f'{{"max_steps": {given}, "stuck_threshold": 3}}',
                f'`max_steps` is {shown}, not a whole number of at least 0; write "max_steps": 4',
                id=f"max_steps {given}",
            )
            for given, shown in [
                ("-1", "-1"), ("true", "true"), ("false", "false"), ("1.0", "1.0"), ("1e2", "100.0"), ('"5"', '"5"'),
                ("null", "null"), ("[5]", "an array"), ('{"a": 1}', "an object"), ("-0.0", "-0.0"),
            ]
        ),
        *(
            pytest.param(
                f'{{"max_steps": 3, "stuck_threshold": {given}}}',
                f'`stuck_threshold` is {shown}, not a whole number of at least 1; write "stuck_threshold": 5',
                id=f"stuck_threshold {given}",
            )
            for given, shown in [
                ("0", "0"), ("-3", "-3"), ("true", "true"), ("2.0", "2.0"), ('"\u202e"', '"\\u202e"'), ("null", "null"),
            ]
        ),
        *(
            pytest.param(
                f'{{"max_steps": 3, "stuck_threshold": 3, "approvals": {given}}}',
                f"`approvals` is {shown}, not an object; {FIX_1}",
                id=f"approvals {given}",
            )
            for given, shown in [("null", "null"), ('["pay"]', "an array"), ("true", "true"), ('"pay"', '"pay"')]
        ),
        pytest.param(
            '{"max_steps": 5, "stuck_threshold": 3, "max_steps": 5}',
            'has the key "max_steps" twice; keep one of them',
            id="a key twice",
        ),
        pytest.param(
            '{"max_steps": 5, "stuck_threshold": 3, "approvals": {"pay": true, "p\\u0061y": true}}',
            'has the key "pay" twice; keep one of them',
            id="a key twice in other letters",
        ),
        pytest.param(
            '{"max_steps": 5, "stuck_threshold": 3, "approvals": {"a": [{"\\"\\\\": 1, "\\"\\\\": 1}]}}',
            'has the key "\\"\\\\" twice; keep one of them',
            id="a key twice, deep inside",
        ),
        *(
            pytest.param(
                f'{{"max_steps": 5, "stuck_threshold": 3, "approvals": {{"a": {given}}}}}',
                f"has {shown}, which is not a JSON number; write a finite number",
                id=f"the number {given}",
            )
            for given, shown in [
                ("NaN", "NaN"), ("Infinity", "Infinity"), ("-Infinity", "-Infinity"),
                ("1e999", "a number beyond the range of a double"),
            ]
        ),
        pytest.param(
            f'{{"max_steps": {"1" * 4301}, "stuck_threshold": 3}}',
            "has an integer of too many digits; write a smaller number",
            id="an integer of too many digits",
        ),
        pytest.param(
            '{"max_steps": 5, "stuck_threshold": 3, "approvals": {"\\ud800": true}}',
            "has a lone surrogate, which is not text; write both halves of the pair",
            id="a lone surrogate",
        ),
        pytest.param("[" * 100_000, f"is nested too deeply; {FIX_1}", id="too deep"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", [b"", b"\n \n"], ids=["at once", "after blank lines"])
def test_a_fault_in_the_limits_is_named(before: bytes, line: str, what: str) -> None:
    assert read(before + line.encode() + b"\n{}\nread(x)\n") == (1 + before.count(b"\n"), what)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        pytest.param("read(x)", f"is not JSON: Expecting value (character 1); {FIX_2}", id="no JSON"),
        pytest.param('["a"]', f"is an array, not an object; {FIX_2}", id="an array"),
        *(
            pytest.param(
                f'{{"b()": ["ok"], "a()": {given}}}',
                f'the results of "a()" are {shown}, not a list of at least one text; {FIX_2}',
                id=f"results {given}",
            )
            for given, shown in [
                ("[]", "[]"), ('"ok"', '"ok"'), ("null", "null"), ('{"1": "ok"}', "an object"), ("1", "1")
            ]
        ),
        *(
            pytest.param(
                f'{{"a()": ["ok", {given}]}}',
                f'result 2 of "a()" is {shown}, not text; put it in double quotes',
                id=f"result {given}",
            )
            for given, shown in [
                ("1", "1"), ("null", "null"), ("true", "true"), ('["ok"]', "an array"), ("[]", "[]"),
            ]
        ),
        pytest.param(
            '{"a()": ["ok"], "b()": ["ok"], "a()": ["ok"]}',
            'has the key "a()" twice; keep one of them',
            id="a call twice",
        ),
        pytest.param(
            '{"a()": ["\\udc00"]}',
            "has a lone surrogate, which is not text; write both halves of the pair",
            id="a lone surrogate",
        ),
        pytest.param(
            '{"a()": ["a\tb"]}', f"is not JSON: Invalid control character at (character 12); {FIX_2}", id="a bare tab"
        ),
        pytest.param('{"a()":' * 5000, f"is nested too deeply; {FIX_2}", id="too deep"),
        pytest.param(
            f'{{"{"a" * 50}": 1}}',
            f'the results of "{"a" * 36}... are 1, not a list of at least one text; {FIX_2}',
            id="a long name is cut",
        ),
    ],
)  # fmt: skip
def test_a_fault_in_the_environment_is_named(line: str, what: str) -> None:
    assert read(LIMITS + b"\n" + line.encode() + b"\nread(x)\n") == (3, what)


@pytest.mark.parametrize(
    ("data", "then"),
    [
        pytest.param(b"", (1, f"is missing: there is no first line of JSON; {FIX_1}"), id="empty input"),
        pytest.param(b"\n \n", (1, f"is missing: there is no first line of JSON; {FIX_1}"), id="blank lines alone"),
        pytest.param(LIMITS, (2, f"is missing: there is no second line of JSON; {FIX_2}"), id="one line"),
        pytest.param(
            b"\n" + LIMITS + b"\n", (3, f"is missing: there is no second line of JSON; {FIX_2}"), id="one among blanks"
        ),
        pytest.param(BOTH + b"ok\n\xff\n", (4, "is not UTF-8 (byte 1); save the file as UTF-8"), id="no UTF-8"),
        pytest.param(
            BOTH + b"answer: done\n\nab\xed\xa0\x80\n",
            (5, "is not UTF-8 (byte 3); save the file as UTF-8"),
            id="a surrogate as bytes, after the answer",
        ),
        pytest.param(
            BOTH[:10] + b"\xc3", (1, "is not UTF-8 (byte 11); save the file as UTF-8"), id="a character cut in two"
        ),
        pytest.param(
            BOTH + b"a\n" * (LONGEST // 2),
            (3 + (LONGEST - len(BOTH)) // 2, f"goes beyond {LONGEST} bytes; see that this is the file you meant"),
            id="too much",
        ),
        pytest.param(
            BOTH + b"a(b)\nread(" + b"x" * (MIB - len('{"call":"read("}')) + b"x\n",
            (4, f"is a call of more than {MIB} bytes of JSON; shorten it"),
            id="a call that is too long",
        ),
        pytest.param(
            BOTH + b"a(" + b"\x01" * (MIB // 6) + b"\n",
            (3, f"is a call of more than {MIB} bytes of JSON; shorten it"),
            id="a call that is too long as JSON",
        ),
        pytest.param(
            BOTH + b"b" * (NAMES - 10) + b"\nb\n",
            (4, f"with this line the names of the 2 tools take more than {NAMES} bytes; "
                "write a call as name(arguments): its name ends at the first `(`"),
            id="names that are too long",
        ),
    ],
)  # fmt: skip
def test_a_fault_in_the_whole_is_named(data: bytes, then: tuple[int, str]) -> None:
    assert read(data) == then


@pytest.mark.parametrize(
    "shape", ['[%s, {"max_steps": 1}]', '{"max_steps":1,"stuck_threshold":1,"approvals":{"a":%s}}']
)
def test_no_depth_of_nesting_is_more_than_a_fault(shape: str) -> None:
    seen = set()
    for depth in range(1, 2000, 7):
        said = read((shape % ("[" * depth + "]" * depth)).encode() + b"\n{}\n")
        seen.add(said[1] if isinstance(said, tuple) else "read")
    assert len(seen) == 2
    assert f"is nested too deeply; {FIX_1}" in seen


@pytest.mark.parametrize(
    ("line", "answer", "tool"),
    [
        ("answer: done", "done", None),
        ("answer:done", "done", None),
        ("answer:  two ", " two ", None),
        ("answer:", "", None),
        ("answer: ", "", None),
        ("answer:answer: x", "answer: x", None),
        (" answer: x", None, " answer: x"),
        ("Answer: x", None, "Answer: x"),
        ("answer : x", None, "answer : x"),
        ("answer(x): y", None, "answer"),
        ("read(a(b))", None, "read"),
        ("read (a)", None, "read "),
        ("(x)", None, ""),
        ("支付(1)", None, "支付"),
    ],
)
def test_an_action_is_an_answer_or_names_its_tool(line: str, answer: str | None, tool: str | None) -> None:
    assert is_answer(line) == (answer is not None)
    assert (answer_text(line) if is_answer(line) else tool_of(line)) == (answer if tool is None else tool)
