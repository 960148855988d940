"""DescribeProducers: who wrote to a partition."""

from __future__ import annotations

from broker.protocol.apis import ApiKey
from tests.differential.areas.produce import produce
from tests.differential.batches import batch, numbered
from tests.differential.script import story
from tests.differential.talk import Fields, Talk

DESCRIBE = ApiKey.DESCRIBE_PRODUCERS


def wanted(topic: str, *partitions: int) -> Fields:
    return {"topics": [{"name": topic, "partition_indexes": list(partitions)}]}


@story(DESCRIBE)
def producers(talk: Talk) -> None:
    topic = talk.topic()
    talk.ask("nobody yet", **wanted(topic.name, 0))
    talk.setup(ApiKey.PRODUCE, version=9, **produce(topic, batch(b"x")))
    talk.ask("nobody with an id", **wanted(topic.name, 0))
    for _ in range(2):
        given = talk.setup(ApiKey.INIT_PRODUCER_ID, version=1, transactional_id=None)
        records = numbered((given.producer_id, given.producer_epoch), 0, b"a", b"b")
        talk.setup(ApiKey.PRODUCE, version=9, **produce(topic, records))
    talk.ask("two of them", **wanted(topic.name, 0))
    talk.ask("unknown topic", **wanted(talk.name(), 0))
    talk.ask("unknown and negative partition", **wanted(topic.name, 1, -1))
    talk.ask("illegal topic name", **wanted("no/name", 0))
    talk.ask("no topics", topics=[])
    talk.ask("no partitions", **wanted(topic.name))
