"""The next state of a partition: who is in sync, who is eligible, who leads, which epochs count."""

from dataclasses import replace

from broker.controller.partition_change import (
    Assignment,
    Election,
    IsActive,
    first_state,
    next_state,
)
from broker.controller.topic_rules import TopicRules
from broker.metadata.partition_info import NO_LEADER, RECOVERED, RECOVERING, PartitionInfo
from tests.unit.broker.controller.clusters import partition

TWO = TopicRules(min_isr=2)
ONE = TopicRules(min_isr=1)


def active(*brokers: int) -> IsActive:
    return lambda each, directory=None: each in brokers


ALL = active(1, 2, 3, 4, 5, 6)


def must(info: PartitionInfo | None) -> PartitionInfo:
    assert info is not None
    return info


def test_nothing_changes_when_everybody_is_there() -> None:
    assert next_state(partition([1, 2, 3]), TWO, ALL) is None


def test_a_follower_that_goes_costs_no_leader_epoch() -> None:
    old = partition([1, 2, 3])
    assert next_state(old, TWO, active(1, 2)) == replace(old, isr=(1, 2), partition_epoch=9)


def test_the_next_leader_is_the_first_replica_in_sync() -> None:
    old = partition([3, 1, 2], [3, 2, 1])
    info = must(next_state(old, ONE, active(1, 2)))
    assert (info.leader, info.isr, info.leader_epoch) == (1, (1, 2), 6)


def test_a_leader_stays_although_the_preferred_one_is_back() -> None:
    old = partition([1, 2], [1, 2], leader=2)
    assert next_state(old, ONE, ALL) is None
    info = must(next_state(old, ONE, ALL, election=Election.PREFERRED))
    assert (info.leader, info.leader_epoch, info.partition_epoch) == (1, 6, 9)


def test_a_preferred_election_does_not_take_who_is_not_in_sync() -> None:
    assert next_state(partition([1, 2], [2]), ONE, ALL, election=Election.PREFERRED) is None


def test_whoever_leaves_a_small_isr_is_eligible() -> None:
    info = must(next_state(partition([1, 2, 3], [1, 2]), TWO, active(1, 3)))
    assert (info.isr, info.elr) == ((1,), (2,))


def test_whoever_leaves_a_large_isr_is_not_eligible() -> None:
    info = must(next_state(partition([1, 2, 3]), TWO, active(1, 2)))
    assert (info.isr, info.elr) == ((1, 2), ())


def test_all_that_leave_at_once_are_eligible() -> None:
    info = must(next_state(partition([1, 2, 3]), TWO, active()))
    assert (info.isr, info.elr, info.leader) == ((), (1, 2, 3), NO_LEADER)
    assert info.last_known_elr == (1,)


def test_an_isr_that_is_large_enough_again_empties_the_elr() -> None:
    old = partition([1, 2, 3], [1], elr=(2,))
    info = must(next_state(old, TWO, ALL, isr=[1, 3]))
    assert (info.isr, info.elr) == ((1, 3), ())


def test_nobody_in_sync_and_the_eligible_one_leads() -> None:
    old = partition([1, 2, 3], [1], elr=(2, 3))
    info = must(next_state(old, TWO, active(3)))
    assert (info.leader, info.isr, info.elr) == (3, (3,), (1, 2))
    assert info.leader_recovery_state == RECOVERED
    assert info.last_known_elr == ()


def test_an_unclean_replica_is_neither_in_sync_nor_eligible() -> None:
    old = partition([1, 2, 3], [1], elr=(2, 3))
    info = must(next_state(old, TWO, active(), unclean_replicas=[1]))
    assert (info.isr, info.elr, info.leader, info.last_known_elr) == ((), (2, 3), NO_LEADER, (1,))
    info = must(next_state(info, TWO, active(), unclean_replicas=[2]))
    assert info.elr == (3,)


def test_an_elr_from_a_larger_min_isr_counts_no_more() -> None:
    # min.insync.replicas was 2 and is 1 now: the leader went on alone, without broker 2.
    old = partition([1, 2], [1], elr=(2,))
    info = must(next_state(old, ONE, active(2)))
    assert (info.leader, info.elr) == (NO_LEADER, (1,))


def test_nobody_is_elected_uncleanly_unless_it_is_allowed() -> None:
    old = partition([1, 2, 3], [1])
    info = must(next_state(old, TWO, active(2, 3)))
    assert (info.leader, info.elr) == (NO_LEADER, (1,))
    info = must(next_state(old, TopicRules(min_isr=2, unclean=True), active(2, 3)))
    assert (info.leader, info.isr, info.elr) == (2, (2,), ())
    assert info.leader_recovery_state == RECOVERING


