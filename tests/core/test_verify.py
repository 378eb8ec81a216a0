"""Whatever is done to a log that was whole is found, and the first record it was done to is named (G9)."""

from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from remit import Call, Final, Remit, Reply, ScriptedPolicy, Toolbox, run
from remit.core.canon import GENESIS, chain
from remit.core.events import Record
from remit.core.verify import Damage, Kind, Verified, verify
from remit.errors import LogDamaged
from remit.stores.memory import MemoryStore

RUN = "01test"


class Ticking:
    """A clock that goes on by one at each look."""

    def __init__(self) -> None:
        self.now = count(1_754_000_000_000_000).__next__
        self.tick = count().__next__


def recorded() -> list[Record]:
    """The log of a run of nine calls: ten records."""
    tools = Toolbox()

    @tools.read
    def look(n: int) -> str:
        return f"seen {n} \u00fc"

    script: list[Call | Final | Reply] = [Call("look", {"n": n}) for n in range(9)]
    policy = ScriptedPolicy([*script, Final("done")])
    remit = Remit(tools={"look": "any"})
    store = MemoryStore()
    run("look", policy=policy, remit=remit, tools=tools, store=store, clock=Ticking(), run_id=RUN)
    return list(store.read(RUN))


LOG = recorded()
LAST = len(LOG)
HEAD = (LAST, LOG[-1].digest)


def rechained(log: list[Record]) -> list[Record]:
    """The log as somebody would have written it: every digest fits."""
    made, before = [], GENESIS
    for seq, record in enumerate(log, 1):
        before = chain(before, RUN, seq, record.at, record.events)
        made.append(Record(RUN, seq, record.at, record.events, before))
    return made


def change(seq: int, **fields: object) -> list[Record]:
    return [replace(record, **fields) if record.seq == seq else record for record in LOG]


def without(*seqs: int) -> list[Record]:
    return [record for record in LOG if record.seq not in seqs]


def ordered(*seqs: int) -> list[Record]:
    """The records in this order, then the rest of the log."""
    return [*(LOG[seq - 1] for seq in seqs), *LOG[max(seqs) :]]


def test_the_log_of_a_run_is_sound() -> None:
    assert LAST == 10
    found = verify(RUN, LOG, HEAD)
    assert found == Verified(RUN, LAST, LAST, LAST, ())
    assert found.sound
    assert list(found.lines()) == [f"{RUN}: sound, 10 records"]


def test_nothing_is_sound_where_nothing_was_written() -> None:
    assert verify(RUN, []) == Verified(RUN, 0, 0, 0, ())
    assert list(verify(RUN, []).lines()) == [f"{RUN}: sound, 0 records"]


TURNED = LOG[4].digest[:-1] + bytes([LOG[4].digest[-1] ^ 1])
NONSENSE = replace(LOG[4], events=b'[{"event":"slept"}]')
EDITED = "it or its digest was changed: they do not fit"
Brief = tuple[int, int, Kind, str]


