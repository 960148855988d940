"""A minimal client for the command line: one connection, one request at a time."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any

from broker.cli.errors import EnvironmentFailure, UnreachableFailure
from broker.network.interface import Address, Connection, Network
from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import API_VERSIONS, ApiKey
from broker.protocol.errors import MalformedMessageError

_TIMEOUT_S = 30.0
_FRAME_BYTES_MAX = 256 << 20
_CLIENT_ID = "broker-cli"


class WireClient:
    """Made by `connect`. Uses the newest version that both sides know."""

    def __init__(self, connection: Connection, address: Address, timeout_s: float) -> None:
        self._connection = connection
        self._address = address
        self._timeout_s = timeout_s
        self._answers = _Answers()
        self._correlation_id = 0
        self._broker_versions: dict[int, tuple[int, int]] = {}
        connection.start(self._answers)

    @classmethod
    async def connect(
        cls, network: Network, address: Address, timeout_s: float = _TIMEOUT_S
    ) -> WireClient:
        """`timeout_s` bounds the connection attempt, and the wait for each response."""
        try:
            connection = await asyncio.wait_for(network.connect(address), timeout_s)
        except TimeoutError:
            raise UnreachableFailure(
                f"cannot connect to {address}: no answer within {timeout_s:g} s"
            ) from None
        except OSError as error:
            # Names that cannot be resolved have negative numbers, which are not the system's.
            number = error.errno or 0
            reason = os.strerror(number) if number > 0 else error.strerror or str(error)
            raise UnreachableFailure(f"cannot connect to {address}: {reason}") from None
        client = cls(connection, address, timeout_s)
        # Version 0 is understood by every broker there ever was.
        answer: m.ApiVersionsResponse = await client._send(
            ApiKey.API_VERSIONS, 0, m.ApiVersionsRequest()
        )
        client._broker_versions = {
            each.api_key: (each.min_version, each.max_version) for each in answer.api_keys
        }
        return client

    async def ask(self, api_key: ApiKey, body: Any, *, newest: int | None = None) -> Any:
        """`newest` is the last version to use, where a later one lacks a field that is needed."""
        version = self.version_of(api_key, newest=newest)
        if version is None:
            raise EnvironmentFailure(f"{self._address} does not serve {api_key.name}")
        return await self._send(api_key, version, body)

    def version_of(self, api_key: ApiKey, *, newest: int | None = None) -> int | None:
        """The version that `ask` uses; None if the broker does not serve the API."""
        known_min, known_max = API_VERSIONS[api_key]
        there_min, there_max = self._broker_versions.get(api_key, (0, -1))
        version = min(known_max, there_max) if newest is None else min(newest, there_max)
        return version if version >= max(known_min, there_min) else None

    def close(self) -> None:
        self._connection.close()

    async def _send(self, api_key: ApiKey, version: int, body: Any) -> Any:
        self._correlation_id += 1
        header = m.RequestHeader(
            api_key=api_key,
            api_version=version,
            correlation_id=self._correlation_id,
            client_id=_CLIENT_ID,
        )
        self._connection.send(
            frames.request_frame(header, codec.encode_request(api_key, version, body))
        )
        try:
            frame = await asyncio.wait_for(self._answers.next(), self._timeout_s)
            answer, at = frames.decode_response_header(api_key, version, frame)
            if answer.correlation_id != self._correlation_id:
                raise MalformedMessageError("the answer is to another request")
            decoded, _ = codec.decode_response(api_key, version, frame, at)
        except TimeoutError:
            raise UnreachableFailure(f"{self._address} does not answer {api_key.name}") from None
        except (MalformedMessageError, ConnectionError) as error:
            problem = f"{self._address} does not answer {api_key.name} as Kafka does: {error}"
            if isinstance(error, ConnectionError):
                raise UnreachableFailure(problem) from None
            raise EnvironmentFailure(problem) from None
        return decoded


class _Answers:
    """Takes the answers off the connection, one frame at a time."""

    def __init__(self) -> None:
        self._buffer = bytearray(4)
        self._received = 0
        self._frames: asyncio.Queue[memoryview | Exception] = asyncio.Queue()

    async def next(self) -> memoryview:
        frame = await self._frames.get()
        if isinstance(frame, Exception):
            raise frame
        return frame

    def receive_buffers(self) -> Sequence[memoryview]:
        return [memoryview(self._buffer)[self._received :]]

    def received(self, count: int) -> None:
        self._received += count
        if self._received < len(self._buffer):
            return
        if self._received == 4:
            size = int.from_bytes(self._buffer, "big")
            if not 4 <= size <= _FRAME_BYTES_MAX:
                self._frames.put_nowait(ConnectionError(f"an answer of {size} bytes"))
                size = 4
            self._buffer = self._buffer + bytearray(size)
            return
        self._frames.put_nowait(memoryview(self._buffer)[4:])
        self._buffer = bytearray(4)
        self._received = 0

    def drained(self) -> None:
        pass

    def closed(self, error: Exception | None) -> None:
        self._frames.put_nowait(ConnectionError("the connection was closed"))
