"""Ctrl-C may arrive between any two lines: the log always folds, nothing runs unrecorded, the interrupt comes out."""

import sys
from types import FrameType
from typing import Any

import pytest

from remit import Call, Final, Remit, Reply, ScriptedPolicy, Toolbox, run
from remit.core.fold import fold
from remit.core.todo import resting
from remit.runtime.ports import Decision
from remit.stores.memory import MemoryStore

WHERE = (
    "remit/runtime/loop.py",
    "remit/core/fold.py",
    "remit/core/judge.py",
    "remit/core/todo.py",
    "remit/core/parse.py",
)
EVERY = 7
SCRIPT: list[Call | Final | Reply] = [
    Call("look", {"at": "a"}),
    Reply([Call("look", {"at": "b"}), Call("look", {"at": "c"})]),
    Call("put", {"text": "x"}),
    Call("ship"),
    Call("look", '{"at": '),
    Final("done", [{"effect": "put"}]),
]


def one_run(at: int | None) -> tuple[MemoryStore, list[str], int, bool]:
    """Run the script with an interrupt at line number `at` of the traced modules; return the store, the writes that
    ran, how many lines were traced, and whether the interrupt came out."""
    store, wrote, lines = MemoryStore(), [], 0
    tools = Toolbox()

    @tools.read
    def look(at: str) -> str:
        return at

    @tools.write
    def put(text: str) -> str:
        wrote.append("put")
        return text

    @tools.write(consequential=True)
    def ship() -> str:
        wrote.append("ship")
        return "shipped"

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal lines
        if not frame.f_code.co_filename.endswith(WHERE):
            return None
        if event == "line":
            lines += 1
            if lines == at:
                raise KeyboardInterrupt
        return trace

    out = False
    sys.settrace(trace)
    try:
        remit = Remit(tools=dict.fromkeys(tools, "any"))
        run("t", policy=ScriptedPolicy(SCRIPT), remit=remit, tools=tools, store=store, run_id="r",
            ask=lambda held: Decision(True, "ann"))  # fmt: skip
    except KeyboardInterrupt:
        out = True
    finally:
        sys.settrace(None)
    return store, wrote, lines, out


LINES = one_run(None)[2]


@pytest.mark.guarantee("G1", "G6", "G7", "G8")
@pytest.mark.parametrize("part", range(EVERY))
def test_an_interrupt_between_any_two_lines_leaves_a_log_that_tells_the_truth(part: int) -> None:
    for at in range(1 + part, LINES + 1, EVERY * EVERY):
        store, wrote, lines, out = one_run(at)
        if lines < at:  # this run was shorter than the first, which had things to compile
            break
        assert out, f"the interrupt at line {at} was lost"
        state = fold("r", store.read("r"))
        if state.phase == "new":
            assert wrote == [], f"line {at}"
            continue
        assert resting(state) is not None, f"line {at}: {state.phase}"
        recorded = [o.tool for o in state.observations if o.tool != "look" and o.status == "ok"]
        uncertain = [call.tool for call in state.open.values() if call.phase == "uncertain"]
        assert wrote == recorded + uncertain[: len(wrote) - len(recorded)], f"line {at}"
