"""New partitions in a cluster of several brokers: where they go, and who is in sync at once."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from broker.api.create_partitions import plan_partitions
from broker.api.topic_plan import plan_topic
from broker.metadata.broker_info import BrokerInfo
from broker.metadata.image import Image
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.controller.clusters import broker, cluster, partition


def node_of(image: Image) -> Node:
    """Only what a plan looks at."""
    fake = SimpleNamespace(
        node_id=1,
        metadata=SimpleNamespace(image=image),
        world=SimpleNamespace(random=Random(1)),
        config=SimpleNamespace(num_partitions=1, default_replication_factor=1),
    )
    return cast("Node", fake)


def wanted(partitions: int = -1, factor: int = -1, *lists: list[int]) -> m.CreatableTopic:
    assignments = [
        m.CreatableReplicaAssignment(partition_index=index, broker_ids=replicas)
        for index, replicas in enumerate(lists)
    ]
    return m.CreatableTopic(
        name="new",
        num_partitions=partitions,
        replication_factor=factor,
        assignments=assignments,
        configs=[],
    )


def replicas(*brokers: int | BrokerInfo, partitions: int, factor: int) -> list[tuple[int, ...]]:
    plan = plan_topic(node_of(cluster(brokers)), wanted(partitions, factor))
    return [info.replicas for info in plan.partitions]


def refusal(node: Node, topic: Any) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        plan_topic(node, topic)
    return refused.value.code


def test_replicas_are_spread_over_the_brokers() -> None:
    placed = replicas(1, 2, 3, partitions=3, factor=2)
    assert sorted(each[0] for each in placed) == [1, 2, 3]
    assert all(len(set(each)) == 2 for each in placed)


def test_small_topics_are_not_all_led_by_the_same_broker() -> None:
    node = node_of(cluster([1, 2, 3]))
    leaders = {plan_topic(node, wanted(1, 1)).partitions[0].leader for _ in range(20)}
    assert leaders == {1, 2, 3}


def test_more_replicas_than_brokers_that_are_there() -> None:
    node = node_of(cluster([1, broker(2, fenced=True)]))
    assert refusal(node, wanted(1, 2)) is ErrorCode.INVALID_REPLICATION_FACTOR


def test_before_anybody_is_registered_the_node_itself_is_all_there_is() -> None:
    assert replicas(partitions=2, factor=1) == [(1,), (1,)]
    assert refusal(node_of(Image()), wanted(1, 2)) is ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_replica_that_was_asked_for_but_is_away_is_not_in_sync() -> None:
    node = node_of(cluster([broker(1, fenced=True), 2]))
    (info,) = plan_topic(node, wanted(-1, -1, [1, 2])).partitions
    assert (info.replicas, info.isr, info.leader) == ((1, 2), (2,), 2)
    assert refusal(node, wanted(-1, -1, [1])) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert refusal(node, wanted(-1, -1, [3])) is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_added_partitions_have_as_many_replicas_as_the_others_shall_have() -> None:
    moving = partition([3, 2, 1], [1, 2], adding_replicas=(3,), removing_replicas=(1,))
    node = node_of(cluster([1, 2, 3, 4], moving))
    topic = m.CreatePartitionsTopic(name="t", count=3, assignments=None)
    added = plan_partitions(node, topic)
    assert [len(info.replicas) for info in added.partitions] == [2, 2]
    one = m.CreatePartitionsAssignment(broker_ids=[1])
    with pytest.raises(KafkaError, match="replica count: 1 and 2"):
        plan_partitions(node, m.CreatePartitionsTopic(name="t", count=2, assignments=[one]))


def test_a_wrong_replication_factor_is_named_before_a_wrong_count() -> None:
    assert refusal(node_of(cluster((1,))), wanted(0, 0)) is ErrorCode.INVALID_REPLICATION_FACTOR
    assert refusal(node_of(cluster((1,))), wanted(0, 1)) is ErrorCode.INVALID_PARTITIONS
