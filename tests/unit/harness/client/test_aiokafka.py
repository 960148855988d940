"""What the driver makes of the library's answers; the rest is tried with real brokers."""

from __future__ import annotations

from typing import Any

from aiokafka import TopicPartition

from harness.client.aiokafka_client import AiokafkaDriver
from harness.client.base import ClientSettings
from harness.client.driver import place_of

WHERE = TopicPartition("t", 0)


class Record:
    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.key = None
        self.value = b""
        self.timestamp = -1


class DeposedReader:
    """Was answered by a leader that had three records, and then by one that knows of two."""

    def __init__(self) -> None:
        self._position = 0

    async def beginning_offsets(self, wanted: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(wanted, 0)

    async def end_offsets(self, wanted: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(wanted, 1)

    def assign(self, wanted: list[TopicPartition]) -> None:
        pass

    def seek(self, where: TopicPartition, offset: int) -> None:
        self._position = offset

    async def position(self, where: TopicPartition) -> int:
        return self._position

    async def getmany(self, where: TopicPartition, timeout_ms: int) -> dict[TopicPartition, Any]:
        self._position = 3
        return {where: [Record(offset) for offset in range(3)]}

    def last_stable_offset(self, where: TopicPartition) -> int:
        return 2


async def test_a_whole_read_ends_behind_what_it_has_read() -> None:
    driver = AiokafkaDriver(ClientSettings(bootstrap="127.0.0.1:1"), "c1-0")
    readers: dict[Any, Any] = driver._readers
    readers["read_committed"] = DeposedReader()
    whole = await driver.read_all(place_of("t-0"))
    assert [record.offset for record in whole.records] == [0, 1, 2]
    assert whole.end == 3
