"""Frames: a length, a header, a body. What travels over a connection in both directions."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache

from broker.protocol.apis import request_header_version, response_header_version
from broker.protocol.codec import Chunk
from broker.protocol.errors import MalformedMessageError
from broker.protocol.messages import RequestHeader, ResponseHeader
from broker.protocol.primitives import Readable, refuse, skip_tagged_fields

LENGTH_SIZE = 4
_REQUEST_HEADER = struct.Struct(">hhih")
_LENGTH_AND_REQUEST_HEADER = struct.Struct(">ihhih")
_NO_TAGS = b"\0"
_CORRELATION_ID = struct.Struct(">i")
_LENGTH_AND_ID = struct.Struct(">ii")
_LENGTH_ID_AND_NO_TAGS = struct.Struct(">iix")

__all__ = [
    "LENGTH_SIZE",
    "RequestHeader",
    "ResponseHeader",
    "decode_request_header",
    "decode_response_header",
    "request_frame",
    "response_frame",
]


def decode_request_header(view: Readable) -> tuple[RequestHeader, int]:
    """`view` is a frame without its length. Gives the header and the offset of the body.

    Says nothing about whether the API and its version are known: the answer depends on that.
    Written by hand, because a compiled decoder may copy the frame, and here the body follows.
    """
    try:
        api_key, version, correlation_id, length = _REQUEST_HEADER.unpack_from(view)
        client_id = None
        end = _REQUEST_HEADER.size
        if length >= 0:
            end += length
            client_id = str(view[end - length : end], "utf-8")
        elif length < -1:
            refuse("client_id", end)
        if request_header_version(api_key, version) == 2:
            end = end + 1 if view[end] == 0 else skip_tagged_fields(view, end, len(view))[0]
    except (struct.error, IndexError, UnicodeDecodeError) as problem:
        raise MalformedMessageError(f"no request header: {problem}") from problem
    if end > len(view):
        refuse("client_id", end)
    header = RequestHeader(
        api_key=api_key, api_version=version, correlation_id=correlation_id, client_id=client_id
    )
    return header, end


def decode_response_header(
    api_key: int, version: int, view: Readable
) -> tuple[ResponseHeader, int]:
    try:
        [correlation_id] = _CORRELATION_ID.unpack_from(view)
        end = _CORRELATION_ID.size
        if response_header_version(api_key, version) == 1:
            end = end + 1 if view[end] == 0 else skip_tagged_fields(view, end, len(view))[0]
    except (struct.error, IndexError) as problem:
        raise MalformedMessageError(f"no response header: {problem}") from problem
    return ResponseHeader(correlation_id=correlation_id), end


def response_frame(
    api_key: int, version: int, correlation_id: int, body: Sequence[Chunk]
) -> list[Chunk]:
    """Chunks to send, the first one beginning with the frame's length."""
    head = _response_head(api_key, version)
    size = head.size - LENGTH_SIZE + sum(map(len, body))
    return _prepended(head.pack(size, correlation_id), body)


def request_frame(header: RequestHeader, body: Sequence[Chunk]) -> list[Chunk]:
    client_id = b"" if header.client_id is None else header.client_id.encode()
    rest = client_id
    if request_header_version(header.api_key, header.api_version) == 2:
        rest += _NO_TAGS
    head = _LENGTH_AND_REQUEST_HEADER.pack(
        _REQUEST_HEADER.size + len(rest) + sum(map(len, body)),
        header.api_key,
        header.api_version,
        header.correlation_id,
        -1 if header.client_id is None else len(client_id),
    )
    return _prepended(head + rest, body)


@cache
def _response_head(api_key: int, version: int) -> struct.Struct:
    if response_header_version(api_key, version) == 0:
        return _LENGTH_AND_ID
    return _LENGTH_ID_AND_NO_TAGS


def _prepended(head: bytes, body: Sequence[Chunk]) -> list[Chunk]:
    """The encoder joins small chunks already, so only its first one can be joined with the head."""
    if body and isinstance(body[0], bytes):
        return [head + body[0], *body[1:]]
    return [head, *body]
