"""Topic ids and names, learned from replies that say both.

The newest versions of produce and fetch say only ids. A proxy has nobody to ask what they mean.
"""

from __future__ import annotations

from collections.abc import Mapping

from broker.protocol.apis import ApiKey
from broker.protocol.schema import ZERO_UUID
from harness.wire.message import Message

_TELLING: Mapping[int, int] = {
    ApiKey.METADATA: 10,
    ApiKey.CREATE_TOPICS: 7,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: 0,
}
"""Each with its first version that says both, in a list called `topics`."""


class TopicIds:
    def __init__(self) -> None:
        self._names: dict[bytes, str] = {}

    def name_of(self, topic_id: bytes) -> str | None:
        return self._names.get(topic_id)

    def learn(self, message: Message) -> None:
        """Cheap for all messages that have nothing to tell."""
        first = _TELLING.get(message.api_key)
        if first is None or message.is_request or message.api_version < first:
            return
        for topic in message.body.topics if message.body is not None else ():
            if topic.name is not None and topic.topic_id != ZERO_UUID:
                self._names[topic.topic_id] = topic.name
