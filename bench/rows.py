"""The rows of the table: which load, carried by which client, against which systems."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

OURS, APACHE, MOCK, CEILING = "ours", "Apache Kafka", "librdkafka mock", "ceiling"
OURS_TRUSTING = "ours trusting"
"""With log.record.validation.enable=false: beside `ours` it shows what reading records costs."""
OURS_X1, OURS_X3, OURS_X5, APACHE_X3 = "ours x1", "ours x3", "ours x5", "Apache Kafka x3"
RIVALS = {OURS: APACHE, OURS_X3: APACHE_X3}
JVMS = tuple(RIVALS.values())
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS = 4
# As many leaders on each node, whether there are one, three or five of them.
CLUSTER_PARTITIONS = 15
# 1000 values and their framing stay just below the default limit of a batch.
RECORDS_PER_MB = 1000

Judged = Literal["throughput", "latency"]


@dataclass(frozen=True, kw_only=True)
class Row:
    name: str
    load: str
    options: dict[str, Any] = field(default_factory=dict)
    systems: tuple[str, ...] = (OURS, APACHE)
    storages: tuple[str, ...] = ("tmpfs",)
    judged: Judged = "throughput"
    partitions: int = PARTITIONS
    # Reading rows need something to read: this many messages in this codec.
    filled: int = 0
    filled_codec: str = "none"
    quick: bool = False
    # The least share of the ceiling that is good enough, where users' own clients carry the
    # load. With prepared frames the ceiling is that of a server which does not even store.
    ceiling_bar: float = 0.0

    def is_carried_by(self, fleet: tuple[str, ...]) -> bool:
        return all(name in fleet for name in self.systems if name != CEILING)

    @property
    def client(self) -> str:
        """Prepared frames carry whatever librdkafka does not."""
        return "librdkafka" if self.load.startswith("librdkafka") else "raw"


def _client(**settings: object) -> dict[str, Any]:
    return {"client": {name.replace("_", "."): value for name, value in settings.items()}}


BOTH = ("tmpfs", "disk")
PRODUCERS = (OURS, APACHE, MOCK, CEILING)
PRODUCERS_AND_TRUST = (OURS, OURS_TRUSTING, APACHE, MOCK, CEILING)

ROWS: tuple[Row, ...] = (
    *(
        Row(
            name=f"produce {codec}",
            load="librdkafka produce",
            options=_client(acks=1, linger_ms=10, compression_type=codec),
            systems=PRODUCERS_AND_TRUST if codec in ("lz4", "zstd") else PRODUCERS,
            storages=BOTH if codec in ("none", "lz4") else ("tmpfs",),
            quick=codec in ("none", "lz4"),
            ceiling_bar=0.6,
        )
        for codec in CODECS
    ),
    *(
        Row(
            name=f"produce {codec}, 1 MB batches",
            load="raw produce",
            options={"records_per_batch": RECORDS_PER_MB, "codec": codec},
            systems=PRODUCERS_AND_TRUST,
            storages=BOTH if codec == "none" else ("tmpfs",),
            quick=codec == "none",
        )
        for codec in ("none", "lz4")
    ),
    Row(
        name="profile low latency, 2000 msg/s",
        load="librdkafka paced",
        options={"rate": 2000, **_client(acks=1, linger_ms=0, compression_type="none")},
        systems=PRODUCERS,
        judged="latency",
        quick=True,
    ),
    Row(
        name="profile balanced",
        load="librdkafka produce",
        options=_client(acks="all", linger_ms=5, compression_type="lz4", batch_size=65_536),
        systems=PRODUCERS,
    ),
    Row(
        name="profile throughput",
        load="librdkafka produce",
        options=_client(acks=1, linger_ms=50, compression_type="zstd", batch_size=1_000_000),
        systems=PRODUCERS,
    ),
    *(
        Row(
            name=f"consume {codec}",
            load="librdkafka consume",
            systems=(OURS, APACHE, CEILING),
            filled=400_000,
            filled_codec=codec,
            ceiling_bar=0.7,
            storages=BOTH if codec == "none" else ("tmpfs",),
            quick=codec == "none",
        )
        for codec in ("none", "lz4")
    ),
    Row(
        name="consume none, 1 MB fetches",
        load="raw consume",
        systems=(OURS, APACHE, CEILING),
        filled=400_000,
        storages=BOTH,
        quick=True,
    ),
    Row(
        name="one record per batch",
        load="librdkafka produce",
        # A short queue, or the round would go on long after its time.
        options=_client(
            acks=1, linger_ms=0, batch_num_messages=1, queue_buffering_max_messages=2000
        ),
        systems=PRODUCERS,
        storages=BOTH,
        quick=True,
    ),
    Row(
        name="one record per batch",
        load="raw produce",
        options={"records_per_batch": 1},
        systems=PRODUCERS,
    ),
    Row(
        name="synchronous produce",
        load="librdkafka sync",
        options=_client(acks=1, linger_ms=0),
        systems=PRODUCERS,
        judged="latency",
        storages=BOTH,
    ),
    Row(
        name="synchronous produce",
        load="raw sync",
        systems=PRODUCERS,
        judged="latency",
        quick=True,
    ),
    *(
        Row(
            name=f"cluster of 3, acks=all, {codec}",
            load="librdkafka produce",
            options=_client(acks="all", linger_ms=10, compression_type=codec),
            systems=(OURS_X3, APACHE_X3),
            storages=BOTH if codec == "none" else ("tmpfs",),
            partitions=CLUSTER_PARTITIONS,
            quick=True,
        )
        for codec in ("none", "lz4")
    ),
    *(
        Row(
            name=f"cluster of 1, 3, 5, acks=all, {codec}",
            load="librdkafka produce",
            options=_client(acks="all", linger_ms=10, compression_type=codec),
            systems=(OURS_X1, OURS_X3, OURS_X5),
            partitions=CLUSTER_PARTITIONS,
        )
        for codec in ("none", "lz4")
    ),
)
