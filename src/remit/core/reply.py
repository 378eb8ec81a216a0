"""What a policy may say: a reply of calls and finals. Nothing in it is trusted; parse.py reads it."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from .events import Finish, Usage


class Call(msgspec.Struct, frozen=True):
    """A proposal to run one tool. `args` is an object, or JSON text of one; `id` is the policy's own id of the call."""

    tool: str
    args: Mapping[str, Any] | str | None = None
    id: str | None = None


class Final(msgspec.Struct, frozen=True):
    """A proposal to end with this answer. A claim is `{"cites": CALL, "quote": TEXT}` or `{"effect": TOOL}`."""

    text: str
    claims: Sequence[Mapping[str, str]] = ()


class Reply(msgspec.Struct, frozen=True):
    """All that came back from one request: proposals, what is recorded of the raw reply, usage, why it finished."""

    items: Sequence[Call | Final] = ()
    raw: Any = None
    usage: Usage | None = None
    finish: Finish = "stop"


Proposal: TypeAlias = Reply | Call | Final
