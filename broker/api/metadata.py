"""Metadata: the nodes, the topics, and who leads what."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from broker.api.cluster_view import (
    brokers_for,
    leader_of,
    offline_replicas,
    whom_to_ask_for_changes,
)
from broker.api.create_topics import create_topics
from broker.api.forwarding import at_the_controller
from broker.api.operations import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from broker.api.request import Request
from broker.api.topic_names import INTERNAL_TOPICS, check_topic_name
from broker.metadata.ids import ZERO_ID
from broker.metadata.image import PartitionInfo, TopicInfo
from broker.metadata.partition_info import NO_LEADER
from broker.protocol import messages as m
from broker.protocol.apis import API_VERSIONS, ApiKey
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_VERSION_WITH_NULL = 1
_FIRST_VERSION_WITH_CHOICE = 4
_FIRST_VERSION_BY_ID = 12
_CREATION_TIMEOUT_MS = 10_000

_create = at_the_controller(create_topics)


def metadata(
    node: Node, request: Request[m.MetadataRequest]
) -> m.MetadataResponse | Coroutine[Any, Any, m.MetadataResponse]:
    """At once, unless a topic has to be created first."""
    missing = _to_create(node, request)
    return _create_and_answer(node, request, missing) if missing else _answer(node, request)


def _to_create(node: Node, request: Request[m.MetadataRequest]) -> list[str]:
    body = request.body
    allowed = body.allow_auto_topic_creation or request.version < _FIRST_VERSION_WITH_CHOICE
    if not (node.config.auto_create_topics_enable and allowed and body.topics):
        return []
    known = node.metadata.image.topics
    names = [topic.name for topic in body.topics if topic.name and topic.name not in known]
    return list(dict.fromkeys(names))


async def _create_and_answer(
    node: Node, request: Request[m.MetadataRequest], names: Sequence[str]
) -> m.MetadataResponse:
    """As if the client had asked for the topics with everything left to the cluster."""
    asked = m.CreateTopicsRequest(
        timeout_ms=_CREATION_TIMEOUT_MS,
        topics=[
            m.CreatableTopic(name=name, num_partitions=-1, replication_factor=-1) for name in names
        ],
    )
    key = ApiKey.CREATE_TOPICS
    version = API_VERSIONS[key][1]
    created: m.CreateTopicsResponse = await _create(
        node, Request(key, version, 0, request.client_id, request.peer, asked)
    )
    failures = {each.name: each.error_code for each in created.topics}
    answer = _answer(node, request)
    for topic in answer.topics:
        if topic.error_code and failures.get(topic.name or ""):
            topic.error_code = failures[topic.name or ""]
    return answer


def _answer(node: Node, request: Request[m.MetadataRequest]) -> m.MetadataResponse:
    body = request.body
    with_operations = body.include_topic_authorized_operations
    wants_all = body.topics is None or (
        not body.topics and request.version < _FIRST_VERSION_WITH_NULL
    )
    if wants_all:
        topics = [
            describe_topic(node, topic, with_operations)
            for topic in node.metadata.image.topics_sorted()
        ]
    else:
        topics = [
            _asked_topic(node, asked, request.version, with_operations)
            for asked in body.topics or ()
        ]
    brokers = brokers_for(node, request.listener)
    return m.MetadataResponse(
        brokers=[
            m.MetadataResponseBroker(
                node_id=each.node_id, host=each.host, port=each.port, rack=each.rack
            )
            for each in brokers
        ],
        cluster_id=node.cluster_id,
        controller_id=whom_to_ask_for_changes(node, brokers),
        topics=topics,
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if body.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def _asked_topic(
    node: Node, asked: m.MetadataRequestTopic, version: int, with_operations: bool
) -> m.MetadataResponseTopic:
    image = node.metadata.image
    if asked.name is None or asked.topic_id != ZERO_ID:
        if version < _FIRST_VERSION_BY_ID:
            # Their answers cannot carry a null name, so an empty one stands for it.
            return m.MetadataResponseTopic(
                error_code=ErrorCode.INVALID_REQUEST, name=asked.name or "", topic_id=asked.topic_id
            )
        topic = image.topic_by_id(asked.topic_id)
        if topic is None:
            return m.MetadataResponseTopic(
                error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=asked.topic_id
            )
        return describe_topic(node, topic, with_operations)
    topic = image.topic(asked.name)
    if topic is not None:
        return describe_topic(node, topic, with_operations)
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_topic_name(asked.name)
    except KafkaError as invalid:
        error = invalid.code
    return m.MetadataResponseTopic(error_code=error, name=asked.name)


def describe_topic(node: Node, topic: TopicInfo, with_operations: bool) -> m.MetadataResponseTopic:
    return m.MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        topic_authorized_operations=TOPIC_OPERATIONS if with_operations else NOT_ASKED,
        partitions=[
            _partition(node, topic.name, index, info) for index, info in enumerate(topic.partitions)
        ],
    )


def _partition(
    node: Node, topic: str, index: int, info: PartitionInfo
) -> m.MetadataResponsePartition:
    leader = leader_of(node, topic, index, info)
    return m.MetadataResponsePartition(
        error_code=ErrorCode.NONE if leader != NO_LEADER else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=index,
        leader_id=leader,
        leader_epoch=info.leader_epoch,
        replica_nodes=list(info.replicas),
        isr_nodes=list(info.isr),
        offline_replicas=offline_replicas(node, topic, index, info),
    )
