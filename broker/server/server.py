"""Listens, keeps the connections within their limits, and closes the silent ones."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from broker.api.served import Api
from broker.network.interface import Address, Connection, Listener
from broker.observe.repeated_lines import RepeatedLines
from broker.server.client_connection import ClientConnection
from broker.server.connection_limits import ConnectionLimits
from broker.server.dispatch import Dispatcher
from broker.server.request_memory import RequestMemory
from broker.server.wide_requests import WideRequests

if TYPE_CHECKING:
    from broker.node import Node

_log = logging.getLogger(__name__)

_SCRATCH_BYTES = 256 << 10
_DEFAULT_QUEUED_BYTES = 256 << 20
_STALLED_S = 10.0
_REAP_SLICE = 500
_TOO_EARLY_MAX = 1000


class Server:
    """One side of a node: for clients, or for the quorum. They share nothing but the loop."""

    def __init__(
        self,
        node: Node,
        table: Mapping[int, Api],
        on_closed: Callable[[Address], None] | None = None,
    ) -> None:
        """`on_closed` is told whose connection has ended."""
        config = node.config
        self.dispatcher = Dispatcher(node, table)
        self.metrics = node.metrics
        self.lines = RepeatedLines(_log)
        self.scratch = memoryview(bytearray(_SCRATCH_BYTES))
        # Kafka's default of -1 means no limit, and a broker without one dies of a flood.
        limit = config.queued_max_request_bytes
        self.memory = RequestMemory(
            limit if limit > 0 else _DEFAULT_QUEUED_BYTES, asyncio.get_running_loop().call_soon
        )
        self.wide_requests = WideRequests(node, self.memory)
        self.request_bytes_max = config.socket_request_max_bytes
        self._node = node
        self._on_closed = on_closed
        self._connections = ConnectionLimits(node)
        self._unfinished: set[asyncio.Task[None]] = set()
        self._listeners: list[Listener] = []
        self.bound: dict[str, Address] = {}  # by the listener's name
        self._reaper: asyncio.Task[None] | None = None
        # Who comes before the node can serve waits: an answer from old metadata would mislead.
        self._too_early: list[tuple[str, Connection]] | None = []

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    @property
    def unsent_bytes(self) -> int:
        """Of replies that clients do not take."""
        return sum(client.unsent_bytes for client in self._connections)

    async def listen(self, name: str, address: Address) -> Address:
        accept = partial(self._accept, name)
        listener = await self._node.world.network.listen(address, accept)
        self._listeners.append(listener)
        self.bound[name] = listener.address
        if self._reaper is None:
            self._reaper = asyncio.get_running_loop().create_task(self._reap())
        return listener.address

    def open(self) -> None:
        """From now on requests are read."""
        waiting, self._too_early = self._too_early or [], None
        for listener, connection in waiting:
            self._accept(listener, connection)

    def _accept(self, listener: str, connection: Connection) -> None:
        if self._too_early is not None:
            self._wait_until_open(self._too_early, listener, connection)
            return
        host = connection.peer.host
        refusal = self._connections.make_room_or_refuse(listener, host)
        if refusal is None:
            client = ClientConnection(self, connection, listener)
            self._connections.add(client, listener)
            self.metrics.connection_accepted()
            connection.start(client)
            return
        self.lines.warning(host, "refusing the connection of %s: %s", connection.peer, refusal)
        self.metrics.connection_refused()
        connection.close()

    def _wait_until_open(
        self, waiting: list[tuple[str, Connection]], listener: str, connection: Connection
    ) -> None:
        """Nothing is read, so nobody sees who has gone away again: the oldest most likely has."""
        waiting.append((listener, connection))
        if len(waiting) > min(_TOO_EARLY_MAX, self._node.config.max_connections):
            _, oldest = waiting.pop(0)
            self.metrics.connection_refused()
            oldest.close()

    def connection_closed(self, client: ClientConnection) -> None:
        if self._connections.remove(client) and self._on_closed is not None:
            self._on_closed(client.peer)

    def limits_changed(self) -> None:
        """Applies a changed `max.connections` to the connections that are open."""
        self._connections.close_excess()

    def let_finish(self, task: asyncio.Task[None]) -> None:
        """Keeps a task alive whose connection is gone."""
        self._unfinished.add(task)
        task.add_done_callback(self._unfinished.discard)

    async def _reap(self) -> None:
        """Closes what was silent for connections.max.idle.ms, and what stalls a full broker."""
        loop = asyncio.get_running_loop()
        idle_ms = self._node.config.connections_max_idle_ms
        idle_s = idle_ms / 1000 if idle_ms >= 0 else float("inf")
        while True:
            await asyncio.sleep(min(max(idle_s, 0.01), _STALLED_S) / 2)
            for seen, client in enumerate(list(self._connections)):
                silent_s = loop.time() - client.last_active
                stalls = client.holds_memory and self.memory.saturated and silent_s > _STALLED_S
                if client.idle and (silent_s > idle_s or stalls):
                    client.close()
                if seen % _REAP_SLICE == _REAP_SLICE - 1:
                    await asyncio.sleep(0)

    async def close(self) -> None:
        """No new requests; appends under way come to their end."""
        await self.turn_away()
        while self._unfinished:
            await asyncio.wait(self._unfinished)

    async def turn_away(self) -> None:
        """Whoever is there, and whoever comes. Once more does no harm."""
        while self._listeners:
            await self._listeners.pop(0).close()
        if self._reaper is not None:
            self._reaper.cancel()
        for client in list(self._connections):
            client.close()
        for _, connection in self._too_early or ():
            connection.close()
        self.lines.report()
