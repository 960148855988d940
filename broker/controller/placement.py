"""Chooses brokers for new partitions: spread over racks, leaders and replicas even."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from broker.metadata.broker_info import BrokerInfo
from broker.protocol.errors import ErrorCode, KafkaError


def place_replicas(
    brokers: Iterable[BrokerInfo], *, partitions: int, factor: int, start: int
) -> list[tuple[int, ...]]:
    """The replicas of each partition, the leader first; on active brokers only.

    `start` says who leads the first partition; take it at random, or small topics would all be
    led by the same broker.
    """
    ring = _ring([each for each in brokers if each.is_active and each.has_online(None)])
    if factor > len(ring):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"a replication factor of {factor} needs {factor} nodes; the cluster has {len(ring)}",
        )
    held: Counter[int] = Counter()  # by place in the ring
    placed = []
    for number in range(partitions):
        places = _followed(ring, (start + number) % len(ring), number, factor, held)
        held.update(places)
        placed.append(tuple(ring[place].broker_id for place in places))
    return placed


def _ring(brokers: list[BrokerInfo]) -> list[BrokerInfo]:
    """Neighbours are of different racks, as far as that can be."""
    racks: dict[str, list[BrokerInfo]] = {}
    for broker in sorted(brokers, key=lambda each: each.broker_id):
        racks.setdefault(broker.rack or "", []).append(broker)
    rounds = max((len(rack) for rack in racks.values()), default=0)
    return [
        racks[name][turn]
        for turn in range(rounds)
        for name in sorted(racks)
        if turn < len(racks[name])
    ]


def _followed(
    ring: list[BrokerInfo], leader: int, number: int, factor: int, held: Counter[int]
) -> list[int]:
    """The leader's place and its followers': other racks first, then whoever holds least.

    Among equals the nearest in the ring is taken, from a point that moves on with each round of
    leaders: when a broker dies, its leaderships do not all go to the same one.
    """
    size = len(ring)
    chosen = [leader]
    racks = Counter([ring[leader].rack])
    while len(chosen) < factor:
        shift = leader + 1 + number // size
        best = min(
            (place for place in range(size) if place not in chosen),
            key=lambda place: (racks[ring[place].rack], held[place], (place - shift) % size),
        )
        chosen.append(best)
        racks[ring[best].rack] += 1
    return chosen
