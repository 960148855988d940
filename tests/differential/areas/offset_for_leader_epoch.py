"""OffsetForLeaderEpoch: where an epoch ends."""

from __future__ import annotations

from broker.protocol.apis import ApiKey
from tests.differential.areas.fetch import filled
from tests.differential.script import story
from tests.differential.talk import Fields, Talk

EPOCH = ApiKey.OFFSET_FOR_LEADER_EPOCH


def wanted(topic: str, epoch: int, current: int = -1, partition: int = 0) -> Fields:
    part = {"partition": partition, "current_leader_epoch": current, "leader_epoch": epoch}
    return {"replica_id": -1, "topics": [{"topic": topic, "partitions": [part]}]}


@story(EPOCH)
def epochs(talk: Talk) -> None:
    topic = filled(talk).name
    talk.ask("epoch 0", **wanted(topic, 0))
    talk.ask("epoch -1", **wanted(topic, -1))
    talk.ask("epoch -2", **wanted(topic, -2))
    talk.ask("an epoch to come", **wanted(topic, 3))
    talk.ask("current epoch 0", **wanted(topic, 0, 0))
    talk.ask("unknown current epoch", **wanted(topic, 0, 4))
    talk.ask("current epoch -2", **wanted(topic, 0, -2))
    talk.ask("unknown topic", **wanted(talk.name(), 0))
    talk.ask("unknown partition", **wanted(topic, 0, partition=1))
    talk.ask("partition -1", **wanted(topic, 0, partition=-1))
    talk.ask("no topics", replica_id=-1, topics=[])
    talk.ask("no partitions", replica_id=-1, topics=[{"topic": topic, "partitions": []}])
    talk.ask("as a replica that is none", **{**wanted(topic, 0), "replica_id": 7})
    talk.ask("as debugging consumer", **{**wanted(topic, 0), "replica_id": -2})
    empty = talk.topic().name
    talk.ask("empty partition, epoch 0", **wanted(empty, 0))
    talk.ask("empty partition, epoch 1", **wanted(empty, 1))
