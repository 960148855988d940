"""In a session a partition is passed over only while its reader has all and knows it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from broker.api.fetch_reading import FetchLimits, Reading, read_all
from broker.api.fetch_sessions import FetchTarget
from broker.node import Node
from broker.partition import Partition
from broker.protocol.errors import ErrorCode
from broker.replication.read_limits import Reader
from tests.unit.broker.led_partition import EPOCH, LED_HERE, append, fetch, leading
from tests.virtual_time import in_virtual_time


class Session:
    """One reader of one partition, in a session that has begun."""

    def __init__(self, partition: Partition, reader: Reader) -> None:
        known = SimpleNamespace(name=partition.topic, partitions=[LED_HERE])
        self._node = SimpleNamespace(
            partitions=SimpleNamespace(find=lambda topic, index: partition),
            metadata=SimpleNamespace(image=SimpleNamespace(topic_by_id=lambda topic_id: known)),
        )
        self._limits = FetchLimits(
            max_bytes=1 << 20,
            reader=reader,
            by_topic_id=True,
            may_follow=False,
            only_news=True,
            problems={},
            client_rack="",
        )
        self.target = FetchTarget(
            topic=partition.topic,
            topic_id=partition.topic_id,
            index=0,
            fetch_offset=0,
            max_bytes=1 << 20,
            current_leader_epoch=EPOCH,
            last_fetched_epoch=-1,
        )

    def read(self) -> Reading:
        return read_all(cast("Node", self._node), [self.target], self._limits)

    def is_passed_over(self) -> bool:
        """And told, if it is not."""
        reading = self.read()
        assert len(reading.partitions) == 1 or reading.must_answer, "or nobody would wake it"
        for target, answer in reading.answers:
            target.is_news(answer)
        return not reading.answers


@pytest.mark.parametrize("reader", list(Reader))
@in_virtual_time
async def test_who_has_everything_and_knows_it_is_passed_over(reader: Reader) -> None:
    session = Session(await leading(), reader)
    assert not session.is_passed_over()
    assert session.is_passed_over()


@in_virtual_time
async def test_a_follower_hears_of_records_and_then_that_they_are_committed() -> None:
    partition = await leading()
    session = Session(partition, Reader.FOLLOWER)
    session.is_passed_over()
    end = append(partition)
    ((_, answer),) = session.read().answers
    assert answer.records
    session.is_passed_over()
    session.target.fetch_offset = end
    assert session.is_passed_over()
    for replica in (1, 2):
        fetch(partition, replica, end)
    ((_, answer),) = session.read().answers
    assert answer.high_watermark == end
    assert not session.is_passed_over()
    assert session.is_passed_over()


@pytest.mark.parametrize("reader", [Reader.UNCOMMITTED, Reader.COMMITTED])
@in_virtual_time
async def test_a_consumer_hears_of_records_when_they_are_committed(reader: Reader) -> None:
    partition = await leading()
    session = Session(partition, reader)
    session.is_passed_over()
    end = append(partition)
    assert session.is_passed_over()
    for replica in (1, 2):
        fetch(partition, replica, end)
    ((_, answer),) = session.read().answers
    assert answer.records
    # Told, but not yet read to the end.
    assert not session.is_passed_over()
    assert not session.is_passed_over()


@pytest.mark.parametrize("reader", list(Reader))
@pytest.mark.parametrize("next_leader", [0, 1])
@in_virtual_time
async def test_the_end_of_a_leadership_is_told(reader: Reader, next_leader: int) -> None:
    partition = await leading()
    session = Session(partition, reader)
    session.is_passed_over()
    assert session.is_passed_over()
    await partition.become(replace(LED_HERE, leader=next_leader, leader_epoch=EPOCH + 1))
    ((_, answer),) = session.read().answers
    assert answer.error_code == ErrorCode.FENCED_LEADER_EPOCH


@in_virtual_time
async def test_a_log_that_failed_is_told() -> None:
    partition = await leading()
    session = Session(partition, Reader.FOLLOWER)
    session.is_passed_over()
    partition.log.fail(OSError("gone"))
    ((_, answer),) = session.read().answers
    assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