def test_an_unclean_election_takes_a_clean_leader_if_there_is_one() -> None:
    old = partition([1, 2, 3], [], elr=(3,))
    info = must(next_state(old, TWO, ALL, election=Election.UNCLEAN))
    assert (info.leader, info.leader_recovery_state) == (3, RECOVERED)


def test_an_unclean_election_prefers_who_led_last() -> None:
    old = partition([1, 2, 3], [], last_known_elr=(3,))
    info = must(next_state(old, TWO, ALL, election=Election.UNCLEAN))
    assert (info.leader, info.leader_recovery_state) == (3, RECOVERING)


def test_where_one_copy_is_enough_the_last_leader_returns() -> None:
    alone = partition([3], [], last_known_elr=(3,))
    assert must(next_state(alone, TWO, ALL)).leader == 3
    one_of_three = partition([1, 2, 3], [], last_known_elr=(3,))
    info = must(next_state(one_of_three, ONE, ALL))
    assert (info.leader, info.leader_recovery_state) == (3, RECOVERING)
    assert next_state(one_of_three, ONE, active(1, 2)) is None
    # While somebody is eligible, that one is waited for.
    assert next_state(replace(one_of_three, elr=(2,)), ONE, active(1, 3)) is None


def test_where_more_were_promised_it_does_not() -> None:
    assert next_state(partition([1, 2, 3], [], last_known_elr=(3,)), TWO, ALL) is None


def test_the_last_leader_is_remembered_until_somebody_leads() -> None:
    info = must(next_state(partition([1, 2], [2]), TWO, active()))
    assert info.last_known_elr == (2,)
    info = must(next_state(info, TWO, active(), unclean_replicas=[2]))
    assert (info.elr, info.last_known_elr) == ((), (2,))
    info = must(next_state(info, replace(TWO, unclean=True), active(1)))
    assert (info.leader, info.last_known_elr) == (1, ())


def test_fewer_replicas_than_min_isr_are_enough_together() -> None:
    info = must(next_state(partition([1], [1]), TWO, active()))
    assert info.elr == (1,)
    assert must(next_state(info, TWO, ALL)).isr == (1,)


def test_a_reassignment_ends_when_all_that_come_are_in_sync() -> None:
    old = partition([4, 2, 3, 1], [1, 2, 3], adding_replicas=(4,), removing_replicas=(1,))
    assert next_state(old, TWO, ALL) == replace(old, isr=(2, 3, 1), partition_epoch=9)
    info = must(next_state(old, TWO, ALL, isr=[1, 2, 3, 4]))
    assert (info.replicas, info.isr, info.leader) == ((4, 2, 3), (4, 2, 3), 4)
    assert (info.adding_replicas, info.removing_replicas) == ((), ())
    assert info.leader_epoch == 6


def test_a_replica_that_is_taken_off_costs_a_leader_epoch_though_the_leader_stays() -> None:
    old = partition([1, 2, 3], removing_replicas=(3,))
    info = must(next_state(old, TWO, ALL))
    assert (info.replicas, info.leader, info.leader_epoch) == ((1, 2), 1, 6)


def test_a_reassignment_waits_for_enough_of_those_who_stay() -> None:
    old = partition([4, 2, 3, 1], [1], adding_replicas=(4,), removing_replicas=(1,))
    info = must(next_state(old, TWO, ALL, isr=[1, 4]))
    assert info.replicas == (4, 2, 3, 1)
    info = must(next_state(info, TWO, ALL, isr=[1, 2, 4]))
    assert info.replicas == (4, 2, 3)


def test_the_order_of_the_replicas_may_change_without_an_election() -> None:
    info = must(next_state(partition([1, 2]), TWO, ALL, assignment=Assignment(replicas=(2, 1))))
    assert (info.replicas, info.isr, info.leader, info.leader_epoch) == ((2, 1), (2, 1), 1, 5)


def test_a_recovered_leader_says_so() -> None:
    old = partition([1, 2], [1], leader_recovery_state=RECOVERING)
    info = must(next_state(old, ONE, ALL, recovery_state=RECOVERED))
    assert info == replace(old, leader_recovery_state=RECOVERED, partition_epoch=9)


def test_a_new_partition_has_in_sync_who_is_there() -> None:
    assert first_state([3, 1, 2], active(1, 2)) == PartitionInfo(
        replicas=(3, 1, 2), isr=(1, 2), leader=1
    )
    assert first_state([3], active(1)) is None


def test_an_unclean_replica_leaves_even_if_it_is_there_again() -> None:
    info = must(next_state(partition([1, 2]), TWO, ALL, unclean_replicas=[1]))
    assert (info.leader, info.isr, info.elr) == (2, (2,), ())
