"""W-SEQ: what a partition remembers of its producers is what a replay of its log gives."""

import pytest

from broker.log.producer_state import Producer, WrittenBatch
from broker.log.producer_table import ProducerTable
from harness.sim.invariants.known_producers import KnownProducers
from tests.unit.harness.sim.invariants.cluster_by_hand import (
    RECORDS,
    ClusterByHand,
    breaks,
    cluster_by_hand,
)


def table(cluster: ClusterByHand, node_id: int) -> ProducerTable:
    return cluster.partition(node_id).log.producers


def writer(cluster: ClusterByHand, node_id: int) -> Producer:
    (found,) = table(cluster, node_id).producers.values()
    return found


def looked_at_anew(cluster: ClusterByHand, node_id: int) -> None:
    """As after a restart of the watcher: everything is compared."""
    cluster.watch.scene._replicas.clear()
    cluster.tell("append", node_id)


def test_leader_and_followers_know_the_producer_that_wrote() -> None:
    rule = KnownProducers()
    with cluster_by_hand(rule) as cluster:
        assert rule.looks >= 3 * RECORDS
        for node_id in (1, 2, 3):
            looked_at_anew(cluster, node_id)


@pytest.mark.parametrize(
    ("window", "words"),
    [
        ((), r"sequences \[\] of producer \d+, but its log says .*0@0, 1@1, 2@2, 3@3"),
        ((WrittenBatch(3, 3, 0, 0),), r"sequences \[3@3\]"),
        ((WrittenBatch(9, 9, 0, 0),), r"sequences \[9@9\]"),
    ],
)
def test_another_window_is_found(window: tuple[WrittenBatch, ...], words: str) -> None:
    rule = KnownProducers()
    with cluster_by_hand(rule) as cluster:
        node_id = cluster.follower
        known = writer(cluster, node_id)
        table(cluster, node_id).producers[known.producer_id] = known._replace(window=window)
        with breaks(rule, f"n{node_id}'s t-0: it remembers .*{words}"):
            looked_at_anew(cluster, node_id)


@pytest.mark.parametrize("changed", [{"epoch": 7}, {"txn_first_offset": 1}])
def test_another_epoch_or_transaction_is_found(changed: dict[str, int]) -> None:
    rule = KnownProducers()
    with cluster_by_hand(rule) as cluster:
        known = writer(cluster, 1)
        table(cluster, 1).producers[known.producer_id] = known._replace(**changed)  # type: ignore[arg-type]
        with breaks(rule, "n1's t-0: it remembers"):
            looked_at_anew(cluster, 1)


def test_a_forgotten_producer_and_one_that_never_wrote_are_found() -> None:
    rule = KnownProducers()
    with cluster_by_hand(rule) as cluster:
        known = writer(cluster, 1)
        table(cluster, 2).producers[99] = known._replace(producer_id=99)
        with breaks(rule, "it remembers producer 99, of whom its log has nothing"):
            looked_at_anew(cluster, 2)
        del table(cluster, 1).producers[known.producer_id]
        with breaks(rule, "it remembers nothing of producer"):
            looked_at_anew(cluster, 1)


def test_what_was_cut_off_and_is_still_remembered_is_found() -> None:
    """A truncation that leaves the producers alone; a retry of the lost batch is then refused."""
    rule = KnownProducers()
    with cluster_by_hand(rule) as cluster:
        node_id = cluster.follower
        known = writer(cluster, node_id)
        cluster.truncate(node_id, 2)
        cluster.tell("truncate", node_id)
        assert writer(cluster, node_id).last_sequence == 1
        table(cluster, node_id).producers[known.producer_id] = known
        with breaks(rule, r"3@3\] of producer .* says epoch 0 and the sequences \[0@0, 1@1\]"):
            looked_at_anew(cluster, node_id)


def test_after_a_recovery_all_is_known_again() -> None:
    rule = KnownProducers()
    with cluster_by_hand(rule) as cluster:
        machine = cluster.cluster[f"n{cluster.follower}"]
        looks = rule.looks
        machine.kill()
        machine.start()
        cluster.run(machine.started(), for_s=30.0)
        looked_at_anew(cluster, machine.node_id)
        assert rule.looks > looks


def test_partitions_that_forget_are_not_asked() -> None:
    rule = KnownProducers()
    with cluster_by_hand(rule, {"producer.id.expiration.ms": "1000"}) as cluster:
        table(cluster, 1).producers.clear()
        looked_at_anew(cluster, 1)
        assert rule.looks == 0