@pytest.mark.parametrize(
    ("log", "good", "before", "damage"),
    [
        pytest.param(change(5, events=LOG[5].events), 9, 4, [(5, 5, "edited", EDITED)], id="other events"),
        pytest.param(change(5, at=LOG[4].at + 1), 9, 4, [(5, 5, "edited", EDITED)], id="another time"),
        pytest.param(change(5, digest=TURNED), 9, 4, [(5, 5, "edited", EDITED)], id="another digest"),
        pytest.param(change(5, digest=b""), 9, 4, [(5, 5, "edited", EDITED)], id="no digest"),
        pytest.param(change(1, digest=TURNED), 9, 0, [(1, 1, "edited", EDITED)], id="the first digest"),
        pytest.param(change(10, digest=TURNED), 9, 9, [(10, 10, "edited", EDITED)], id="the last digest"),
        pytest.param(
            change(5, events=bytes(40)),
            9,
            4,
            [
                (5, 5, "edited", EDITED),
                (5, 5, "undecodable", "what it says cannot be read: JSON is malformed: invalid character (byte 0)"),
            ],
            id="zeroed events",
        ),
        pytest.param(
            [LOG[0], LOG[1], *(replace(record, events=b"[]") for record in LOG[2:6]), *LOG[6:]],
            6,
            2,
            [(3, 6, "edited", EDITED)],
            id="several edited in a row are told once",
        ),
        pytest.param(without(5), 8, 4, [(5, 5, "missing", "missing")], id="one removed"),
        pytest.param(without(1), 8, 0, [(1, 1, "missing", "missing")], id="the first removed"),
        pytest.param(without(3, 4, 5), 6, 2, [(3, 5, "missing", "missing")], id="three removed"),
        pytest.param(
            without(3, 7), 6, 2, [(3, 3, "missing", "missing"), (7, 7, "missing", "missing")], id="two removed apart"
        ),
        pytest.param(
            [replace(record, seq=n) for n, record in enumerate(without(5), 1)],
            4,
            4,
            [(5, 9, "edited", EDITED)],
            id="one removed and the rest renumbered",
        ),
        pytest.param(ordered(1, 2, 2), 10, 2, [(2, 2, "repeated", "stands there more than once")], id="one twice"),
        pytest.param(
            ordered(1, 3, 2), 9, 1, [(2, 2, "reordered", "record 3 stands in its place")], id="two neighbours swapped"
        ),
        pytest.param(
            ordered(1, 5, 3, 4, 2),
            7,
            1,
            [
                (2, 2, "reordered", "record 5 stands in its place"),
                (2, 2, "reordered", "stands after record 4"),
            ],
            id="two swapped",
        ),
        pytest.param(
            ordered(1, 3, 4, 2, 5), 8, 1, [(2, 2, "reordered", "stands after record 4")], id="one moved backwards"
        ),
        pytest.param(
            [LOG[5], *LOG[:5], *LOG[6:]], 9, 0, [(1, 1, "reordered", "record 6 stands in its place")], id="one moved up"
        ),
        pytest.param(
            [LOG[0], replace(LOG[2], seq=2), replace(LOG[1], seq=3), *LOG[3:]],
            7,
            1,
            [(2, 4, "edited", EDITED)],
            id="the contents of two swapped, under their old numbers",
        ),
        pytest.param(
            rechained([*LOG[:4], NONSENSE, *LOG[5:]]),
            10,
            5,
            [(5, 5, "undecodable", "what it says cannot be read: Invalid value 'slept' - at `$[0].event`")],
            id="an event that this version does not know",
        ),
        pytest.param(
            rechained([replace(LOG[0], events=LOG[0].events.replace(b'"turns":20', b'"turns":-1')), *LOG[1:]]),
            10,
            1,
            [
                (
                    1,
                    1,
                    "undecodable",
                    "its remit cannot be read: turns: must be a whole number of at least 1, not -1",
                )
            ],
            id="a remit that cannot be",
        ),
        pytest.param(
            rechained([*LOG, LOG[-1]]),
            11,
            11,
            [(11, 11, "illegal", "`observed` cannot happen while call c9 is not open")],
            id="a record after the end, though every digest fits",
        ),
    ],
)  # fmt: skip
def test_damage_is_named(log: list[Record], good: int, before: int, damage: list[Brief]) -> None:
    found = verify(RUN, log)
    assert [tuple(harm) for harm in found.damage] == damage
    assert (found.records, found.good, found.before, found.sound) == (len(log), good, before, False)


@pytest.mark.parametrize(
    ("log", "witness", "damage"),
    [
        pytest.param(LOG, None, [], id="without a witness the end is not in question"),
        pytest.param(LOG, (4, LOG[3].digest), [], id="a witness that lags is normal"),
        pytest.param(LOG[:7], HEAD, [(8, 10, "truncated")], id="the end is gone"),
        pytest.param([], HEAD, [(1, 10, "truncated")], id="all is gone"),
        pytest.param(LOG, (10, LOG[8].digest), [(10, 10, "rewritten")], id="the last record is another"),
        pytest.param(
            rechained(change(3, at=0)), (5, LOG[4].digest), [(5, 5, "rewritten")], id="written anew from the third on"
        ),
        pytest.param(without(5), (5, LOG[4].digest), [(5, 5, "missing")], id="what it knows is missing"),
    ],
)
def test_a_witness_tells_what_the_chain_cannot(
    log: list[Record], witness: tuple[int, bytes] | None, damage: list[tuple[int, int, str]]
) -> None:
    assert [harm[:3] for harm in verify(RUN, log, witness).damage] == damage


