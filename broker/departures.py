"""Finds out that a broker's process is gone, long before its session is over.

A broker's heartbeats come on one connection. When that breaks off, or when a new controller has no
such connection yet, the controller knocks where the broker said it listens. A refusal means that
the machine is there and the process is not. Anything else means nothing: whoever is cut off, or
has lost its power, is fenced when its session ends.

A wrong guess costs little: a broker that lives comes back with its next heartbeat.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from broker.network.interface import Address, Network

_PAUSES_S = (0.0, 0.02, 0.1, 0.3)
"""Before each knock. A process that ends closes its connections and its ports one by one."""

_PATIENCE_S = 1.0


class Departures:
    """`on_gone` is called with the id of each broker that is found to be gone."""

    def __init__(
        self,
        network: Network,
        *,
        address_of: Callable[[int], Address | None],
        on_gone: Callable[[int], Awaitable[None]],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._network = network
        self._address_of = address_of
        self._on_gone = on_gone
        self._spawn = spawn
        self._connections: dict[Address, int] = {}

    def heard(self, broker_id: int, peer: Address) -> None:
        """A heartbeat came from there."""
        self._connections[peer] = broker_id

    def is_connected(self, broker_id: int) -> bool:
        return broker_id in self._connections.values()

    def closed(self, peer: Address) -> int | None:
        """Whose heartbeats came from there, if any did."""
        return self._connections.pop(peer, None)

    def suspect(self, broker_id: int) -> None:
        """Knocks, unless another connection of that broker stands."""
        if not self.is_connected(broker_id):
            self._spawn(self._knock(broker_id))

    async def _knock(self, broker_id: int) -> None:
        for pause_s in _PAUSES_S:
            await asyncio.sleep(pause_s)
            address = self._address_of(broker_id)
            if address is None or self.is_connected(broker_id):
                return
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    connection = await self._network.connect(address)
            except ConnectionRefusedError:
                await self._on_gone(broker_id)
                return
            except OSError:  # TimeoutError among them
                return
            connection.close()
