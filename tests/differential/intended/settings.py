"""Settings: defaults of our own, and names that only one of the brokers lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.differential.compare import ABSENT
from tests.differential.judge import Intended, Kind

_ALL = "of_the_broker/all of them"

_OTHER_VALUES: Mapping[tuple[str, str], tuple[Any, Any, str]] = {
    ("controller.quorum.fetch.max.bytes", "value"): (
        "1048576", "8388608", "A larger piece of the metadata log makes a new node ready sooner.",
    ),
    ("controller.quorum.fetch.snapshot.max.bytes", "value"): (
        "1048576", "8388608", "A larger piece of a snapshot makes a new node ready sooner.",
    ),
    ("listener.security.protocol.map", "read_only"): (
        False, True, "Listeners of our broker cannot be changed while it runs.",
    ),
    ("listeners", "read_only"): (
        False, True, "Listeners of our broker cannot be changed while it runs.",
    ),
    ("socket.listen.backlog.size", "value"): (
        "50", "4096", "Many clients that connect at once are not refused.",
    ),
    ("socket.receive.buffer.bytes", "value"): (
        "102400", "-1", "The kernel adapts the buffers of a socket better than a fixed size does.",
    ),
    ("socket.send.buffer.bytes", "value"): (
        "102400", "-1", "The kernel adapts the buffers of a socket better than a fixed size does.",
    ),
}  # fmt: skip

_ONLY_OURS = """
    auto.include.jmx.reporter broker.id.generation.enable controlled.shutdown.max.retries
    controlled.shutdown.retry.backoff.ms controller.performance.always.log.threshold.ms
    controller.performance.sample.period.ms delegation.token.master.key explicit.feature.versions
    follower.replication.throttled.rate follower.replication.throttled.replicas
    group.consumer.regex.refresh.interval.ms group.share.enable
    group.share.initialize.retry.interval.ms group.share.max.groups
    group.share.persister.class.name inter.broker.protocol.version
    leader.imbalance.per.broker.percentage leader.replication.throttled.rate
    leader.replication.throttled.replicas log.initial.task.delay.ms
    log.message.downconversion.enable log.message.format.version log.record.validation.enable
    metadata.log.segment.min.bytes password.encoder.cipher.algorithm password.encoder.iterations
    password.encoder.key.length password.encoder.keyfactory.algorithm password.encoder.old.secret
    password.encoder.secret producer.id.expiration.check.interval.ms
    reference.log.cleaner.removal.rule reference.metrics.listener
    remote.log.index.file.cache.ttl.ms remote.log.manager.task.retry.backoff.max.ms
    remote.log.manager.task.retry.backoff.ms remote.log.manager.task.retry.jitter
    replica.alter.log.dirs.io.max.bytes.per.second reserved.broker.max.id
    sasl.oauthbearer.header.urlencode server.max.startup.time.ms
    share.coordinator.cold.partition.snapshot.interval.ms
    share.coordinator.state.topic.prune.interval.ms unstable.api.versions.enable
    unstable.feature.versions.enable
""".split()
_LISTED = "Our broker lists every property that it accepts, also internal and former ones of Kafka."
_CLUSTER_WIDE = "Kafka stores min.insync.replicas in the metadata when a cluster is formatted."
_STORED: Mapping[str, Any] = {"kafka": 3, "ours": 5}

ENTRIES = (
    *(
        Intended(
            "configs", f"results[4/1].configs[{name}].{field}", why, Kind.SETTINGS, _ALL,
            kafka=kafka, ours=ours,
        )
        for (name, field), (kafka, ours, why) in _OTHER_VALUES.items()
    ),
    *(
        Intended(
            "configs", f"results[4/1].configs[{name}]", _LISTED, Kind.SETTINGS, _ALL, kafka=ABSENT
        )
        for name in _ONLY_OURS
    ),
    Intended(
        "configs", "results[4/1].configs[authorizer.class.name]",
        "Our broker has no authorizer and refuses the setting.", Kind.SETTINGS, _ALL, ours=ABSENT,
    ),
    *(
        Intended(
            "configs", "results[*].configs[min.insync.replicas].config_source", _CLUSTER_WIDE,
            Kind.SETTINGS, step, **_STORED,
        )
        for step in (_ALL, "of_topics/no keys", "of_topics/all of them")
    ),
    Intended(
        "create_topics", "topics[*].configs[min.insync.replicas].config_source", _CLUSTER_WIDE,
        Kind.SETTINGS, "configurations_of_a_new_topic/all of them", range(5, 8), **_STORED,
    ),
    *(
        Intended(
            "configs", "results[*].configs[retention.ms].synonyms[log.retention.hours]",
            "Our broker names each property that decides, whatever its unit is.",
            Kind.SETTINGS, step, kafka=ABSENT,
        )
        for step in ("of_topics/with synonyms", "replaced/what it is now",
                     "changed_one_by_one/what it is now")
    ),
)  # fmt: skip
