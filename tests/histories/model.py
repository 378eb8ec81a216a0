"""What must come out of a history, said again from the contract alone and without the engine: one call at a time."""

import json
from typing import Any

from tests.histories.worlds import EFFECTS


class Model:
    """`state` is the open call's; `due` the end that is due, of which the first stands; `late`: no time is left."""

    def __init__(self, remit: dict[str, Any]) -> None:
        self.remit, self.late, self.fresh = remit, False, 0
        self.turns = self.invalid = self.refused = 0
        self.started, self.seen, self.pairs = list[str](), list[str](), list[Any]()
        self.tool = self.state = self.due = ""
        self.k: object = None

    def close(self, status: str, end: str = "") -> None:
        self.seen.append(status)
        if status in ("refused", "denied"):
            self.refused += 1
            end = "denied" if self.remit["on_refusal"] == "stop" or self.refused > self.remit["max_refusals"] else ""
        self.state, self.due = "", self.due or end

    def ask(self, retry: bool) -> None:
        self.due = "budget_exhausted" if self.late or self.turns - retry >= self.remit["turns"] else ""
        self.turns += not (retry or self.due)

    def reply(self, calls: list[tuple[str, str]], finals: list[str], finish: str) -> None:
        one, last = len(calls) + len(finals) == 1, self.remit["last_turn"] and self.turns == self.remit["turns"]
        if finish in ("refusal", "filter", "end"):
            self.seen += ["not_run"] * len(calls)
            self.due = "no_answer" if finish == "end" else "declined"
        elif one and finals and finals[0].strip() and finish != "length":
            self.due = "complete"
        elif one and calls and not last and self.fits(*calls[0], finish == "length"):
            self.judge(approved=False, moved=False)
        else:
            self.seen += ["invalid"] * len(calls)
            self.invalid += 1
            self.due = "invalid_proposal" if self.invalid >= self.remit["max_invalid"] else ""

    def fits(self, tool: str, text: str, cut: bool) -> bool:
        try:
            args = {} if text in ("", "null") else json.loads(text)
        except ValueError:
            return False
        self.tool, self.k = tool, args.get("k") if type(args) is dict else None
        valid = type(args) is dict and (tool not in self.remit["tools"] or (len(args) == 1 and type(self.k) is int))
        return tool in EFFECTS and valid and not (cut and EFFECTS[tool] == "write")

    def judge(self, approved: bool, moved: bool) -> None:
        scope, gate = self.remit["tools"].get(self.tool, ()), self.remit["gates"].get(self.tool, self.tool == "ship")
        if scope and self.k == 13:  # where every guard breaks
            self.close("not_run", "failed")
        elif self.k in scope and self.spent():
            self.close("not_run", "budget_exhausted")
        elif self.k not in scope or gate == "deny" or moved:
            self.close("refused")
        else:
            self.state = "approved" if approved else "held" if gate in ("hold", True) else "allowed"

    def spent(self) -> bool:
        mine, limit = self.started.count(self.tool), self.remit["calls_per_tool"].get(self.tool, 99)
        return self.late or len(self.started) >= self.remit["calls"] or mine >= limit

    def ran(self, status: str, text: str) -> None:
        self.pairs.append((self.tool, self.k, status, text))
        pairs, n, write = self.pairs, self.remit["threshold"], EFFECTS[self.tool] == "write"
        circle = any(pairs[-n * size :] == pairs[-size:] * n for size in range(1, 7))
        again = 0 if write and status == "ok" else pairs[self.fresh :].count(pairs[-1])
        stuck = pairs.count(pairs[-1]) >= n if self.remit["plain"] else circle or again >= max(n - (status != "ok"), 2)
        self.fresh = len(pairs) if write and status == "ok" else self.fresh
        self.close(status, "stuck" if stuck else "")
