"""Properties of consumer groups, transactions, share groups and quotas."""

from __future__ import annotations

from broker.config.property import (
    ANY,
    INT_MAX,
    Check,
    Kind,
    Property,
    Update,
    Value,
    at_least,
    between,
    list_of,
    one_of,
    used,
    without_meaning,
)

_NO_GROUPS = (
    "groups are coordinated on the loop of the broker, and have no configuration of their own"
)
_NO_TRANSACTIONS = "two-phase commit is not offered here"
_NO_SHARE = "share groups and streams groups are not offered here"
_NO_QUOTAS = "client quotas are not offered here"

_CLUSTER_WIDE = (
    "group.coordinator.cached.buffer.max.bytes",
    "group.share.assignment.interval.ms",
    "group.streams.assignment.interval.ms",
    "share.coordinator.cached.buffer.max.bytes",
)


def _rows(why: str, *rows: tuple[str, Kind, Value, Check]) -> tuple[Property, ...]:
    return tuple(
        without_meaning(
            name,
            kind,
            default,
            why,
            check,
            Update.CLUSTER_WIDE if name in _CLUSTER_WIDE else Update.READ_ONLY,
        )
        for name, kind, default, check in rows
    )


OFFSETS = (
    used(
        "offsets.topic.num.partitions", Kind.INT, 50,
        "Partitions of __consumer_offsets when it is created; each group belongs to one.",
        at_least(1),
    ),
    used(
        "offsets.topic.replication.factor", Kind.SHORT, 3,
        "Replicas of __consumer_offsets when it is created. With fewer brokers it is not created, "
        "and groups find no coordinator. A node without controller.quorum.voters is alone: there "
        "the default is 1.",
        at_least(1),
    ),
    used(
        "offsets.topic.segment.bytes", Kind.INT, 104857600,
        "segment.bytes of __consumer_offsets when it is created.", at_least(1),
    ),
    used(
        "offsets.topic.compression.codec", Kind.INT, 0,
        "How the coordinator compresses what it writes: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
        between(0, 4),
    ),
    used(
        "offsets.load.buffer.size", Kind.INT, 5242880,
        "How much is read at once when the state of groups is loaded.", at_least(1),
    ),
    used(
        "offsets.commit.timeout.ms", Kind.INT, 5000,
        "How long an answer waits until all in-sync replicas have what the coordinator wrote.",
        at_least(1),
    ),
    used(
        "offset.metadata.max.bytes", Kind.INT, 4096,
        "How long the text may be that comes with a committed offset.",
    ),
    used(
        "offsets.retention.minutes", Kind.INT, 10080,
        "How long offsets are kept after their group became empty, or after the commit for "
        "a consumer that is in no group.",
        at_least(1),
    ),
    used(
        "offsets.retention.check.interval.ms", Kind.LONG, 600000,
        "How often expired offsets are looked for.", at_least(1),
    ),
)  # fmt: skip

CLASSIC_GROUPS = (
    used(
        "group.min.session.timeout.ms", Kind.INT, 6000,
        "The shortest session that a member of a classic group may ask for.",
    ),
    used(
        "group.max.session.timeout.ms", Kind.INT, 1800000,
        "The longest session that a member of a classic group may ask for.",
    ),
    used(
        "group.initial.rebalance.delay.ms", Kind.INT, 3000,
        "How long the first rebalance of an empty classic group waits for more members.",
    ),
    used(
        "group.max.size", Kind.INT, INT_MAX,
        "How many members a classic group may have.", at_least(1),
    ),
)  # fmt: skip

CONSUMER_GROUPS = (
    used(
        "group.consumer.session.timeout.ms", Kind.INT, 45000,
        "How long a member of a consumer group may be silent.", at_least(1),
    ),
    used(
        "group.consumer.heartbeat.interval.ms", Kind.INT, 5000,
        "How often a member of a consumer group sends heartbeats.", at_least(1),
    ),
    used(
        "group.consumer.assignment.interval.ms", Kind.INT, 1000,
        "The shortest time between two assignments of a consumer group.", at_least(0),
        Update.CLUSTER_WIDE,
    ),
    used(
        "group.consumer.max.size", Kind.INT, INT_MAX,
        "How many members a consumer group may have.", at_least(1),
    ),
    used(
        "group.consumer.assignors", Kind.LIST, ("uniform", "range"),
        "Who assigns partitions in consumer groups; the first is the default.",
        list_of("uniform", "range"),
    ),
    used(
        "group.consumer.migration.policy", Kind.STRING, "bidirectional",
        "Which groups with members may change their protocol: classic groups to the consumer "
        "protocol (upgrade), the other way (downgrade), both, or none.",
        one_of("bidirectional", "upgrade", "downgrade", "disabled"),
    ),
    used(
        "group.consumer.regex.refresh.interval.ms", Kind.INT, 600000,
        "How often regular expressions of consumer groups are resolved again.", at_least(10000),
    ),
)  # fmt: skip

