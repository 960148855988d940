"""The brokers that a client knows, and its connections to them.

A broker handles one request at a time on each connection, so a fetch that waits for records holds
up whatever is behind it. Those who must not wait for each other use different lanes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from broker.network.interface import Address, Network
from broker.protocol.apis import ApiKey
from harness.native.connection import BrokerConnection
from harness.native.errors import (
    ClientClosedError,
    ClientError,
    NodeUnreachableError,
    RequestTimedOutError,
)
from harness.native.settings import Backoff, ClientSettings

T = TypeVar("T")

MAIN_LANE = "main"
_SHARE_IN_A_HURRY = 0.25
"""Of the time that a node has for its answer, while there are others to ask."""


@dataclass(slots=True)
class _Link:
    """One lane to one node."""

    node_id: int
    connection: BrokerConnection | None = None
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    failures: int = 0
    retry_at: float = 0.0

    @property
    def is_open(self) -> bool:
        return self.connection is not None and self.connection.is_open


class Nodes:
    """Bootstrap addresses have negative ids, because nobody knows yet who answers there."""

    def __init__(
        self,
        network: Network,
        bootstrap: Sequence[Address],
        settings: ClientSettings,
        random: Random,
    ) -> None:
        self._network = network
        self._settings = settings
        self._backoff = Backoff(
            settings.reconnect_backoff_s, settings.reconnect_backoff_max_s, random
        )
        self._bootstrap = {-1 - at: address for at, address in enumerate(bootstrap)}
        self._known: dict[int, Address] = {}
        self._links: dict[tuple[int, str], _Link] = {}
        self._turn = random.randrange(1 << 16)
        self._closed = False

    def learn(self, addresses: Mapping[int, Address]) -> None:
        """Nodes that are not named any more stay reachable: the news may be old."""
        for node_id, address in sorted(addresses.items()):
            if self._known.get(node_id) != address:
                self._known[node_id] = address
                self._drop_connections(node_id)

    def is_known(self, node_id: int) -> bool:
        return node_id in self._known or node_id in self._bootstrap

    def candidates(self) -> list[int]:
        """Nodes to ask what every node can answer, live ones first, rotated per call."""
        ids = sorted(self._known)
        self._turn += 1
        start = self._turn % len(ids) if ids else 0
        rotated = ids[start:] + ids[:start]
        return sorted(rotated, key=self._reluctance) + list(self._bootstrap)

    async def first_answer(self, ask: Callable[[int], Awaitable[T]], within_s: float) -> T:
        """Asks the candidates one after the other until one answers.

        `within_s` is what each of them has; `ask` sees to that. A node that is cut off from the
        others takes requests and does not answer them, and of a new client every question would
        wait for it. So each node is given a part of the time at first, and all of it only when no
        other node has answered.
        """
        hurry_s: float | None = within_s * _SHARE_IN_A_HURRY
        last: ClientError = NodeUnreachableError("no node is known")
        left = self.candidates()
        while left:
            silent: list[int] = []
            for node_id in left:
                try:
                    async with asyncio.timeout(hurry_s):
                        return await ask(node_id)
                except TimeoutError:
                    silent.append(node_id)
                    last = RequestTimedOutError(f"node {node_id} did not answer in {hurry_s} s")
                except ClientError as error:
                    if not error.is_retriable:
                        raise
                    last = error
            left, hurry_s = silent, None
        raise last

    async def connection(self, node_id: int, lane: str = MAIN_LANE) -> BrokerConnection:
        link = self._links.get((node_id, lane))
        if link is None:
            link = self._links[node_id, lane] = _Link(node_id)
        if link.connection is not None and link.connection.is_open and not self._closed:
            return link.connection
        async with link.opening:
            if link.connection is not None and link.connection.is_open:
                return link.connection
            link.connection = await self._open(link, lane)
            return link.connection

    async def ask(
        self,
        node_id: int,
        key: ApiKey,
        body: Any,
        *,
        lane: str = MAIN_LANE,
        timeout_s: float | None = None,
        at_least: int = 0,
    ) -> Any:
        """`at_least`: the first version of the API that can do what is asked."""
        connection = await self.connection(node_id, lane)
        if timeout_s is None:
            timeout_s = self._settings.request_timeout_s
        version = connection.version_of(key, at_least=at_least)
        return await connection.ask(key, version, body, timeout_s)

    def close(self) -> None:
        self._closed = True
        for link in self._links.values():
            if link.connection is not None:
                link.connection.close()

    def _reluctance(self, node_id: int) -> int:
        link = self._links.get((node_id, MAIN_LANE))
        return 0 if link is None or link.is_open else link.failures

    async def _open(self, link: _Link, lane: str) -> BrokerConnection:
        loop = asyncio.get_running_loop()
        if loop.time() < link.retry_at:
            await asyncio.sleep(link.retry_at - loop.time())
        if self._closed:
            raise ClientClosedError("the client is closed")
        address = self._address_of(link.node_id)
        place = f"node {link.node_id} at {address}" if link.node_id >= 0 else str(address)
        try:
            connection = await self._connect(link, address, place)
        except (NodeUnreachableError, asyncio.CancelledError):
            # Cancelled by somebody who has waited long enough: that is a failure as well.
            self._count_failure(link)
            raise
        link.failures = 0
        link.retry_at = 0.0
        return connection

    async def _connect(self, link: _Link, address: Address, place: str) -> BrokerConnection:
        timeout_s = self._settings.connect_timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                raw = await self._network.connect(address)
        except (OSError, TimeoutError) as error:
            raise NodeUnreachableError(f"{place}: {str(error) or 'no answer'}") from error
        connection = BrokerConnection(
            raw,
            place=place,
            client_id=self._settings.client_id,
            versions=self._settings.versions,
            log=self._settings.requests,
            on_closed=lambda closed: self._lost(link, closed),
        )
        try:
            await connection.introduce(timeout_s)
        except ClientError as error:
            connection.close()
            raise NodeUnreachableError(f"{place}: {error}") from error
        except BaseException:
            connection.close()
            raise
        if self._closed:
            connection.close()
            raise ClientClosedError("the client is closed")
        return connection

    def _address_of(self, node_id: int) -> Address:
        address = self._known.get(node_id) or self._bootstrap.get(node_id)
        if address is None:
            raise NodeUnreachableError(f"node {node_id}: its address is unknown")
        return address

    def _lost(self, link: _Link, connection: BrokerConnection) -> None:
        if link.connection is connection:
            link.connection = None
            self._count_failure(link)

    def _count_failure(self, link: _Link) -> None:
        link.failures += 1
        now = asyncio.get_running_loop().time()
        link.retry_at = now + self._backoff.after(link.failures)

    def _drop_connections(self, node_id: int) -> None:
        for (known_id, _), link in self._links.items():
            if known_id == node_id and link.connection is not None:
                link.connection.close()
