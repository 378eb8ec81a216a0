"""A script as a policy: the N-th turn proposes the N-th item, so that the log alone remembers its position."""

from collections.abc import Iterable

from ..core.context import Context
from ..core.reply import Call, Final, Reply
from ..errors import Invalid


class ScriptedPolicy:
    """Proposes the items of a script in order; when they ran out, it ends without a final (`no_answer`)."""

    remote = False

    def __init__(self, script: Iterable[Call | Final | Reply]) -> None:
        self._script = tuple(script)
        wrong = [
            f"script[{n}]: must be a Call, a Final or a Reply, not {item!r}"
            for n, item in enumerate(self._script)
            if type(item) not in (Call, Final, Reply)
        ]
        if wrong:
            raise Invalid("scripted policy", wrong)

    def propose(self, context: Context) -> Call | Final | Reply:
        """Return the item of this turn."""
        if context.turn <= len(self._script):
            return self._script[context.turn - 1]
        return Reply((), finish="end", raw=f"the script ended after {len(self._script)} items")
