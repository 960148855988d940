"""W-SMEQ: who has applied the same metadata is in the same state."""

from broker.quorum.replay import Applied
from harness.sim.invariants.equal_images import EqualImages
from tests.unit.harness.sim.invariants.cluster_by_hand import breaks, cluster_by_hand


def test_an_image_that_differs_is_found() -> None:
    rule = EqualImages()
    with cluster_by_hand(rule) as cluster:
        cluster.tell_of_quorum("metadata", 1, detail=Applied(()))
        cluster.node(2).metadata.image.next_producer_id += 1
        with breaks(rule, "n2 has applied the metadata up to .* in another state than n. was"):
            cluster.tell_of_quorum("metadata", 2, detail=Applied(()))


def test_equal_images_are_fine() -> None:
    rule = EqualImages()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        for node_id in (1, 2, 3):
            cluster.tell_of_quorum("metadata", node_id, detail=Applied(()))
        assert rule.looks == looks + 3


def test_nodes_at_different_offsets_are_not_compared() -> None:
    rule = EqualImages()
    with cluster_by_hand(rule) as cluster:
        cluster.node(2).metadata.image.next_producer_id += 1
        cluster.node(2).metadata.applied_offset += 1
        cluster.tell_of_quorum("metadata", 2, detail=Applied(()))


def test_other_news_are_nothing_to_look_at() -> None:
    rule = EqualImages()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        cluster.tell_of_quorum("append", 1)
        assert rule.looks == looks
