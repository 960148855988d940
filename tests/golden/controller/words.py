"""What the controller's changes are called in a story: one short line for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from broker.metadata.changes import (
    BrokerChanged,
    BrokerDirectoriesChanged,
    BrokerRegistered,
    BrokerUnregistered,
    Change,
    PartitionsChanged,
    ProducerIdsAllocated,
    TopicCreated,
)
from broker.metadata.image import Image
from broker.metadata.partition_info import RECOVERING, PartitionInfo


def tell(before: Image, change: Change) -> Iterator[str]:
    match change:
        case TopicCreated(name=name, partitions=partitions):
            for index, info in enumerate(partitions):
                yield f"{name}-{index}: {state(info)}"
        case PartitionsChanged(name=name, partitions=changed):
            for index, info in changed:
                old = before.topics[name].partitions[index]
                yield f"{name}-{index}: {difference(old, info)}"
        case BrokerRegistered():
            what = "fenced" if change.fenced else "unfenced"
            yield f"broker {change.broker_id}: registered with epoch {change.broker_epoch}, {what}"
        case BrokerChanged():
            if before.brokers[change.broker_id].fenced != change.fenced:
                yield f"broker {change.broker_id}: {'fenced' if change.fenced else 'unfenced'}"
            else:
                yield f"broker {change.broker_id}: in controlled shutdown"
        case BrokerDirectoriesChanged(offline_dirs=offline):
            names = ",".join(each.decode().strip() for each in offline)
            yield f"broker {change.broker_id}: directories offline [{names}]"
        case BrokerUnregistered():
            yield f"broker {change.broker_id}: unregistered"
        case ProducerIdsAllocated():
            yield f"producer ids below {change.next_producer_id} are taken"
        case _:
            raise ValueError(f"no words for {change}")


def state(info: PartitionInfo) -> str:
    """Everything that is not as in a partition where nothing ever happened."""
    said = [f"leader {info.leader} epoch {info.leader_epoch}"]
    said += [f"replicas {members(info.replicas)} isr {members(info.isr)}"]
    for name, value in _rare(info):
        if value:
            said.append(f"{name} {members(value)}")
    if info.leader_recovery_state == RECOVERING:
        said.append("recovering")
    if info.directories:
        said.append(f"in {_places(info)}")
    return " ".join([*said, f"partition epoch {info.partition_epoch}"])


def difference(old: PartitionInfo, info: PartitionInfo) -> str:
    said = []
    if old.leader != info.leader:
        said.append(f"leader {old.leader}>{info.leader}")
    if old.leader_epoch != info.leader_epoch:
        said.append(f"epoch {old.leader_epoch}>{info.leader_epoch}")
    pairs = [("replicas", old.replicas, info.replicas), ("isr", old.isr, info.isr)]
    pairs += [
        (name, was, now) for (name, was), (_, now) in zip(_rare(old), _rare(info), strict=True)
    ]
    for name, was, now in pairs:
        if was != now:
            said.append(f"{name} {members(was)}>{members(now)}")
    if old.leader_recovery_state != info.leader_recovery_state:
        recovers = info.leader_recovery_state == RECOVERING
        said.append("recovering" if recovers else "recovered")
    if old.directories != info.directories:
        said.append(f"in {_places(info)}")
    said.append(f"partition epoch {old.partition_epoch}>{info.partition_epoch}")
    return " ".join(said)


def _rare(info: PartitionInfo) -> list[tuple[str, tuple[int, ...]]]:
    return [
        ("elr", info.elr),
        ("last leader", info.last_known_elr),
        ("adding", info.adding_replicas),
        ("removing", info.removing_replicas),
    ]


def _places(info: PartitionInfo) -> str:
    return ",".join(f"{each}:{directory.decode().strip()}" for each, directory in info.directories)


def members(brokers: Sequence[int]) -> str:
    return f"[{','.join(map(str, brokers))}]"
