"""The core without a shell: a log in a list, and a state that for every step is folded from that log again."""

from collections.abc import Callable, Iterable

import msgspec

from remit import Remit
from remit.core import judge
from remit.core.canon import GENESIS, chain, encode
from remit.core.events import AnyEvent, Began, Record, decode_events
from remit.core.fold import FOLD, enter, fold
from remit.core.recover import recover
from remit.core.run import Run
from remit.core.spec import ToolSpec

Decide = Callable[[Run], Iterable[AnyEvent]]


class GuardBroke(Exception):
    """A guard broke, as it was told to."""


class History:
    """One run's records. Nothing else outlives a step."""

    def __init__(self, remit: Remit, tools: dict[str, ToolSpec], now: int) -> None:
        self.records: list[Record] = []
        declared = {name: tools[name].declared for name in remit.tools}
        document = msgspec.Raw(encode(remit.document))
        self.commit(lambda run: [Began(task="t", remit=document, digest=remit.digest(tools), tools=declared)], now)

    @property
    def run(self) -> Run:
        """The state, from the log alone."""
        return fold("r1", self.records)

    @property
    def events(self) -> list[AnyEvent]:
        """All that the log holds."""
        return [event for record in self.records for event in decode_events(record.events)]

    def commit(self, decide: Decide, now: int) -> list[AnyEvent]:
        """Start from the log; take what is decided into the state, each event before the next is asked for; append it
        as one record. What the log then gives back must be the live state (G8)."""
        live, taken = self.run, list[AnyEvent]()
        enter(live, len(self.records) + 1, now)
        try:
            _take(live, decide(live), taken)
        except GuardBroke as error:
            _take(live, judge.fail(live, str(error)), taken)
        if taken:
            data, before = msgspec.json.encode(taken), self.records[-1].digest if self.records else GENESIS
            digest = chain(before, "r1", live.seq, live.at, data)
            self.records.append(Record("r1", live.seq, live.at, data, digest))
            assert self.run == live
        return taken

    def crash(self, now: int) -> None:
        """The process died, and another takes the log over; that it died at once again changes nothing."""
        assert self.commit(recover, now)
        assert not self.commit(recover, now)


def _take(run: Run, events: Iterable[AnyEvent], taken: list[AnyEvent]) -> None:
    for event in events:
        FOLD[type(event)](run, event)
        taken.append(event)
