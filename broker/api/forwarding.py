"""Requests that only the active controller can carry out: carried out here if it is this node,
else taken to it in an envelope (KIP-590), so that a client may ask any broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from broker.api.request import ELEMENTS_MAX, Request, in_slices
from broker.log.breather import Breather
from broker.peers.channel import UnansweredError
from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, MalformedMessageError
from broker.quorum.quorum import NotLeaderError

if TYPE_CHECKING:
    from broker.node import Node

Handler = Callable[[Any, Any], Any]

_DEFAULT_PATIENCE_S = 30.0
_RETRY_S = 0.02
_PREFIX = 4


def at_the_controller(handler: Handler) -> Handler:
    """When no controller is found in time, `handler` answers after all: with errors."""

    async def answer(node: Node, request: Request[Any]) -> Any:
        loop = asyncio.get_running_loop()
        timeout_ms = getattr(request.body, "timeout_ms", None)
        patience_s = _DEFAULT_PATIENCE_S if timeout_ms is None else timeout_ms / 1000
        deadline = loop.time() + patience_s
        while True:
            if node.controller.is_active:
                return await handler(node, request)
            left_s = deadline - loop.time()
            if left_s <= 0:
                return await handler(node, request)
            try:
                return await _forward(node, request, left_s)
            except UnansweredError:
                await asyncio.sleep(_RETRY_S)

    return answer


async def _forward(node: Node, request: Request[Any], timeout_s: float) -> Any:
    """Raises UnansweredError."""
    api_key, version = ApiKey(request.api_key), request.version
    header = m.RequestHeader(
        api_key=api_key,
        api_version=version,
        correlation_id=request.correlation_id,
        client_id=request.client_id,
    )
    breather = request.breather or Breather()
    encode = codec.sliced_request_encoder(api_key, version)
    body = await in_slices(encode(request.body), breather)
    wrapped = m.EnvelopeRequest(
        request_data=b"".join(bytes(each) for each in frames.request_frame(header, body))[_PREFIX:],
        request_principal=None,
        client_host_address=b"",
    )
    answer: m.EnvelopeResponse = await node.forwarding.ask(
        ApiKey.ENVELOPE, wrapped, timeout_s=timeout_s
    )
    if answer.error_code or answer.response_data is None:
        raise UnansweredError(f"the controller refused the envelope: error {answer.error_code}")
    frame = memoryview(answer.response_data)
    _, at = frames.decode_response_header(api_key, version, frame)
    decode = codec.sliced_response_decoder(api_key, version)
    decoded, _ = await in_slices(decode(frame, at, len(frame)), breather)
    await node.know_what_was_changed(decoded)
    return decoded


def envelope(handlers: Mapping[int, Handler]) -> Handler:
    """For the controller: unwraps a request that a broker has forwarded, and answers it."""

    async def answer(node: Node, request: Request[m.EnvelopeRequest]) -> m.EnvelopeResponse:
        if not node.controller.is_active:
            return m.EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
        request.make_wide()
        data = memoryview(request.body.request_data)
        breather = Breather()
        try:
            header, at = frames.decode_request_header(data)
            handler = handlers[header.api_key]
            decode = codec.sliced_request_decoder(header.api_key, header.api_version)
            body, _ = await in_slices(decode(data, at, ELEMENTS_MAX), breather)
        except (MalformedMessageError, KeyError):
            return m.EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
        inner = Request(
            header.api_key,
            header.api_version,
            header.correlation_id,
            header.client_id,
            request.peer,
            body,
            breather=breather,
        )
        try:
            answered = await handler(node, inner)
        except NotLeaderError:
            return m.EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
        encode = codec.sliced_response_encoder(header.api_key, header.api_version)
        encoded = await in_slices(encode(answered), breather)
        chunks = frames.response_frame(
            header.api_key, header.api_version, header.correlation_id, encoded
        )
        data_out = b"".join(bytes(each) for each in chunks)[_PREFIX:]
        return m.EnvelopeResponse(response_data=data_out)

    return answer
