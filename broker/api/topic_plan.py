"""Works out what creating a topic would make: its partitions' replicas and its configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from broker.api.topic_names import CLUSTER_METADATA_TOPIC, TopicNames, check_topic_name
from broker.config.topic import check_overrides
from broker.controller.partition_change import first_state
from broker.controller.placement import place_replicas
from broker.metadata.broker_info import BrokerInfo
from broker.metadata.changes import TopicCreated
from broker.metadata.ids import ZERO_ID, new_id
from broker.metadata.partition_info import PartitionInfo
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node

_UNSAID = -1
_PARTITIONS_MAX = 10_000  # in one request, as Kafka's controller has it


def plan_topic(
    node: Node, topic: m.CreatableTopic, names: TopicNames | None = None
) -> TopicCreated:
    """Raises KafkaError for everything that the client got wrong.

    `names` are those of all topics, and those that the same request creates before this one.
    """
    check_topic_name(topic.name)
    if topic.name == CLUSTER_METADATA_TOPIC:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{topic.name} cannot be created by clients")
    image = node.metadata.image
    if image.topic(topic.name) is not None:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {topic.name!r} already exists")
    (names or TopicNames(image.topics)).check_collision(topic.name)
    return TopicCreated(
        topic.name,
        new_id(node.world.random),
        new_partitions(node, _replicas(node, topic)),
        _configs(topic.configs),
    )


def place(node: Node, partitions: int, factor: int) -> Sequence[Sequence[int]]:
    """The replicas of new partitions, where the client leaves them to the cluster."""
    brokers = _brokers(node)
    start = node.world.random.randrange(len(brokers)) if len(brokers) > 1 else 0
    return place_replicas(brokers.values(), partitions=partitions, factor=factor, start=start)


def new_partitions(node: Node, lists: Sequence[Sequence[int]]) -> tuple[PartitionInfo, ...]:
    """A replica that is not there is not in sync; one of each partition must be."""
    brokers = _brokers(node)

    def is_active(each: int, directory: bytes | None = None) -> bool:
        return brokers[each].is_active and brokers[each].has_online(directory)

    infos = []
    for replicas in lists:
        info = first_state(replicas, is_active)
        if info is None:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"none of the nodes {list(replicas)} is there"
            )
        infos.append(info)
    return tuple(infos)


def check_replica_lists(node: Node, lists: Sequence[Sequence[int]], factor: int) -> None:
    """Each partition's replicas must be nodes that exist, none of them twice."""
    brokers = _brokers(node)
    for replicas in lists:
        if not replicas:
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "a partition has no replica")
        if len(set(replicas)) != len(replicas):
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"a node comes twice in {list(replicas)}"
            )
        if len(replicas) != factor:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"partitions differ in their replica count: {len(replicas)} and {factor}",
            )
        for number in replicas:
            if number not in brokers:
                raise KafkaError(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"there is no node {number}; the cluster has {sorted(brokers)}",
                )


def _brokers(node: Node) -> Mapping[int, BrokerInfo]:
    """Before anybody is registered, the node itself is all there is."""
    itself = BrokerInfo(
        broker_id=node.node_id, incarnation_id=ZERO_ID, broker_epoch=-1, endpoints=(), fenced=False
    )
    return node.metadata.image.brokers or {node.node_id: itself}


def check_partition_count(count: int) -> None:
    if count > _PARTITIONS_MAX:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"{count} partitions in one request are too many; {_PARTITIONS_MAX} are allowed",
        )


def _replicas(node: Node, topic: m.CreatableTopic) -> Sequence[Sequence[int]]:
    if topic.assignments:
        return _assigned(node, topic)
    count = topic.num_partitions
    if count == _UNSAID:
        count = node.config.num_partitions
    factor = topic.replication_factor
    if factor == _UNSAID:
        factor = node.config.default_replication_factor
    if factor < 1:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"a replication factor of {factor} cannot be; ask for 1, or -1 for the default",
        )
    if count < 1:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"{count} partitions cannot be; ask for at least 1, or -1 for the default",
        )
    check_partition_count(count)
    return place(node, count, factor)


def _assigned(node: Node, topic: m.CreatableTopic) -> Sequence[Sequence[int]]:
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
    check_replica_lists(node, lists, len(lists[0]))
    return lists


def _configs(given: Sequence[m.CreatableTopicConfig]) -> dict[str, str]:
    configs: dict[str, str] = {}
    for config in given:
        if config.value is None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"{config.name} has no value")
        configs[config.name] = config.value
    check_overrides(configs)
    return configs
