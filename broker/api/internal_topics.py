"""Makes the topics that coordinators keep their state in, as a client would: by the controller."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from broker.api.create_topics import create_topics
from broker.api.forwarding import at_the_controller
from broker.api.request import HERE, Request
from broker.coordination.internal_topics import InternalTopic
from broker.protocol import messages as m
from broker.protocol.apis import API_VERSIONS, ApiKey
from broker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.node import Node

_log = logging.getLogger(__name__)

_TIMEOUT_MS = 10_000
_create = at_the_controller(create_topics)


def creatable(topic: InternalTopic) -> m.CreatableTopic:
    return m.CreatableTopic(
        name=topic.name,
        num_partitions=topic.partition_count,
        replication_factor=topic.replication_factor,
        configs=[
            m.CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()
        ],
    )


async def create_internal_topic(node: Node, topic: InternalTopic) -> str | None:
    """Why there is none yet, or None. Another broker may have made it at the same time."""
    key = ApiKey.CREATE_TOPICS
    body = m.CreateTopicsRequest(timeout_ms=_TIMEOUT_MS, topics=[creatable(topic)])
    created: m.CreateTopicsResponse = await _create(
        node, Request(key, API_VERSIONS[key][1], 0, None, HERE, body)
    )
    [result] = created.topics
    if result.error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
        return None
    problem = f"{topic.name} cannot be created: {result.error_message}"
    _log.warning("%s", problem)
    return problem
