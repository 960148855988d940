"""Whether this node may answer for a partition, asked in the same words by several APIs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.observe.events import emit
from broker.partition import Partition
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node

_NO_EPOCH = -1


def partition_to_serve(
    node: Node,
    topic: str,
    index: int,
    current_leader_epoch: int = _NO_EPOCH,
    *,
    by_leader: bool = True,
) -> Partition:
    """The partition, or what its client must be told (KIP-320: both sides compare epochs).

    The epoch -1 is no epoch. Any other negative one is older than all epochs there are.
    """
    partition = node.partitions.find(topic, index)
    if partition is None:
        raise _not_here(node, topic, index)
    if current_leader_epoch not in (_NO_EPOCH, partition.leader_epoch):
        if current_leader_epoch < partition.leader_epoch:
            raise KafkaError(
                ErrorCode.FENCED_LEADER_EPOCH,
                f"{topic}-{index} is at leader epoch {partition.leader_epoch}, "
                f"not {current_leader_epoch}",
            )
        raise KafkaError(
            ErrorCode.UNKNOWN_LEADER_EPOCH,
            f"{topic}-{index} is only at leader epoch {partition.leader_epoch} here",
        )
    if by_leader:
        partition.lead()
    if current_leader_epoch >= 0:
        emit("served", topic, index, partition.leader_epoch, current_leader_epoch, "request")
    return partition


def _not_here(node: Node, topic: str, index: int) -> KafkaError:
    known = node.metadata.image.topic(topic)
    if known is None or not 0 <= index < len(known.partitions):
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no partition {topic}-{index}")
    if node.partitions.is_out_of_reach(known.topic_id, index):
        return KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR, f"{topic}-{index} has no log here; see the log"
        )
    # Or the metadata have come, and the log is yet to be made.
    return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic}-{index} is led elsewhere")
