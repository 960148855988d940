"""Properties of logs on disk: directories, segments, retention, flushing, compaction."""

from __future__ import annotations

from broker.config.property import (
    ANY,
    LONG_MAX,
    UNIQUE,
    Check,
    Kind,
    Property,
    Update,
    at_least,
    between,
    list_of,
    one_of,
    refused,
    used,
    without_meaning,
)

_ONE_CLEANER = "compaction runs in short slices on the event loop, without threads or buffers"


def _topic_default(
    name: str, kind: Kind, default: bool | int | float | str | tuple[str, ...] | None, about: str,
    check: Check,
) -> Property:  # fmt: skip
    """A default for topics: Kafka lets these change while the broker runs."""
    return used(name, kind, default, about, check, Update.CLUSTER_WIDE)


DIRECTORIES = (
    used("log.dirs", Kind.LIST, None, "The directories that hold logs. Not set: log.dir.", UNIQUE),
    used("log.dir", Kind.LIST, ("/tmp/kafka-logs",), "The directory that holds logs.", UNIQUE),  # noqa: S108
    used(
        "metadata.log.dir",
        Kind.STRING,
        None,
        "Which of log.dirs holds the cluster's metadata. Not set: the first.",
    ),
    used(
        "cordoned.log.dirs",
        Kind.LIST,
        (),
        "Those of log.dirs, or * for all, that get a new log only when no other can have it.",
        UNIQUE,
        Update.PER_BROKER,
    ),
    used("num.partitions", Kind.INT, 1, "Partitions of a topic that does not say.", at_least(1)),
    used(
        "auto.create.topics.enable",
        Kind.BOOLEAN,
        False,
        "Whether asking for the metadata of an unknown topic creates it. Kafka's default is true; "
        "here a misspelled name is an error until you choose otherwise.",
    ),
    used("delete.topic.enable", Kind.BOOLEAN, True, "Whether topics can be deleted."),
    used(
        "log.retention.check.interval.ms",
        Kind.LONG,
        300000,
        "How often logs are looked through for segments to delete.",
        at_least(1),
    ),
    used(
        "log.flush.scheduler.interval.ms",
        Kind.LONG,
        LONG_MAX,
        "How often the broker looks whether a log must be flushed.",
    ),
    used(
        "log.flush.offset.checkpoint.interval.ms",
        Kind.INT,
        60000,
        "How often recovery points are written down.",
        at_least(0),
    ),
    used(
        "producer.id.expiration.ms",
        Kind.INT,
        86400000,
        "How long a log remembers the sequence numbers of a producer that went silent.",
        at_least(1),
        Update.CLUSTER_WIDE,
    ),
    used(
        "producer.id.expiration.check.interval.ms",
        Kind.INT,
        600000,
        "How often logs are looked through for producers to forget.",
        at_least(1),
    ),
    without_meaning(
        "log.flush.start.offset.checkpoint.interval.ms",
        Kind.INT,
        60000,
        "start offsets are written with the recovery points, and whenever they change",
        at_least(0),
    ),
    without_meaning(
        "log.initial.task.delay.ms",
        Kind.LONG,
        30000,
        "each chore first runs one interval of its own after the start",
        at_least(0),
    ),
    without_meaning(
        "num.recovery.threads.per.data.dir",
        Kind.INT,
        2,
        "logs are recovered by one task for each directory",
        at_least(1),
        Update.CLUSTER_WIDE,
    ),
    without_meaning(
        "num.replica.alter.log.dirs.threads",
        Kind.INT,
        None,
        "replicas do not move between directories by threads",
    ),
    without_meaning(
        "log.dir.failure.timeout.ms",
        Kind.LONG,
        30000,
        "one node has no controller elsewhere to tell of a failed directory",
        at_least(1),
    ),
    without_meaning(
        "create.topic.policy.class.name", Kind.CLASS, None, "Java classes cannot be loaded here"
    ),
    without_meaning(
        "alter.config.policy.class.name", Kind.CLASS, None, "Java classes cannot be loaded here"
    ),
    without_meaning(
        "log.message.format.version",
        Kind.STRING,
        "3.0",
        "records are always stored in format v2, as in Kafka 4",
    ),
    without_meaning(
        "log.message.downconversion.enable",
        Kind.BOOLEAN,
        True,
        "Kafka 4 serves no client that needs old record formats, nor does this broker",
        update=Update.CLUSTER_WIDE,
    ),
    refused(
        "log.message.timestamp.difference.max.ms",
        "Kafka removed it in 4.0; use log.message.timestamp.before.max.ms and "
        "log.message.timestamp.after.max.ms",
    ),
)

