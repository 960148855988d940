"""CreateTopics: makes topics, or only says whether they could be made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker.api.config_entries import topic_entries
from broker.api.request import Request
from broker.api.topic_plan import check_partition_count, plan_topic
from broker.metadata.changes import TopicCreated
from broker.metadata.ids import ZERO_ID
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def create_topics(
    node: Node, request: Request[m.CreateTopicsRequest]
) -> m.CreateTopicsResponse:
    body = request.body
    asked = Counter(topic.name for topic in body.topics)
    results: dict[str, m.CreatableTopicResult] = {}

    def decide() -> Sequence[TopicCreated]:
        planned: dict[str, TopicCreated] = {}
        for topic in body.topics:
            try:
                if asked[topic.name] > 1:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "the topic is named twice")
                planned[topic.name] = plan_topic(node, topic, planned)
                check_partition_count(sum(len(each.partitions) for each in planned.values()))
                results[topic.name] = _created(node, planned[topic.name], body.validate_only)
            except KafkaError as error:
                planned.pop(topic.name, None)
                results[topic.name] = _failed(topic.name, error)
        return [] if body.validate_only else list(planned.values())

    try:
        await node.change(decide)
    except KafkaError as error:
        for name, result in results.items():
            if result.error_code == ErrorCode.NONE:
                results[name] = _failed(name, error)
    return m.CreateTopicsResponse(topics=list(results.values()))


def _created(node: Node, change: TopicCreated, validate_only: bool) -> m.CreatableTopicResult:
    return m.CreatableTopicResult(
        name=change.name,
        error_message=None,
        topic_id=ZERO_ID if validate_only else change.topic_id,
        num_partitions=len(change.partitions),
        replication_factor=len(change.partitions[0].replicas),
        configs=[
            m.CreatableTopicConfigs(
                name=entry.name,
                value=entry.value,
                read_only=False,
                config_source=entry.source,
                is_sensitive=entry.known.sensitive,
            )
            for entry in topic_entries(node, change.configs)
        ],
    )


def _failed(name: str, error: KafkaError) -> m.CreatableTopicResult:
    return m.CreatableTopicResult(
        name=name,
        error_code=error.code,
        error_message=error.message,
        num_partitions=-1,
        replication_factor=-1,
        configs=[],
    )
