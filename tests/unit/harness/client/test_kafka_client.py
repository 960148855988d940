"""What an operation comes to, whatever the library: told from a driver by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from harness.client.base import Completion, Invocation
from harness.client.driver import (
    Driver,
    DriverError,
    Place,
    Polled,
    Positions,
    Read,
    Stored,
    ToStore,
    Whole,
    place_of,
)
from harness.client.kafka_client import KafkaClient
from harness.client.outcomes import Mode
from harness.client.payload import encode
from harness.client.traffic import Traffic

REFUSED = DriverError("NOT_ENOUGH_REPLICAS", "Broker: Not enough in-sync replicas")
UNSENT = DriverError("_QUEUE_FULL", "Local: Queue full", harmless=True)
LATE = DriverError("_MSG_TIMED_OUT", "Local: Message timed out")


SAFE = Mode("all", idempotence=True, retries=True)
NOW_MS = 1_700_000_000_000


class FakeDriver:
    """Answers from lists, in order; an error in a list is raised."""

    partitioner = "murmur2"

    def __init__(self, mode: Mode = SAFE) -> None:
        self.mode = mode
        self.counts: list[int | DriverError] = []
        self.produced: list[tuple[str, bytes | None, bytes | None]] = []
        self.stamps: list[int] = []
        self.assigned: list[dict[str, int | None]] = []
        self.stored: list[Stored | DriverError] = []
        self.polls: list[Polled] = []
        self.reads: list[list[Read] | DriverError] = []
        self.changes: list[DriverError | None] = []
        self.described: list[dict[str, Any] | DriverError | None] = []
        self.assign_error: DriverError | None = None
        self.closed = 0

    async def open(self) -> None: ...

    async def close(self) -> None:
        self.closed += 1

    async def produce(self, records: Sequence[ToStore]) -> list[Stored | DriverError]:
        self.produced += [(place.key, key, payload) for place, key, payload, _ in records]
        self.stamps += [record.timestamp_ms for record in records]
        return [self.stored.pop(0) for _ in records]

    def traffic(self) -> Traffic:
        return Traffic(requests_max=self.closed + 1)

    async def assign(self, positions: Positions) -> None:
        if self.assign_error is not None:
            raise self.assign_error
        self.assigned.append(dict(positions))

    async def poll(self) -> Polled:
        return self.polls.pop(0)

    async def read_all(self, place: Place) -> Whole:
        read: list[Read] = _answer(self.reads)
        return Whole(read, 9)

    async def end_offsets(self, keys: Sequence[str]) -> dict[str, dict[str, int]]:
        return {"high": dict.fromkeys(keys, 3)}

    async def create_topic(
        self, topic: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        _answer(self.changes)

    async def create_partitions(self, topic: str, count: int) -> None:
        _answer(self.changes)

    async def partitions_of(self, topic: str) -> int:
        count: int = _answer(self.counts)
        return count

    async def delete_topic(self, topic: str) -> None:
        _answer(self.changes)

    async def alter_topic(self, topic: str, configs: Mapping[str, str | None]) -> None:
        _answer(self.changes)

    async def describe_topic(self, topic: str) -> dict[str, Any] | None:
        described: dict[str, Any] | None = _answer(self.described)
        return described


def test_traffic_is_the_drivers() -> None:
    assert KafkaClient(FakeDriver()).traffic().requests_max == 1


def _answer(answers: list[Any]) -> Any:
    answer = answers.pop(0)
    if isinstance(answer, DriverError):
        raise answer
    return answer


def _check(driver: FakeDriver) -> Driver:
    return driver


def record(key: str, offset: int, value: int, name: str | None = None) -> Read:
    place = key if name is None else f"{key}/{name}"
    return Read(offset, None if name is None else name.encode(), encode(place, value))


async def do(driver: FakeDriver, f: str, value: Any = None) -> Completion:
    return await KafkaClient(driver, lambda: NOW_MS).invoke(Invocation(f, value))


async def test_a_send_is_told_with_its_offset_and_node() -> None:
    driver = FakeDriver()
    driver.stored = [Stored(5, "n2")]
    asked = [["send", "t-1", 9]]
    assert await do(driver, "send", asked) == Completion(
        "ok", [["send", "t-1", [5, 9]]], None, "n2", [NOW_MS]
    )
    assert driver.produced == [("t-1", None, encode("t-1", 9))]
    assert asked == [["send", "t-1", 9]], "what was asked is the caller's, and stays"


async def test_an_acknowledgement_may_come_without_an_offset() -> None:
    driver = FakeDriver(Mode("0", idempotence=False, retries=True))
    driver.stored = [Stored(None)]
    assert (await do(driver, "send", [["send", "t-1", 9]])).value == [["send", "t-1", [None, 9]]]


async def test_a_copy_the_broker_knows_was_written_before() -> None:
    driver = FakeDriver()
    driver.stored = [DriverError("DUPLICATE_SEQUENCE_NUMBER")]
    told = await do(driver, "send", [["send", "t-1", 9]])
    assert told == Completion("ok", [["send", "t-1", [None, 9]]], timestamps=[NOW_MS])


async def test_a_refusal_is_not_certain_where_the_library_retries() -> None:
    driver = FakeDriver()
    driver.stored = [REFUSED]
    told = await do(driver, "send", [["send", "t-1", 9]])
    assert (told.type, told.value) == ("info", [["send", "t-1", 9]])
    assert told.error == "NOT_ENOUGH_REPLICAS: Broker: Not enough in-sync replicas"


async def test_what_was_never_sent_failed() -> None:
    driver = FakeDriver()
    driver.stored = [UNSENT]
    assert (await do(driver, "send", [["send", "t-1", 9]])).type == "fail"


async def test_a_later_failure_does_not_undo_an_earlier_write() -> None:
    driver = FakeDriver()
    driver.stored = [Stored(5), UNSENT]
    told = await do(driver, "txn", [["send", "t-1", 1], ["send", "t-1", 2], ["send", "t-1", 3]])
    assert told.type == "info"
    assert told.value == [["send", "t-1", [5, 1]], ["send", "t-1", 2], ["send", "t-1", 3]]


BURST = [["send", "t-1", 1], ["send", "t-2", 2], ["send", "t-1", 3]]


async def test_a_burst_is_sent_at_once_and_acknowledged_record_by_record() -> None:
    driver = FakeDriver()
    driver.stored = [Stored(5, "n1"), Stored(0, "n2"), Stored(6, "n1")]
    assert await do(driver, "send", BURST) == Completion(
        "ok",
        [["send", "t-1", [5, 1]], ["send", "t-2", [0, 2]], ["send", "t-1", [6, 3]]],
        timestamps=[NOW_MS, NOW_MS - 1, NOW_MS - 2],
    )
    assert [key for key, _, _ in driver.produced] == ["t-1", "t-2", "t-1"]


@pytest.mark.parametrize("error", [LATE, UNSENT])
async def test_a_burst_with_one_record_that_is_not_acknowledged_is_unknown(
    error: DriverError,
) -> None:
    """Neither a success of that record nor a failure of the others."""
    driver = FakeDriver()
    driver.stored = [Stored(5), error, Stored(6)]
    told = await do(driver, "send", BURST)
    assert (told.type, told.error) == ("info", str(error))
    assert told.value == [["send", "t-1", [5, 1]], ["send", "t-2", 2], ["send", "t-1", [6, 3]]]


async def test_a_burst_fails_only_if_no_record_can_have_been_written() -> None:
    driver = FakeDriver()
    driver.stored = [UNSENT, UNSENT, UNSENT]
    assert (await do(driver, "send", BURST)).type == "fail"
    driver.stored = [UNSENT, LATE, UNSENT]
    assert (await do(driver, "send", BURST)).type == "info"


async def test_positions_are_kept_and_given_up_with_the_key() -> None:
    driver = FakeDriver()
    client = KafkaClient(driver)
    await client.invoke(Invocation("assign", ["a-0", "b-0"]))
    driver.polls = [Polled({"a-0": [record("a-0", 3, 1), record("a-0", 7, 2)]})]
    told = await client.invoke(Invocation("poll", [["poll"]]))
    assert told == Completion("ok", [["poll", {"a-0": [[3, 1], [7, 2]]}]])
    await client.invoke(Invocation("assign", ["a-0"]))
    await client.invoke(Invocation("assign", ["b-0"]))
    await client.invoke(Invocation("assign", ["a-0"]))
    await client.invoke(Invocation("assign", {"a-0": 4}))
    assert driver.assigned == [
        {"a-0": None, "b-0": None},
        {"a-0": 8},
        {"b-0": None},
        {"a-0": None},
        {"a-0": 4},
    ]


async def test_a_poll_that_failed_is_polled_again_and_its_records_are_kept() -> None:
    driver = FakeDriver()
    client = KafkaClient(driver)
    await client.invoke(Invocation("assign", ["a-0", "b-0"]))
    driver.polls = [Polled({"a-0": [record("a-0", 3, 1)]}, DriverError("UNKNOWN_SERVER_ERROR"))]
    told = await client.invoke(Invocation("poll", [["poll"]]))
    assert told == Completion("fail", [["poll", {"a-0": [[3, 1]]}]], "UNKNOWN_SERVER_ERROR")
    assert driver.assigned[-1] == {"a-0": 3, "b-0": None}


async def test_what_was_polled_before_a_send_of_unknown_end_is_kept_and_polled_again() -> None:
    driver = FakeDriver()
    client = KafkaClient(driver)
    await client.invoke(Invocation("assign", ["a-0"]))
    driver.polls = [
        Polled({"a-0": [record("a-0", 3, 1)]}),
        Polled({"a-0": [record("a-0", 4, 2)]}),
    ]
    driver.stored = [LATE]
    told = await client.invoke(Invocation("txn", [["poll"], ["poll"], ["send", "a-0", 9]]))
    assert told.type == "info"
    assert told.value == [
        ["poll", {"a-0": [[3, 1]]}],
        ["poll", {"a-0": [[4, 2]]}],
        ["send", "a-0", 9],
    ]
    assert driver.assigned[-1] == {"a-0": 3}


async def test_a_client_that_cannot_go_back_is_over() -> None:
    driver = FakeDriver()
    client = KafkaClient(driver)
    driver.polls = [Polled({"a-0": [record("a-0", 3, 1)]}, DriverError("UNKNOWN_SERVER_ERROR"))]
    driver.assign_error = DriverError("_STATE")
    assert (await client.invoke(Invocation("poll", [["poll"]]))).type == "info"


async def test_a_record_that_does_not_fit_is_recorded_as_it_came() -> None:
    driver = FakeDriver()
    driver.polls = [Polled({"a-0": [Read(0, None, b"\xff?"), record("b-0", 1, 5)]})]
    told = await do(driver, "poll", [["poll"]])
    assert told.type == "ok"
    (_, found) = told.value[0]
    assert found["a-0"][0] == [0, "foreign: \\xff?"]
    assert found["a-0"][1][1].startswith("misplaced: b-0 5 ")


async def test_lists() -> None:
    driver = FakeDriver()
    driver.stored = [Stored(0)]
    assert await do(driver, "txn", [["append", "a-0", 1]]) == Completion(
        "ok", [["append", "a-0", 1]], timestamps=[NOW_MS]
    )
    driver.reads = [[record("a-0", 0, 1), record("a-0", 5, 2)]]
    assert (await do(driver, "txn", [["r", "a-0", None]])).value == [["r", "a-0", [1, 2]]]
    driver.reads = [LATE]
    told = await do(driver, "txn", [["r", "a-0", None]])
    assert (told.type, told.value) == ("fail", [["r", "a-0", None]])


async def test_registers() -> None:
    driver = FakeDriver()
    driver.stored = [Stored(4), Stored(5)]
    assert (await do(driver, "put", [["put", "a-0/x", 1]])).value == [["put", "a-0/x", [4, 1]]]
    assert (await do(driver, "put", [["put", "a-0/x", None]])).value == [
        ["put", "a-0/x", [5, None]]
    ]
    assert driver.produced == [("a-0", b"x", encode("a-0/x", 1)), ("a-0", b"x", None)]
    log = [record("a-0", 0, 1, "x"), record("a-0", 1, 2, "x"), record("a-0", 2, 3, "y")]
    driver.reads = [log, [*log, Read(3, b"x", None)], []]
    assert (await do(driver, "get", [["get", "a-0/x", None]])).value == [["get", "a-0/x", [9, 2]]]
    assert (await do(driver, "get", [["get", "a-0/x", None]])).value == [
        ["get", "a-0/x", [9, None]]
    ]
    assert (await do(driver, "get", [["get", "a-0/x", None]])).value == [
        ["get", "a-0/x", [9, None]]
    ]


async def test_end_offsets_are_of_what_is_assigned() -> None:
    driver = FakeDriver()
    client = KafkaClient(driver)
    await client.invoke(Invocation("assign", ["a-0"]))
    told = await client.invoke(Invocation("end-offsets"))
    assert told == Completion("ok", {"high": {"a-0": 3}})


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (DriverError("INVALID_CONFIG"), "fail"),
        (DriverError("TOPIC_ALREADY_EXISTS"), "info"),
        (DriverError("NETWORK_EXCEPTION", harmless=True), "fail"),
        (DriverError("_TIMED_OUT"), "info"),
    ],
)
async def test_administration(error: DriverError, outcome: str) -> None:
    value = {"topic": "t", "partitions": 1, "replication": 1, "configs": {}}
    for f in ("create", "delete", "alter"):
        driver = FakeDriver()
        driver.changes = [None, error]
        assert await do(driver, f, value) == Completion("ok", value)
        told = await do(driver, f, value)
        assert (told.type, told.value) == (outcome, value)


async def test_that_there_is_no_topic_is_an_answer() -> None:
    driver = FakeDriver()
    driver.described = [{"partitions": 2, "configs": {}}, None, LATE]
    assert (await do(driver, "describe", {"topic": "t"})).value == {
        "topic": "t",
        "partitions": 2,
        "configs": {},
    }
    assert await do(driver, "describe", {"topic": "t"}) == Completion(
        "ok", {"topic": "t", "partitions": None}
    )
    assert (await do(driver, "describe", {"topic": "t"})).type == "fail"


async def test_a_crash_throws_the_client_away() -> None:
    driver = FakeDriver()
    assert (await do(driver, "crash")).type == "info"
    assert driver.closed == 1


async def test_what_nobody_can_do_is_a_bug_of_ours() -> None:
    with pytest.raises(ValueError, match="subscribe"):
        await do(FakeDriver(), "subscribe", ["a-0"])
    with pytest.raises(ValueError, match="'w'"):
        await do(FakeDriver(), "txn", [["w", "a-0", 1]])


def test_keys_name_partitions_and_what_is_in_them() -> None:
    assert place_of("a-b-12") == Place("a-b", 12, None, "a-b-12")
    assert place_of("a-0/x/y-1") == Place("a", 0, "x/y-1", "a-0")
    for wrong in ("a", "-1", "a-x", ""):
        with pytest.raises(ValueError, match="is no key"):
            place_of(wrong)


async def test_a_record_is_sent_with_the_timestamp_that_the_history_has() -> None:
    driver = FakeDriver()
    driver.stored = [Stored(5), LATE, UNSENT]
    told = await do(driver, "send", BURST)
    assert told.type == "info"
    assert told.timestamps == driver.stamps
    assert len(set(driver.stamps)) == 3, "records of one batch can be told apart"


async def test_timestamps_of_polls_are_those_that_the_library_tells() -> None:
    driver = FakeDriver()
    driver.polls = [
        Polled(
            {
                "a-0": [record("a-0", 3, 1)._replace(timestamp_ms=70), record("a-0", 4, 2)],
                "b-0": [],
            }
        ),
        Polled({"a-0": [record("a-0", 5, 3)]}),
    ]
    driver.stored = [LATE]
    told = await do(driver, "txn", [["poll"], ["poll"], ["send", "a-0", 9], ["send", "a-0", 10]])
    assert told.timestamps == [{"a-0": [70, None]}, None, NOW_MS, None]


async def test_a_library_without_timestamps_leaves_none() -> None:
    driver = FakeDriver()
    driver.polls = [Polled({"a-0": [record("a-0", 3, 1)]})]
    assert (await do(driver, "poll", [["poll"]])).timestamps is None
