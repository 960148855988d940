"""Connections from one broker to others by their ids, each made when it is first needed."""

from __future__ import annotations

from collections.abc import Callable

from broker.network.interface import Address
from broker.peers.channel import Channel
from broker.world import World

_BACKOFF_S, _BACKOFF_MAX_S = 0.05, 1.0


class BrokerChannels:
    def __init__(
        self, world: World, address_of: Callable[[int], Address | None], client_id: str
    ) -> None:
        self._world = world
        self._address_of = address_of
        self._client_id = client_id
        self._channels: dict[int, Channel] = {}

    def to(self, broker_id: int) -> Channel | None:
        """None for a broker whose address is not known. One that has moved gets a new channel."""
        address = self._address_of(broker_id)
        found = self._channels.get(broker_id)
        if found is not None and found.address != address:
            self._channels.pop(broker_id).close()
            found = None
        if found is None and address is not None:
            found = self._channels[broker_id] = Channel(
                self._world.network,
                address,
                client_id=self._client_id,
                random=self._world.random,
                backoff_s=_BACKOFF_S,
                backoff_max_s=_BACKOFF_MAX_S,
            )
        return found

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()
