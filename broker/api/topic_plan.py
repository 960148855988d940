"""Works out what creating a topic would make: its partitions' replicas and its configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from broker.api.topic_names import CLUSTER_METADATA_TOPIC, check_collision, check_topic_name
from broker.config.topic import check_overrides
from broker.metadata.changes import TopicCreated
from broker.metadata.ids import new_id
from broker.metadata.partition_info import PartitionInfo
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node

_UNSAID = -1
_PARTITIONS_MAX = 10_000  # in one request, as Kafka's controller has it


def plan_topic(node: Node, topic: m.CreatableTopic, planned: Iterable[str] = ()) -> TopicCreated:
    """Raises KafkaError for everything that the client got wrong.

    `planned` are the names that the same request creates before this one.
    """
    check_topic_name(topic.name)
    if topic.name == CLUSTER_METADATA_TOPIC:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{topic.name} cannot be created by clients")
    image = node.metadata.image
    if image.topic(topic.name) is not None:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {topic.name!r} already exists")
    check_collision(topic.name, image.topics)
    check_collision(topic.name, planned)
    return TopicCreated(
        topic.name,
        new_id(node.world.random),
        tuple(PartitionInfo.in_sync(nodes) for nodes in _replicas(node, topic)),
        _configs(topic.configs),
    )


def plan_default_topic(node: Node, name: str) -> TopicCreated:
    """As auto.create.topics.enable makes it."""
    return plan_topic(
        node, m.CreatableTopic(name=name, num_partitions=_UNSAID, replication_factor=_UNSAID)
    )


def check_replica_lists(lists: Sequence[Sequence[int]], node_id: int) -> None:
    """Each partition's replicas must be nodes that exist, none of them twice."""
    for nodes in lists:
        if not nodes:
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "a partition has no replica")
        if len(set(nodes)) != len(nodes):
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"a node comes twice in {list(nodes)}"
            )
        if len(nodes) != len(lists[0]):
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions differ in their replica count"
            )
        for number in nodes:
            if number != node_id:
                raise KafkaError(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"there is no node {number}; the cluster is node {node_id} alone",
                )


def check_partition_count(count: int) -> None:
    if count > _PARTITIONS_MAX:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"{count} partitions in one request are too many; {_PARTITIONS_MAX} are allowed",
        )


def _replicas(node: Node, topic: m.CreatableTopic) -> tuple[tuple[int, ...], ...]:
    if topic.assignments:
        return _assigned(node, topic)
    count = topic.num_partitions
    if count == _UNSAID:
        count = node.config.num_partitions
    if count < 1:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"{count} partitions cannot be; ask for at least 1, or -1 for the default",
        )
    check_partition_count(count)
    factor = topic.replication_factor
    if factor == _UNSAID:
        factor = node.config.default_replication_factor
    if factor < 1:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"a replication factor of {factor} cannot be; ask for 1, or -1 for the default",
        )
    if factor > 1:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"a replication factor of {factor} needs {factor} nodes; the cluster has 1",
        )
    return ((node.node_id,),) * count


def _assigned(node: Node, topic: m.CreatableTopic) -> tuple[tuple[int, ...], ...]:
    if topic.num_partitions != _UNSAID or topic.replication_factor != _UNSAID:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "with replica assignments, partition count and replication factor must be -1",
        )
    check_partition_count(len(topic.assignments))
    by_index: Mapping[int, m.CreatableReplicaAssignment] = {
        each.partition_index: each for each in topic.assignments
    }
    if len(by_index) != len(topic.assignments) or set(by_index) != set(range(len(by_index))):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "assignments must name each partition from 0 on, once",
        )
    lists = [by_index[index].broker_ids for index in range(len(by_index))]
    check_replica_lists(lists, node.node_id)
    return tuple(tuple(nodes) for nodes in lists)


def _configs(given: Sequence[m.CreatableTopicConfig]) -> dict[str, str]:
    configs: dict[str, str] = {}
    for config in given:
        if config.value is None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"{config.name} has no value")
        configs[config.name] = config.value
    check_overrides(configs)
    return configs
