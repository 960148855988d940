"""W-HWMONO: a high watermark does not go back."""

from harness.sim.invariants.marks_rise import MarksRise
from tests.unit.harness.sim.invariants.cluster_by_hand import (
    RECORDS,
    ClusterByHand,
    breaks,
    cluster_by_hand,
)


def set_mark(cluster: ClusterByHand, offset: int) -> None:
    partition = cluster.partition(cluster.leader)
    assert partition.leader is not None
    partition.leader.high_watermark = partition.log.high_watermark = offset
    cluster.tell("high_watermark", cluster.leader)


def test_a_leader_whose_mark_falls_is_found() -> None:
    rule = MarksRise()
    words = f"goes back from {RECORDS} to {RECORDS - 1} within epoch"
    with cluster_by_hand(rule) as cluster, breaks(rule, words):
        set_mark(cluster, RECORDS - 1)


def test_a_mark_that_rises_is_fine() -> None:
    rule = MarksRise()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        cluster.append(cluster.leader, b"more", epoch=7)
        set_mark(cluster, RECORDS + 1)
        assert rule.looks == looks + 1


def test_a_leader_of_the_next_epoch_may_begin_lower() -> None:
    rule = MarksRise()
    with cluster_by_hand(rule) as cluster:
        leader = cluster.partition(cluster.leader).leader
        assert leader is not None
        leader.leader_epoch += 1
        set_mark(cluster, RECORDS - 1)


def test_a_leader_and_its_log_that_do_not_agree_are_found() -> None:
    rule = MarksRise()
    with cluster_by_hand(rule) as cluster:
        cluster.partition(cluster.leader).log.high_watermark -= 1
        with breaks(rule, f"has the mark {RECORDS - 1}, but its leader {RECORDS}"):
            cluster.tell("high_watermark", cluster.leader)


def test_a_cut_below_the_mark_is_found() -> None:
    rule = MarksRise()
    with cluster_by_hand(rule) as cluster:
        follower = cluster.follower
        cluster.partition(follower).log.advance_high_watermark(RECORDS)
        cluster.tell("high_watermark", follower)
        with breaks(rule, f"is cut at 1, though it has called all below {RECORDS} committed"):
            cluster.truncate(follower, 1)
            cluster.tell("truncate", follower)


def test_a_cut_above_the_mark_is_fine() -> None:
    rule = MarksRise()
    with cluster_by_hand(rule) as cluster:
        cluster.append(cluster.follower, b"more", epoch=7)
        cluster.tell("append", cluster.follower)
        looks = rule.looks
        cluster.truncate(cluster.follower, RECORDS)
        cluster.tell("truncate", cluster.follower)
        assert rule.looks == looks + 1


def test_a_follower_may_start_over_where_its_leader_begins() -> None:
    rule = MarksRise()
    with cluster_by_hand(rule) as cluster:
        log = cluster.partition(cluster.follower).log
        cluster.run(log.truncate_fully_and_start_at(100))
        cluster.tell("truncate", cluster.follower)


def test_the_quorum_cut_below_what_it_committed_is_found() -> None:
    rule = MarksRise()
    with cluster_by_hand(rule) as cluster:
        quorum = cluster.node(1).quorum
        with breaks(rule, "n1's the metadata is cut at"):
            cluster.run(quorum.log.truncate_to(quorum.raft.high_watermark - 1))
            cluster.tell_of_quorum("truncate", 1)


def test_a_follower_that_was_not_cut_is_nothing_to_look_at() -> None:
    rule = MarksRise()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        cluster.tell("high_watermark", cluster.follower)
        assert rule.looks == looks
