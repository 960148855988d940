"""W-FENCE: a request of another epoch is not answered as valid."""

import pytest

from harness.sim.invariants.epochs_fence import EpochsFence
from tests.unit.harness.sim.invariants.cluster_by_hand import breaks, cluster_by_hand


@pytest.mark.parametrize("asked", [4, 6])
def test_another_epoch_that_is_served_is_found(asked: int) -> None:
    rule = EpochsFence()
    words = f"n2 knows epoch 5 of t-0 and answers a replica fetch of epoch {asked}"
    with cluster_by_hand(rule) as cluster, breaks(rule, words):
        cluster.tell("served", 2, offset=5, epoch=asked, detail="replica fetch")


def test_the_same_epoch_is_served() -> None:
    rule = EpochsFence()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        cluster.tell("served", 2, offset=5, epoch=5, detail="replica fetch")
        assert rule.looks == looks + 1


def test_a_member_of_the_quorum_that_serves_an_epoch_that_is_over_is_found() -> None:
    rule = EpochsFence()
    with cluster_by_hand(rule) as cluster:
        known = cluster.node(2).quorum.raft.epoch
        with breaks(rule, f"n2 knows epoch {known} of __cluster_metadata-0"):
            cluster.tell_of_quorum("served", 2, offset=known, epoch=known - 1)


def test_a_member_of_the_quorum_may_take_over_a_later_epoch_and_serve_it() -> None:
    rule = EpochsFence()
    with cluster_by_hand(rule) as cluster:
        known = cluster.node(2).quorum.raft.epoch
        cluster.tell_of_quorum("served", 2, offset=known - 1, epoch=known)
        with breaks(rule, "as if it were valid"):
            cluster.tell_of_quorum("served", 2, offset=known, epoch=known + 1)


def test_other_news_are_nothing_to_look_at() -> None:
    rule = EpochsFence()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        cluster.tell("append", 2, epoch=1)
        assert rule.looks == looks
