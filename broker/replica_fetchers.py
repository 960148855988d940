"""One fetcher for each leader that this node follows, started and ended as leaders change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from random import Random
from typing import Any

from broker.network.interface import Address, Network
from broker.partition import Partition
from broker.peers.backoff import Backoff
from broker.peers.channel import Channel
from broker.replica_fetcher import FetcherSettings, ReplicaFetcher

_FIRST_REST_S = 0.02

AddressOf = Callable[[int], Address | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetcherWorld:
    network: Network
    random: Random
    spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
    address_of: AddressOf
    broker_epoch: Callable[[], int | None]
    rest_max_s: float


class ReplicaFetchers:
    def __init__(self, settings: FetcherSettings, world: FetcherWorld) -> None:
        self._settings = settings
        self._world = world
        self._fetchers: dict[int, tuple[Address, ReplicaFetcher, asyncio.Task[None]]] = {}
        self._leaders: dict[tuple[bytes, int], tuple[int, int]] = {}  # and the leader epoch
        self._is_closed = False

    def role_changed(self, partition: Partition, is_held: bool) -> None:
        """Called whenever the partition's leader may be another one, or its epoch."""
        key = (partition.topic_id, partition.index)
        info = partition.info
        leader = -1 if info is None or not is_held or partition.leader else info.leader
        if self._leaders.get(key) == (leader, partition.leader_epoch):
            return
        before, _ = self._leaders.pop(key, (None, -1))
        if before is not None and before != leader and before in self._fetchers:
            self._fetchers[before][1].forget(partition)
            self._end_if_idle(before)
        if leader < 0 or leader == self._settings.node_id:
            return
        fetcher = self._fetcher(leader)
        if fetcher is not None:
            self._leaders[key] = (leader, partition.leader_epoch)
            fetcher.follow(partition)

    def addresses_changed(self, partitions: Callable[[], list[Partition]]) -> None:
        """A broker that came back elsewhere, or for the first time, is followed there."""
        for leader, (address, _, _) in list(self._fetchers.items()):
            if self._world.address_of(leader) != address:
                self._end(leader)
        for partition in partitions():
            if (partition.topic_id, partition.index) not in self._leaders:
                self.role_changed(partition, is_held=True)

    def close(self) -> None:
        """For good: leaders may change while the logs are being closed."""
        self._is_closed = True
        for leader in list(self._fetchers):
            self._end(leader)

    def _fetcher(self, leader: int) -> ReplicaFetcher | None:
        found = self._fetchers.get(leader)
        if found is not None:
            return found[1]
        world = self._world
        address = None if self._is_closed else world.address_of(leader)
        if address is None:
            return None
        channel = Channel(
            world.network,
            address,
            client_id=f"replica-{self._settings.node_id}",
            random=world.random,
            backoff_s=_FIRST_REST_S,
            backoff_max_s=world.rest_max_s,
            reuses_memory=True,
        )
        fetcher = ReplicaFetcher(
            channel,
            self._settings,
            broker_epoch=world.broker_epoch,
            new_backoff=lambda: Backoff(_FIRST_REST_S, world.rest_max_s, world.random),
        )
        self._fetchers[leader] = (address, fetcher, world.spawn(fetcher.run()))
        return fetcher

    def _end_if_idle(self, leader: int) -> None:
        if not len(self._fetchers[leader][1]):
            self._end(leader)

    def _end(self, leader: int) -> None:
        _, fetcher, task = self._fetchers.pop(leader)
        task.cancel()
        fetcher.close()
        for key in [key for key, (of, _) in self._leaders.items() if of == leader]:
            del self._leaders[key]
