"""What must come out of a history, said again from the contract alone and without the engine: one call at a time."""

import json
from typing import Any

EFFECTS: dict[str, Any] = {"look": "read", "send": "egress", "pay": "write", "ship": "write", "hidden": "read"}
ENDS = {"refusal": "declined", "filter": "declined", "end": "no_answer"}
MANY = 10**9


class Model:
    """Each tool takes one integer `k`, and every guard breaks where it is 13. Only `ship` is consequential."""

    def __init__(self, remit: dict[str, Any], now: int) -> None:
        self.remit, self.began, self.now = remit, now, now
        self.turns = self.invalid = self.refused = self.us = self.fresh = 0
        self.started, self.seen, self.pairs = list[str](), list[str](), list[tuple[Any, ...]]()
        self.tool, self.k = "", None
        self.state = self.due = ""  # of the open call; the end that is due, of which the first stands

    def close(self, status: str, end: str = "") -> None:
        self.seen.append(status)
        self.state = ""
        if status in ("refused", "denied"):
            self.refused += 1
            over = self.remit["on_refusal"] == "stop" or self.refused > self.remit["max_refusals"]
            end = "denied" if over else ""
        self.due = "failed" if end == "failed" else self.due or end

    def late(self) -> bool:
        waited = self.now - self.began >= self.remit["wall_seconds"] * 1e6
        return waited or bool(self.us >= self.remit["seconds"] * 1e6)

    def ask(self, retry: bool) -> None:
        self.due = "budget_exhausted" if self.late() or self.turns - retry >= self.remit["turns"] else ""
        self.turns += not (retry or self.due)

    def reply(self, calls: list[tuple[str, str]], finals: list[str], finish: str) -> None:
        one = len(calls) + len(finals) == 1 and not (calls and self.remit["last_turn"] == self.turns)
        if finish in ENDS:
            self.seen += ["not_run"] * len(calls)
            self.due = ENDS[finish]
        elif one and finals and finals[0].strip() and finish != "length":
            self.due = "complete"
        elif one and calls and self.usable(*calls[0], finish):
            self.judge(approved=False, moved=False)
        else:
            self.seen += ["invalid"] * len(calls)
            self.invalid += 1
            self.due = "invalid_proposal" if self.invalid >= self.remit["max_invalid"] else ""

    def usable(self, tool: str, text: str, finish: str) -> bool:
        try:
            args = {} if text in ("", "null") else json.loads(text)
        except ValueError:
            return False
        self.tool, self.k = tool, args.get("k") if isinstance(args, dict) else None
        fits = isinstance(args, dict) and (tool not in self.remit["tools"] or (type(self.k) is int and len(args) == 1))
        return fits and tool in EFFECTS and not (finish == "length" and EFFECTS[tool] == "write")

    def judge(self, approved: bool, moved: bool) -> None:
        scope, gate = self.remit["tools"].get(self.tool), self.remit["gates"].get(self.tool)
        if scope and self.k == 13:
            self.close("not_run", "failed")
        elif not scope or self.k not in scope:
            self.close("refused")
        elif self.spent():
            self.close("not_run", "budget_exhausted")
        elif gate == "deny" or moved:
            self.close("refused")
        else:
            waits = gate == "hold" or (self.tool == "ship" and gate is None)
            self.state = "approved" if approved else "held" if waits else "allowed"

    def spent(self) -> bool:
        limit = self.remit["calls_per_tool"].get(self.tool, MANY)
        return self.late() or len(self.started) >= self.remit["calls"] or self.started.count(self.tool) >= limit

    def start(self, again: bool) -> None:
        if again and self.spent():
            self.close("not_run", "budget_exhausted")
        else:
            self.started.append(self.tool)

    def crash(self) -> None:
        if EFFECTS[self.tool] == "write":
            self.state = "uncertain"
        elif self.state == "approved":
            self.ran("interrupted", "the process ended while it ran")

    def cancel(self, running: bool) -> None:
        self.due = self.due if self.due not in ("", "complete") else "cancelled"
        if running and EFFECTS[self.tool] == "write":
            self.state = "uncertain"
        elif running:
            self.ran("interrupted", "cancelled by somebody while it ran")
        elif self.state not in ("", "uncertain"):
            self.close("not_run")

    def ran(self, status: str, text: str) -> None:
        self.pairs.append((self.tool, self.k, status, text))
        n, write = self.remit["threshold"], EFFECTS[self.tool] == "write"
        same = 0 if write else self.pairs[self.fresh :].count(self.pairs[-1])
        stuck = same >= max(n - (status != "ok"), 2) or any(
            self.pairs[-n * i :] == self.pairs[-i:] * n for i in range(1, 7)
        )
        if self.remit["plain"]:
            stuck = self.pairs.count(self.pairs[-1]) >= n
        self.fresh = len(self.pairs) if write and status == "ok" else self.fresh
        self.close(status, "stuck" if stuck else "")
