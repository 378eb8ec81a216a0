"""What would become of a proposal: the real core judges it, as the first of a run that nothing records or executes."""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from ..core import judge
from ..core.events import Allowed, Answered, AnyEvent, Held, Observed, Rejected
from ..core.fold import FOLD, enter
from ..core.reply import Call, Final
from ..core.run import Run
from ..core.visible import visible
from ..errors import InputError
from ..runtime.agent import beginning
from .agent_file import Agent


class Verdict(NamedTuple):
    """`invalid` is a proposal that cannot be used, whatever the remit says. `rule` made it so; `sentence` says why."""

    verdict: Literal["allow", "hold", "refuse", "invalid"]
    rule: str
    sentence: str


def verdict(agent: Agent, text: str) -> Verdict:
    """Judge a call given as text: `deploy {"target": "x"}`, or `deploy({"target": "x"})` as a report has it.

    Raises InputError where there is none.
    """
    if not text.strip():
        raise InputError("no call was given", fix='write it like \'deploy {"target": "x"}\'')
    return foretell(agent, Call(*_split(text.strip(), agent.tools)))


def foretell(agent: Agent, proposal: Call | Final) -> Verdict:
    """Judge one proposal."""
    run = Run("check")
    enter(run, 1, 0)
    _take(run, beginning(agent.task or "", agent.remit, agent.tools))
    last: AnyEvent = run.began
    for event in judge.reply(run, agent.tools.specs, proposal, 1, 0):
        _take(run, event)
        last = event
    return _verdict(last, proposal)


def _take(run: Run, event: AnyEvent) -> None:
    FOLD[type(event)](run, event)


def _verdict(last: AnyEvent, proposal: Call | Final) -> Verdict:
    name = visible(proposal.tool) if isinstance(proposal, Call) else "the answer"
    if isinstance(last, Allowed):
        return Verdict("allow", last.rule, f"{name} may start, and nobody is asked")
    if isinstance(last, Held):
        return Verdict("hold", last.rule, f"{name} waits until a person has said yes to exactly this call")
    if isinstance(last, Answered):
        return Verdict("allow", "final", "the answer is accepted")
    if isinstance(last, Rejected):
        return Verdict("invalid", last.code, visible(last.text))
    assert isinstance(last, Observed), last
    rule = last.code or last.status
    sentence = visible(last.text.removeprefix(f"{rule}: "))
    return Verdict("invalid" if last.status == "invalid" else "refuse", rule, sentence)


def _split(text: str, names: Iterable[str]) -> tuple[str, str]:
    """Return the tool's name and the text of its arguments. The name is the longest one that is declared, else what
    stands before the first space or bracket."""
    known = [name for name in names if re.match(r"$|[\s({]", text.removeprefix(name)) and text.startswith(name)]
    name = max(known, key=len, default=re.split(r"[\s({]", text, maxsplit=1)[0])
    rest = text[len(name) :].strip()
    return name, rest[1:-1] if rest.startswith("(") and rest.endswith(")") else rest
