"""Properties of remote storage, reporters and telemetry, with Kafka's types and defaults."""

from __future__ import annotations

from broker.config.property import LONG_MAX, Kind, Update, Value, without_meaning

_Row = tuple[str, Kind, Value, Update]
_FIXED = Update.READ_ONLY
_PER_BROKER = Update.PER_BROKER
_CLUSTER_WIDE = Update.CLUSTER_WIDE

_NO_REMOTE = "records are stored in log.dirs only"
_NO_CLASSES = "Java classes cannot be loaded here; metrics are at reference.metrics.listener"

_REMOTE: tuple[_Row, ...] = (
    ("follower.fetch.last.tiered.offset.enable", Kind.BOOLEAN, False, _CLUSTER_WIDE),
    ("log.local.retention.bytes", Kind.LONG, -2, _CLUSTER_WIDE),
    ("log.local.retention.ms", Kind.LONG, -2, _CLUSTER_WIDE),
    ("remote.fetch.max.wait.ms", Kind.INT, 500, _CLUSTER_WIDE),
    ("remote.list.offsets.request.timeout.ms", Kind.LONG, 30000, _CLUSTER_WIDE),
    ("remote.log.index.file.cache.total.size.bytes", Kind.LONG, 1073741824, _CLUSTER_WIDE),
    ("remote.log.index.file.cache.ttl.ms", Kind.LONG, 900000, _FIXED),
    ("remote.log.manager.copier.thread.pool.size", Kind.INT, 10, _CLUSTER_WIDE),
    ("remote.log.manager.copy.max.bytes.per.second", Kind.LONG, LONG_MAX, _CLUSTER_WIDE),
    ("remote.log.manager.copy.quota.window.num", Kind.INT, 11, _FIXED),
    ("remote.log.manager.copy.quota.window.size.seconds", Kind.INT, 1, _FIXED),
    ("remote.log.manager.expiration.thread.pool.size", Kind.INT, 10, _CLUSTER_WIDE),
    ("remote.log.manager.fetch.max.bytes.per.second", Kind.LONG, LONG_MAX, _CLUSTER_WIDE),
    ("remote.log.manager.fetch.quota.window.num", Kind.INT, 11, _FIXED),
    ("remote.log.manager.fetch.quota.window.size.seconds", Kind.INT, 1, _FIXED),
    ("remote.log.manager.follower.thread.pool.size", Kind.INT, 2, _CLUSTER_WIDE),
    ("remote.log.manager.task.interval.ms", Kind.LONG, 30000, _FIXED),
    ("remote.log.manager.task.retry.backoff.max.ms", Kind.LONG, 30000, _FIXED),
    ("remote.log.manager.task.retry.backoff.ms", Kind.LONG, 500, _FIXED),
    ("remote.log.manager.task.retry.jitter", Kind.DOUBLE, 0.2, _FIXED),
    ("remote.log.manager.thread.pool.size", Kind.INT, 2, _FIXED),
    ("remote.log.metadata.custom.metadata.max.bytes", Kind.INT, 128, _FIXED),
    (
        "remote.log.metadata.manager.class.name",
        Kind.STRING,
        "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
        _FIXED,
    ),
    ("remote.log.metadata.manager.class.path", Kind.STRING, None, _FIXED),
    ("remote.log.metadata.manager.impl.prefix", Kind.STRING, "rlmm.config.", _FIXED),
    ("remote.log.metadata.manager.listener.name", Kind.STRING, None, _FIXED),
    ("remote.log.reader.max.pending.tasks", Kind.INT, 100, _FIXED),
    ("remote.log.reader.threads", Kind.INT, 10, _CLUSTER_WIDE),
    ("remote.log.storage.manager.class.name", Kind.STRING, None, _FIXED),
    ("remote.log.storage.manager.class.path", Kind.STRING, None, _FIXED),
    ("remote.log.storage.manager.impl.prefix", Kind.STRING, "rsm.config.", _FIXED),
    ("remote.log.storage.system.enable", Kind.BOOLEAN, False, _FIXED),
)
_REPORTERS: tuple[_Row, ...] = (
    ("auto.include.jmx.reporter", Kind.STRING, None, _FIXED),
    ("config.providers", Kind.LIST, (), _CLUSTER_WIDE),
    ("explicit.feature.versions", Kind.STRING, None, _FIXED),
    ("kafka.metrics.polling.interval.secs", Kind.INT, 10, _FIXED),
    ("kafka.metrics.reporters", Kind.LIST, (), _FIXED),
    (
        "metric.reporters",
        Kind.LIST,
        ("org.apache.kafka.common.metrics.JmxReporter",),
        _CLUSTER_WIDE,
    ),
    ("metrics.num.samples", Kind.INT, 2, _FIXED),
    ("metrics.recording.level", Kind.STRING, "INFO", _FIXED),
    ("metrics.sample.window.ms", Kind.LONG, 30000, _FIXED),
    ("telemetry.max.bytes", Kind.INT, 1048576, _FIXED),
)

PROPERTIES = tuple(
    without_meaning(name, kind, default, why, update=update)
    for rows, why in ((_REMOTE, _NO_REMOTE), (_REPORTERS, _NO_CLASSES))
    for name, kind, default, update in rows
)
