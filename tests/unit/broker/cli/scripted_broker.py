"""A broker on a real socket that answers as the test says: errors that a real one gives rarely."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from broker.network.interface import Address
from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import API_VERSIONS, ApiKey

HANG_UP = None
"""In place of an answer: the connection is closed."""


class ScriptedBroker:
    """`script` holds the answers of each API in their order; the last one is given again."""

    def __init__(self, script: Mapping[ApiKey, list[Any]], oldest: Mapping[ApiKey, int]) -> None:
        self.address = Address("127.0.0.1", 0)
        self.asked: list[tuple[ApiKey, int, Any]] = []
        """API, version and body of each request."""
        self._script = {api_key: list(answers) for api_key, answers in script.items()}
        self._versions = {
            key: (low, oldest.get(key, high)) for key, (low, high) in API_VERSIONS.items()
        }

    def count(self, api_key: ApiKey) -> int:
        return sum(each == api_key for each, _, _ in self.asked)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                frame = memoryview(await reader.readexactly(size))
                header, at = frames.decode_request_header(frame)
                key, version = ApiKey(header.api_key), header.api_version
                body, _ = codec.decode_request(key, version, frame, at)
                self.asked.append((key, version, body))
                answer = self._answer(key)
                if answer is HANG_UP:
                    return
                chunks = codec.encode_response(key, version, answer)
                told = frames.response_frame(key, version, header.correlation_id, chunks)
                writer.writelines(told)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, key: ApiKey) -> Any:
        if key == ApiKey.API_VERSIONS:
            return m.ApiVersionsResponse(
                api_keys=[
                    m.ApiVersion(api_key=each, min_version=low, max_version=high)
                    for each, (low, high) in self._versions.items()
                ]
            )
        if key not in self._script:
            return self._usual(key)
        answers = self._script[key]
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def _usual(self, key: ApiKey) -> Any:
        """One broker leads and coordinates everything."""
        host, port = self.address
        if key == ApiKey.FIND_COORDINATOR:
            found = m.Coordinator(key="g", node_id=1, host=host, port=port)
            return m.FindCoordinatorResponse(node_id=1, host=host, port=port, coordinators=[found])
        assert key == ApiKey.METADATA, key
        part = m.MetadataResponsePartition(partition_index=0, leader_id=1)
        return m.MetadataResponse(
            brokers=[m.MetadataResponseBroker(node_id=1, host=host, port=port)],
            cluster_id="c",
            topics=[m.MetadataResponseTopic(name="t", partitions=[part])],
        )


@asynccontextmanager
async def scripted(
    script: Mapping[ApiKey, list[Any]], oldest: Mapping[ApiKey, int] | None = None
) -> AsyncIterator[ScriptedBroker]:
    """`oldest` has the last version of APIs that this broker knows only in old ones."""
    broker = ScriptedBroker(script, oldest or {})
    server = await asyncio.start_server(broker.serve, broker.address.host, 0)
    broker.address = Address(*server.sockets[0].getsockname()[:2])
    try:
        yield broker
    finally:
        server.close()
        await server.wait_closed()
