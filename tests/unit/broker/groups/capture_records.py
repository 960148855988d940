"""Makes `kafka_records.txt`: records of `__consumer_offsets` as Apache Kafka writes them.

Run it by hand, with java and Maven: python -m tests.unit.broker.groups.capture_records
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bench.apache_kafka import KAFKA_VERSION, running
from broker.network.interface import Address
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.batch import iterate_headers
from broker.protocol.records import Record, iterate_records
from tests.nodes import Wire

FIXTURE = Path(__file__).with_name("kafka_records.txt")
TOPICS = ("orders",)
PROPERTIES = {
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
}


async def _commit(bootstrap: str, version: int, **fields: Any) -> None:
    host, port = bootstrap.split(":")
    wire = await Wire.connect(Address(host, int(port)))
    part = m.OffsetCommitRequestPartition(
        partition_index=1, committed_offset=7, committed_metadata="nöte", committed_leader_epoch=0
    )
    topics = [m.OffsetCommitRequestTopic(name="orders", partitions=[part])]
    body = m.OffsetCommitRequest(group_id="simple", topics=topics, **fields)
    answer = await wire.ask(ApiKey.OFFSET_COMMIT, version, body)
    assert answer.topics[0].partitions[0].error_code == 0, answer
    await wire.close()


async def _end(bootstrap: str) -> None:
    host, port = bootstrap.split(":")
    wire = await Wire.connect(Address(host, int(port)))
    parts = [m.OffsetDeleteRequestPartition(partition_index=1)]
    topics = [m.OffsetDeleteRequestTopic(name="orders", partitions=parts)]
    body = m.OffsetDeleteRequest(group_id="simple", topics=topics)
    assert (await wire.ask(ApiKey.OFFSET_DELETE, 0, body)).error_code == 0
    leaving = [m.MemberIdentity(member_id="", group_instance_id="i")]
    leave = m.LeaveGroupRequest(group_id="classic", members=leaving)
    assert (await wire.ask(ApiKey.LEAVE_GROUP, 5, leave)).error_code == 0
    groups = m.DeleteGroupsRequest(groups_names=["simple", "classic", "new"])
    for each in (await wire.ask(ApiKey.DELETE_GROUPS, 2, groups)).results:
        assert each.error_code == 0, each
    await wire.close()


def _consume(bootstrap: str, **settings: Any) -> None:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest", **settings}
    )
    consumer.subscribe(["^ord.*"] if settings["group.id"] == "new" else list(TOPICS))
    deadline = time.monotonic() + 30
    while not consumer.assignment() and time.monotonic() < deadline:
        consumer.poll(0.2)
    assigned = consumer.assignment()
    assert assigned, "no partitions were assigned"
    for each in assigned:
        each.offset = 3
    consumer.commit(offsets=assigned, asynchronous=False)
    consumer.close()


def _records(log: Path) -> list[Record]:
    data = memoryview(log.read_bytes())
    return [
        record
        for at, header in iterate_headers(data)
        for record in iterate_records(data[at : at + header.size], header, max_bytes=1 << 20)
    ]


def main() -> None:
    with running(PROPERTIES) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        for made in admin.create_topics([NewTopic(each, 2, 1) for each in TOPICS]).values():
            made.result()
        _consume(kafka.bootstrap, **{"group.id": "classic", "client.id": "c"})
        _consume(
            kafka.bootstrap, **{"group.id": "classic", "group.instance.id": "i", "client.id": "c"}
        )
        _consume(kafka.bootstrap, **{"group.id": "new", "group.protocol": "consumer"})
        asyncio.run(_commit(kafka.bootstrap, 9))
        asyncio.run(_commit(kafka.bootstrap, 4, retention_time_ms=1000))
        time.sleep(1)
        asyncio.run(_end(kafka.bootstrap))
        found = _records(kafka.data / "logs" / "__consumer_offsets-0" / "00000000000000000000.log")
    lines = [f"# Keys and values that Apache Kafka {KAFKA_VERSION} wrote; - is a tombstone."]
    for each in found:
        assert each.key is not None
        lines.append(f"{each.key.hex()} {'-' if each.value is None else each.value.hex()}")
    FIXTURE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
