"""Frames of requests and replies, as a client and a broker would write them."""

from __future__ import annotations

from typing import Any

from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from harness.wire.message import Message
from harness.wire.tracker import ConnectionTracker


def tracker(client: str = "client", server: str = "n1") -> ConnectionTracker:
    return ConnectionTracker(connection=f"{client}->{server}#1", client=client, server=server)


def request_frame(
    key: ApiKey,
    version: int,
    body: Any,
    correlation_id: int = 1,
    client_id: str | None = "tester",
) -> bytes:
    """Without its length."""
    header = m.RequestHeader(
        api_key=key, api_version=version, correlation_id=correlation_id, client_id=client_id
    )
    chunks = frames.request_frame(header, codec.encode_request(key, version, body))
    return b"".join(chunks)[frames.LENGTH_SIZE :]


def reply_frame(key: ApiKey, version: int, body: Any, correlation_id: int = 1) -> bytes:
    encoded = codec.encode_response(key, version, body)
    chunks = frames.response_frame(key, version, correlation_id, encoded)
    return b"".join(chunks)[frames.LENGTH_SIZE :]


def request(key: ApiKey, version: int, body: Any, **facts: Any) -> Message:
    return tracker().request(request_frame(key, version, body, **facts))


def reply(key: ApiKey, version: int, asked: Any, answered: Any) -> Message:
    connection = tracker()
    connection.request(request_frame(key, version, asked))
    return connection.reply(reply_frame(key, version, answered))


def end_txn(transactional_id: str = "tx-7", **facts: Any) -> Message:
    body = m.EndTxnRequest(transactional_id=transactional_id, producer_id=5, committed=True)
    return request(ApiKey.END_TXN, 3, body, **facts)