TOPIC_DEFAULTS = (
    _topic_default(
        "log.segment.bytes",
        Kind.INT,
        2**30,
        "The size at which a new segment begins. Kafka 4 refuses less than 1 MiB; here small ones "
        "are allowed, because tests need many segments.",
        at_least(14),
    ),
    _topic_default(
        "log.roll.ms",
        Kind.LONG,
        None,
        "The age at which a new segment begins. Not set: log.roll.hours.",
        at_least(1),
    ),
    used(
        "log.roll.hours", Kind.INT, 168, "The age at which a new segment begins.", at_least(1)
    ),
    _topic_default(
        "log.roll.jitter.ms",
        Kind.LONG,
        None,
        "The most that is taken off log.roll.ms at random. Not set: log.roll.jitter.hours.",
        at_least(0),
    ),
    used(
        "log.roll.jitter.hours",
        Kind.INT,
        0,
        "The most that is taken off log.roll.hours at random.",
        at_least(0),
    ),
    _topic_default(
        "log.retention.ms",
        Kind.LONG,
        None,
        "How long records are kept; -1 for ever. Not set: log.retention.minutes.",
        at_least(-1),
    ),
    used(
        "log.retention.minutes",
        Kind.INT,
        None,
        "How long records are kept; -1 for ever. Not set: log.retention.hours.",
        at_least(-1),
    ),
    used(
        "log.retention.hours",
        Kind.INT,
        168,
        "How long records are kept; -1 for ever.",
        at_least(-1),
    ),
    _topic_default(
        "log.retention.bytes",
        Kind.LONG,
        -1,
        "The size above which a partition's oldest segments are deleted; -1 for no limit.",
        at_least(-1),
    ),
    _topic_default(
        "log.cleanup.policy",
        Kind.LIST,
        ("delete",),
        "What happens to old records: delete, compact, or both.",
        list_of("compact", "delete"),
    ),
    _topic_default(
        "log.index.size.max.bytes", Kind.INT, 10485760, "The largest index file.", at_least(4)
    ),
    _topic_default(
        "log.index.interval.bytes",
        Kind.INT,
        4096,
        "How many bytes of log lie between two index entries.",
        at_least(0),
    ),
    _topic_default(
        "log.flush.interval.messages",
        Kind.LONG,
        LONG_MAX,
        "Records appended to a partition before it is flushed to the device.",
        at_least(1),
    ),
    _topic_default(
        "log.flush.interval.ms",
        Kind.LONG,
        None,
        "How long a record may stay unflushed. Not set: log.flush.scheduler.interval.ms.",
        at_least(0),
    ),
    without_meaning(
        "log.segment.delete.delay.ms",
        Kind.LONG,
        60000,
        "files are deleted at once; readers that hold them open are served to the end",
        at_least(0),
        Update.CLUSTER_WIDE,
    ),
    _topic_default(
        "unclean.leader.election.enable",
        Kind.BOOLEAN,
        False,
        "Whether a replica that may lack records can lead when no other one is left.",
        ANY,
    ),
    without_meaning(
        "log.preallocate",
        Kind.BOOLEAN,
        False,
        "segments grow as they are written",
        update=Update.CLUSTER_WIDE,
    ),
    _topic_default(
        "log.message.timestamp.type",
        Kind.STRING,
        "CreateTime",
        "Whether a record keeps its producer's time or gets the broker's.",
        one_of("CreateTime", "LogAppendTime"),
    ),
    _topic_default(
        "log.message.timestamp.before.max.ms",
        Kind.LONG,
        LONG_MAX,
        "How far a record's time may lie before the broker's.",
        at_least(0),
    ),
    _topic_default(
        "log.message.timestamp.after.max.ms",
        Kind.LONG,
        3600000,
        "How far a record's time may lie after the broker's.",
        at_least(0),
    ),
    _topic_default(
        "message.max.bytes",
        Kind.INT,
        1048588,
        "The largest batch of records, as it is stored.",
        at_least(0),
    ),
    _topic_default(
        "compression.type",
        Kind.STRING,
        "producer",
        "The codec that batches are stored in; producer keeps the one they came in.",
        one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    ),
    _topic_default(
        "compression.gzip.level", Kind.INT, -1, "The level of gzip, if the broker compresses.",
        between(1, 9, -1),
    ),
    _topic_default(
        "compression.lz4.level", Kind.INT, 9, "The level of lz4, if the broker compresses.",
        between(1, 17),
    ),
    _topic_default(
        "compression.zstd.level", Kind.INT, 3, "The level of zstd, if the broker compresses.",
        between(-131072, 22),
    ),
    _topic_default(
        "min.insync.replicas",
        Kind.INT,
        1,
        "How many replicas must have a batch before a producer with acks=all is answered.",
        at_least(1),
    ),
    _topic_default(
        "log.cleaner.delete.retention.ms",
        Kind.LONG,
        86400000,
        "How long tombstones stay in a compacted log.",
        at_least(0),
    ),
    _topic_default(
        "log.cleaner.min.compaction.lag.ms",
        Kind.LONG,
        0,
        "How long a record stays uncompacted at least.",
        at_least(0),
    ),
    _topic_default(
        "log.cleaner.max.compaction.lag.ms",
        Kind.LONG,
        LONG_MAX,
        "How long a record may stay uncompacted at most.",
        at_least(1),
    ),
    _topic_default(
        "log.cleaner.min.cleanable.ratio",
        Kind.DOUBLE,
        0.5,
        "The share of uncompacted bytes from which a log is compacted.",
        between(0, 1),
    ),
)  # fmt: skip

