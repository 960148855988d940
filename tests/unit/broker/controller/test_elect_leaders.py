"""Elections on demand, and leaders that go home by themselves."""

import pytest

from broker.controller.balance import ELECTIONS_MAX, balance_leaders
from broker.controller.elect_leaders import ElectionType, elect_leader
from broker.metadata.image import Image
from broker.metadata.partition_info import RECOVERING, PartitionInfo
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.controller.clusters import after, broker, cluster, only, partition, rules

PREFERRED = ElectionType.PREFERRED
UNCLEAN = ElectionType.UNCLEAN


def elected(image: Image, kind: ElectionType) -> PartitionInfo:
    return only(after(image, [elect_leader(image, "t", 0, kind, rules(min_isr=2))]))


def refusal(image: Image, kind: ElectionType, topic: str = "t", index: int = 0) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        elect_leader(image, topic, index, kind, rules(min_isr=2))
    return refused.value.code


def test_the_preferred_replica_leads_again() -> None:
    image = cluster([1, 2], partition([1, 2], leader=2))
    info = elected(image, PREFERRED)
    assert (info.leader, info.leader_epoch) == (1, 6)


def test_a_preferred_election_without_need_or_without_the_preferred() -> None:
    assert refusal(cluster([1, 2], partition([1, 2])), PREFERRED) is ErrorCode.ELECTION_NOT_NEEDED
    lagging = cluster([1, 2, 3], partition([1, 2, 3], [2, 3]))
    assert refusal(lagging, PREFERRED) is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    # Another eligible one would do for a partition without leader, but that was not asked.
    waiting = cluster([2, broker(3, fenced=True)], partition([1, 2], [], elr=(2,)))
    assert refusal(waiting, PREFERRED) is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE


def test_an_unclean_election_on_demand_needs_no_configuration() -> None:
    image = cluster([2, broker(3, fenced=True)], partition([3, 2], [], elr=(3,)))
    info = elected(image, UNCLEAN)
    assert (info.leader, info.isr, info.elr) == (2, (2,), ())
    assert info.leader_recovery_state == RECOVERING


def test_an_unclean_election_without_need_or_without_anybody() -> None:
    led = cluster([1, 2], partition([1, 2], [2]))
    assert refusal(led, UNCLEAN) is ErrorCode.ELECTION_NOT_NEEDED
    empty = cluster([broker(1, fenced=True)], partition([1], []))
    assert refusal(empty, UNCLEAN) is ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


@pytest.mark.parametrize(("topic", "index"), [("u", 0), ("t", 1), ("t", -1)])
def test_a_partition_that_is_not_there(topic: str, index: int) -> None:
    image = cluster([1], partition([1]))
    assert refusal(image, PREFERRED, topic, index) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def leaders(image: Image) -> list[int]:
    return [info.leader for info in image.topics["t"].partitions]


def test_leaders_go_home_when_too_many_are_away() -> None:
    home, away = partition([1, 2]), partition([1, 2], leader=2)
    image = cluster([1, 2], *[home] * 8, away, away, partition([2, 1]))
    assert balance_leaders(image, 20, rules()) == []
    balanced = after(image, balance_leaders(image, 19, rules()))
    assert leaders(balanced) == [1] * 10 + [2]


def test_nobody_goes_home_before_it_is_in_sync_and_there() -> None:
    image = cluster(
        [1, 2, broker(3, fenced=True)],
        partition([1, 2], [2]),
        partition([3, 2], [3, 2], leader=2),
    )
    assert balance_leaders(image, 0, rules()) == []


def test_not_all_go_home_at_once() -> None:
    image = cluster([1, 2], *[partition([1, 2], leader=2)] * (ELECTIONS_MAX + 3))
    balanced = after(image, balance_leaders(image, 10, rules()))
    assert leaders(balanced).count(2) == 3
