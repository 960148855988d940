"""What a process reads by itself, without a group: polls, whole partitions, their ends."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from harness.client.driver import DriverError, Place, Polled, Positions, Read, Whole, place_of
from harness.native.driver_errors import driver_error
from harness.native.errors import ClientError, OffsetOutOfRangeError
from harness.native.paging import Pages
from harness.native.reader import (
    EARLIEST,
    LATEST,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    FetchSettings,
    Reader,
)
from harness.native.records import ReadRecord


class Reading:
    def __init__(
        self, reader: Reader, fetch: FetchSettings, *, poll_s: float, patience_s: float
    ) -> None:
        self._reader = reader
        self._pages = Pages(reader)
        self._how = fetch
        self._poll_s = poll_s
        self._patience_s = patience_s
        self._positions: dict[str, int | None] = {}
        self._turn = 0

    def assign(self, positions: Positions) -> None:
        self._positions = dict(positions)
        self._pages.close()
        self._pages = Pages(self._reader)

    def close(self) -> None:
        self._pages.close()

    async def poll(self) -> Polled:
        """The first of the keys, each time beginning with another, that has something.

        One whose leader does not answer takes the rest of this poll's time, and no more.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._poll_s
        keys = list(self._positions)
        reached: dict[str, int] = {}
        for _ in keys:
            self._turn += 1
            key = keys[self._turn % len(keys)]
            try:
                async with asyncio.timeout_at(deadline):
                    records = await self._fetched(key)
            except TimeoutError:
                return Polled(reached=reached)
            except ClientError as error:
                return Polled(error=driver_error(error), reached=reached)
            position = self._positions[key]
            if position is not None:
                reached[key] = position
            if records:
                return Polled({key: records}, reached=reached)
        await asyncio.sleep(max(0.0, deadline - loop.time()))
        return Polled(reached=reached)

    async def _fetched(self, key: str) -> list[Read]:
        place = place_of(key)
        position = self._positions[key]
        if position is None:
            position = await self._offset(place, EARLIEST, READ_UNCOMMITTED)
        try:
            page = await self._pages.page(place.topic, place.partition, position, self._how)
        except OffsetOutOfRangeError as error:
            # auto.offset.reset=earliest, as librdkafka has it; a deposed leader answers otherwise,
            # where the fetch names an epoch. Without one only the beginning may have moved.
            beginning = None
            if not error.is_fenced:
                beginning = max(position, await self._offset(place, EARLIEST, READ_UNCOMMITTED))
            self._positions[key] = beginning
            return []
        self._positions[key] = page.next_offset
        return _reads(page.records)

    async def read_all(self, place: Place) -> Whole:
        found: list[Read] = []
        try:
            # An end that was told before the log lost its tail is never reached.
            async with asyncio.timeout(self._patience_s):
                return Whole(found, await self._read_into(found, place))
        except TimeoutError:
            raise DriverError("_TIMED_OUT", f"read {len(found)} records, not all of them") from None
        except ClientError as error:
            raise driver_error(error) from error

    async def _read_into(self, found: list[Read], place: Place) -> int:
        """Where the log ended, as it was told last."""
        position = await self._offset(place, EARLIEST, READ_UNCOMMITTED)
        end = await self._offset(place, LATEST, self._how.isolation)
        while position < end:
            fetched = await self._reader.fetch(place.topic, place.partition, position, self._how)
            position = fetched.next_offset
            found += _reads(fetched.records)
            committed = self._how.isolation == READ_COMMITTED
            told = fetched.last_stable_offset if committed else fetched.high_watermark
            end = max(end, told)
        return max(position, end)

    async def end_offsets(self, keys: Sequence[str]) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        asked = (
            ("low", EARLIEST, READ_UNCOMMITTED),
            ("stable", LATEST, READ_COMMITTED),
            ("high", LATEST, READ_UNCOMMITTED),
        )
        try:
            for name, at, isolation in asked:
                found[name] = {
                    key: await self._offset(place_of(key), at, isolation) for key in keys
                }
        except ClientError as error:
            raise driver_error(error) from error
        return found

    async def _offset(self, place: Place, at: int, isolation: int) -> int:
        found = await self._reader.list_offset(
            place.topic, place.partition, at, isolation=isolation
        )
        return found.offset


def _reads(records: Sequence[ReadRecord]) -> list[Read]:
    return [Read(each.offset, each.key, each.value, each.timestamp_ms) for each in records]
