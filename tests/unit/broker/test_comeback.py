"""A log that comes back with less than it had: nobody may miss it, however many tries it takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker.disk.memory import MemoryDisk
from broker.log.breather import Breather
from broker.log.checkpoints import HIGH_WATERMARK, read_offsets
from broker.log.log_directory import LogDirectory
from broker.partition import Partition
from broker.protocol.errors import KafkaError
from tests.nodes import create_topic, formatted, produce, running_node, wait_until, wire
from tests.unit.broker.led_partition import LED_HERE, append, leading
from tests.unit.broker.log.builders import batch

ALONE = replace(LED_HERE, replicas=(0,), isr=(0,))
SEGMENT = "orders-0/00000000000000000000.log"


async def lose_the_end(disk: MemoryDisk, partition: Partition, segment: str, size: int) -> None:
    """A sync fails, the device never gets what was written, and the cache forgets it."""
    disk.fail("fdatasync", "*.log", times=1)
    with pytest.raises(KafkaError):
        await partition.log.flush()
    file = await disk.open(segment)
    file.truncate(size)
    file.close()


async def flushed_one_of_four(partition: Partition) -> int:
    """The size of what was flushed."""
    append(partition)
    await partition.log.flush()
    size = partition.log.active.size
    for _ in range(3):
        append(partition)
    assert partition.log.high_watermark == 4
    return size


@pytest.mark.parametrize("failing", ["fdatasync", "unseal", "checkpoint"])
async def test_a_loss_is_seen_though_the_first_try_fails_half_way(failing: str) -> None:
    disk, told = MemoryDisk(), []

    async def lose_trust(why: str) -> None:
        told.append((why, partition.log.end_offset, partition.log.high_watermark))

    async def no_checkpoint() -> None:
        if failing == "checkpoint":
            raise OSError(5, "a test says so")

    partition = await leading(ALONE, disk=disk, lose_trust=lose_trust)
    size = await flushed_one_of_four(partition)
    await lose_the_end(disk, partition, SEGMENT, size)
    partition.log.save_offsets = no_checkpoint
    if failing != "checkpoint":
        disk.fail("fdatasync" if failing == "fdatasync" else "delete", "orders-0/*")
    with pytest.raises(OSError, match=r"Input/output|a test"):
        await partition.bring_back(Breather())
    disk.heal()
    failing = ""
    await partition.bring_back(Breather())
    # Told once, and before the log had forgotten what it had.
    assert told == [("orders-0 has lost its end", 4, 4)]
    assert (partition.log.end_offset, partition.log.high_watermark) == (1, 1)
    assert partition.leader is None
    await partition.become(ALONE)
    assert partition.leader is None


async def test_a_log_that_still_fails_keeps_its_end_for_the_checkpoints() -> None:
    disk = MemoryDisk()
    partition = await leading(ALONE, disk=disk)
    size = await flushed_one_of_four(partition)
    await lose_the_end(disk, partition, SEGMENT, size)
    disk.fail("fdatasync")
    with pytest.raises(OSError, match="Input/output"):
        await partition.bring_back(Breather())
    log = partition.log
    assert (log.end_offset, log.high_watermark, log.recovery_point) == (4, 4, 1)


async def test_trust_is_lost_before_a_checkpoint_forgets_what_was_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = MemoryDisk()
    await formatted(disk)
    async with running_node(disks={"data": disk}) as node, wire(node) as client:
        await create_topic(client, "t")
        await produce(client, batch(b"x"))
        [partition] = node.partitions
        await partition.log.flush()
        size = partition.log.active.size
        for _ in range(3):
            await produce(client, batch(b"y"))
        await node.partitions.directories["data"].checkpoint()
        seen: list[int] = []
        real = LogDirectory.lose_trust

        async def lose_trust(self: LogDirectory) -> None:
            await real(self)
            seen.append((await read_offsets(disk, HIGH_WATERMARK))["t", 0])

        monkeypatch.setattr(LogDirectory, "lose_trust", lose_trust)
        await lose_the_end(disk, partition, "t-0/00000000000000000000.log", size)
        await wait_until(lambda: partition.log.failure is None)
        assert seen == [4, 4]  # when the log failed, and when it was back without its end
        assert (await read_offsets(disk, HIGH_WATERMARK))["t", 0] == 1
