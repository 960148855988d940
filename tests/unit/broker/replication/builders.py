"""Leaders of a partition with three replicas, in few words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from broker.metadata.broker_info import BrokerInfo
from broker.metadata.partition_info import PartitionInfo
from broker.replication.fetch_check import Diverging, OutOfRange, ReplicaFetch
from broker.replication.leader import LeaderState, Progress, Refused
from tests.golden.replication.memory_log import MemoryLog, Record

LAG_S = 30.0


def broker(node_id: int, epoch: int = 1, **changes: object) -> BrokerInfo:
    info = BrokerInfo(
        broker_id=node_id, incarnation_id=b"", broker_epoch=epoch, endpoints=(), fenced=False
    )
    return replace(info, **changes)  # type: ignore[arg-type]


def partition(
    isr: Sequence[int] = (0, 1, 2),
    *,
    replicas: Sequence[int] = (0, 1, 2),
    leader_epoch: int = 5,
    partition_epoch: int = 10,
    elr: Sequence[int] = (),
) -> PartitionInfo:
    return PartitionInfo(
        replicas=tuple(replicas),
        isr=tuple(isr),
        leader=0,
        leader_epoch=leader_epoch,
        partition_epoch=partition_epoch,
        elr=tuple(elr),
    )


def brokers(*changed: BrokerInfo) -> dict[int, BrokerInfo]:
    known = {node_id: broker(node_id) for node_id in (0, 1, 2)}
    return known | {each.broker_id: each for each in changed}


class Leading:
    """A leader and its log, which begins with `count` records of an earlier epoch."""

    def __init__(
        self,
        info: PartitionInfo | None = None,
        *,
        count: int = 0,
        high_watermark: int = 0,
        min_isr: int = 1,
        known: dict[int, BrokerInfo] | None = None,
    ) -> None:
        info = info or partition()
        self.log = MemoryLog()
        self.log.append_replicated([Record(info.leader_epoch - 1, f"v{n}") for n in range(count)])
        self.log.epochs.assign(info.leader_epoch, count)
        self.now = 100.0
        self.state = LeaderState(
            node_id=0,
            info=info,
            epoch_start_offset=count,
            high_watermark=high_watermark,
            min_insync_replicas=min_isr,
            lag_time_max_s=LAG_S,
            brokers=brokers() if known is None else known,
            now=self.now,
        )

    def append(self, count: int = 1) -> bool:
        for _ in range(count):
            self.log.append(self.state.leader_epoch, "v")
        return self.state.appended(self.log.end_offset, self.now)

    def fetch(
        self,
        replica: int,
        offset: int,
        *,
        last_epoch: int | None = None,
        leader_epoch: int | None = None,
        broker_epoch: int = 1,
    ) -> Progress | Diverging | OutOfRange | Refused:
        if last_epoch is None:
            last_epoch = self.log.epochs.epoch_at(offset - 1)
        request = ReplicaFetch(
            replica=replica,
            broker_epoch=broker_epoch,
            current_leader_epoch=self.state.leader_epoch if leader_epoch is None else leader_epoch,
            fetch_offset=offset,
            last_fetched_epoch=last_epoch,
            log_start_offset=0,
        )
        return self.state.fetch_arrived(self.log, request, self.now)

    def progress(self, replica: int, offset: int, *, broker_epoch: int = 1) -> Progress:
        outcome = self.fetch(replica, offset, broker_epoch=broker_epoch)
        assert isinstance(outcome, Progress)
        return outcome
