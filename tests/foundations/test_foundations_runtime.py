"""What executes: nothing runs that the caller did not allow, by its exact name."""

import pytest

from tool_runtime import RECORDS, TOOLS, Call, Observation, execute

READ_A = Call("read_completeness", "synthetic-a")
READ_B = Call("read_completeness", "synthetic-b")
BOTH = {"synthetic-a", "synthetic-b"}


@pytest.mark.parametrize(
    ("call", "text"),
    [
        pytest.param(READ_A, "synthetic-a is missing: source date", id="an empty field is a missing one"),
        pytest.param(READ_B, "synthetic-b is complete", id="a full record is complete"),
        pytest.param(
            Call("read_source_date", "synthetic-b"),
            "synthetic-b has source date 2021-04-09",
            id="the second tool reads another thing",
        ),
        pytest.param(
            Call("read_source_date", "synthetic-a"),
            "error: synthetic-a has no source date",
            id="a failure that the tool expects is an observation",
        ),
    ],
)
def test_an_allowed_call_gives_one_observation(call: Call, text: str) -> None:
    assert execute([call], BOTH) == (Observation(tool=call.name, record_id=call.record_id, text=text),)


def test_calls_run_in_order_one_observation_each() -> None:
    seen = execute([READ_B, READ_A, READ_B], BOTH)
    assert [observation.record_id for observation in seen] == ["synthetic-b", "synthetic-a", "synthetic-b"]


def test_no_call_gives_no_observation() -> None:
    assert execute([], BOTH) == ()


def test_calls_and_ids_may_come_from_an_iterator_that_is_read_once() -> None:
    assert execute(iter([READ_A, READ_B]), iter(sorted(BOTH))) == execute([READ_A, READ_B], BOTH)


@pytest.mark.parametrize("name", ["delete_record", "Read_completeness", "read_completeness ", "read_", ""])
def test_a_tool_is_known_by_its_exact_name_only(name: str) -> None:
    with pytest.raises(PermissionError) as refusal:
        execute([Call(name, "synthetic-a")], BOTH)
    assert str(refusal.value) == f"unknown tool {name!r}"


@pytest.mark.parametrize("record_id", ["synthetic-b", "Synthetic-a", "synthetic-a ", "synthetic-", "*", ""])
def test_an_id_is_allowed_by_its_exact_name_only(record_id: str) -> None:
    with pytest.raises(PermissionError) as refusal:
        execute([Call("read_completeness", record_id)], {"synthetic-a"})
    assert str(refusal.value) == f"record {record_id!r} is not allowed"


def test_no_allowed_id_means_no_call() -> None:
    with pytest.raises(PermissionError, match="is not allowed"):
        execute([READ_A], ())


def test_one_string_is_no_set_of_ids() -> None:
    with pytest.raises(PermissionError, match="'synthetic-a' is not allowed"):
        execute([READ_A], "synthetic-a and synthetic-b")


def test_an_allowed_but_unknown_record_is_a_lookup_error() -> None:
    with pytest.raises(LookupError) as mistake:
        execute([Call("read_completeness", "synthetic-z")], {"synthetic-z"})
    assert str(mistake.value) == "record 'synthetic-z' is allowed but does not exist"


def test_who_may_not_read_a_record_may_not_learn_whether_it_exists() -> None:
    with pytest.raises(PermissionError, match="'synthetic-z' is not allowed"):
        execute([Call("read_completeness", "synthetic-z")], BOTH)


def test_a_refused_batch_runs_nothing() -> None:
    ran: list[str] = []

    class Watched(str):
        """A record id that tells when a tool prints it."""

        def __format__(self, spec: str) -> str:
            ran.append(str(self))
            return str(self)

    watched = Call("read_completeness", Watched("synthetic-a"))
    with pytest.raises(PermissionError):
        execute([watched, Call("delete_record", "synthetic-a")], BOTH)
    assert ran == []
    execute([watched], BOTH)
    assert ran == ["synthetic-a"]


def test_every_tool_is_registered_under_its_own_name_and_only_reads() -> None:
    assert {name: tool.__name__ for name, tool in TOOLS.items()} == {name: name for name in TOOLS}
    before = {record_id: dict(fields) for record_id, fields in RECORDS.items()}
    execute([Call(name, record_id) for name in TOOLS for record_id in RECORDS], RECORDS)
    assert before == RECORDS