GROUPS = _rows(
    _NO_GROUPS,
    ("group.coordinator.rebalance.protocols", Kind.LIST, ("classic", "consumer", "streams"), ANY),
    ("group.coordinator.append.linger.ms", Kind.INT, -1, at_least(-1)),
    ("group.coordinator.threads", Kind.INT, 4, at_least(1)),
    ("group.coordinator.background.threads", Kind.INT, 2, at_least(1)),
    ("group.coordinator.cached.buffer.max.bytes", Kind.INT, 1048588, at_least(524288)),
    ("group.consumer.min.session.timeout.ms", Kind.INT, 45000, at_least(1)),
    ("group.consumer.max.session.timeout.ms", Kind.INT, 60000, at_least(1)),
    ("group.consumer.min.heartbeat.interval.ms", Kind.INT, 5000, at_least(1)),
    ("group.consumer.max.heartbeat.interval.ms", Kind.INT, 15000, at_least(1)),
    ("group.consumer.min.assignment.interval.ms", Kind.INT, 0, at_least(0)),
    ("group.consumer.max.assignment.interval.ms", Kind.INT, 15000, at_least(0)),
)

TRANSACTIONS = (
    used(
        "transaction.max.timeout.ms",
        Kind.INT,
        900000,
        "The longest transaction.timeout.ms that a producer may ask for.",
        at_least(1),
    ),
    used(
        "transactional.id.expiration.ms",
        Kind.INT,
        604800000,
        "How long a transactional id without an open transaction is kept after its last "
        "transition.",
        at_least(1),
    ),
    used(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        Kind.INT,
        10000,
        "How often the coordinator looks for transactions that are open for too long.",
        at_least(1),
    ),
    used(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        Kind.INT,
        3600000,
        "How often the coordinator looks for transactional ids that have expired.",
        at_least(1),
    ),
    used(
        "transaction.state.log.num.partitions",
        Kind.INT,
        50,
        "Partitions of __transaction_state when it is created; each transactional id belongs to "
        "one.",
        at_least(1),
    ),
    used(
        "transaction.state.log.segment.bytes",
        Kind.INT,
        104857600,
        "segment.bytes of __transaction_state when it is created.",
        at_least(1),
    ),
    used(
        "transaction.state.log.replication.factor",
        Kind.SHORT,
        3,
        "Replicas of __transaction_state when it is created. With fewer brokers it is not "
        "created, and transactional producers find no coordinator. A node without "
        "controller.quorum.voters is alone: there the default is 1.",
        at_least(1),
    ),
    used(
        "transaction.state.log.min.isr",
        Kind.INT,
        2,
        "min.insync.replicas of __transaction_state when it is created.",
        at_least(1),
    ),
    used(
        "transaction.state.log.load.buffer.size",
        Kind.INT,
        5242880,
        "How much is read at once when the state of transactions is loaded.",
        at_least(1),
    ),
    *_rows(
        _NO_TRANSACTIONS,
        ("transaction.two.phase.commit.enable", Kind.BOOLEAN, False, ANY),
    ),
)

VERIFICATION = (
    used(
        "transaction.partition.verification.enable", Kind.BOOLEAN, True,
        "Whether the leader of a partition asks the coordinator before a producer of transaction "
        "version 1 opens a transaction there. Without it a late batch can leave a transaction "
        "that nobody ends.",
        ANY, Update.CLUSTER_WIDE,
    ),
    used(
        "add.partitions.to.txn.retry.backoff.ms", Kind.INT, 20,
        "Pause before a partition is added to a transaction again, while the producer's last "
        "transaction ends.",
        at_least(1),
    ),
    used(
        "add.partitions.to.txn.retry.backoff.max.ms", Kind.INT, 100,
        "How long this is tried before the client is told to do it.",
        at_least(0),
    ),
)  # fmt: skip

