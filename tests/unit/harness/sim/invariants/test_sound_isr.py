"""W-ISR: what is decided about a partition makes sense in itself."""

from dataclasses import replace

import pytest

from broker.metadata.changes import BrokerChanged, PartitionsChanged
from broker.metadata.partition_info import PartitionInfo
from harness.sim.invariants.sound_isr import SoundIsr
from tests.unit.harness.sim.invariants.cluster_by_hand import (
    ClusterByHand,
    breaks,
    cluster_by_hand,
)


def decide(cluster: ClusterByHand, **changed: object) -> None:
    topic = cluster.node(1).metadata.image.topics["t"]
    old = topic.partitions[0]
    info = PartitionInfo(
        replicas=(1, 2, 3),
        isr=(1, 2, 3),
        leader=1,
        leader_epoch=old.leader_epoch + 1,
        partition_epoch=old.partition_epoch + 1,
    )
    changes = replace(info, **changed)  # type: ignore[arg-type]
    cluster.decide(1, PartitionsChanged("t", topic.topic_id, ((0, changes),)))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"isr": (1, 9)}, r"\[9\] in the ISR hold no replica"),
        ({"isr": (1,), "elr": (9,)}, r"\[9\] in the ELR hold no replica"),
        ({"isr": (1, 1, 2)}, "the ISR names somebody twice"),
        ({"isr": (1,), "elr": (1,)}, r"\[1\] are in the ISR and in the ELR"),
        ({"isr": (1, 2), "elr": (3,)}, "2 in sync are enough, but there is an ELR"),
        ({"isr": (2, 3)}, "the leader 1 is not in sync"),
    ],
)
def test_a_state_that_makes_no_sense_is_found(changed: dict[str, object], words: str) -> None:
    rule = SoundIsr()
    with cluster_by_hand(rule) as cluster, breaks(rule, f"t-0 at .*{words}"):
        decide(cluster, **changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"isr": (1, 2)},
        {"isr": (1,), "elr": (2, 3)},
        {"isr": (), "elr": (1, 2), "leader": -1},
        {"isr": (2,), "elr": (1,), "leader": 2},
    ],
)
def test_states_that_do_make_sense(changed: dict[str, object]) -> None:
    rule = SoundIsr()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        decide(cluster, **changed)
        assert rule.looks == looks + 1


def test_a_fenced_broker_that_stays_in_sync_is_found() -> None:
    rule = SoundIsr()
    with (
        cluster_by_hand(rule) as cluster,
        breaks(rule, "broker 2 is fenced, and in the ISR of t-0"),
    ):
        epoch = cluster.node(1).metadata.image.brokers[2].broker_epoch
        cluster.decide(1, BrokerChanged(2, epoch, fenced=True))


def test_a_fenced_broker_that_comes_into_sync_is_found() -> None:
    rule = SoundIsr()
    with cluster_by_hand(rule) as cluster:
        decide(cluster, isr=(1, 3))
        epoch = cluster.node(1).metadata.image.brokers[2].broker_epoch
        cluster.decide(1, BrokerChanged(2, epoch, fenced=True))
        with breaks(rule, "broker 2 in the ISR is fenced"):
            decide(cluster, isr=(1, 2, 3))


def test_a_node_that_is_behind_adds_nothing_to_look_at() -> None:
    rule = SoundIsr()
    with cluster_by_hand(rule) as cluster:
        cluster.node(2).metadata.applied_offset -= 10
        looks = rule.looks
        topic = cluster.node(2).metadata.image.topics["t"]
        old = topic.partitions[0]
        nonsense = replace(old, isr=(9,), partition_epoch=old.partition_epoch + 1)
        cluster.decide(2, PartitionsChanged("t", topic.topic_id, ((0, nonsense),)))
        assert rule.looks == looks
