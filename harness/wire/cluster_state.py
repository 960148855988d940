"""Two questions that any broker answers about its cluster, as bytes: who leads what, who decides.

Metadata is asked for in the oldest version that tells leader epochs, and DescribeQuorum in its
first: every broker that takes part in a quorum knows both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, MalformedMessageError

_METADATA_VERSION: Final = 7
_QUORUM_VERSION: Final = 0
_QUORUM_TOPIC: Final = "__cluster_metadata"
_CLIENT: Final = "cluster-state"


@dataclass(frozen=True, slots=True)
class LedPartition:
    leader_id: int | None
    epoch: int
    replica_ids: tuple[int, ...]
    isr_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class QuorumLeader:
    leader_id: int | None
    epoch: int


def ask_leaders(topics: Sequence[str], correlation_id: int) -> bytes:
    """The whole frame, its length included; as is that of `ask_quorum`."""
    body = m.MetadataRequest(
        topics=[m.MetadataRequestTopic(name=topic) for topic in topics],
        allow_auto_topic_creation=False,
    )
    return _framed(ApiKey.METADATA, _METADATA_VERSION, body, correlation_id)


def ask_quorum(correlation_id: int) -> bytes:
    partition = m.DescribeQuorumRequestPartitionData(partition_index=0)
    topic = m.DescribeQuorumRequestTopicData(topic_name=_QUORUM_TOPIC, partitions=[partition])
    body = m.DescribeQuorumRequest(topics=[topic])
    return _framed(ApiKey.DESCRIBE_QUORUM, _QUORUM_VERSION, body, correlation_id)


def told_leaders(frame: bytes, correlation_id: int) -> Mapping[str, LedPartition]:
    """By key, `orders-3`. A topic that the broker does not know has no partitions."""
    answer = _read(ApiKey.METADATA, _METADATA_VERSION, frame, correlation_id)
    return {
        f"{topic.name}-{one.partition_index}": LedPartition(
            leader_id=one.leader_id if one.leader_id >= 0 else None,
            epoch=one.leader_epoch,
            replica_ids=tuple(one.replica_nodes),
            isr_ids=tuple(one.isr_nodes),
        )
        for topic in answer.topics
        for one in topic.partitions
    }


def told_quorum(frame: bytes, correlation_id: int) -> QuorumLeader | None:
    """None while the broker cannot tell."""
    answer = _read(ApiKey.DESCRIBE_QUORUM, _QUORUM_VERSION, frame, correlation_id)
    for topic in answer.topics:
        for one in topic.partitions:
            if one.error_code == ErrorCode.NONE:
                return QuorumLeader(one.leader_id if one.leader_id >= 0 else None, one.leader_epoch)
    return None


def _framed(api: ApiKey, version: int, body: Any, correlation_id: int) -> bytes:
    header = frames.RequestHeader(
        api_key=api, api_version=version, correlation_id=correlation_id, client_id=_CLIENT
    )
    return b"".join(frames.request_frame(header, codec.encode_request(api, version, body)))


def _read(api: ApiKey, version: int, frame: bytes, correlation_id: int) -> Any:
    """Raises ValueError for bytes that are no such answer."""
    try:
        header, at = frames.decode_response_header(api, version, frame)
        answer = codec.decode_response(api, version, frame, at)[0]
    except MalformedMessageError as problem:
        raise ValueError(str(problem)) from None
    if header.correlation_id != correlation_id:
        raise ValueError(f"an answer to {header.correlation_id}, and {correlation_id} was asked")
    return answer
