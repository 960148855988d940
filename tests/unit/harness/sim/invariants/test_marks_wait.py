"""W-MINISR: a mark moves only while enough replicas are in sync."""

from dataclasses import replace

from harness.sim.invariants.marks_wait import MarksWait
from tests.unit.harness.sim.invariants.cluster_by_hand import (
    RECORDS,
    ClusterByHand,
    breaks,
    cluster_by_hand,
)


def move(cluster: ClusterByHand, isr: tuple[int, ...], to: int) -> None:
    partition = cluster.partition(cluster.leader)
    assert partition.leader is not None
    in_sync = partition.leader._in_sync
    in_sync.info = replace(in_sync.info, isr=isr)
    cluster.tell("high_watermark", cluster.leader, offset=to, epoch=partition.leader_epoch)


def test_a_mark_that_moves_below_the_minimum_is_found() -> None:
    rule = MarksWait()
    with cluster_by_hand(rule) as cluster:
        words = rf"to {RECORDS + 1}, but only \[{cluster.leader}\] are in sync, and .* is 2"
        with breaks(rule, words):
            move(cluster, (cluster.leader,), RECORDS + 1)


def test_a_mark_that_moves_with_enough_of_them_or_stands_still_is_not() -> None:
    rule = MarksWait()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        move(cluster, (cluster.leader, cluster.follower), RECORDS + 1)
        assert rule.looks == looks + 1
        move(cluster, (cluster.leader,), RECORDS + 1)
        assert rule.looks == looks + 1


def test_what_followers_learn_is_nothing_to_look_at() -> None:
    rule = MarksWait()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        cluster.tell("high_watermark", cluster.follower, offset=RECORDS + 1, epoch=0)
        assert rule.looks == looks


def test_a_topic_with_fewer_replicas_than_the_minimum_needs_them_all() -> None:
    rule = MarksWait()
    with cluster_by_hand(rule) as cluster:
        partition = cluster.partition(cluster.leader)
        assert partition.leader is not None
        partition.leader.min_insync_replicas = 9
        looks = rule.looks
        move(cluster, (1, 2, 3), RECORDS + 1)
        assert rule.looks == looks + 1
