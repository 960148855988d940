"""Records with keys, whatever the library: who chose the partition, and what the history says."""

from __future__ import annotations

import pytest

from harness.client.base import Completion
from harness.client.driver import (
    ANY_PARTITION,
    DriverError,
    Polled,
    Read,
    Stored,
    is_topic,
    place_of,
)
from harness.client.payload import decode, encode
from tests.unit.harness.client.test_kafka_client import FakeDriver, do

BURST = [["send", "t/k1", 1], ["send", "t/k2", 2]]


async def test_a_completion_names_the_partition_that_the_client_chose() -> None:
    driver = FakeDriver()
    driver.stored = [Stored(5, "n1", 3), Stored(0, "n2", 0)]
    told = await do(driver, "send", BURST)
    placed = [["send", "t-3", [5, 1]], ["send", "t-0", [0, 2]]]
    assert (told.type, told.value) == ("ok", placed)
    assert driver.produced == [
        ("t", b"k1", encode("t/k1", 1)),
        ("t", b"k2", encode("t/k2", 2)),
    ]


async def test_a_record_of_unknown_outcome_is_told_with_its_partition_if_it_has_one() -> None:
    driver = FakeDriver()
    unsent = DriverError("_MSG_TIMED_OUT", harmless=True)
    driver.stored = [DriverError("_MSG_TIMED_OUT", partition=3), unsent]
    told = await do(driver, "send", BURST)
    assert (told.type, told.value) == ("info", [["send", "t-3", 1], ["send", "t/k2", 2]])


async def test_a_named_partition_is_nobody_s_choice() -> None:
    driver = FakeDriver()
    driver.stored = [Stored(5, "n1", 1)]
    assert (await do(driver, "send", [["send", "t-1", 1]])).value == [["send", "t-1", [5, 1]]]


async def test_a_topic_stands_for_its_partitions() -> None:
    driver = FakeDriver()
    driver.counts = [3]
    told = await do(driver, "assign", ["t", "u-7"])
    assert told == Completion("ok", ["t-0", "t-1", "t-2", "u-7"])
    assert driver.assigned == [dict.fromkeys(told.value)]


async def test_a_topic_that_nobody_describes_is_not_assigned() -> None:
    driver = FakeDriver()
    driver.counts = [DriverError("_TRANSPORT", "Local: Broker transport failure")]
    told = await do(driver, "assign", ["t"])
    assert (told.type, told.value) == ("fail", ["t"])
    assert driver.assigned == []


async def test_a_poll_knows_a_keyed_record_in_whichever_partition_it_is() -> None:
    driver = FakeDriver()
    records = [
        Read(0, b"k1", encode("t/k1", 1)),
        Read(1, b"k1", encode("t-2/k1", 2)),
        Read(2, b"k2", encode("t/k1", 3)),
        Read(3, b"k1", encode("u/k1", 4)),
    ]
    driver.polls = [Polled({"t-2": records})]
    told = await do(driver, "poll", [["poll"]])
    values = [value for _, value in told.value[0][1]["t-2"]]
    assert values[:2] == [1, 2]
    assert [str(value).partition(":")[0] for value in values[2:]] == ["misplaced"] * 2


async def test_the_partitioner_is_named() -> None:
    assert await do(FakeDriver(), "partitioner") == Completion("ok", "murmur2")


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(None, "ok"), ("INVALID_PARTITIONS", "fail"), ("REQUEST_TIMED_OUT", "info")],
)
async def test_adding_partitions(error: str | None, outcome: str) -> None:
    driver = FakeDriver()
    driver.changes = [None if error is None else DriverError(error)]
    told = await do(driver, "create-partitions", {"topic": "t", "partitions": 5})
    assert (told.type, told.value) == (outcome, {"topic": "t", "partitions": 5})


def test_keys_of_the_history() -> None:
    assert place_of("a-b-7/k")[:3] == ("a-b", 7, "k")
    assert place_of("a/k1")[:3] == ("a", ANY_PARTITION, "k1")
    assert place_of("a-b/k1")[:3] == ("a-b", ANY_PARTITION, "k1")
    for wrong in ("a", "-7", "/k"):
        with pytest.raises(ValueError, match="is no key"):
            place_of(wrong)
    assert [is_topic(key) for key in ("a", "a-b", "a-7", "a/k")] == [True, True, False, False]
    assert decode(encode("t/k", 5), "t-1/k", "t/k") == 5
