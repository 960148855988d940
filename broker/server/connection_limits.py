"""Decides which connections a server takes: in all, by listener and by address (KIP-402)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker.node import Node
    from broker.server.client_connection import ClientConnection


class ConnectionLimits:
    """The open connections of one server. All limits may change while it runs."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._listeners: dict[ClientConnection, str] = {}
        self._per_host: Counter[str] = Counter()
        self._per_listener: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._listeners)

    def __iter__(self) -> Iterator[ClientConnection]:
        return iter(self._listeners)

    def make_room_or_refuse(self, listener: str, host: str) -> str | None:
        """The limit that one more connection would break, or None if it may be added.

        For another broker a client's connection is closed, if that is what it takes.
        """
        config = self._node.config
        overrides = config.max_connections_per_ip_overrides
        of_host = overrides.get(host, config.max_connections_per_ip)
        if self._per_host[host] >= of_host:
            return f"max.connections.per.ip is {of_host} for it"
        of_listener = config.max_connections_of(listener)
        if of_listener is not None and self._per_listener[listener] >= of_listener:
            return f"listener.name.{listener.lower()}.max.connections is {of_listener}"
        if len(self) >= config.max_connections and not self._make_room(listener):
            return f"max.connections is {config.max_connections}"
        return None

    def add(self, client: ClientConnection, listener: str) -> None:
        self._listeners[client] = listener
        self._per_host[client.peer.host] += 1
        self._per_listener[listener] += 1

    def remove(self, client: ClientConnection) -> bool:
        """Whether it was among the open ones."""
        listener = self._listeners.pop(client, None)
        if listener is None:
            return False
        for counts, key in ((self._per_host, client.peer.host), (self._per_listener, listener)):
            counts[key] -= 1
            if not counts[key]:
                del counts[key]
        return True

    def close_excess(self) -> None:
        """After `max.connections` was lowered: closes the clients that were silent longest."""
        excess = len(self) - self._node.config.max_connections
        if excess > 0:
            by_silence = sorted(self._unprotected(), key=lambda client: client.last_active)
            for client in by_silence[:excess]:
                client.close()

    def _make_room(self, listener: str) -> bool:
        """A cluster must not fall apart because its clients take all connections."""
        if listener != self._protected:
            return False
        silent = min(self._unprotected(), key=lambda client: client.last_active, default=None)
        if silent is None:
            return False
        silent.close()
        return True

    @property
    def _protected(self) -> str | None:
        """The listener of the other brokers, where clients have one of their own."""
        config = self._node.config
        has_other = len(config.client_listeners) > 1
        return config.inter_broker_listener_name if has_other else None

    def _unprotected(self) -> Iterator[ClientConnection]:
        protected = self._protected
        return (each for each, listener in self._listeners.items() if listener != protected)
