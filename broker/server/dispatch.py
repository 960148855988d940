"""From a request's bytes to its handler, and from the answer to a response's bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Any

from broker.api.prepared_answer import PreparedAnswer
from broker.api.request import (
    ELEMENTS_AT_ONCE,
    ELEMENTS_MAX,
    CloseConnectionError,
    Request,
    Undecoded,
    in_slices,
)
from broker.api.served import Api
from broker.disk.interface import Buffer, FileSlice
from broker.network.interface import Address
from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey, api_name, request_header_version
from broker.protocol.compile_decode import BoundedDecoder
from broker.protocol.errors import TooManyElementsError
from broker.server.request_log import RequestLog
from broker.server.wide_requests import too_wide

if TYPE_CHECKING:
    from broker.node import Node


_HEAD_SIZE = 10
_read_head = Struct(">hhih").unpack_from  # api key, version, correlation id, length of client id
_FIRST_HEADER_WITH_TAGS = 2
_Header = tuple[int, int, int, str | None]

_BYTES_MAX_WITHOUT_RECORDS = 8 << 20
"""Lists of tiny structs take some fifty times their size once decoded, and records nothing."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One API at one version, ready to use."""

    api: Api
    handler: Callable[[Node, Request[Any]], Any]
    """Gives the answer, a coroutine or a `Later` for it, or None where the client wants none."""
    decode: BoundedDecoder
    encode: Callable[[Any], list[Buffer | FileSlice]]
    has_tags: bool
    """In the header of its requests."""


class Dispatcher:
    def __init__(self, node: Node, table: Mapping[int, Api]) -> None:
        self.node = node
        self._table = table
        self.request_log = RequestLog(node)
        self._endpoints: dict[tuple[int, int], Endpoint] = {}

    def begin(
        self, frame: memoryview, peer: Address, listener: str
    ) -> tuple[Endpoint, Request[Any]]:
        """The request's body is `Undecoded` if it is a wide one."""
        header, body_at, endpoint = self._usual_header(frame) or self._any_header(frame)
        api_key, version, correlation_id, client_id = header
        if len(frame) > _BYTES_MAX_WITHOUT_RECORDS and api_key != ApiKey.PRODUCE:
            raise CloseConnectionError(
                f"a request of {api_name(api_key)} with {len(frame)} bytes; without records "
                f"{_BYTES_MAX_WITHOUT_RECORDS} are allowed"
            )
        if endpoint is None:
            # An ApiVersions request of a version from the future: its body cannot be read, and
            # it is answered in version 0, which every client understands.
            endpoint = self._find(api_key, 0)
            body: Any = m.ApiVersionsRequest()
        else:
            # Bytes behind the end are left unread, as Kafka does: librdkafka 2.16 sends some.
            try:
                body, _ = endpoint.decode(frame, body_at, ELEMENTS_AT_ONCE)
            except TooManyElementsError as error:
                if error.count > ELEMENTS_MAX:
                    raise too_wide(api_key, version, error) from error
                body = Undecoded(frame, body_at)
        request = Request(api_key, version, correlation_id, client_id, peer, body, listener)
        return endpoint, request

    def frame(
        self, endpoint: Endpoint, request: Request[Any], answer: Any
    ) -> list[Buffer | FileSlice]:
        if type(answer) is PreparedAnswer:
            return [answer.frame(request.correlation_id)]
        return frames.response_frame(
            request.api_key, request.version, request.correlation_id, endpoint.encode(answer)
        )

    async def frame_in_slices(
        self, endpoint: Endpoint, request: Request[Any], answer: Any
    ) -> list[Buffer | FileSlice]:
        """Same as `frame`, for a request that has a breather."""
        if request.breather is None or type(answer) is PreparedAnswer:
            return self.frame(endpoint, request, answer)
        encode = codec.sliced_response_encoder(request.api_key, request.version)
        body = await in_slices(encode(answer), request.breather)
        return frames.response_frame(request.api_key, request.version, request.correlation_id, body)

    def forget_body(self, request: Request[Any]) -> None:
        """When the answer is known: as objects, a wide request takes as much memory as that."""
        if not self.request_log.is_on:
            request.body = None

    def done(self, request: Request[Any], elapsed_s: float) -> None:
        self.node.metrics.request_done(request.api_key, elapsed_s)
        if self.request_log.is_on:
            self.request_log.answered(request, elapsed_s)

    def _usual_header(self, frame: memoryview) -> tuple[_Header, int, Endpoint] | None:
        """In few steps, for an API that was used before, by a client with a name."""
        if len(frame) <= _HEAD_SIZE:
            return None
        api_key, version, correlation_id, name_size = _read_head(frame)
        endpoint = self._endpoints.get((api_key, version))
        body_at = _HEAD_SIZE + name_size
        if endpoint is None or not 0 <= name_size < len(frame) - _HEAD_SIZE:
            return None
        name = frame[_HEAD_SIZE:body_at]
        if endpoint.has_tags:
            if frame[body_at]:
                return None
            body_at += 1
        try:
            client_id = str(name, "utf-8")
        except UnicodeDecodeError:
            return None
        return (api_key, version, correlation_id, client_id), body_at, endpoint

    def _any_header(self, frame: memoryview) -> tuple[_Header, int, Endpoint | None]:
        header, body_at = frames.decode_request_header(frame)
        api_key, version = header.api_key, header.api_version
        known = (api_key, version, header.correlation_id, header.client_id)
        api = self._table.get(api_key)
        if api is None:
            raise CloseConnectionError(f"{api_name(api_key)} is not served here")
        if not api.version_min <= version <= api.version_max:
            if api_key == ApiKey.API_VERSIONS:
                return known, body_at, None
            raise CloseConnectionError(
                f"{api_name(api_key)} version {version} is not served here, only "
                f"{api.version_min} to {api.version_max}"
            )
        return known, body_at, self._find(api_key, version)

    def _find(self, api_key: int, version: int) -> Endpoint:
        endpoint = self._endpoints.get((api_key, version))
        if endpoint is None:
            endpoint = self._endpoints[api_key, version] = Endpoint(
                self._table[api_key],
                self._table[api_key].handler,
                codec.bounded_request_decoder(api_key, version),
                codec.response_encoder(api_key, version),
                request_header_version(api_key, version) >= _FIRST_HEADER_WITH_TAGS,
            )
        return endpoint
