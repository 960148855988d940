"""W-PLACE: a broker that comes back with all it ever wrote stays eligible where it was."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from broker.metadata.broker_info import Endpoint
from broker.metadata.changes import BrokerChanged, BrokerRegistered, PartitionsChanged
from harness.sim.invariants.kept_places import KeptPlaces
from harness.sim.nodes import SimNode
from tests.unit.harness.sim.invariants.cluster_by_hand import (
    ClusterByHand,
    breaks,
    cluster_by_hand,
)


def registered(cluster: ClusterByHand, node_id: int) -> BrokerRegistered:
    epoch = cluster.node(1).metadata.image.next_broker_epoch
    endpoints = (Endpoint("PLAINTEXT", f"n{node_id}", 9092),)
    return BrokerRegistered(node_id, bytes([epoch]) * 16, epoch, endpoints)


def changed(
    cluster: ClusterByHand, isr: tuple[int, ...], elr: tuple[int, ...]
) -> PartitionsChanged:
    topic = cluster.node(1).metadata.image.topics["t"]
    old = topic.partitions[0]
    info = replace(
        old, isr=isr, elr=elr, leader=isr[0] if isr else -1,
        leader_epoch=old.leader_epoch + 1, partition_epoch=old.partition_epoch + 1,
    )  # fmt: skip
    return PartitionsChanged("t", topic.topic_id, ((0, info),))


def leave(cluster: ClusterByHand) -> None:
    """Brokers 2 and 3 stop; broker 2, the last of them, is eligible."""
    brokers = cluster.node(1).metadata.image.brokers
    cluster.decide(1, changed(cluster, (1, 2), ()))
    cluster.decide(1, changed(cluster, (1,), (2,)), BrokerChanged(2, brokers[2].broker_epoch, True))


def test_an_unharmed_broker_that_loses_its_place_is_found() -> None:
    rule = KeptPlaces()
    with cluster_by_hand(rule) as cluster:
        leave(cluster)
        with breaks(
            rule, r"broker 2 registers with epoch \d+ and is not eligible for t-0 any more"
        ):
            cluster.decide(1, changed(cluster, (1,), ()), registered(cluster, 2))


def test_one_that_keeps_its_place_is_not() -> None:
    rule = KeptPlaces()
    with cluster_by_hand(rule) as cluster:
        leave(cluster)
        looks = rule.looks
        cluster.decide(1, registered(cluster, 2))
        assert rule.looks == looks + 1


def power_loss(machine: SimNode) -> None:
    machine.power_loss()


def disk_error(machine: SimNode) -> None:
    machine.disk_faults.fail("fdatasync")


@pytest.mark.parametrize("harm", [power_loss, disk_error])
def test_nothing_is_asked_of_one_that_may_have_lost_something(
    harm: Callable[[SimNode], None],
) -> None:
    rule = KeptPlaces()
    with cluster_by_hand(rule) as cluster:
        leave(cluster)
        harm(cluster.cluster["n2"])
        cluster.decide(1, changed(cluster, (1,), ()), registered(cluster, 2))
        assert rule.looks == 0


def test_where_enough_are_in_sync_nobody_else_is_eligible() -> None:
    rule = KeptPlaces()
    with cluster_by_hand(rule) as cluster:
        cluster.decide(1, changed(cluster, (1, 3), ()), registered(cluster, 2))
        assert rule.looks == 0
