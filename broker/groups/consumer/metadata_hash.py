"""The hash of the topics that a group is subscribed to (KIP-1101), as Kafka computes it.

It is stored with the group's epoch. When it changes (a topic appears, disappears, grows or moves to
other racks), the group needs a new target assignment. Two brokers compute the same hash, so a
change of coordinators is no reason for a rebalance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import pack

from broker.groups.consumer.xxh3 import xxh3_64
from broker.groups.topics_view import TopicsView

NO_TOPICS_HASH = 0
_FORMAT = 0
_SIGN = 1 << 63


class MetadataHashes:
    """Remembers the hash of each topic until the topic changes."""

    def __init__(self, topics: TopicsView) -> None:
        self._topics = topics
        self._by_topic: dict[str, int] = {}

    def forget(self, topic: str) -> None:
        self._by_topic.pop(topic, None)

    def forget_all(self) -> None:
        self._by_topic.clear()

    def of(self, names: Iterable[str]) -> int:
        """The hash of a set of topics. Topics that do not exist do not count."""
        found = [
            (_java_order(name), hashed)
            for name in names
            if (hashed := self._topic(name)) is not None
        ]
        if not found:
            return NO_TOPICS_HASH
        return _signed(xxh3_64(b"".join(pack("<q", hashed) for _, hashed in sorted(found))))

    def _topic(self, name: str) -> int | None:
        hashed = self._by_topic.get(name)
        if hashed is None:
            topic_id = self._topics.topic_id(name)
            count = self._topics.partition_count(name)
            if topic_id is None or count is None:
                return None
            hashed = self._by_topic[name] = topic_hash(
                topic_id, name, [self._topics.racks(name, number) for number in range(count)]
            )
        return hashed


def topic_hash(topic_id: bytes, name: str, racks: Sequence[Sequence[str]]) -> int:
    """`racks` are those of each partition's replicas."""
    high, low = int.from_bytes(topic_id[:8], "big"), int.from_bytes(topic_id[8:], "big")
    data = bytearray(pack("<bQQ", _FORMAT, high, low))
    data += _characters(name) + pack("<i", len(racks))
    for number, of_partition in enumerate(racks):
        data += pack("<i", number)
        for rack in sorted(of_partition, key=_java_order):
            data += pack("<i", _length(rack)) + _characters(rack)
    return _signed(xxh3_64(bytes(data)))


def _characters(text: str) -> bytes:
    """A string as Kafka's hash stream takes it: its UTF-16 code units, then their number."""
    return text.encode("utf-16-le", "surrogatepass") + pack("<i", _length(text))


def _length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _java_order(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def _signed(value: int) -> int:
    return value - (1 << 64) if value & _SIGN else value
