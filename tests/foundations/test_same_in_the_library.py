"""The kit and the library tell the same story of the same policies; where they differ, the table says how."""

import pytest

import agent_loop as kit
import tool_runtime
from remit import Call, Context, Final, Outcome, Remit, Reply, Toolbox, ToolError, run

tools = Toolbox()


def register(name: str) -> None:
    @tools.read(name=name)
    def read(record_id: str) -> str:
        try:
            return tool_runtime.TOOLS[name](record_id)
        except tool_runtime.ToolError as failure:
            raise ToolError(f"error: {failure}") from None  # the kit marks it in the text, the library in the status


for tool in tool_runtime.TOOLS:
    register(tool)


class InLibrary:
    """A policy of the kit as a policy of the library."""

    remote = False

    def __init__(self, policy: kit.Policy) -> None:
        self.policy = policy

    def propose(self, context: Context) -> Call | Final:
        seen = tuple(kit.Observation(o.tool, record_id="synthetic-a", text=o.text) for o in context.observations)
        said = self.policy.propose(seen)
        if isinstance(said, kit.Final):
            claims = [{"cites": f"c{n}", "quote": claim} for n, claim in enumerate(said.claims, 1)]
            return Final(said.text, claims)
        return Call(said.name, {"record_id": said.record_id})


def in_library(policy: kit.Policy, allowed: list[str], turns: int) -> Outcome:
    remit = Remit(tools={name: {"record_id": allowed} for name in tools}, turns=turns)
    return run("Inspect the record", policy=InLibrary(policy), remit=remit, tools=tools)


INSPECT = kit.InspectPolicy()
OTHER_TOOL = kit.ScriptedPolicy(
    [
        kit.Call("read_source_date", "synthetic-a"),
        kit.Call("read_completeness", "synthetic-a"),
        kit.Final("No date.", ("error: synthetic-a has no source date",)),
    ]
)


@pytest.mark.parametrize(
    ("policy", "allowed", "turns"),
    [
        pytest.param(INSPECT, ["synthetic-a"], 3, id="it completes"),
        pytest.param(INSPECT, ["synthetic-a"], 2, id="in the last turn"),
        pytest.param(INSPECT, ["synthetic-a"], 1, id="the turns are used up"),
        pytest.param(INSPECT, ["synthetic-b"], 3, id="the record is not allowed"),
        pytest.param(OTHER_TOOL, ["synthetic-a"], 3, id="it recovers from a failure by another tool"),
    ],
)
def test_a_policy_comes_out_the_same(policy: kit.Policy, allowed: list[str], turns: int) -> None:
    small, whole = kit.run(policy, allowed, turns), in_library(policy, allowed, turns)
    ran = [o for o in whole.observations if o.status in ("ok", "error")]  # the kit has no observation of a refusal
    assert (whole.status, whole.answer, whole.attempted_tools) == (small.status, small.answer, small.attempted_tools)
    assert [(o.tool, o.text) for o in ran] == [(o.tool, o.text) for o in small.observations]
    assert (whole.error is None) == (small.error is None)
    if small.status == "complete":
        assert (whole.grade == "supported") == kit.supported(small)


@pytest.mark.parametrize(
    ("script", "status"),
    [
        pytest.param([kit.Call("read_completeness", "synthetic-a")], "no_answer", id="a script that ends early"),
        pytest.param([kit.Final(" ")], "no_answer", id="a blank final, returned to the policy, then nothing more"),
    ],
)
def test_where_the_kit_raises_the_library_returns_an_end(script: list[kit.Call | kit.Final], status: str) -> None:
    class Script:
        remote = False

        def propose(self, context: Context) -> Call | Final | Reply:
            if context.turn <= len(script):
                said = script[context.turn - 1]
                if isinstance(said, kit.Final):
                    return Final(said.text)
                return Call(said.name, {"record_id": said.record_id})
            return Reply((), finish="end")

    remit = Remit(tools={name: {"record_id": ["synthetic-a"]} for name in tools})
    with pytest.raises(ValueError, match=r"script ended|final answer is empty"):
        kit.run(kit.ScriptedPolicy(script), ["synthetic-a"])
    assert run("Inspect", policy=Script(), remit=remit, tools=tools).status == status


def test_an_unknown_tool_is_denied_by_the_kit_and_returned_as_unusable_by_the_library() -> None:
    policy = kit.ScriptedPolicy([kit.Call("read_secrets", "synthetic-a")])
    assert kit.run(policy, ["synthetic-a"]).status == "denied"
    outcome = run(
        "t", policy=InLibrary(kit.ScriptedPolicy([kit.Call("read_secrets", "synthetic-a"), kit.Final("x")])),
        remit=Remit(tools={"read_completeness": "any"}), tools=tools,
    )  # fmt: skip
    assert [(o.status, o.code) for o in outcome.observations] == [("invalid", "call.unknown_tool")]
