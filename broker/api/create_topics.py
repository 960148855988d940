"""CreateTopics: makes topics, or only says whether they could be made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker.api.config_entries import topic_entries
from broker.api.repeated import repeated
from broker.api.request import Request
from broker.api.topic_names import TopicNames
from broker.api.topic_plan import check_partition_count, plan_topic
from broker.metadata.changes import TopicCreated
from broker.metadata.ids import ZERO_ID
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node

_TOPICS_WITH_CONFIGS = 500
"""The answer tells the configurations of that many topics, each some 1,500 bytes, and is silent
about those of the others, as for a client that may not see them."""

_NO_CONFIGS: list[m.CreatableTopicConfigs] = []
"""Shared by the answers about all topics that failed: 100,000 lists would take 6 MB."""


async def create_topics(
    node: Node, request: Request[m.CreateTopicsRequest]
) -> m.CreateTopicsResponse:
    body = request.body
    twice = await repeated((topic.name for topic in body.topics), request)
    results: dict[str, m.CreatableTopicResult] = {}

    async def decide() -> Sequence[TopicCreated]:
        planned: dict[str, TopicCreated] = {}
        names = TopicNames(node.metadata.image.topics)
        count = 0
        for topic in body.topics:
            await request.pause()
            try:
                if topic.name in twice:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "the topic is named twice")
                check_partition_count(count + 1)  # before the work that planning is
                change = plan_topic(node, topic, names)
                check_partition_count(count + len(change.partitions))
                count += len(change.partitions)
                names.add(topic.name)
                planned[topic.name] = change
                with_configs = len(planned) <= _TOPICS_WITH_CONFIGS
                results[topic.name] = _created(node, change, body.validate_only, with_configs)
            except KafkaError as error:
                results[topic.name] = _failed(topic.name, error.code, request.explain(error))
        return [] if body.validate_only else list(planned.values())

    try:
        await node.change(decide)
    except KafkaError as error:
        for name, result in results.items():
            if result.error_code == ErrorCode.NONE:
                results[name] = _failed(name, error.code, request.explain(error))
    return m.CreateTopicsResponse(topics=list(results.values()))


def _created(
    node: Node, change: TopicCreated, validate_only: bool, with_configs: bool
) -> m.CreatableTopicResult:
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
        ]
        if with_configs
        else None,
    )


def _failed(name: str, code: ErrorCode, message: str | None) -> m.CreatableTopicResult:
    return m.CreatableTopicResult(
        name=name,
        error_code=code,
        error_message=message,
        num_partitions=-1,
        replication_factor=-1,
        configs=_NO_CONFIGS,
    )
