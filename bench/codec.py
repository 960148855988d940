"""What a message costs in our codec, in kio and in kafka-python: `python bench/codec.py`.

Microseconds to decode and to encode, the best of several rounds; each library gets the same bytes
and encodes what it decoded itself.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version as version_of
from io import BytesIO
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import kafka.protocol
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from broker.protocol import codec
from broker.protocol import messages as m

ROUNDS = 7
SECONDS_PER_ROUND = 0.03
MIB = bytes(1 << 20)
TOPIC_ID = bytes(range(16))


@dataclass(frozen=True)
class Sample:
    label: str
    version: int
    value: Any

    @property
    def name(self) -> str:
        return type(self.value).__name__


def metadata(topics: int, partitions: int) -> m.MetadataResponse:
    return m.MetadataResponse(
        brokers=[m.MetadataResponseBroker(node_id=1, host="localhost", port=9092)],
        cluster_id="abcdefghijklmnopqrstuv",
        controller_id=1,
        topics=[
            m.MetadataResponseTopic(
                name=f"topic-{t}",
                topic_id=TOPIC_ID,
                partitions=[
                    m.MetadataResponsePartition(
                        partition_index=p,
                        leader_id=1,
                        leader_epoch=3,
                        replica_nodes=[1, 2, 3],
                        isr_nodes=[1, 2, 3],
                    )
                    for p in range(partitions)
                ],
            )
            for t in range(topics)
        ],
    )


def produced(records: bytes) -> m.ProduceRequest:
    partition = m.PartitionProduceData(index=3, records=records)
    topic = m.TopicProduceData(name="orders", partition_data=[partition])
    return m.ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])


def samples() -> list[Sample]:
    return [*client_samples(), *group_samples()]


def client_samples() -> list[Sample]:
    fetched = m.FetchResponsePartitionData(
        partition_index=3, high_watermark=1000, last_stable_offset=1000, records=MIB
    )
    stored = m.PartitionProduceResponse(index=3, base_offset=1000, log_start_offset=0)
    return [
        Sample(
            "ApiVersionsResponse v3 (60 keys)",
            3,
            m.ApiVersionsResponse(
                api_keys=[m.ApiVersion(api_key=k, min_version=0, max_version=9) for k in range(60)]
            ),
        ),
        Sample(
            "MetadataRequest v12",
            12,
            m.MetadataRequest(topics=[m.MetadataRequestTopic(name="orders")]),
        ),
        Sample("MetadataResponse v12 (1 topic x 6)", 12, metadata(1, 6)),
        Sample("MetadataResponse v12 (100 topics x 12)", 12, metadata(100, 12)),
        Sample("ProduceRequest v9 (1 MiB)", 9, produced(MIB)),
        Sample("ProduceRequest v9 (100 bytes)", 9, produced(bytes(100))),
        Sample(
            "ProduceResponse v9",
            9,
            m.ProduceResponse(
                responses=[m.TopicProduceResponse(name="orders", partition_responses=[stored])]
            ),
        ),
        Sample(
            "FetchRequest v12 (6 partitions)",
            12,
            m.FetchRequest(
                max_wait_ms=500,
                min_bytes=1,
                topics=[
                    m.FetchTopic(
                        topic="orders",
                        partitions=[
                            m.FetchPartition(partition=p, fetch_offset=1000, partition_max_bytes=1)
                            for p in range(6)
                        ],
                    )
                ],
            ),
        ),
        Sample(
            "FetchResponse v12 (1 MiB)",
            12,
            m.FetchResponse(
                responses=[m.FetchableTopicResponse(topic="orders", partitions=[fetched])]
            ),
        ),
    ]


def group_samples() -> list[Sample]:
    return [
        Sample(
            "JoinGroupRequest v9",
            9,
            m.JoinGroupRequest(
                group_id="billing",
                session_timeout_ms=45_000,
                rebalance_timeout_ms=300_000,
                member_id="consumer-1-00000000-0000-0000-0000-000000000000",
                protocol_type="consumer",
                protocols=[
                    m.JoinGroupRequestProtocol(name=name, metadata=bytes(30))
                    for name in ("range", "cooperative-sticky")
                ],
            ),
        ),
        Sample(
            "OffsetCommitRequest v8 (6 partitions)",
            8,
            m.OffsetCommitRequest(
                group_id="billing",
                generation_id_or_member_epoch=7,
                member_id="consumer-1",
                topics=[
                    m.OffsetCommitRequestTopic(
                        name="orders",
                        partitions=[
                            m.OffsetCommitRequestPartition(
                                partition_index=p, committed_offset=1000, committed_metadata=""
                            )
                            for p in range(6)
                        ],
                    )
                ],
            ),
        ),
    ]


def cost_us(call: Callable[[], object]) -> float:
    timer = timeit.Timer(call)
    once = timer.timeit(1)
    number = max(1, int(SECONDS_PER_ROUND / max(once, 1e-7)))
    return min(timer.repeat(ROUNDS, number)) / number * 1e6


def ours(sample: Sample, data: bytes) -> tuple[float, float]:
    decode = codec.decoder(sample.name, sample.version)
    encode = codec.encoder(sample.name, sample.version)
    view = memoryview(data)
    return cost_us(lambda: decode(view, 0)), cost_us(lambda: encode(sample.value))


def kio(sample: Sample, data: bytes) -> tuple[float, float]:
    stem, kind = re.fullmatch("(.*)(Request|Response)", sample.name).groups()  # type: ignore[union-attr]
    snake = re.sub("(?<=[a-z])(?=[A-Z])", "_", stem).lower()
    path = schema_name_map[snake][sample.version][EntityType[kind.lower()]]  # type: ignore[index]
    cls = resolve_name(path)
    read, write = entity_reader(cls), entity_writer(cls)
    value, _ = read(data, 0)
    return cost_us(lambda: read(data, 0)), cost_us(lambda: write(BytesIO(), value))


@cache
def kafka_python_classes() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for info in pkgutil.walk_packages(kafka.protocol.__path__, "kafka.protocol."):
        if ".old" not in info.name and "generate" not in info.name:
            found.update(vars(importlib.import_module(info.name)))
    return found


def kafka_python(sample: Sample, data: bytes) -> tuple[float, float]:
    cls, version = kafka_python_classes()[sample.name], sample.version
    value = cls.decode(data, version=version)
    # Its decoder leaves out what its encoder looks at first.
    value._header = None
    return (
        cost_us(lambda: cls.decode(data, version=version)),
        cost_us(lambda: value.encode(version=version)),
    )


def main() -> None:
    print(
        f"us per message, decode / encode; in brackets: times ours."
        f" Python {sys.version.split()[0]}, kio {version_of('kio')},"
        f" kafka-python {version_of('kafka-python')}"
    )
    print(f"{'message':<40}{'bytes':>9}{'ours':>17}{'kio':>31}{'kafka-python':>31}")
    for sample in samples():
        data = b"".join(codec.encoder(sample.name, sample.version)(sample.value))
        dec, enc = ours(sample, data)
        line = f"{sample.label:<40}{len(data):>9}{dec:>8.2f} /{enc:>7.2f}"
        for library in (kio, kafka_python):
            their_dec, their_enc = library(sample, data)
            line += f"{their_dec:>9.1f} /{their_enc:>8.1f}"
            line += f" [{their_dec / dec:>4.1f} {their_enc / enc:>4.1f}]"
        print(line)


if __name__ == "__main__":
    main()
