"""A fixed workflow as a policy: predetermined steps, each a proposal or a plain function of what was observed before.

It goes through the same controller as a model: a workflow and a model-directed agent differ in the policy alone.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from ..core.context import Context
from ..core.reply import Call, Final, Reply
from ..errors import Invalid

Step: TypeAlias = Call | Final | Callable[[Context], Call | Final]


class Workflow:
    """Proposes its steps in order. A step whose call did not end `ok` ends the workflow without an answer, for the
    steps after it were written for its result; with `go_on=True` they are proposed all the same."""

    remote = False

    def __init__(self, steps: Iterable[Step], *, go_on: bool = False) -> None:
        self._steps = tuple(steps)
        self._go_on = go_on
        wrong = [
            f"steps[{n}]: must be a Call, a Final or a function, not {step!r}"
            for n, step in enumerate(self._steps)
            if type(step) not in (Call, Final) and not callable(step)
        ]
        if wrong:
            raise Invalid("workflow", wrong)

    def propose(self, context: Context) -> Call | Final | Reply:
        """Return the step of this turn."""
        if context.observations and not self._go_on and context.observations[-1].status not in ("ok", "settled"):
            last = context.observations[-1]
            return Reply((), finish="end", raw=f"step {context.turn - 1}, {last.tool}, ended {last.status}")
        if context.turn > len(self._steps):
            return Reply((), finish="end", raw=f"the workflow ended after {len(self._steps)} steps")
        step = self._steps[context.turn - 1]
        return step if isinstance(step, Call | Final) else step(context)
