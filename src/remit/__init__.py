"""remit: the part of an AI agent that its owner owns. The public names, each loaded when it is first used."""

__version__ = "0.1.0"

TYPE_CHECKING = False  # as in typing, whose import would double the time that `remit --version` takes

if TYPE_CHECKING:
    from typing import Any

    from .core.context import Context as Context
    from .core.remit import Remit as Remit
    from .core.reply import Call as Call
    from .core.reply import Final as Final
    from .core.reply import Reply as Reply
    from .errors import RemitError as RemitError
    from .errors import ToolError as ToolError
    from .models.scripted import ScriptedPolicy as ScriptedPolicy
    from .models.workflow import Workflow as Workflow
    from .runtime.agent import Outcome as Outcome
    from .runtime.agent import arun as arun
    from .runtime.agent import run as run
    from .stores.opening import open_store as open_store
    from .tools.toolbox import Toolbox as Toolbox

_HOMES = {
    "Call": "core.reply", "Context": "core.context", "Final": "core.reply", "Outcome": "runtime.agent",
    "Remit": "core.remit", "RemitError": "errors", "Reply": "core.reply", "ScriptedPolicy": "models.scripted",
    "ToolError": "errors", "Toolbox": "tools.toolbox", "Workflow": "models.workflow", "arun": "runtime.agent",
    "open_store": "stores.opening", "run": "runtime.agent",
}  # fmt: skip

__all__ = [  # noqa: RUF022 - in the order of use
    "Remit", "Toolbox", "ToolError", "ScriptedPolicy", "Workflow", "Call", "Final", "Reply", "Context", "run", "arun",
    "Outcome", "open_store", "RemitError",
]  # fmt: skip


def __getattr__(name: str) -> "Any":
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'remit' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
