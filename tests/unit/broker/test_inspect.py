"""A node's state as plain values: what is told, and that it stays as it was."""

import dataclasses
from typing import Any

import pytest

from broker import inspect
from broker.inspect import METADATA_TOPIC, SeenSegment, inspect_node, read_batches, touched_by
from broker.log.log import Log
from broker.metadata.changes import (
    BrokerUnregistered,
    ConfigChanged,
    PartitionsChanged,
    ProducerIdsAllocated,
    ResourceType,
    TopicDeleted,
)
from broker.metadata.partition_info import PartitionInfo
from broker.node import Node
from broker.partition import Partition
from broker.protocol.records import Record, build_batch
from harness.sim.invariants.one_leader import OneLeader
from tests.unit.harness.sim.invariants.cluster_by_hand import RECORDS, cluster_by_hand


def values_in(value: Any) -> list[Any]:
    """Everything that can be reached from a value."""
    found = [value]
    if dataclasses.is_dataclass(value):
        for each in dataclasses.fields(value):
            found += values_in(getattr(value, each.name))
    elif isinstance(value, tuple | list):
        for each in value:
            found += values_in(each)
    return found


def test_a_node_is_told_as_values_without_a_way_back() -> None:
    with cluster_by_hand(OneLeader()) as cluster:
        seen = inspect_node(cluster.node(cluster.leader))
        for value in values_in(seen):
            assert not isinstance(value, Node | Partition | Log | dict | list | set), value
            if dataclasses.is_dataclass(value):
                assert value.__dataclass_params__.frozen  # type: ignore[union-attr]


def test_what_a_leader_believes_of_its_followers_is_told() -> None:
    with cluster_by_hand(OneLeader()) as cluster:
        node = cluster.node(cluster.leader)
        seen = inspect.inspect_partition(node, "t", 0)
        assert seen is not None
        assert seen.role == "leader"
        assert (seen.log.start, seen.log.high_watermark, seen.log.end) == (0, RECORDS, RECORDS)
        assert seen.leadership is not None
        assert sorted(seen.leadership.maximal_isr) == [1, 2, 3]
        assert {each.log_end for each in seen.leadership.followers} == {RECORDS}
        epochs = {
            each.broker_id: each.broker_epoch for each in node.metadata.image.brokers.values()
        }
        for each in seen.leadership.followers:
            assert each.broker_epoch == epochs[each.node_id]
        follower = inspect.inspect_partition(cluster.node(cluster.follower), "t", 0)
        assert follower is not None
        assert follower.role == "follower"
        assert follower.leadership is None


def test_a_look_stays_as_it_was() -> None:
    with cluster_by_hand(OneLeader()) as cluster:
        before = inspect_node(cluster.node(1))
        again = inspect_node(cluster.node(1))
        assert before == again
        cluster.append(1, b"more", epoch=9)
        cluster.node(1).quorum.raft._member.epoch += 1
        assert before == again
        assert inspect_node(cluster.node(1)) != before


def test_the_quorum_and_the_metadata_are_told() -> None:
    with cluster_by_hand(OneLeader()) as cluster:
        seen = inspect_node(cluster.node(cluster.controller))
        assert seen.quorum is not None
        assert seen.metadata is not None
        assert seen.quorum.role == "leader"
        assert seen.quorum.leader_id == seen.node_id == cluster.controller
        assert seen.quorum.voters == (1, 2, 3)
        assert seen.quorum.high_watermark == seen.metadata.applied_offset
        assert [each.broker_id for each in seen.metadata.brokers] == [1, 2, 3]
        assert [each.name for each in seen.metadata.topics] == ["t"]
        digests = {inspect.metadata_digest(cluster.node(each)) for each in (1, 2, 3)}
        assert len(digests) == 1


def test_batches_are_read_from_where_the_last_look_ended() -> None:
    with cluster_by_hand(OneLeader()) as cluster:
        node, disk = cluster.node(1), cluster.cluster["n1"].disks["data"]
        (segment,) = inspect.segments(node, "t", 0)
        content = disk.peek(segment.path, 0, segment.size)
        assert content is not None
        batches, problem = read_batches(segment, 0, content)
        assert problem is None
        assert [each.base_offset for each in batches] == list(range(RECORDS))
        second = batches[1]
        rest, problem = read_batches(segment, second.position, content[second.position :])
        assert problem is None
        assert rest == batches[1:]
        assert inspect.segments(node, METADATA_TOPIC, 0)[0].path.startswith(METADATA_TOPIC)
        assert inspect.segments(node, "nowhere", 0) == ()


@pytest.mark.parametrize("cut", [1, 61, 62])
def test_bytes_that_are_no_batch_end_the_reading_with_a_reason(cut: int) -> None:
    segment = SeenSegment(0, "data", "t-0/0.log", 200)
    batch = bytes(build_batch([Record(0, 0, None, b"value")], leader_epoch=3))
    batches, problem = read_batches(segment, 0, batch + batch[:cut])
    assert [each.leader_epoch for each in batches] == [3]
    assert problem is not None


def test_what_changes_of_the_metadata_are_about() -> None:
    info = PartitionInfo(replicas=(1,), isr=(1,), leader=1)
    touched = touched_by(
        [
            PartitionsChanged("t", b"i", ((2, info), (5, info))),
            TopicDeleted("u", b"j"),
            ConfigChanged(ResourceType.TOPIC, "v", "a", "b"),
            BrokerUnregistered(4, 9),
            ProducerIdsAllocated(1),
        ]
    )
    assert touched.partitions == (("t", 2), ("t", 5))
    assert touched.topics == ("u", "v")
    assert touched.brokers == (4,)
    assert not touched.everything
    assert touched_by(None).everything
    assert touched_by([ConfigChanged(ResourceType.BROKER, "", "a", "b")]).everything
