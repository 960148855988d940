"""W-HWACK: what a leader calls committed is in the logs of those that it counts as in sync."""

from harness.sim.invariants.marks_are_held import MarksAreHeld
from tests.unit.harness.sim.invariants.cluster_by_hand import (
    RECORDS,
    ClusterByHand,
    breaks,
    cluster_by_hand,
)


def commit_alone(cluster: ClusterByHand) -> None:
    """The leader moves its mark over a record that nobody else has."""
    partition = cluster.partition(cluster.leader)
    assert partition.leader is not None
    cluster.append(cluster.leader, b"alone", epoch=partition.leader_epoch)
    partition.leader.high_watermark = RECORDS + 1
    partition.log.advance_high_watermark(RECORDS + 1)
    cluster.tell("high_watermark", cluster.leader)


def test_a_mark_beyond_a_members_log_is_found() -> None:
    rule = MarksAreHeld()
    with cluster_by_hand(rule) as cluster:
        words = f"all below {RECORDS + 1} committed, but n{cluster.follower}, .* ends at {RECORDS}"
        with breaks(rule, words):
            commit_alone(cluster)


def test_a_member_with_another_record_there_is_found() -> None:
    rule = MarksAreHeld()
    with cluster_by_hand(rule) as cluster:
        for node_id in (1, 2, 3):
            if node_id != cluster.leader:
                cluster.append(node_id, b"other", epoch=9)
                cluster.tell("append", node_id)
        with breaks(rule, f"has not the batch at {RECORDS}"):
            commit_alone(cluster)


def test_a_mark_that_all_members_have_reached_is_fine() -> None:
    rule = MarksAreHeld()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        epoch = cluster.partition(cluster.leader).leader_epoch
        for node_id in (1, 2, 3):
            if node_id != cluster.leader:
                cluster.append(node_id, b"alone", epoch=epoch)
                cluster.tell("append", node_id)
        commit_alone(cluster)
        assert rule.looks == looks + 2


def test_a_member_that_is_down_is_not_looked_at() -> None:
    rule = MarksAreHeld()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        leader = cluster.leader
        for node_id in (1, 2, 3):
            if node_id != leader:
                cluster.cluster[f"n{node_id}"].kill()
        partition = cluster.partition(leader)
        assert partition.leader is not None
        cluster.append(leader, b"alone", epoch=partition.leader_epoch)
        partition.leader.high_watermark = RECORDS + 1
        partition.log.advance_high_watermark(RECORDS + 1)
        cluster.tell("high_watermark", leader)
        assert rule.looks == looks


def test_a_follower_has_no_mark_to_answer_for() -> None:
    rule = MarksAreHeld()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        cluster.tell("high_watermark", cluster.follower)
        assert rule.looks == looks