def test_another_runs_log_is_not_this_runs() -> None:
    assert verify("02other", LOG).damage == (Damage(1, 10, "edited", EDITED),)


def test_a_file_that_cannot_be_read_on_is_damage() -> None:
    def broken() -> Iterator[Record]:
        yield from LOG[:3]
        raise LogDamaged("the store x is damaged: malformed", fix="copy it")

    damage = Damage(4, 4, "unreadable", "cannot be read, nor any after it: the store x is damaged: malformed")
    assert verify(RUN, broken(), HEAD) == Verified(RUN, 3, 3, 3, (damage,))


def test_a_finding_is_told_in_lines_that_hide_nothing() -> None:
    assert list(verify(RUN, rechained(LOG[:9])[:3] + LOG[4:8], HEAD).lines()) == [
        f"{RUN}: damaged; of 7 records 3 good before the damage, 3 after it",
        "  record 4: missing",
        "  records 9 to 10: missing from the end: they had been written",
    ]
    hostile = rechained([replace(LOG[0], events=b'[{"event":"\\u001b[2J\\n"}]')])
    assert list(verify(RUN, hostile).lines())[1:] == [
        r"  record 1: what it says cannot be read: Invalid value '\u001b[2J\u000a' - at `$[0].event`"
    ]


# Any single act of damage

SEQS = st.integers(1, LAST)


def first(log: list[Record], witness: tuple[int, bytes] | None = None) -> int | None:
    damage = verify(RUN, log, witness).damage
    return damage[0].seq if damage else None


@given(SEQS, st.sampled_from(["events", "digest"]), st.integers(0, 1 << 16), st.integers(0, 7))
def test_any_flipped_bit_is_found(seq: int, field: str, place: int, bit: int) -> None:
    data = bytearray(getattr(LOG[seq - 1], field))
    data[place % len(data)] ^= 1 << bit
    found = verify(RUN, change(seq, **{field: bytes(data)}))
    assert found.damage[0][:3] == (seq, seq, "edited")
    assert (found.before, found.good) == (seq - 1, LAST - 1)


@given(SEQS, st.integers(-(2**62), 2**62).filter(bool))
def test_any_other_time_is_found(seq: int, by: int) -> None:
    assert first(change(seq, at=LOG[seq - 1].at + by)) == seq


@given(SEQS, st.binary(max_size=60))
def test_any_other_events_are_found(seq: int, events: bytes) -> None:
    assert first(change(seq, events=events)) == seq


@given(st.sets(SEQS, min_size=1))
def test_any_removed_records_are_found(seqs: set[int]) -> None:
    assert first(without(*seqs), HEAD) == min(seqs)
    within = min(seqs) <= max((record.seq for record in without(*seqs)), default=0)
    assert first(without(*seqs)) == (min(seqs) if within else None)  # only a witness knows where the end was


@given(st.tuples(SEQS, SEQS).filter(lambda two: two[0] < two[1]))
def test_any_two_swapped_records_are_found(two: tuple[int, int]) -> None:
    log = LOG.copy()
    log[two[0] - 1], log[two[1] - 1] = LOG[two[1] - 1], LOG[two[0] - 1]
    assert first(log) == first(log, HEAD) == two[0]


@given(SEQS, st.integers(1, LAST + 1))
def test_any_repeated_record_is_found_wherever_it_stands(seq: int, place: int) -> None:
    log = [*LOG[: place - 1], LOG[seq - 1], *LOG[place - 1 :]]
    assert first(log) == first(log, HEAD) == min(seq, place)


@given(st.permutations(LOG))
def test_any_other_order_is_found(log: list[Record]) -> None:
    wrong = [place for place, record in enumerate(log, 1) if record.seq != place]
    assert first(log) == first(log, HEAD) == (wrong[0] if wrong else None)


@given(st.lists(st.sampled_from(LOG), max_size=2 * LAST))
def test_only_the_log_itself_is_sound(log: list[Record]) -> None:
    assert verify(RUN, log, HEAD).sound == (log == LOG)
    assert verify(RUN, log).sound == (log == LOG[: len(log)])
