"""W-SUPERSET: a leader counts everyone who may be elected in its place."""

from dataclasses import replace

from harness.sim.invariants.leader_counts_all import LeaderCountsAll
from tests.unit.harness.sim.invariants.cluster_by_hand import breaks, cluster_by_hand
from tests.unit.harness.sim.invariants.test_candidates_have_all import shrink


def test_a_leader_that_leaves_out_a_member_is_found() -> None:
    rule = LeaderCountsAll()
    with cluster_by_hand(rule) as cluster:
        leader = cluster.partition(cluster.leader).leader
        assert leader is not None
        leader._in_sync.info = replace(leader.info, isr=(cluster.leader,))
        with breaks(rule, rf"counts \[{cluster.leader}\], but \[\d, \d\] may be elected"):
            cluster.tell("learned", cluster.leader)


def test_a_leader_that_leaves_out_an_eligible_replica_is_found() -> None:
    rule = LeaderCountsAll()
    with cluster_by_hand(rule) as cluster:
        leader = cluster.partition(cluster.leader).leader
        assert leader is not None
        leader._in_sync.info = replace(leader.info, isr=(cluster.leader,))
        others = tuple(each for each in (1, 2, 3) if each != cluster.leader)
        with breaks(rule, "may be elected"):
            shrink(cluster, isr=(cluster.leader,), elr=others)


def test_a_leader_may_count_more_than_the_controllers_do() -> None:
    rule = LeaderCountsAll()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        shrink(cluster, isr=(cluster.leader, cluster.follower))
        assert rule.looks == looks + 1


def test_a_leader_that_was_deposed_counts_whom_it_likes() -> None:
    rule = LeaderCountsAll()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        leader = cluster.partition(cluster.leader).leader
        assert leader is not None
        leader.leader_epoch -= 1
        leader._in_sync.info = replace(leader.info, isr=(cluster.leader,))
        cluster.tell("learned", cluster.leader)
        assert rule.looks == looks
