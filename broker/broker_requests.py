"""Requests of this broker to brokers of the cluster by their ids, itself included."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from broker.peers.broker_channels import BrokerChannels
from broker.peers.channel import UnansweredError
from broker.protocol.apis import ApiKey

if TYPE_CHECKING:
    from broker.node import Node

_log = logging.getLogger(__name__)


class BrokerRequests:
    def __init__(self, node: Node, purpose: str) -> None:
        """`purpose` is part of the client id under which other brokers know these connections."""
        self._node = node
        self.channels = BrokerChannels(
            node.world,
            lambda broker_id: node.role.address_of(broker_id),
            f"{purpose}-of-{node.node_id}",
        )

    async def ask(self, broker_id: int, api_key: ApiKey, body: Any, *, timeout_s: float) -> Any:
        """The response. Raises UnansweredError, also for a broker whose address is not known.

        A request to this broker itself is a call, and has no timeout.
        """
        if broker_id == self._node.node_id:
            return await self._ask_itself(api_key, body)
        channel = self.channels.to(broker_id)
        if channel is None:
            raise UnansweredError(f"the address of broker {broker_id} is not known")
        return await channel.ask(api_key, body, timeout_s=timeout_s)

    def knows(self, broker_id: int) -> bool:
        """Whether there is an address to ask."""
        is_itself = broker_id == self._node.node_id
        return is_itself or self._node.role.address_of(broker_id) is not None

    async def _ask_itself(self, api_key: ApiKey, body: Any) -> Any:
        try:
            return await self._node.ask_own_broker(api_key, body)
        except Exception as problem:
            # Over the network this would cost a connection. It must not cost the node either.
            _log.exception("this broker failed to answer its own %s", api_key.name)
            raise UnansweredError(str(problem)) from problem

    def close(self) -> None:
        self.channels.close()
