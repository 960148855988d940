"""Requests that only the active controller can carry out: carried out here if it is this node,
else taken to it in an envelope (KIP-590), so that a client may ask any broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from broker.api.request import (
    ELEMENTS_AT_ONCE,
    ELEMENTS_MAX,
    CloseConnectionError,
    Request,
    Undecoded,
    in_slices,
)
from broker.log.breather import Breather
from broker.peers.channel import UnansweredError
from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, MalformedMessageError, TooManyElementsError
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
        wrapped: m.EnvelopeRequest | None = None
        while True:
            left_s = deadline - loop.time()
            if node.controller.is_active or left_s <= 0:
                await request.goes_on()
                return await handler(node, request)
            if wrapped is None:
                # Once and not for each attempt: meanwhile other wide requests work.
                wrapped = await _wrapped(request)
                request.will_wait()
            try:
                return await _forward(node, request, wrapped, left_s)
            except UnansweredError:
                await asyncio.sleep(_RETRY_S)

    return answer


async def _wrapped(request: Request[Any]) -> m.EnvelopeRequest:
    api_key, version = ApiKey(request.api_key), request.version
    header = m.RequestHeader(
        api_key=api_key,
        api_version=version,
        correlation_id=request.correlation_id,
        client_id=request.client_id,
    )
    encode = codec.sliced_request_encoder(api_key, version)
    body = await in_slices(encode(request.body), request.breather or Breather())
    return m.EnvelopeRequest(
        request_data=b"".join(bytes(each) for each in frames.request_frame(header, body))[_PREFIX:],
        request_principal=None,
        client_host_address=b"",
    )


async def _forward(
    node: Node, request: Request[Any], wrapped: m.EnvelopeRequest, timeout_s: float
) -> Any:
    """Raises UnansweredError."""
    api_key, version = ApiKey(request.api_key), request.version
    answer: m.EnvelopeResponse = await node.forwarding.ask(
        ApiKey.ENVELOPE, wrapped, timeout_s=timeout_s
    )
    if answer.error_code or answer.response_data is None:
        raise UnansweredError(f"the controller refused the envelope: error {answer.error_code}")
    await request.goes_on()
    frame = memoryview(answer.response_data)
    _, at = frames.decode_response_header(api_key, version, frame)
    decode = codec.sliced_response_decoder(api_key, version)
    decoded, _ = await in_slices(decode(frame, at, len(frame)), request.breather or Breather())
    await node.know_what_was_changed(decoded)
    return decoded


def envelope(handlers: Mapping[int, Handler]) -> Handler:
    """For the controller: unwraps a request that a broker has forwarded, and answers it."""

    async def answer(node: Node, request: Request[m.EnvelopeRequest]) -> m.EnvelopeResponse:
        if not node.controller.is_active:
            return m.EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
        request.make_wide()
        data = memoryview(request.body.request_data)
        try:
            header, at = frames.decode_request_header(data)
            api_key, version = header.api_key, header.api_version
            handler = handlers[api_key]
            body = _decoded(api_key, version, data, at)
        except (MalformedMessageError, KeyError):
            return m.EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
        inner = Request(
            api_key,
            version,
            header.correlation_id,
            header.client_id,
            request.peer,
            body,
            breather=Breather(),
        )
        try:
            if type(body) is Undecoded:
                answered = await node.controller_server.wide_requests.answer(handler, inner)
            else:
                answered = await handler(node, inner)
            return m.EnvelopeResponse(response_data=await _encoded(inner, answered))
        except NotLeaderError:
            return m.EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
        except (MalformedMessageError, CloseConnectionError):
            return m.EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
        finally:
            if inner.lease is not None:
                inner.lease.end()

    return answer


def _decoded(api_key: int, version: int, data: memoryview, at: int) -> Any:
    """`Undecoded` for a wide request, which has to wait for its turn."""
    decode = codec.bounded_request_decoder(api_key, version)
    try:
        body, _ = decode(data, at, ELEMENTS_AT_ONCE)
    except TooManyElementsError as error:
        if error.count > ELEMENTS_MAX:
            raise
        return Undecoded(data, at)
    return body


async def _encoded(request: Request[Any], answer: Any) -> bytes:
    """The response's frame, without its length."""
    encode = codec.sliced_response_encoder(request.api_key, request.version)
    body = await in_slices(encode(answer), request.breather or Breather())
    chunks = frames.response_frame(request.api_key, request.version, request.correlation_id, body)
    return b"".join(bytes(each) for each in chunks)[_PREFIX:]
