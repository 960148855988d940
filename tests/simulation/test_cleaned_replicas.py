"""Replicas ask each other how far they have been compacted, over the network of a cluster."""

from __future__ import annotations

from broker.cleaned_replicas import CleanedReplicas
from harness.sim.invariants.offsets_in_order import OffsetsInOrder
from tests.unit.harness.sim.invariants.cluster_by_hand import ClusterByHand, cluster_by_hand


def clean_to(cluster: ClusterByHand, node_id: int, offset: int) -> None:
    """As if a pass of its cleaner had come so far."""
    partition = cluster.partition(node_id)
    directory = cluster.node(node_id).partitions.directories[partition.log_dir]
    directory.cleaner._cleaned_to["t", 0] = offset


def test_leaders_and_followers_learn_what_all_replicas_have_been_compacted_to() -> None:
    with cluster_by_hand(OffsetsInOrder()) as cluster:
        for node_id, offset in ((1, 3), (2, 4), (3, 2)):
            clean_to(cluster, node_id, offset)
        for node_id in (1, 2, 3):
            cleaned = CleanedReplicas(cluster.node(node_id))
            log = cluster.partition(node_id).log
            assert cluster.run(cleaned.removable_below(log), for_s=10) == 2
            cleaned.close()


def test_a_replica_that_is_down_counts_with_its_last_report_and_without_one_for_nothing() -> None:
    with cluster_by_hand(OffsetsInOrder()) as cluster:
        for node_id in (1, 2, 3):
            clean_to(cluster, node_id, 3)
        asked, new = (CleanedReplicas(cluster.node(1)) for _ in range(2))
        log = cluster.partition(1).log
        assert cluster.run(asked.removable_below(log), for_s=10) == 3
        assert cluster.cluster["n3"].kill()
        for node_id in (1, 2):
            clean_to(cluster, node_id, 4)
        assert cluster.run(asked.removable_below(log), for_s=10) == 3
        assert cluster.run(new.removable_below(log), for_s=10) == 0
        asked.close()
        new.close()
