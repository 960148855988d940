"""Asks a running cluster about itself, as any Kafka client can: by its addresses alone.

Each question gets a client of its own: one that lives on would keep what it learned, and would wait
longer and longer before it knocks again at a node that was down. librdkafka blocks, so the place
asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from harness.cluster.base import Place
from harness.cluster.errors import NoAnswerError

if TYPE_CHECKING:
    from confluent_kafka.admin._metadata import ClusterMetadata

_PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True)
class DescribedPartition:
    index: int
    leader_id: int | None
    replica_ids: tuple[int, ...]
    isr_ids: tuple[int, ...]


async def describe_partitions(
    place: Place, bootstrap: str, topic: str
) -> Sequence[DescribedPartition]:
    """By index."""
    found = (await place.ask(lambda: _metadata(bootstrap, topic))).topics[topic]
    if found.error is not None:
        raise NoAnswerError(f"{bootstrap} does not know {topic}: {found.error}")
    return [
        DescribedPartition(
            one.id,
            one.leader if one.leader >= 0 else None,
            tuple(one.replicas),
            tuple(one.isrs),
        )
        for one in sorted(found.partitions.values(), key=lambda one: one.id)
    ]


class Broker(NamedTuple):
    """A broker as its cluster advertises it."""

    id: int
    host: str
    port: int


def brokers_at(bootstrap: str) -> list[Broker]:
    """By id. Blocks."""
    found = _metadata(bootstrap).brokers.values()
    return sorted(Broker(one.id, str(one.host), one.port) for one in found)


def topics_at(bootstrap: str) -> frozenset[str]:
    """Blocks."""
    return frozenset(_metadata(bootstrap).topics)


async def answers(place: Place, bootstrap: str) -> bool:
    """Whether a node at one of these addresses describes its cluster."""
    try:
        await place.ask(lambda: _metadata(bootstrap))
    except (NoAnswerError, OSError):
        return False
    return True


def _metadata(bootstrap: str, topic: str | None = None) -> ClusterMetadata:
    """Any node answers this; what else there is goes to the controller, if it lives."""
    from confluent_kafka import Consumer, KafkaException

    # A consumer, since from any other client the question would make a topic that is missing.
    client = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "allow.auto.create.topics": False,
            "log_level": 0,
            "reconnect.backoff.ms": 10,
            "reconnect.backoff.max.ms": 200,
        }
    )
    try:
        answer: ClusterMetadata = client.list_topics(topic, timeout=_PATIENCE_S)
    except KafkaException as error:
        raise NoAnswerError(f"{bootstrap} did not answer: {error}") from None
    finally:
        client.close()
    return answer
