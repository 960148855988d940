"""Reassignment: begun, changed on the way, cancelled; `partition_change` ends it."""

from collections.abc import Sequence

import pytest

from broker.controller.reassignment import Reassignment, ongoing_reassignments, reassign
from broker.metadata.image import Image
from broker.metadata.partition_info import PartitionInfo
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.controller.clusters import after, broker, cluster, only, partition, rules

BROKERS = [1, 2, 3, 4, 5]


def moved(
    info: PartitionInfo, target: Sequence[int] | None, *, unclean: bool = False
) -> PartitionInfo:
    image = cluster(BROKERS, info)
    return only(after(image, reassign(image, "t", 0, target, rules(min_isr=2, unclean=unclean))))


def refusal(
    image: Image, target: Sequence[int] | None, *, factor_may_change: bool = True
) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        reassign(image, "t", 0, target, rules(min_isr=2), allow_factor_change=factor_may_change)
    return refused.value.code


def test_it_begins_with_old_and_new_replicas() -> None:
    info = moved(partition([1, 2, 3]), [4, 2, 5])
    assert info.replicas == (4, 2, 5, 1, 3)
    assert (info.adding_replicas, info.removing_replicas) == ((4, 5), (1, 3))
    assert (info.leader, info.leader_epoch, info.isr) == (1, 5, (2, 1, 3))


def test_fewer_replicas_are_there_at_once() -> None:
    info = moved(partition([1, 2, 3]), [3, 2])
    assert (info.replicas, info.isr, info.leader) == ((3, 2), (3, 2), 3)
    assert (info.adding_replicas, info.removing_replicas) == ((), ())


def test_another_order_is_there_at_once_and_elects_nobody() -> None:
    info = moved(partition([1, 2, 3]), [3, 1, 2])
    assert (info.replicas, info.leader, info.leader_epoch) == ((3, 1, 2), 1, 5)


def test_the_same_replicas_change_nothing() -> None:
    assert moved(partition([1, 2, 3]), [1, 2, 3]) == partition([1, 2, 3])


def test_a_second_target_replaces_the_first() -> None:
    info = moved(partition([1, 2]), [4, 2])
    info = moved(info, [5, 2])
    assert info.replicas == (5, 2, 1)
    assert (info.adding_replicas, info.removing_replicas) == ((5,), (1,))


def test_whoever_is_still_coming_stays_one_that_comes() -> None:
    info = moved(moved(partition([1, 2]), [4, 5]), [4, 2])
    assert (info.replicas, info.adding_replicas, info.removing_replicas) == ((4, 2, 1), (4,), (1,))


def test_a_cancelled_one_leaves_what_there_was() -> None:
    info = moved(moved(partition([1, 2, 3]), [4, 5]), None)
    assert (sorted(info.replicas), info.leader) == ([1, 2, 3], 1)
    assert (info.adding_replicas, info.removing_replicas) == ((), ())


def test_a_cancelled_one_may_take_the_leader_away() -> None:
    moving = partition([4, 1, 2], [4, 1, 2], adding_replicas=(4,), leader=4)
    info = moved(moving, None)
    assert (info.replicas, info.leader, info.leader_epoch) == ((1, 2), 1, 6)


def test_cancelling_does_not_throw_away_the_last_good_copies() -> None:
    moving = partition([4, 1, 2], [4, 1], adding_replicas=(4,))
    assert refusal(cluster(BROKERS, moving), None) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert moved(moving, None, unclean=True).isr == (1,)


@pytest.mark.parametrize("more", [{"elr": (4, 5)}, {"last_known_elr": (4,)}])
def test_cancelling_does_not_throw_away_who_may_yet_lead(more: dict[str, tuple[int, ...]]) -> None:
    moving = partition(
        [4, 5, 1, 2], [], adding_replicas=(4, 5), removing_replicas=(1, 2), leader=-1, **more
    )
    image = cluster([1, 2, 3, broker(4, fenced=True), broker(5, fenced=True)], moving)
    assert refusal(image, None) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert refusal(image, [1, 2]) is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_who_is_eligible_and_stays_is_enough_to_cancel() -> None:
    moving = partition([4, 1, 2], [4], adding_replicas=(4,), elr=(1, 2))
    info = moved(moving, None)
    assert (info.replicas, info.leader, info.isr, info.elr) == ((1, 2), 1, (1,), (2,))


def test_what_is_not_going_on_cannot_be_cancelled() -> None:
    image = cluster(BROKERS, partition([1, 2]))
    assert refusal(image, None) is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


@pytest.mark.parametrize("target", [[], [1, 1], [1, 9]])
def test_a_target_that_cannot_be(target: list[int]) -> None:
    image = cluster(BROKERS, partition([1, 2]))
    assert refusal(image, target) is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_the_factor_may_be_held_fast() -> None:
    image = cluster(BROKERS, partition([1, 2]))
    code = refusal(image, [1, 2, 3], factor_may_change=False)
    assert code is ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_fenced_broker_may_be_a_target_and_is_waited_for() -> None:
    image = cluster([1, 2, broker(3, fenced=True)], partition([1, 2]))
    image = after(image, reassign(image, "t", 0, [3, 2], rules()))
    assert (only(image).isr, only(image).adding_replicas) == ((2, 1), (3,))


def test_what_goes_on_is_listed() -> None:
    moving = partition([4, 2, 1], [1, 2], adding_replicas=(4,), removing_replicas=(1,))
    image = cluster(BROKERS, partition([1, 2]), moving)
    assert list(ongoing_reassignments(image)) == [Reassignment("t", 1, moving)]
