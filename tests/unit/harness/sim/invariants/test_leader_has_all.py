"""W-LEADC: a leader has everything that was ever committed."""

from harness.sim.invariants.leader_has_all import LeaderHasAll
from tests.unit.harness.sim.invariants.cluster_by_hand import RECORDS, breaks, cluster_by_hand


def test_a_leader_that_lost_what_was_committed_is_found() -> None:
    rule = LeaderHasAll()
    with (
        cluster_by_hand(rule) as cluster,
        breaks(rule, f"leads t-0 .* without offsets {RECORDS - 1}"),
    ):
        cluster.truncate(cluster.leader, RECORDS - 1)
        cluster.tell("truncate", cluster.leader)


def test_a_leader_that_has_other_records_there_is_found() -> None:
    rule = LeaderHasAll()
    with cluster_by_hand(rule) as cluster, breaks(rule, "it has epoch 7 there"):
        cluster.truncate(cluster.leader, RECORDS - 1)
        cluster.append(cluster.leader, b"other", epoch=7)
        cluster.tell("truncate", cluster.leader)


def test_a_leader_may_lose_what_nobody_was_promised() -> None:
    rule = LeaderHasAll()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        cluster.append(cluster.leader, b"not committed", epoch=7)
        cluster.tell("append", cluster.leader)
        cluster.truncate(cluster.leader, RECORDS)
        cluster.tell("truncate", cluster.leader)
        assert rule.looks > looks


def test_a_leader_of_the_quorum_without_what_was_committed_is_found() -> None:
    rule = LeaderHasAll()
    with cluster_by_hand(rule) as cluster:
        other = next(each for each in (1, 2, 3) if each != cluster.controller)
        quorum = cluster.node(other).quorum
        quorum.raft._member.epoch += 1
        with breaks(rule, f"n{other} leads the metadata in epoch"):
            cluster.run(quorum.log.truncate_to(quorum.log.end_offset - 1))
            cluster.tell_of_quorum("role", other, epoch=quorum.raft.epoch, detail="leader")


def test_a_deposed_leader_of_the_quorum_need_not_have_what_came_later() -> None:
    rule = LeaderHasAll()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        other = next(each for each in (1, 2, 3) if each != cluster.controller)
        quorum = cluster.node(other).quorum
        quorum.raft._member.epoch = 0
        cluster.run(quorum.log.truncate_to(0))
        cluster.tell_of_quorum("role", other, epoch=0, detail="leader")
        assert rule.looks == looks + 1


def test_without_a_leader_there_is_nothing_to_look_at() -> None:
    rule = LeaderHasAll()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        leader = cluster.leader
        cluster.partition(leader).leader = None
        cluster.tell("append", leader)
        assert rule.looks == looks
