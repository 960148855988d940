"""From a request's bytes to its handler, and from the answer to a response's bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker.api.request import CloseConnectionError, Request
from broker.api.table import API_TABLE, Api
from broker.disk.interface import Buffer, FileSlice
from broker.network.interface import Address
from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.server.request_log import RequestLog

if TYPE_CHECKING:
    from broker.node import Node


_BYTES_MAX_WITHOUT_RECORDS = 8 << 20
"""Lists of tiny structs take some fifty times their size once decoded, and records nothing."""


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """One API at one version, ready to use."""

    api: Api
    decode: Callable[[memoryview, int], tuple[Any, int]]
    encode: Callable[[Any], list[Buffer | FileSlice]]


class Call:
    """One request under way."""

    __slots__ = ("_dispatcher", "_endpoint", "_request", "_started")

    def __init__(self, dispatcher: Dispatcher, endpoint: _Endpoint, request: Request[Any]) -> None:
        self._dispatcher = dispatcher
        self._endpoint = endpoint
        self._request = request
        self._started = dispatcher.loop.time()

    def run(self) -> Any:
        """The answer, a coroutine for it, or None where the client wants none."""
        return self._endpoint.api.handler(self._dispatcher.node, self._request)

    def frame(self, answer: Any) -> list[Buffer | FileSlice]:
        request = self._request
        return frames.response_frame(
            request.api_key,
            request.version,
            request.correlation_id,
            self._endpoint.encode(answer),
        )

    @property
    def may_be_abandoned(self) -> bool:
        """Whether to give up when the client is gone; an append must come to its end."""
        return self._endpoint.api.may_be_abandoned

    def done(self) -> None:
        elapsed_s = self._dispatcher.loop.time() - self._started
        request = self._request
        self._dispatcher.node.metrics.request_done(request.api_key, elapsed_s)
        if self._dispatcher.request_log.is_on:
            self._dispatcher.request_log.answered(request, elapsed_s)


class Dispatcher:
    def __init__(self, node: Node) -> None:
        self.node = node
        self.loop = asyncio.get_running_loop()
        self.request_log = RequestLog(node)
        self._endpoints: dict[tuple[int, int], _Endpoint] = {}

    def begin(self, frame: memoryview, peer: Address) -> Call:
        header, body_at = frames.decode_request_header(frame)
        if len(frame) > _BYTES_MAX_WITHOUT_RECORDS and header.api_key != ApiKey.PRODUCE:
            raise CloseConnectionError(
                f"a request of api {header.api_key} with {len(frame)} bytes; without records "
                f"{_BYTES_MAX_WITHOUT_RECORDS} are allowed"
            )
        version = header.api_version
        endpoint = self._endpoints.get((header.api_key, version))
        if endpoint is None:
            endpoint, version = self._find(header.api_key, version)
        if version != header.api_version:
            # An ApiVersions request of a version from the future: its body cannot be read, and
            # it is answered in version 0, which every client understands.
            body = m.ApiVersionsRequest()
        else:
            # Bytes behind the end are left unread, as Kafka does: librdkafka 2.16 sends some.
            body, _ = endpoint.decode(frame, body_at)
        return Call(
            self,
            endpoint,
            Request(
                header.api_key,
                header.api_version,
                header.correlation_id,
                header.client_id,
                peer,
                body,
            ),
        )

    def _find(self, api_key: int, version: int) -> tuple[_Endpoint, int]:
        api = API_TABLE.get(api_key)
        if api is None:
            raise CloseConnectionError(f"api {api_key} is not served here")
        if not api.version_min <= version <= api.version_max:
            if api_key != ApiKey.API_VERSIONS:
                raise CloseConnectionError(
                    f"{ApiKey(api_key).name} version {version} is not served here, only "
                    f"{api.version_min} to {api.version_max}"
                )
            version = 0
        endpoint = _Endpoint(
            api, codec.request_decoder(api_key, version), codec.response_encoder(api_key, version)
        )
        self._endpoints[api_key, version] = endpoint
        return endpoint, version
