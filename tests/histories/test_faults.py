"""A store that fails at any append, and a Ctrl-C at any line: the log stays whole, and no write runs twice."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import remit
from remit import Call, Final, Outcome, Reply
from remit.core.fold import fold
from remit.core.todo import resting
from remit.errors import StoreError
from tests.histories.driven import World, step

ROOT = Path(remit.__file__).parent
CALLS = st.builds(Call, st.sampled_from(["look", "pay", "ship"]), st.sampled_from([{"k": k} for k in (0, 1, 2, 9)]))
UNUSABLE = st.sampled_from(
    [Call("look", "{"), Call("nothing"), Final(" "), Reply((Call("look"), Call("pay"))), Reply((), finish="refusal")]
)
SCRIPTS = st.lists(CALLS | CALLS | CALLS | UNUSABLE, max_size=6).map(lambda calls: [*calls, Final("done")])
FAULTS = st.dictionaries(st.integers(1, 20), st.sampled_from(["before", "after"]), max_size=5)


def seen(outcome: Outcome) -> list[tuple[str, str, str]]:
    return [(o.call, o.status, o.text) for o in outcome.observations]


@pytest.mark.guarantee("G1", "G6", "G7", "G8")
@given(SCRIPTS, st.booleans(), FAULTS)
@settings(derandomize=True, deadline=None, database=None, max_examples=int(os.environ.get("REMIT_EXAMPLES", "150")))
def test_whichever_append_fails_the_run_goes_on_from_its_log(
    script: Sequence[Any], remote: bool, faults: dict[int, str]
) -> None:
    world = World(script, remote=remote, faults=faults)
    rested = None
    for _ in range(len(faults) + 1):
        try:
            rested = step(world, first=world.store.head("r1") is None)
            break
        except StoreError:
            continue
    assert rested is not None
    assert len(world.wrote) == len(set(world.wrote))
    assert fold("r1", world.store.read("r1")).turns <= len(script)
    calm = step(World(script, remote=remote, faults={}), first=True)
    if rested.status == "uncertain":
        assert seen(rested) == seen(calm)[: len(rested.observations)]
    else:
        assert (rested.status, rested.answer, rested.grade, seen(rested)) == (
            calm.status, calm.answer, calm.grade, seen(calm),
        )  # fmt: skip


class CtrlC:
    """Raises KeyboardInterrupt at the `line`-th line of Python that runs in the core or the runtime."""

    def __init__(self, line: int) -> None:
        self.left = line

    def __call__(self, frame: FrameType, event: str, arg: object) -> Any:
        file = Path(frame.f_code.co_filename)
        return self.at_line if file.parent in (ROOT / "core", ROOT / "runtime") else None

    def at_line(self, frame: FrameType, event: str, arg: object) -> Any:
        if event == "line" and self.left:
            self.left -= 1
            if not self.left and not frame.f_code.co_filename.endswith("validate.py"):  # Rust calls that, and keeps it
                raise KeyboardInterrupt
        return self.at_line


EVERYTHING: list[Call | Final | Reply] = [
    Call("look", {"k": 1}),
    Call("look", "{"),
    Call("pay", {"k": 1}),
    Call("ship", {"k": 9}),
    Call("ship", {"k": 1}),
    Reply((Call("look"), Call("pay"))),
    Final("done"),
]
STRIDE = 1 if "REMIT_EXAMPLES" in os.environ else 37


@pytest.mark.guarantee("G7", "G8")
@pytest.mark.parametrize("remote", [False, True], ids=["a policy that computes", "a policy that sends requests"])
def test_a_ctrl_c_at_any_line_leaves_a_whole_log_and_a_run_at_rest(remote: bool) -> None:
    wrong = []
    for line in range(1, 20_000, STRIDE):
        world, trace = World(EVERYTHING, remote=remote, faults={}), CtrlC(line)
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            step(world, first=True)
        except KeyboardInterrupt:
            pass
        except Exception as error:  # noqa: BLE001 - the finding itself
            wrong.append((line, repr(error)))
            continue
        finally:
            sys.settrace(before)
        if trace.left:
            break
        wrong += [(line, found) for found in faults_of(world)]
    assert wrong == []


def faults_of(world: World) -> list[str]:
    """What is wrong with what an interrupted run left: nothing recorded at all is right, too."""
    try:
        run = world.logged()
    except remit.RemitError as error:
        return [f"the log does not fold: {error.message}"]
    found = [] if run.phase == "new" or resting(run) is not None else [f"left {run.phase}"]
    return found if len(world.wrote) == len(set(world.wrote)) else [*found, "a write ran twice"]
