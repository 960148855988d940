"""The way to a coordinator, of a group or of a transactional id: found, asked, and looked for again
when it moves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from broker.network.interface import Address
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.native.connection import BrokerConnection
from harness.native.errors import ClientError, NodeUnreachableError, check

if TYPE_CHECKING:
    from harness.native.client import Client

GROUP = 0
TRANSACTION = 1
"""Kafka's types of coordinators."""

_SHARE_TO_FIND = 0.5
"""Of the time that a call may take."""
_MOVED = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)


class CoordinatorWay:
    """`name` is the group or the transactional id."""

    def __init__(self, client: Client, name: str, kind: int) -> None:
        self.client = client
        self.name = name
        self._kind = kind
        self._node: int | None = None

    async def connection(self, lane: str) -> BrokerConnection:
        """To the coordinator as it is known; raises ClientError."""
        node = await self._find()
        try:
            return await self.client.nodes.connection(node, lane)
        except ClientError:
            self._node = None
            raise

    async def ask(
        self,
        key: ApiKey,
        body: Any,
        *,
        lane: str,
        timeout_s: float | None = None,
        at_least: int = 0,
        at_most: int | None = None,
    ) -> Any:
        """The body of the answer; its error codes are the caller's to look at. `at_least` and
        `at_most`: the versions of the API that can do what is asked."""
        connection = await self.connection(lane)
        try:
            if at_most is None:
                version = connection.version_of(key, at_least=at_least)
            else:
                version = connection.version_of(key, at_least=at_least, at_most=at_most)
            if timeout_s is None:
                timeout_s = self.client.settings.request_timeout_s
            return await connection.ask(key, version, body, timeout_s)
        except ClientError:
            self._node = None
            raise

    def heard(self, code: int) -> None:
        """An answer of the coordinator; one that has moved is looked for again."""
        if code in _MOVED:
            self._node = None

    async def _find(self) -> int:
        if self._node is None:
            body = m.FindCoordinatorRequest(
                key=self.name, key_type=self._kind, coordinator_keys=[self.name]
            )
            answer = await self._ask_anyone(body)
            found = answer.coordinators[0] if answer.coordinators else answer
            check(found.error_code, found.error_message, place=f"coordinator of {self.name}")
            self.client.nodes.learn({found.node_id: Address(found.host, found.port)})
            self._node = found.node_id
        return self._node

    async def _ask_anyone(self, body: m.FindCoordinatorRequest) -> Any:
        """Bounded: where no node answers, each of them may take its time-out."""
        patience_s = self.client.settings.call_timeout_s * _SHARE_TO_FIND
        try:
            async with asyncio.timeout(patience_s):
                # Version 0 knows groups only.
                at_least = 0 if self._kind == GROUP else 1
                return await self.client.ask_anyone(
                    ApiKey.FIND_COORDINATOR, body, at_least=at_least
                )
        except TimeoutError:
            told = f"no node named the coordinator of {self.name} within {patience_s:g} s"
            raise NodeUnreachableError(told) from None
