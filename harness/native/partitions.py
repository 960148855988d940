"""Which partition our own client chooses for a record that names only its key."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from harness.client.driver import ANY_PARTITION, Place, ToStore
from harness.client.partitioners import BY_NAME
from harness.native.client import Client
from harness.native.errors import ClientError


class PartitionChoice:
    def __init__(self, client: Client, partitioner: str, max_age_s: float) -> None:
        """`partitioner` by its name in histories."""
        self._client = client
        self._choose = BY_NAME[partitioner]
        self._max_age_s = max_age_s
        self._counts: dict[str, tuple[float, int]] = {}
        """By topic when its partitions were counted, in s, and how many."""

    async def count(self, topic: str) -> int:
        """Partitions by metadata that is not too old. ClientError if no broker answers."""
        now_s = asyncio.get_running_loop().time()
        counted_s, count = self._counts.get(topic, (0.0, 0))
        if not count or now_s - counted_s > self._max_age_s:
            view = await self._client.admin.describe_topic(topic)
            count = len(view.partitions)
            self._counts[topic] = (now_s, count)
        return count

    async def placed(self, records: Sequence[ToStore]) -> list[ToStore | ClientError]:
        """Each record with a partition; or why it has none, and was not sent."""
        counts: dict[str, int | ClientError] = {}
        for place in dict.fromkeys(record.place for record in records):
            if place.partition == ANY_PARTITION and place.topic not in counts:
                try:
                    counts[place.topic] = await self.count(place.topic)
                except ClientError as error:
                    counts[place.topic] = error
        return [self._placed(record, counts.get(record.place.topic, 0)) for record in records]

    def _placed(self, record: ToStore, count: int | ClientError) -> ToStore | ClientError:
        place = record.place
        if place.partition != ANY_PARTITION:
            return record
        if isinstance(count, ClientError):
            return count
        partition = self._choose(record.key or b"", count)
        chosen = Place(place.topic, partition, place.name, f"{place.topic}-{partition}")
        return record._replace(place=chosen)
