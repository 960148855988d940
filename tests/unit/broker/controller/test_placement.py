"""Placement: racks first, then even shares, and never on a broker that is not there."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.controller.placement import place_replicas
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.controller.clusters import broker


def test_leaders_and_followers_go_round() -> None:
    placed = place_replicas([broker(n) for n in (1, 2, 3)], partitions=4, factor=3, start=0)
    assert placed == [(1, 2, 3), (2, 3, 1), (3, 1, 2), (1, 3, 2)]


def test_the_start_says_who_leads_first() -> None:
    brokers = [broker(n) for n in (1, 2, 3)]
    assert place_replicas(brokers, partitions=1, factor=1, start=5) == [(3,)]


def test_the_order_in_which_brokers_are_given_does_not_matter() -> None:
    brokers = [broker(n, rack=f"r{n % 2}") for n in range(5)]
    forward = place_replicas(brokers, partitions=7, factor=2, start=1)
    assert place_replicas(brokers[::-1], partitions=7, factor=2, start=1) == forward


@pytest.mark.parametrize("gone", [{"fenced": True}, {"in_controlled_shutdown": True}])
def test_only_brokers_that_are_there_are_chosen(gone: dict[str, bool]) -> None:
    brokers = [broker(1), broker(2, **gone), broker(3)]
    assert place_replicas(brokers, partitions=2, factor=2, start=0) == [(1, 3), (3, 1)]
    with pytest.raises(KafkaError, match="needs 3 nodes; the cluster has 2") as refused:
        place_replicas(brokers, partitions=1, factor=3, start=0)
    assert refused.value.code is ErrorCode.INVALID_REPLICATION_FACTOR


@given(
    racks=st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=9),
    partitions=st.integers(1, 40),
    factor=st.integers(1, 4),
    start=st.integers(0, 20),
)
def test_replicas_are_spread_over_racks_and_leaders_are_even(
    racks: list[str | None], partitions: int, factor: int, start: int
) -> None:
    brokers = {n: broker(n, rack=rack) for n, rack in enumerate(racks)}
    factor = min(factor, len(brokers))
    placed = place_replicas(brokers.values(), partitions=partitions, factor=factor, start=start)
    for replicas in placed:
        assert len(set(replicas)) == factor
        used = {brokers[each].rack for each in replicas}
        assert len(used) == min(factor, len(set(racks)))
    led = Counter(replicas[0] for replicas in placed)
    assert max(led.values()) - min(led[each] for each in brokers) <= 1


def test_replicas_are_even_too() -> None:
    brokers = [broker(n) for n in range(5)]
    placed = place_replicas(brokers, partitions=50, factor=3, start=2)
    held = Counter(each for replicas in placed for each in replicas).values()
    assert max(held) - min(held) <= 2


def test_the_leaderships_of_a_broker_that_dies_go_to_several() -> None:
    placed = place_replicas([broker(n) for n in range(5)], partitions=40, factor=3, start=0)
    heirs = Counter(replicas[1] for replicas in placed if replicas[0] == 0)
    assert len(heirs) >= 3
