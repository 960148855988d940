"""No producer id is handed out twice."""

import asyncio
import errno

import pytest

from broker.disk.memory import MemoryDisk
from broker.metadata.producer_ids import BLOCK, ProducerIds
from broker.metadata.store import MetadataStore


async def ids_on(disk: MemoryDisk) -> ProducerIds:
    store = await MetadataStore.load(disk)
    return ProducerIds(store.image, lambda decide: store.commit(decide()))


async def test_ids_rise_across_blocks() -> None:
    ids = await ids_on(MemoryDisk())
    handed_out = [await ids.next() for _ in range(BLOCK + 5)]
    assert handed_out == list(range(BLOCK + 5))


async def test_an_id_is_never_handed_out_again_after_a_crash() -> None:
    disk = MemoryDisk()
    before = {await (await ids_on(disk)).next() for _ in range(1)}
    for _ in range(3):
        disk.power_loss()
        ids = await ids_on(disk)
        after = {await ids.next() for _ in range(3)}
        assert not before & after
        before |= after


async def test_askers_at_the_same_time_get_different_ids() -> None:
    ids = await ids_on(MemoryDisk())
    handed_out = await asyncio.gather(*(ids.next() for _ in range(20)))
    assert len(set(handed_out)) == 20


async def test_nothing_is_handed_out_that_is_not_durable() -> None:
    disk = MemoryDisk()
    ids = await ids_on(disk)
    disk.fail("replace", error=errno.EIO)
    with pytest.raises(OSError, match="Input/output error"):
        await ids.next()
    disk.heal()
    assert await ids.next() == 0
