"""A fetch is handed out in pieces, and outlives the poll that began it."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from broker.protocol.batch import BatchHeader
from harness.native.errors import ConnectionLostError
from harness.native.paging import Pages
from harness.native.reader import Fetched, FetchSettings, Reader
from harness.native.records import ReadBatch, ReadRecord

IN_TWOS = FetchSettings(polled_max=2, outlives_poll=True)


class SlowReader:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.answers: list[asyncio.Future[Fetched]] = []

    async def fetch(self, topic: str, partition: int, offset: int, _: FetchSettings) -> Fetched:
        self.offsets.append(offset)
        self.answers.append(asyncio.get_running_loop().create_future())
        return await self.answers[-1]


def fetched(*offsets: int, next_offset: int) -> Fetched:
    records = tuple(ReadRecord(offset, None, b"x", 0, 0) for offset in offsets)
    batch = ReadBatch(cast("BatchHeader", None), records)
    return Fetched((batch,), next_offset, 9, 9, 0, (), -1)


def paged() -> tuple[SlowReader, Pages]:
    reader = SlowReader()
    return reader, Pages(cast("Reader", reader))


async def begun(pages: Pages, offset: int) -> asyncio.Task[list[int]]:
    async def poll() -> list[int]:
        page = await pages.page("t", 0, offset, IN_TWOS)
        return [*(each.offset for each in page.records), page.next_offset]

    task = asyncio.create_task(poll())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


async def test_the_rest_of_a_fetch_waits_for_the_next_polls() -> None:
    reader, pages = paged()
    first = await begun(pages, 0)
    reader.answers[0].set_result(fetched(0, 1, 5, 6, 7, next_offset=9))
    assert await first == [0, 1, 2]
    assert await (await begun(pages, 2)) == [5, 6, 7]
    assert await (await begun(pages, 7)) == [7, 9]
    assert reader.offsets == [0]
    _ = await begun(pages, 9)
    assert reader.offsets == [0, 9]
    pages.close()


async def test_a_rest_is_not_used_elsewhere_nor_after_it_was_forgotten() -> None:
    reader, pages = paged()
    for offset in (0, 4):
        first = await begun(pages, offset)
        reader.answers[-1].set_result(fetched(offset, offset + 1, offset + 2, next_offset=9))
        await first
    assert reader.offsets == [0, 4]
    pages.forget("t", 0)
    _ = await begun(pages, 6)
    assert reader.offsets == [0, 4, 6]
    pages.close()


@pytest.mark.parametrize("is_at_once", [False, True])
async def test_a_fetch_outlives_its_poll(is_at_once: bool) -> None:
    """Also if the answer and the end of the poll come in one turn of the loop."""
    reader, pages = paged()
    first = await begun(pages, 0)
    if is_at_once:
        reader.answers[0].set_result(fetched(0, next_offset=1))
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert first.cancelled()
    second = await begun(pages, 0)
    if not is_at_once:
        reader.answers[0].set_result(fetched(0, next_offset=1))
    assert await second == [0, 1]
    assert reader.offsets == [0]


async def test_a_fetch_that_failed_is_begun_anew() -> None:
    reader, pages = paged()
    first = await begun(pages, 0)
    reader.answers[0].set_exception(ConnectionLostError("gone"))
    with pytest.raises(ConnectionLostError):
        await first
    _ = await begun(pages, 0)
    assert reader.offsets == [0, 0]
    pages.close()
