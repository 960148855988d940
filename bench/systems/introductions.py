"""What a bare server must say before librdkafka sends it anything: versions and metadata.

Only fixed layouts are offered, so that the answers that matter can be prepared by hand.
"""

from __future__ import annotations

import socket
import struct

from bench.rows import PARTITIONS
from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode

# librdkafka gives up compression without a word unless Produce is offered from 0 on, as Kafka
# does, and FindCoordinator is offered at all.
OFFERED = {
    ApiKey.PRODUCE: (0, 7),
    ApiKey.FETCH: (4, 11),
    ApiKey.METADATA: (0, 8),
    ApiKey.FIND_COORDINATOR: (0, 0),
    ApiKey.API_VERSIONS: (0, 3),
}


def introduce(connection: socket.socket, frame: memoryview) -> None:
    """Every topic asked about exists; there are no groups."""
    header, position = frames.decode_request_header(frame)
    request, _ = codec.decode_request(header.api_key, header.api_version, frame, position)
    if header.api_key == ApiKey.API_VERSIONS:
        answer: object = _versions()
    elif header.api_key == ApiKey.FIND_COORDINATOR:
        answer = m.FindCoordinatorResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    else:
        assert isinstance(request, m.MetadataRequest), f"not prepared for {header}"
        host, port = connection.getsockname()
        names = [topic.name or "" for topic in request.topics or ()]
        answer = _metadata(host, port, names)
    body = codec.encode_response(header.api_key, header.api_version, answer)
    whole = frames.response_frame(header.api_key, header.api_version, header.correlation_id, body)
    connection.sendall(b"".join(bytes(chunk) for chunk in whole))


def _versions() -> m.ApiVersionsResponse:
    return m.ApiVersionsResponse(
        api_keys=[
            m.ApiVersion(api_key=key, min_version=low, max_version=high)
            for key, (low, high) in OFFERED.items()
        ]
    )


def _metadata(host: str, port: int, names: list[str]) -> m.MetadataResponse:
    partitions = [
        m.MetadataResponsePartition(
            partition_index=index, leader_id=1, replica_nodes=[1], isr_nodes=[1]
        )
        for index in range(PARTITIONS)
    ]
    return m.MetadataResponse(
        brokers=[m.MetadataResponseBroker(node_id=1, host=host, port=port)],
        controller_id=1,
        cluster_id="bare",
        topics=[m.MetadataResponseTopic(name=name, partitions=partitions) for name in names],
    )


def body_start(frame: memoryview) -> int:
    """Where the body begins behind a header of a fixed layout."""
    (client_id_size,) = struct.unpack_from(">h", frame, 8)
    return 10 + max(0, int(client_id_size))