CLEANER = (
    used(
        "log.cleaner.enable", Kind.BOOLEAN, True, "Whether compacted topics are compacted at all."
    ),
    used(
        "log.cleaner.backoff.ms",
        Kind.LONG,
        15000,
        "How long to rest when there is nothing to compact.",
        at_least(0),
        Update.CLUSTER_WIDE,
    ),
    without_meaning(
        "log.cleaner.threads", Kind.INT, 1, _ONE_CLEANER, at_least(0), Update.CLUSTER_WIDE
    ),
    without_meaning(
        "log.cleaner.io.max.bytes.per.second",
        Kind.DOUBLE,
        1.7976931348623157e308,
        _ONE_CLEANER,
        update=Update.CLUSTER_WIDE,
    ),
    without_meaning(
        "log.cleaner.dedupe.buffer.size",
        Kind.LONG,
        134217728,
        _ONE_CLEANER,
        at_least(0),
        Update.CLUSTER_WIDE,
    ),
    without_meaning(
        "log.cleaner.io.buffer.size",
        Kind.INT,
        524288,
        _ONE_CLEANER,
        at_least(0),
        Update.CLUSTER_WIDE,
    ),
    without_meaning(
        "log.cleaner.io.buffer.load.factor",
        Kind.DOUBLE,
        0.9,
        _ONE_CLEANER,
        update=Update.CLUSTER_WIDE,
    ),
)

PROPERTIES = DIRECTORIES + TOPIC_DEFAULTS + CLEANER
