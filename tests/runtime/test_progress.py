"""Progress says in one line what happened, and lets nothing hostile through."""

import pytest

from remit.core.events import AnyEvent, Checked, Observed, Proposed, Rejected, Started
from remit.shells.progress import Progress


def proposed(args: bytes) -> Proposed:
    from msgspec import Raw

    return Proposed(call="c1", tool="look", args=Raw(args))


@pytest.mark.parametrize(
    ("events", "then"),
    [
        pytest.param(
            [
                proposed(b'{"at":"x"}'),
                Started(call="c1"),
                Observed(call="c1", status="ok", text="first\nlast", us=90_000),
            ],
            ['  c1  look({"at":"x"})', "      ok 0.1 s       first"],
            id="the first line of a result",
        ),
        pytest.param(
            [
                proposed(b"{}"),
                Observed(call="c1", status="error", text="[standard error]\na\nFAILED\n[exit code 1]", us=1),
            ],
            ["      error 0.0 s    FAILED"],
            id="the last line of a complaint",
        ),
        pytest.param(
            [proposed(b"{}"), Observed(call="c1", status="refused", text="scope: no")],
            ["      refused 0.0 s  look({})  scope: no"],
            id="a call that did not start is named",
        ),
        pytest.param(
            [Checked(check=0, name="command t", passed=True, detail="exit code 0: [standard error]\nOK")],
            ["      check passed   command t: OK"],
            id="a check",
        ),
        pytest.param(
            [Rejected(code="final.empty", text="\x1b[2J\u202e")],
            ["      rejected       final.empty: \\u001b[2J\\u202e"],
            id="what cannot be seen is escaped",
        ),
    ],
)
def test_a_line_for_what_happened(events: list[AnyEvent], then: list[str]) -> None:
    said: list[str] = []
    progress = Progress(lambda text, style: said.append(text))
    for event in events:
        progress(event)
    assert said == then
