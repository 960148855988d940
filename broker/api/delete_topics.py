"""DeleteTopics: by name, or by id."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker.api.repeated import repeated
from broker.api.request import Request
from broker.log.identity import text_of_id
from broker.metadata.changes import TopicDeleted
from broker.metadata.ids import ZERO_ID
from broker.metadata.image import TopicInfo
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node

_log = logging.getLogger(__name__)

_FIRST_VERSION_WITH_STATES = 6
_FIRST_VERSION_WITH_DISABLED = 3


async def delete_topics(
    node: Node, request: Request[m.DeleteTopicsRequest]
) -> m.DeleteTopicsResponse:
    states = request.body.topics
    if request.version < _FIRST_VERSION_WITH_STATES:
        states = [m.DeleteTopicState(name=name) for name in request.body.topic_names]
    results: list[m.DeletableTopicResult] = []

    async def decide() -> Sequence[TopicDeleted]:
        found = (_find_or_none(node, state) for state in states)
        ids = (topic.topic_id for topic in found if topic is not None)
        twice = await repeated(ids, request)
        changes: list[TopicDeleted] = []
        refused: dict[bytes, m.DeletableTopicResult] = {}
        for state in states:
            await request.pause()
            result = m.DeletableTopicResult(
                name=state.name, topic_id=state.topic_id, error_message=None
            )
            results.append(result)
            try:
                topic = _to_delete(node, state, request.version)
                if topic.topic_id in refused:
                    # One answer for both places, with all that they say of the topic.
                    results.pop()
                    first = refused[topic.topic_id]
                    first.name = first.name or state.name
                    first.topic_id = max(first.topic_id, state.topic_id)
                    continue
                if topic.topic_id in twice:
                    refused[topic.topic_id] = result
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "the topic is named twice")
            except KafkaError as error:
                result.error_code, result.error_message = error.code, request.explain(error)
                continue
            result.name, result.topic_id = topic.name, topic.topic_id
            changes.append(TopicDeleted(topic.name, topic.topic_id))
        return changes

    try:
        await node.change(decide)
        for result in results:
            if result.error_code == ErrorCode.NONE:
                _log.info(
                    "topic %s with id %s is deleted, as %s asked",
                    result.name,
                    text_of_id(result.topic_id),
                    request.client_id,
                )
    except KafkaError as error:
        for result in results:
            if result.error_code == ErrorCode.NONE:
                result.error_code, result.error_message = error.code, request.explain(error)
    return m.DeleteTopicsResponse(responses=results)


def _find_or_none(node: Node, state: m.DeleteTopicState) -> TopicInfo | None:
    image = node.metadata.image
    return image.topic(state.name) if state.name else image.topic_by_id(state.topic_id)


def _to_delete(node: Node, state: m.DeleteTopicState, version: int) -> TopicInfo:
    if not node.config.delete_topic_enable:
        if version < _FIRST_VERSION_WITH_DISABLED:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "delete.topic.enable is false")
        raise KafkaError(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false")
    if state.name is not None and state.topic_id != ZERO_ID:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "give a topic's name or its id, not both")
    if state.name is None and state.topic_id == ZERO_ID:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "neither a topic's name nor its id is given")
    topic = _find_or_none(node, state)
    if topic is not None:
        return topic
    if state.name is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, "there is no topic of this id")
    raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {state.name!r}")
