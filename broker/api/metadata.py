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
from broker.api.internal_topics import creatable
from broker.api.operations import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from broker.api.request import Request, at_once_or_in_slices
from broker.api.topic_names import check_topic_name
from broker.metadata.ids import ZERO_ID
from broker.metadata.image import PartitionInfo, TopicInfo
from broker.metadata.internal_topics import GROUPS_TOPIC, INTERNAL_TOPICS, TRANSACTIONS_TOPIC
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
_PARTITIONS_AT_ONCE = 500

_create = at_the_controller(create_topics)


def metadata(
    node: Node, request: Request[m.MetadataRequest]
) -> m.MetadataResponse | Coroutine[Any, Any, m.MetadataResponse]:
    """At once, unless a topic has to be created first."""
    missing = _to_create(node, request)
    if missing:
        return _create_and_answer(node, request, missing)
    if _has_many_partitions(node, request):
        request.make_wide()
    return at_once_or_in_slices(request, _answer(node, request))


def _has_many_partitions(node: Node, request: Request[m.MetadataRequest]) -> bool:
    asked, known = request.body.topics, node.metadata.image.topics
    if _wants_all(request):
        return sum(len(topic.partitions) for topic in known.values()) > _PARTITIONS_AT_ONCE
    names = {topic.name for topic in asked or () if topic.name in known}
    return sum(len(known[name].partitions) for name in names if name) > _PARTITIONS_AT_ONCE


def _wants_all(request: Request[m.MetadataRequest]) -> bool:
    topics = request.body.topics
    return topics is None or (not topics and request.version < _FIRST_VERSION_WITH_NULL)


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
        topics=[_to_be_created(node, name) for name in names],
    )
    key = ApiKey.CREATE_TOPICS
    version = API_VERSIONS[key][1]
    created: m.CreateTopicsResponse = await _create(
        node, Request(key, version, 0, request.client_id, request.peer, asked)
    )
    failures = {each.name: each.error_code for each in created.topics}
    request.make_wide()
    answer = await _answer(node, request)
    for topic in answer.topics:
        if topic.error_code and failures.get(topic.name or ""):
            topic.error_code = failures[topic.name or ""]
    return answer


def _to_be_created(node: Node, name: str) -> m.CreatableTopic:
    if name == GROUPS_TOPIC:
        return creatable(node.groups.topic_to_create())
    if name == TRANSACTIONS_TOPIC:
        return creatable(node.transactions.topic_to_create())
    return m.CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)


async def _answer(node: Node, request: Request[m.MetadataRequest]) -> m.MetadataResponse:
    body = request.body
    with_operations = body.include_topic_authorized_operations
    topics: list[m.MetadataResponseTopic] = []
    if _wants_all(request):
        for topic in node.metadata.image.topics_sorted():
            topics.append(await describe_topic(node, topic, with_operations, request))
    else:
        # A topic that is named twice is described once, as Kafka does.
        for name, topic_id in dict.fromkeys(
            (each.name, each.topic_id) for each in body.topics or ()
        ):
            asked = m.MetadataRequestTopic(name=name, topic_id=topic_id)
            topics.append(await _asked_topic(node, asked, request, with_operations))
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


async def _asked_topic(
    node: Node,
    asked: m.MetadataRequestTopic,
    request: Request[m.MetadataRequest],
    with_operations: bool,
) -> m.MetadataResponseTopic:
    await request.pause()
    image = node.metadata.image
    if asked.name is None or asked.topic_id != ZERO_ID:
        if request.version < _FIRST_VERSION_BY_ID:
            # Their answers cannot carry a null name, so an empty one stands for it.
            return m.MetadataResponseTopic(
                error_code=ErrorCode.INVALID_REQUEST, name=asked.name or "", topic_id=asked.topic_id
            )
        topic = image.topic_by_id(asked.topic_id)
        if topic is None:
            return m.MetadataResponseTopic(
                error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=asked.topic_id
            )
        return await describe_topic(node, topic, with_operations, request)
    topic = image.topic(asked.name)
    if topic is not None:
        return await describe_topic(node, topic, with_operations, request)
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_topic_name(asked.name)
    except KafkaError as invalid:
        error = invalid.code
    return m.MetadataResponseTopic(
        error_code=error,
        name=asked.name,
        is_internal=asked.name in INTERNAL_TOPICS,
        topic_authorized_operations=TOPIC_OPERATIONS if with_operations else NOT_ASKED,
    )


async def describe_topic(
    node: Node, topic: TopicInfo, with_operations: bool, request: Request[Any]
) -> m.MetadataResponseTopic:
    partitions = []
    for index, info in enumerate(topic.partitions):
        partitions.append(_partition(node, topic.name, index, info))
        await request.pause()
    return m.MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        topic_authorized_operations=TOPIC_OPERATIONS if with_operations else NOT_ASKED,
        partitions=partitions,
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
