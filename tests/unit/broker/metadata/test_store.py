"""Changes are durable before anyone sees them, whatever happens to the disk meanwhile."""

import asyncio
import errno

import pytest

from broker.disk.memory import MemoryDisk
from broker.metadata.changes import ProducerIdsAllocated, TopicCreated
from broker.metadata.image import ConflictError
from broker.metadata.partition_info import PartitionInfo
from broker.metadata.store import FILE_NAME, MetadataCorruptError, MetadataStore


def created(name: str, number: int = 0) -> TopicCreated:
    return TopicCreated(name, bytes([number]) * 16, (PartitionInfo.in_sync((1,)),), {})


async def test_a_committed_change_survives_a_power_loss() -> None:
    disk = MemoryDisk()
    store = await MetadataStore.load(disk)
    await store.commit([created("a", 1), ProducerIdsAllocated(1000)])
    disk.power_loss()
    image = (await MetadataStore.load(disk)).image
    assert list(image.topics) == ["a"]
    assert image.next_producer_id == 1000


async def test_a_change_that_the_disk_refuses_is_not_seen() -> None:
    disk = MemoryDisk()
    store = await MetadataStore.load(disk)
    disk.fail("replace", error=errno.ENOSPC)
    with pytest.raises(OSError, match="No space left") as refused:
        await store.commit([created("a")])
    assert refused.value.errno == errno.ENOSPC
    assert store.image.topics == {}
    disk.heal()
    await store.commit([created("a")])
    assert list(store.image.topics) == ["a"]


async def test_a_commit_that_comes_too_late_is_refused_whole() -> None:
    store = await MetadataStore.load(MemoryDisk())
    results = await asyncio.gather(
        store.commit([created("a", 1)]),
        store.commit([created("b", 2), created("a", 3)]),
        return_exceptions=True,
    )
    assert results[0] is None
    assert isinstance(results[1], ConflictError)
    assert list(store.image.topics) == ["a"]


async def test_commits_at_the_same_time_are_all_made() -> None:
    disk = MemoryDisk()
    store = await MetadataStore.load(disk)
    image = store.image
    changes = [created(f"t{number}", number) for number in range(10)]
    await asyncio.gather(*(store.commit([change]) for change in changes))
    assert len(image.topics) == 10
    assert list((await MetadataStore.load(disk)).image.as_changes()) == list(image.as_changes())


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-5],
        lambda content: content.replace(b'"name":"a"', b'"name":"b"'),
        lambda content: b"",
        lambda content: content.replace(b'"format": 3', b'"format": 9'),
        lambda content: b"\xff" + content,
    ],
)
async def test_a_damaged_file_stops_the_start(damage: object) -> None:
    disk = MemoryDisk()
    store = await MetadataStore.load(disk)
    await store.commit([created("a")])
    assert callable(damage)
    await disk.replace(FILE_NAME, damage(await disk.read(FILE_NAME)))
    with pytest.raises(MetadataCorruptError, match=FILE_NAME):
        await MetadataStore.load(disk)
