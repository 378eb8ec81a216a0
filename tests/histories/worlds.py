"""What a history may be made of: small remits, replies of every kind, and what becomes of a call."""

from typing import Any

from hypothesis import strategies as st

from remit import Call, Final, Reply
from remit.core.remit import Stuck
from remit.core.spec import ToolSpec
from remit.core.validate import ArgumentError, Validator
from tests.histories.interpreter import GuardBroke

EFFECTS: dict[str, Any] = {"look": "read", "send": "egress", "pay": "write", "ship": "write", "hidden": "read"}
"""Each tool takes one integer `k`, and its guard breaks where that is 13. `ship` is consequential; no remit names
`hidden`."""
SECOND = 1_000_000
SCHEMA = {"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"], "additionalProperties": False}
VALID = Validator(SCHEMA)


def guard(args: dict[str, Any]) -> ArgumentError | None:
    if args.get("k") == 13:
        raise GuardBroke("a guard broke")
    return VALID.problem(args)


def toolbox(source: str) -> dict[str, ToolSpec]:
    return {
        name: ToolSpec(
            name=name, effect=effect, schema=SCHEMA, consequential=name == "ship", problem=guard, source=source
        )
        for name, effect in EFFECTS.items()
    }


TOOLS, MOVED = toolbox("what was shown"), toolbox("another program")


def mostly(usual: Any, other: Any, bits: int) -> st.SearchStrategy[Any]:
    """`usual` but for one time in 2 to the `bits`; weights by repetition are not what a search draws by."""
    return st.tuples(*[st.booleans()] * bits).flatmap(lambda drawn: other if all(drawn) else usual)


def one(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


NAMES = one("look", "send", "pay", "ship")
LIMITS = st.fixed_dictionaries(
    {
        "tools": st.dictionaries(NAMES, mostly(st.none(), one([1], [1, 2, 13]), 2), min_size=3),
        "turns": mostly(st.just(30), one(2, 5, 8), 2),
        "calls": mostly(st.just(30), one(0, 2, 5), 2),
        "calls_per_tool": mostly(st.just({}), st.dictionaries(NAMES, st.integers(0, 3), max_size=1), 2),
        "seconds": mostly(st.just(1000), st.just(2), 3),
        "wall_seconds": mostly(st.just(10_000), st.just(12), 3),
        "gates": mostly(st.just({}), st.dictionaries(NAMES, one("allow", "hold", "deny"), max_size=3), 1),
        "on_refusal": mostly(st.just("continue"), st.just("stop"), 2),
        "max_refusals": st.integers(1, 5),
        "max_invalid": st.integers(1, 9),
        "last_turn": st.booleans(),
        "checks": one([], ["cites"], ["effect"], ["cites", "effect"]),
    }
)
STUCK = st.builds(Stuck, rule=mostly(st.just("progress"), st.just("plain"), 2), threshold=st.integers(2, 4))

ARGS = """{"k":1} {"k":3} {"k":13} {"k":1.0} {"k":true} {"k":"1"} {"k":1,"z":1} {"z":1} {} {"k":1 {"k": [1] k=1 null"""
GOOD = st.builds(Call, NAMES | st.just("look"), one('{"k":1}', '{ "k" : 2 }'))
CALLS = st.builds(Call, NAMES | one("hidden", "nothing", "Look"), one(*ARGS.split(), ""))
CLAIMS = one((), ({"cites": "c1", "quote": "a"},), ({"effect": "pay"},))
FINALS = st.builds(Final, mostly(st.just("yes"), one(" ", ""), 1), CLAIMS)
SEVERAL = st.lists(CALLS | FINALS, max_size=3).map(tuple)
ITEMS = mostly(st.tuples(GOOD), st.tuples(CALLS) | st.tuples(FINALS) | SEVERAL, 2)
WHOLE = st.builds(Reply, ITEMS)
REPLIES = mostly(
    WHOLE, st.builds(Reply, ITEMS, finish=one("length", "refusal", "filter")) | one(Reply((), finish="end")), 5
)

PASSING = mostly(st.just(0), one(SECOND, 10 * SECOND, -5 * SECOND), 3)
WORKING = mostly(st.just(0), one(SECOND, 3 * SECOND), 2)
FAULTS = mostly(st.none(), one("crash", "no reply", "cancel"), 4)
RESULTS = one("ok a", "ok b", "error a")
OUTCOMES = mostly(RESULTS, one("timeout t", "bug", "crash", "crash", "cancel"), 2)
DECISIONS = mostly(st.just("yes"), one("no", None), 2)
SELDOM = mostly(st.just(False), st.just(True), 6)
