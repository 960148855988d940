"""W-CAND: whoever may be elected has everything that was ever committed."""

from dataclasses import replace

from broker.metadata.changes import PartitionsChanged
from harness.sim.invariants.candidates_have_all import CandidatesHaveAll
from tests.unit.harness.sim.invariants.cluster_by_hand import (
    RECORDS,
    ClusterByHand,
    breaks,
    cluster_by_hand,
)


def shrink(cluster: ClusterByHand, *, isr: tuple[int, ...], elr: tuple[int, ...] = ()) -> None:
    """As the controllers may decide it."""
    node = cluster.node(1)
    topic = node.metadata.image.topics["t"]
    info = topic.partitions[0]
    changed = replace(info, isr=isr, elr=elr, partition_epoch=info.partition_epoch + 1)
    cluster.decide(1, PartitionsChanged("t", topic.topic_id, ((0, changed),)))


def test_a_member_in_sync_that_lost_records_is_found() -> None:
    rule = CandidatesHaveAll()
    with cluster_by_hand(rule) as cluster:
        follower = cluster.follower
        with breaks(rule, f"n{follower} is in the ISR of t-0 .* without offsets {RECORDS - 1}"):
            cluster.truncate(follower, RECORDS - 1)
            cluster.tell("truncate", follower)


def test_an_eligible_replica_that_lost_records_is_found() -> None:
    rule = CandidatesHaveAll()
    with cluster_by_hand(rule) as cluster:
        follower = cluster.follower
        shrink(cluster, isr=(cluster.leader,), elr=(follower,))
        with breaks(rule, f"n{follower} is in the ELR of t-0"):
            cluster.truncate(follower, RECORDS - 1)
            cluster.tell("truncate", follower)


def test_who_cannot_be_elected_may_lack_records() -> None:
    rule = CandidatesHaveAll()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        follower = cluster.follower
        others = tuple(each for each in (1, 2, 3) if each != follower)
        shrink(cluster, isr=others)
        cluster.truncate(follower, RECORDS - 1)
        cluster.tell("truncate", follower)
        assert rule.looks > looks


def test_what_is_acknowledged_counts_though_no_high_watermark_has_reached_it() -> None:
    rule = CandidatesHaveAll()
    with cluster_by_hand(rule) as cluster:
        leader = cluster.partition(cluster.leader)
        cluster.append(cluster.leader, b"promised", epoch=leader.leader_epoch)
        with breaks(rule, f"without offsets {RECORDS} to {RECORDS}"):
            cluster.tell(
                "acknowledged", cluster.leader, offset=RECORDS + 1, epoch=leader.leader_epoch
            )


def test_a_node_that_has_started_again_is_not_counted_on_before_it_is_registered() -> None:
    rule = CandidatesHaveAll()
    with cluster_by_hand(rule) as cluster:
        follower = cluster.follower
        cluster.node(follower).role.membership.broker_epoch = None
        cluster.truncate(follower, RECORDS - 1)
        cluster.tell("truncate", follower)


def test_an_unclean_election_ends_all_promises() -> None:
    rule = CandidatesHaveAll()
    with cluster_by_hand(rule) as cluster:
        node = cluster.node(1)
        topic = node.metadata.image.topics["t"]
        info = topic.partitions[0]
        changed = replace(info, leader_recovery_state=1, partition_epoch=info.partition_epoch + 1)
        cluster.decide(1, PartitionsChanged("t", topic.topic_id, ((0, changed),)))
        cluster.truncate(cluster.follower, 0)
        cluster.tell("truncate", cluster.follower)


def test_where_nothing_was_committed_there_is_nothing_to_look_at() -> None:
    rule = CandidatesHaveAll()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        cluster.tell_of_quorum("append", 1)
        assert rule.looks == looks
