"""W-ORDER: start, last stable offset, high watermark and end stand in this order."""

import pytest

from harness.sim.invariants.offsets_in_order import OffsetsInOrder
from tests.unit.harness.sim.invariants.cluster_by_hand import RECORDS, breaks, cluster_by_hand


@pytest.mark.parametrize(
    ("attribute", "offset", "words"),
    [
        ("high_watermark", RECORDS + 1, "start <= last stable <= high watermark <= end"),
        ("start_offset", RECORDS + 1, "start <= last stable <= high watermark <= end"),
        ("recovery_point", RECORDS + 1, "recovery point <= end"),
    ],
)
def test_an_offset_out_of_order_is_found(attribute: str, offset: int, words: str) -> None:
    rule = OffsetsInOrder()
    with cluster_by_hand(rule) as cluster:
        setattr(cluster.partition(cluster.follower).log, attribute, offset)
        with breaks(rule, f"n{cluster.follower}'s t-0: {words} is not"):
            cluster.tell("append", cluster.follower)


def test_a_leader_that_knows_another_end_than_its_log_is_found() -> None:
    rule = OffsetsInOrder()
    with cluster_by_hand(rule) as cluster:
        leader = cluster.partition(cluster.leader).leader
        assert leader is not None
        leader.end_offset -= 1
        with breaks(rule, "end <= the leader's own end"):
            cluster.tell("append", cluster.leader)


def test_a_quorum_that_committed_more_than_it_has_is_found() -> None:
    rule = OffsetsInOrder()
    with cluster_by_hand(rule) as cluster:
        quorum = cluster.node(1).quorum
        quorum.raft._member.high_watermark = quorum.log.end_offset + 1
        with breaks(rule, "high watermark <= end"):
            cluster.tell_of_quorum("high_watermark", 1)


def test_a_quorum_that_flushed_more_than_it_has_is_found() -> None:
    rule = OffsetsInOrder()
    with cluster_by_hand(rule) as cluster:
        quorum = cluster.node(1).quorum
        quorum.log.flushed_offset = quorum.log.end_offset + 1
        with breaks(rule, "start <= flushed <= end"):
            cluster.tell_of_quorum("append", 1)


def test_offsets_that_are_all_the_same_are_in_order() -> None:
    rule = OffsetsInOrder()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        log = cluster.partition(cluster.follower).log
        log.start_offset = log.high_watermark = RECORDS
        cluster.tell("append", cluster.follower)
        assert rule.looks == looks + 1


def test_a_log_that_is_being_cut_is_looked_at_later() -> None:
    rule = OffsetsInOrder()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        log = cluster.partition(cluster.follower).log
        log.is_changing = True
        log.high_watermark = RECORDS + 1
        cluster.tell("append", cluster.follower)
        assert rule.looks == looks
        log.is_changing = False
        with breaks(rule, "high watermark"):
            cluster.tell_of_quorum("append", 1)
