"""Requests for the active controller, wherever in the cluster it is just now."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import Any

from broker.network.interface import Address, Network
from broker.peers.channel import Channel, UnansweredError
from broker.protocol.apis import ApiKey

_RETRY_S = 0.05


class ToController:
    """One for each purpose: what one of them waits for does not hold up the others."""

    def __init__(
        self,
        purpose: str,
        *,
        node_id: int,
        leader_id: Callable[[], int | None],
        here: Callable[[ApiKey, Any], Awaitable[Any]],
        voters: Mapping[int, Address],
        network: Network,
        random: Random,
        backoff_s: float,
        backoff_max_s: float,
    ) -> None:
        """`here` answers when this very node is the controller: it needs no connection then."""
        self._node_id = node_id
        self._leader_id = leader_id
        self._here = here
        self._channels = {
            voter: Channel(
                network,
                address,
                client_id=f"{purpose}-of-{node_id}",
                random=random,
                backoff_s=backoff_s,
                backoff_max_s=backoff_max_s,
            )
            for voter, address in voters.items()
        }

    async def ask(self, api_key: ApiKey, body: Any, *, timeout_s: float) -> Any:
        """One try. Raises UnansweredError, also when no controller is known."""
        leader_id = self._leader_id()
        if leader_id == self._node_id:
            try:
                async with asyncio.timeout(timeout_s):
                    return await self._here(api_key, body)
            except TimeoutError:
                raise UnansweredError(f"{api_key.name} took more than {timeout_s} s") from None
        channel = None if leader_id is None else self._channels.get(leader_id)
        if channel is None:
            await asyncio.sleep(min(_RETRY_S, timeout_s))
            raise UnansweredError("no controller is known")
        return await channel.ask(api_key, body, timeout_s=timeout_s)

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()
