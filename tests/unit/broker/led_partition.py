"""A partition of three replicas that node 0 leads, on a disk in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from broker.change_journal import ChangeJournal
from broker.disk.memory import MemoryDisk
from broker.log.record_check import WorkBudget
from broker.metadata.partition_info import PartitionInfo
from broker.partition import Partition, Surroundings
from broker.replication.fetch_check import ReplicaFetch
from tests.unit.broker.log.builders import batch, open_log
from tests.unit.broker.replication.builders import LAG_S, brokers

EPOCH = 5
LED_HERE = PartitionInfo(replicas=(0, 1, 2), isr=(0, 1, 2), leader=0, leader_epoch=EPOCH)


async def _trust_is_not_lost(why: str) -> None:
    raise AssertionError(why)


async def leading(
    info: PartitionInfo = LED_HERE,
    directory: str = "orders-0",
    disk: MemoryDisk | None = None,
    journal: ChangeJournal | None = None,
    lose_trust: Callable[[str], Awaitable[None]] | None = None,
) -> Partition:
    partition = Partition(
        await open_log(disk or MemoryDisk(), directory=directory),
        topic_id=b"t" * 16,
        log_dir="data",
        surroundings=Surroundings(
            node_id=0,
            lag_time_max_s=lambda: LAG_S,
            brokers=brokers,
            propose=lambda _, proposal: None,
            lose_trust=lose_trust or _trust_is_not_lost,
            journal=journal or ChangeJournal(),
        ),
    )
    await partition.become(info)
    return partition


def append(partition: Partition) -> int:
    """Where the log ends then."""
    appended = partition.append_at_once(batch(), WorkBudget())
    assert appended is not None
    return appended.last_offset + 1


def fetch(partition: Partition, replica: int, offset: int) -> None:
    partition.fetch_arrived(
        ReplicaFetch(
            replica=replica,
            broker_epoch=1,
            current_leader_epoch=EPOCH,
            fetch_offset=offset,
            last_fetched_epoch=EPOCH if offset else -1,
            log_start_offset=0,
        )
    )
