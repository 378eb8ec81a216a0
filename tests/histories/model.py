"""What must come out of a history, said again from the contract alone and without the engine."""

import json
from typing import Any

TOOLS: dict[str, Any] = {"look": "read", "send": "egress", "pay": "write", "ship": "write", "hidden": "read"}
"""Each takes one integer `k`; `ship` is consequential; the guards break where `k` is 13."""


class Model:
    def __init__(self, remit: dict[str, Any], now: int) -> None:
        self.remit, self.began, self.now = remit, now, now
        self.turns = self.invalid = self.refused = self.us = 0
        self.started, self.seen = list[str](), list[str]()
        self.pairs, self.since = list[tuple[str, ...]](), 0  # since: where those after the last good write begin
        self.tool, self.args, self.state, self.due = "", "", "", ""

    def end(self, status: str) -> None:
        self.due = self.due or status

    def close(self, status: str) -> None:
        self.seen.append(status)
        self.state = ""
        if status in ("refused", "denied"):
            self.refused += 1
            if self.remit["on_refusal"] == "stop" or self.refused > self.remit["max_refusals"]:
                self.end("denied")

    def late(self) -> bool:
        return self.us >= self.remit["seconds"] * 1e6 or self.now - self.began >= self.remit["wall_seconds"] * 1e6

    def ask(self, retry: bool) -> None:
        if self.late() or (self.turns >= self.remit["turns"] and not retry):
            self.end("budget_exhausted")

    def reply(self, calls: list[tuple[str, str]], finals: list[str], finish: str) -> None:
        self.turns += 1
        last = self.remit["last_turn"] and self.turns == self.remit["turns"]
        if finish in ("refusal", "filter", "end"):
            self.seen += ["not_run"] * len(calls)
            self.end("no_answer" if finish == "end" else "declined")
        elif len(calls) + len(finals) == 1 and finals and finals[0].strip() and finish != "length":
            self.end("complete")
        elif len(calls) + len(finals) == 1 and calls and not last and self.usable(*calls[0], finish):
            self.tool, self.args = calls[0]
            self.judge(False, False)
        else:
            self.seen += ["invalid"] * len(calls)
            self.invalid += 1
            if self.invalid >= self.remit["max_invalid"]:
                self.end("invalid_proposal")

    def usable(self, tool: str, text: str, finish: str) -> bool:
        try:
            args = json.loads(text or "{}")
        except ValueError:
            return False
        whole = finish != "length" or TOOLS.get(tool) != "write"
        fits = isinstance(args, dict) and (tool not in self.remit["tools"] or [type(v) for v in args.values()] == [int])
        return whole and fits and tool in TOOLS

    def judge(self, approved: bool, moved: bool) -> None:
        scope, gate = self.remit["tools"].get(self.tool), self.remit["gates"].get(self.tool, "")
        if scope and json.loads(self.args)["k"] == 13:
            self.close("not_run")
            self.end("failed")
        elif scope is None or (isinstance(scope, dict) and json.loads(self.args)["k"] not in scope["k"]):
            self.close("refused")
        elif self.affords() and (gate == "deny" or (approved and moved)):
            self.close("refused")
        elif self.state != "":
            self.state = "approved" if approved else "held" if gate == "hold" or (self.tool == "ship" and not gate) else "allowed"
