"""Fetches handed out in pieces: a poll returns some records, and the rest waits for the next one.

A fetch of 1 MB may hold ten thousand records. To fetch and decode it again for each piece took a
reader that lagged behind longer than the records took to be written. For the same reason a fetch
may outlive the poll that began it: on a busy machine an answer takes longer than a poll, and a
reader that gives up each time gets nowhere.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from harness.native.reader import Fetched, FetchSettings, Reader
from harness.native.records import ReadRecord


class Page(NamedTuple):
    records: list[ReadRecord]
    next_offset: int


class _Rest(NamedTuple):
    offset: int
    """Position that it continues."""
    records: list[ReadRecord]
    next_offset: int


class _UnderWay(NamedTuple):
    offset: int
    task: asyncio.Task[Fetched]


class Pages:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._rests: dict[tuple[str, int], _Rest] = {}
        self._under_way: dict[tuple[str, int], _UnderWay] = {}

    async def page(self, topic: str, partition: int, offset: int, fetch: FetchSettings) -> Page:
        """From the rest of the last fetch if it continues here, or from a new fetch."""
        rest = self._rests.pop((topic, partition), None)
        if rest is not None and rest.offset == offset:
            records, next_offset = rest.records, rest.next_offset
        else:
            fetched = await self._fetched(topic, partition, offset, fetch)
            records, next_offset = fetched.records, fetched.next_offset
        count = fetch.polled_max
        if count is None or len(records) <= count:
            return Page(records, next_offset)
        after = records[count - 1].offset + 1
        self._rests[topic, partition] = _Rest(after, records[count:], next_offset)
        return Page(records[:count], after)

    def forget(self, topic: str, partition: int) -> None:
        """What is fetched of it next comes from a broker. A fetch under way is not cancelled: a
        poll may wait for it, and takes its records or not."""
        self._rests.pop((topic, partition), None)
        self._under_way.pop((topic, partition), None)

    def close(self) -> None:
        """Not while a poll is under way."""
        for under_way in self._under_way.values():
            under_way.task.cancel()
        self._under_way.clear()

    async def _fetched(
        self, topic: str, partition: int, offset: int, fetch: FetchSettings
    ) -> Fetched:
        if not fetch.outlives_poll:
            return await self._reader.fetch(topic, partition, offset, fetch)
        under_way = self._under_way.get((topic, partition))
        if under_way is None or under_way.offset != offset:
            self.forget(topic, partition)
            work = self._reader.fetch(topic, partition, offset, fetch)
            task = asyncio.get_running_loop().create_task(work)
            # Or asyncio would complain about an error of a fetch that is not asked for again.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            under_way = self._under_way[topic, partition] = _UnderWay(offset, task)
        try:
            fetched = await asyncio.shield(under_way.task)
        except asyncio.CancelledError:
            # The poll is over. The answer may have come at this very moment: it is kept, too.
            raise
        except BaseException:
            self._drop(topic, partition, under_way)
            raise
        self._drop(topic, partition, under_way)
        return fetched

    def _drop(self, topic: str, partition: int, under_way: _UnderWay) -> None:
        if self._under_way.get((topic, partition)) is under_way:
            del self._under_way[topic, partition]
