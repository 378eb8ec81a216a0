"""Read a reply: the one place where what a policy said becomes proposals, or refusals with a name (G2, G4).

Nothing is repaired. Text for arguments must be JSON of an object (no text, blank text and null mean no arguments);
double-encoded, cut-off or ambiguous input is refused and returned to the policy.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Raw

from .canon import MAX_BYTES, NotCanonical, admit, clean, parse
from .events import Answered, Observed, Proposed, Rejected
from .reply import Call, Final

SHOWN = 2_000
"""Characters of unusable text that are kept and quoted."""


def read_call(call: Call, number: int) -> tuple[Proposed, Any, Observed | None]:
    """Read one call, as call `c<number>` of the run: its proposal, its arguments and, if it cannot be used, why."""
    name, tool, ref = f"c{number}", call.tool, call.id
    ref = quote(ref) if ref is not None and _is_text(ref) else None
    if type(tool) is not str or len(tool) > SHOWN or not tool.isascii():  # nearly never
        if not _is_text(tool):
            return _unusable(name, ref, quote(tool), call.args, "call.not_text", "the tool's name is not text")
        tool = quote(tool)
    try:
        raw, args = _arguments(call.args)
    except NotCanonical as error:
        return _unusable(name, ref, tool, call.args, error.code, f"the text of the arguments {error}")
    if type(args) is not dict:
        shown = raw[:80].decode(errors="replace")
        return _unusable(name, ref, tool, call.args, "args.not_object", f"the arguments are not an object but {shown}")
    return Proposed(call=name, tool=tool, args=Raw(raw), ref=ref), args, None


def _arguments(args: Any) -> tuple[bytes, Any]:
    if isinstance(args, str) and args and not args.isspace():
        raw, value = parse(args)
        return (b"{}", {}) if value is None else (raw, value)
    if args is None or isinstance(args, str):
        return b"{}", {}
    return admit(args if type(args) is dict else dict(args) if isinstance(args, Mapping) else args)


def _unusable(call: str, ref: str | None, tool: str, args: Any, code: str, why: str) -> tuple[Proposed, None, Observed]:
    return Proposed(call=call, tool=tool, text=quote(args), ref=ref), None, invalid(call, code, why)


def invalid(call: str, code: str, text: str) -> Observed:
    """The observation of a call that could not be used."""
    return Observed(call=call, status="invalid", code=code, text=f"{code}: {text}")


def read_final(final: Final, finish: str) -> Answered | Rejected:
    """Read a final answer: non-empty text, whole, with claims of a known form."""
    if not _is_text(final.text):
        return Rejected(code="final.not_text", text="the answer is not text")
    if not final.text.strip():
        return Rejected(code="final.empty", text="the answer is empty")
    if finish == "length":
        return Rejected(code="final.truncated", text="the answer was cut off at the reply's length limit")
    if len(final.text) > MAX_BYTES:
        return Rejected(code="final.too_large", text=f"{len(final.text)} characters; the limit is {MAX_BYTES}")
    claims: object = final.claims
    if not isinstance(claims, list | tuple) or not all(_is_claim(claim) for claim in claims):
        return Rejected(code="final.claims", text='a claim must be {"cites": CALL, "quote": TEXT} or {"effect": TOOL}')
    kept = [{clean(key): clean(value) for key, value in claim.items()} for claim in claims]
    return Answered(text=clean(final.text), claims=kept)


def _is_claim(claim: object) -> bool:
    return (
        isinstance(claim, Mapping)
        and set(claim) in ({"cites", "quote"}, {"effect"})
        and all(value and _is_text(value) and len(value) <= MAX_BYTES for value in claim.values())
    )


def shape(items: Sequence[Call | Final], parallel: str) -> tuple[str, str] | None:
    """Return why several items, none, or an only call in the last turn cannot be used: (code, sentence), or None."""
    calls = sum(isinstance(item, Call) for item in items)
    finals = len(items) - calls
    if calls and finals:
        return "reply.call_beside_final", "a call beside a final answer is ambiguous: send one or the other"
    if finals > 1:
        return "reply.several_finals", f"{finals} final answers: send one"
    if calls > 1 and parallel == "refuse":
        return "reply.several_calls", f"{calls} calls in one reply: send one"
    if calls:
        return "call.last_turn", "this was the last turn, kept for the final answer: no tool may be called"
    if not finals:
        return "reply.empty", "the reply has neither a call nor a final answer"
    return None


def _is_text(value: object) -> bool:
    """Is this text that a log can hold? The types are a policy's promise, and no promise is trusted."""
    if not isinstance(value, str):
        return False
    try:
        value.isascii() or value.encode()
    except UnicodeEncodeError:
        return False
    return True


def quote(value: Any) -> str:
    """Return what was sent, as text that can be recorded: at most SHOWN characters, surrogates escaped."""
    try:
        text = value if isinstance(value, str) else repr(value)
    except (ValueError, RecursionError):  # too many digits, or too deep, to be written out
        text = f"a {type(value).__name__} that cannot be shown"
    return clean(text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)")