SHARE = _rows(
    _NO_SHARE,
    ("group.share.enable", Kind.BOOLEAN, False, ANY),
    ("group.share.max.groups", Kind.SHORT, 10, between(1, 100)),
    ("group.share.max.size", Kind.INT, 200, between(1, 1000)),
    ("group.share.max.share.sessions", Kind.INT, 2000, at_least(1)),
    ("group.share.delivery.count.limit", Kind.INT, 5, between(2, 10)),
    ("group.share.session.timeout.ms", Kind.INT, 45000, at_least(1)),
    ("group.share.min.session.timeout.ms", Kind.INT, 45000, at_least(1)),
    ("group.share.max.session.timeout.ms", Kind.INT, 60000, at_least(1)),
    ("group.share.heartbeat.interval.ms", Kind.INT, 5000, at_least(1)),
    ("group.share.min.heartbeat.interval.ms", Kind.INT, 5000, at_least(1)),
    ("group.share.max.heartbeat.interval.ms", Kind.INT, 15000, at_least(1)),
    ("group.share.record.lock.duration.ms", Kind.INT, 30000, between(1000, 3600000)),
    ("group.share.min.record.lock.duration.ms", Kind.INT, 15000, between(1000, 30000)),
    ("group.share.max.record.lock.duration.ms", Kind.INT, 60000, between(30000, 3600000)),
    ("group.share.partition.max.record.locks", Kind.INT, 2000, between(100, 10000)),
    (
        "group.share.persister.class.name",
        Kind.STRING,
        "org.apache.kafka.server.share.persister.DefaultStatePersister",
        ANY,
    ),
    ("group.share.assignment.interval.ms", Kind.INT, 1000, at_least(0)),
    ("group.share.min.assignment.interval.ms", Kind.INT, 0, at_least(0)),
    ("group.share.max.assignment.interval.ms", Kind.INT, 15000, at_least(0)),
    ("group.share.min.delivery.count.limit", Kind.INT, 2, at_least(2)),
    ("group.share.max.delivery.count.limit", Kind.INT, 10, at_least(5)),
    ("group.share.min.partition.max.record.locks", Kind.INT, 100, at_least(100)),
    ("group.share.max.partition.max.record.locks", Kind.INT, 4000, at_least(2000)),
    ("group.share.initialize.retry.interval.ms", Kind.INT, 30000, at_least(1)),
    ("group.share.assignors", Kind.LIST, ("simple",), ANY),
    ("share.fetch.purgatory.purge.interval.requests", Kind.INT, 1000, ANY),
    ("share.coordinator.append.linger.ms", Kind.INT, -1, at_least(-1)),
    ("share.coordinator.load.buffer.size", Kind.INT, 5242880, at_least(1)),
    ("share.coordinator.snapshot.update.records.per.snapshot", Kind.INT, 500, at_least(0)),
    ("share.coordinator.state.topic.compression.codec", Kind.INT, 0, between(0, 4)),
    ("share.coordinator.state.topic.min.isr", Kind.SHORT, 2, at_least(1)),
    ("share.coordinator.state.topic.num.partitions", Kind.INT, 50, at_least(1)),
    ("share.coordinator.state.topic.prune.interval.ms", Kind.INT, 300000, at_least(1)),
    ("share.coordinator.state.topic.replication.factor", Kind.SHORT, 3, at_least(1)),
    ("share.coordinator.state.topic.segment.bytes", Kind.INT, 104857600, at_least(1)),
    ("share.coordinator.cached.buffer.max.bytes", Kind.INT, 1048588, at_least(524288)),
    ("share.coordinator.threads", Kind.INT, 1, at_least(1)),
    ("share.coordinator.write.timeout.ms", Kind.INT, 5000, at_least(1)),
    ("share.coordinator.cold.partition.snapshot.interval.ms", Kind.INT, 300000, at_least(1)),
    ("group.streams.session.timeout.ms", Kind.INT, 45000, at_least(1)),
    ("group.streams.min.session.timeout.ms", Kind.INT, 45000, at_least(1)),
    ("group.streams.max.session.timeout.ms", Kind.INT, 60000, at_least(1)),
    ("group.streams.heartbeat.interval.ms", Kind.INT, 5000, at_least(1)),
    ("group.streams.min.heartbeat.interval.ms", Kind.INT, 5000, at_least(1)),
    ("group.streams.max.heartbeat.interval.ms", Kind.INT, 15000, at_least(1)),
    ("group.streams.assignment.interval.ms", Kind.INT, 1000, at_least(0)),
    ("group.streams.min.assignment.interval.ms", Kind.INT, 0, at_least(0)),
    ("group.streams.max.assignment.interval.ms", Kind.INT, 15000, at_least(0)),
    ("group.streams.max.size", Kind.INT, INT_MAX, at_least(1)),
    ("group.streams.num.standby.replicas", Kind.INT, 0, at_least(0)),
    ("group.streams.max.standby.replicas", Kind.INT, 2, at_least(0)),
    ("group.streams.initial.rebalance.delay.ms", Kind.INT, 3000, at_least(0)),
)

QUOTAS = _rows(
    _NO_QUOTAS,
    ("quota.window.num", Kind.INT, 11, at_least(1)),
    ("quota.window.size.seconds", Kind.INT, 1, at_least(1)),
    ("replication.quota.window.num", Kind.INT, 11, at_least(1)),
    ("replication.quota.window.size.seconds", Kind.INT, 1, at_least(1)),
    ("alter.log.dirs.replication.quota.window.num", Kind.INT, 11, at_least(1)),
    ("alter.log.dirs.replication.quota.window.size.seconds", Kind.INT, 1, at_least(1)),
    ("controller.quota.window.num", Kind.INT, 11, at_least(1)),
    ("controller.quota.window.size.seconds", Kind.INT, 1, at_least(1)),
    ("client.quota.callback.class", Kind.CLASS, None, ANY),
)

PROPERTIES = (
    OFFSETS
    + CLASSIC_GROUPS
    + CONSUMER_GROUPS
    + GROUPS
    + TRANSACTIONS
    + VERIFICATION
    + SHARE
    + QUOTAS
)
