"""Properties of replication: how followers fetch, who counts as in sync, how leaders move."""

from __future__ import annotations

from broker.config.property import (
    LONG_MAX,
    Kind,
    Update,
    at_least,
    one_of,
    used,
    without_meaning,
)

_NO_THROTTLE = "replication is not throttled here"
_BY_HEARTBEAT = "a broker that stops says so in its heartbeats until its leaders have moved"

PROPERTIES = (
    used(
        "replica.lag.time.max.ms", Kind.LONG, 30000,
        "A follower that was not caught up for so long leaves the in-sync replicas.", at_least(0),
    ),
    used(
        "replica.socket.timeout.ms", Kind.INT, 30000,
        "How long a follower waits for the answer to a fetch.", at_least(1),
    ),
    used(
        "replica.fetch.max.bytes", Kind.INT, 1048576,
        "What a follower fetches of one partition; a larger batch still comes alone.", at_least(0),
    ),
    used(
        "replica.fetch.wait.max.ms", Kind.INT, 500,
        "How long a leader holds a follower's fetch when there is nothing new.", at_least(0),
    ),
    used(
        "replica.fetch.min.bytes", Kind.INT, 1,
        "How much a leader waits for before it answers a follower.", at_least(0),
    ),
    used(
        "replica.fetch.backoff.ms", Kind.INT, 1000,
        "How long a follower lets a partition rest after an error.", at_least(0),
    ),
    used(
        "replica.fetch.response.max.bytes", Kind.INT, 10485760,
        "What a follower fetches at once, of all partitions.", at_least(0),
    ),
    used(
        "replica.selector.class", Kind.STRING, None,
        "RackAwareReplicaSelector sends consumers to a replica in their own rack.",
        one_of("org.apache.kafka.common.replica.RackAwareReplicaSelector"),
    ),
    used(
        "reference.log.cleaner.removal.rule", Kind.STRING, "all-replicas",
        "When compaction removes tombstones and transaction markers that are older than "
        "delete.retention.ms: `all-replicas` waits until every assigned replica is compacted "
        "beyond them, `time` does not, as Kafka. Then a replica that was down for longer may "
        "bring deleted keys and aborted records back.",
        one_of("all-replicas", "time"), Update.CLUSTER_WIDE,
    ),
    used(
        "auto.leader.rebalance.enable", Kind.BOOLEAN, True,
        "Whether leadership goes back to the preferred replicas by itself.",
    ),
    used(
        "leader.imbalance.per.broker.percentage", Kind.INT, 10,
        "How many of a broker's preferred partitions others may lead before they go back.",
    ),
    used(
        "leader.imbalance.check.interval.seconds", Kind.LONG, 300,
        "How often the controller looks for leaders to move back.", at_least(1),
    ),
    used(
        "controlled.shutdown.enable", Kind.BOOLEAN, True,
        "Whether a broker that stops first hands its leaderships over.",
    ),
    without_meaning("controlled.shutdown.max.retries", Kind.INT, 3, _BY_HEARTBEAT),
    without_meaning("controlled.shutdown.retry.backoff.ms", Kind.LONG, 5000, _BY_HEARTBEAT),
    without_meaning(
        "replica.high.watermark.checkpoint.interval.ms", Kind.LONG, 5000,
        "high watermarks are written with the other offsets: "
        "log.flush.offset.checkpoint.interval.ms",
    ),
    without_meaning(
        "replica.socket.receive.buffer.bytes", Kind.INT, 65536, "the system's default is used"
    ),
    without_meaning(
        "num.replica.fetchers", Kind.INT, 1, "one fetcher for each leader is enough here",
        at_least(1), Update.CLUSTER_WIDE,
    ),
    without_meaning(
        "controller.socket.timeout.ms", Kind.INT, 30000,
        "controller.quorum.request.timeout.ms is used",
    ),
    without_meaning(
        "security.inter.broker.protocol", Kind.STRING, "PLAINTEXT",
        "inter.broker.listener.name says which listener, and so which protocol",
        one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    ),
    without_meaning("follower.replication.throttled.replicas", Kind.LIST, (), _NO_THROTTLE),
    without_meaning("leader.replication.throttled.replicas", Kind.LIST, (), _NO_THROTTLE),
    without_meaning(
        "follower.replication.throttled.rate", Kind.LONG, LONG_MAX, _NO_THROTTLE,
        update=Update.PER_BROKER,
    ),
    without_meaning(
        "leader.replication.throttled.rate", Kind.LONG, LONG_MAX, _NO_THROTTLE,
        update=Update.PER_BROKER,
    ),
    used(
        "replica.alter.log.dirs.io.max.bytes.per.second", Kind.LONG, LONG_MAX,
        "How fast a replica is copied to another log directory.", at_least(1), Update.PER_BROKER,
    ),
)  # fmt: skip
