"""DescribeTopicPartitions: partitions page by page."""

from __future__ import annotations

from broker.protocol.apis import ApiKey
from tests.differential.script import story
from tests.differential.talk import Fields, Talk

DESCRIBE = ApiKey.DESCRIBE_TOPIC_PARTITIONS


def named(*names: str) -> list[Fields]:
    return [{"name": name} for name in names]


@story(DESCRIBE)
def pages(talk: Talk) -> None:
    first, second = talk.topic(3).name, talk.topic(2).name
    talk.ask("both", topics=named(first, second))
    talk.ask("in the other order", topics=named(second, first))
    talk.ask("twice", topics=named(first, first))
    talk.ask("two partitions", topics=named(first, second), response_partition_limit=2)
    talk.ask("exactly one topic", topics=named(first, second), response_partition_limit=3)
    talk.ask("no partitions", topics=named(first), response_partition_limit=0)
    talk.ask("limit -1", topics=named(first), response_partition_limit=-1)
    for topic, index in (
        (first, 2),
        (first, 3),
        (second, 0),
        (second, 1),
        ("zzz", 0),
        ("", 0),
        (first, 9),
    ):
        cursor = {"topic_name": topic, "partition_index": index}
        step = f"from {topic.replace(talk.label, '~')}/{index}"
        talk.attempt(step, topics=named(first, second), cursor=cursor)
    negative = {"topic_name": first, "partition_index": -1}
    talk.attempt("from a negative partition", topics=named(first, second), cursor=negative)
    talk.ask("unknown topic", topics=named(talk.name()))
    talk.ask("illegal and empty name", topics=named("no/name", ""))
