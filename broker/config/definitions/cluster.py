"""Properties of a node among others: identity, roles, replication, the controller quorum."""

from __future__ import annotations

from broker.config.property import (
    LONG_MAX,
    UNIQUE,
    Kind,
    Update,
    at_least,
    list_of,
    one_of,
    refused,
    used,
    without_meaning,
)

_ONE_NODE = "takes effect with more than one node; this broker runs alone"
_NO_ZOOKEEPER = "there is no ZooKeeper here, as in Kafka 4: metadata is kept by the broker itself"

IDENTITY = (
    used("node.id", Kind.INT, -1, "This node's number in the cluster.", at_least(0)),
    used("broker.id", Kind.INT, -1, "The older name of node.id.", at_least(-1)),
    used("broker.rack", Kind.STRING, None, "Where this node stands; told to clients."),
    used(
        "process.roles",
        Kind.LIST,
        (),
        "The roles of this process. One node plays both, whatever is named.",
        list_of("broker", "controller"),
    ),
    used(
        "controller.listener.names",
        Kind.LIST,
        (),
        "Listeners meant for controllers only: clients are not served there.",
        UNIQUE,
    ),
    used(
        "default.replication.factor",
        Kind.INT,
        1,
        "Replicas of a topic that does not say.",
        at_least(1),
    ),
    without_meaning(
        "broker.id.generation.enable", Kind.BOOLEAN, True, "node.id must be given, as in KRaft mode"
    ),
    without_meaning(
        "reserved.broker.max.id", Kind.INT, 1000, "node.id must be given, as in KRaft mode"
    ),
    without_meaning(
        "inter.broker.protocol.version", Kind.STRING, "4.0", "KRaft uses metadata.version instead"
    ),
)

REPLICATION = (
    without_meaning("replica.lag.time.max.ms", Kind.LONG, 30000, _ONE_NODE, at_least(0)),
    without_meaning("replica.socket.timeout.ms", Kind.INT, 30000, _ONE_NODE, at_least(0)),
    without_meaning("replica.socket.receive.buffer.bytes", Kind.INT, 65536, _ONE_NODE),
    without_meaning("replica.fetch.max.bytes", Kind.INT, 1048576, _ONE_NODE, at_least(0)),
    without_meaning("replica.fetch.wait.max.ms", Kind.INT, 500, _ONE_NODE, at_least(0)),
    without_meaning("replica.fetch.min.bytes", Kind.INT, 1, _ONE_NODE, at_least(0)),
    without_meaning("replica.fetch.backoff.ms", Kind.INT, 1000, _ONE_NODE, at_least(0)),
    without_meaning(
        "replica.fetch.response.max.bytes", Kind.INT, 10485760, _ONE_NODE, at_least(0)
    ),
    without_meaning(
        "replica.high.watermark.checkpoint.interval.ms", Kind.LONG, 5000, _ONE_NODE, at_least(1)
    ),
    without_meaning("replica.selector.class", Kind.CLASS, None, _ONE_NODE),
    without_meaning(
        "num.replica.fetchers", Kind.INT, 1, _ONE_NODE, at_least(1), Update.CLUSTER_WIDE
    ),
    without_meaning("auto.leader.rebalance.enable", Kind.BOOLEAN, True, _ONE_NODE),
    without_meaning("leader.imbalance.per.broker.percentage", Kind.INT, 10, _ONE_NODE),
    without_meaning(
        "leader.imbalance.check.interval.seconds", Kind.LONG, 300, _ONE_NODE, at_least(1)
    ),
    without_meaning("controlled.shutdown.enable", Kind.BOOLEAN, True, _ONE_NODE),
    without_meaning("controlled.shutdown.max.retries", Kind.INT, 3, _ONE_NODE),
    without_meaning("controlled.shutdown.retry.backoff.ms", Kind.LONG, 5000, _ONE_NODE),
    without_meaning("controller.socket.timeout.ms", Kind.INT, 30000, _ONE_NODE),
    without_meaning("inter.broker.listener.name", Kind.STRING, None, _ONE_NODE),
    without_meaning(
        "security.inter.broker.protocol",
        Kind.STRING,
        "PLAINTEXT",
        _ONE_NODE,
        one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    ),
    without_meaning(
        "follower.replication.throttled.replicas", Kind.LIST, (), _ONE_NODE
    ),
    without_meaning("leader.replication.throttled.replicas", Kind.LIST, (), _ONE_NODE),
    without_meaning(
        "follower.replication.throttled.rate", Kind.LONG, LONG_MAX, _ONE_NODE,
        update=Update.PER_BROKER,
    ),
    without_meaning(
        "leader.replication.throttled.rate", Kind.LONG, LONG_MAX, _ONE_NODE,
        update=Update.PER_BROKER,
    ),
    without_meaning(
        "replica.alter.log.dirs.io.max.bytes.per.second", Kind.LONG, LONG_MAX, _ONE_NODE,
        update=Update.PER_BROKER,
    ),
)  # fmt: skip

QUORUM = (
    without_meaning("controller.quorum.voters", Kind.LIST, (), _ONE_NODE),
    without_meaning("controller.quorum.bootstrap.servers", Kind.LIST, (), _ONE_NODE),
    without_meaning("controller.quorum.election.timeout.ms", Kind.INT, 1000, _ONE_NODE),
    without_meaning("controller.quorum.fetch.timeout.ms", Kind.INT, 2000, _ONE_NODE),
    without_meaning("controller.quorum.election.backoff.max.ms", Kind.INT, 1000, _ONE_NODE),
    without_meaning("controller.quorum.append.linger.ms", Kind.INT, 25, _ONE_NODE),
    without_meaning("controller.quorum.request.timeout.ms", Kind.INT, 2000, _ONE_NODE),
    without_meaning("controller.quorum.retry.backoff.ms", Kind.INT, 20, _ONE_NODE),
    without_meaning("controller.quorum.auto.join.enable", Kind.BOOLEAN, False, _ONE_NODE),
    without_meaning(
        "controller.quorum.fetch.snapshot.max.bytes", Kind.INT, 8388608, _ONE_NODE, at_least(1)
    ),
    without_meaning("controller.quorum.fetch.max.bytes", Kind.INT, 8388608, _ONE_NODE, at_least(1)),
    without_meaning(
        "controller.performance.sample.period.ms", Kind.LONG, 60000, _ONE_NODE, at_least(100)
    ),
    without_meaning(
        "controller.performance.always.log.threshold.ms", Kind.LONG, 2000, _ONE_NODE, at_least(0)
    ),
    without_meaning("broker.heartbeat.interval.ms", Kind.INT, 2000, _ONE_NODE, at_least(1)),
    without_meaning("broker.session.timeout.ms", Kind.INT, 9000, _ONE_NODE, at_least(1)),
    without_meaning("initial.broker.registration.timeout.ms", Kind.INT, 60000, _ONE_NODE),
    without_meaning("server.max.startup.time.ms", Kind.LONG, LONG_MAX, _ONE_NODE, at_least(0)),
    without_meaning("early.start.listeners", Kind.LIST, None, _ONE_NODE),
    without_meaning(
        "metadata.log.max.record.bytes.between.snapshots", Kind.LONG, 20971520, _ONE_NODE,
        at_least(1),
    ),
    without_meaning(
        "metadata.log.max.snapshot.interval.ms", Kind.LONG, 3600000, _ONE_NODE, at_least(0)
    ),
    without_meaning("metadata.log.segment.bytes", Kind.INT, 2**30, _ONE_NODE, at_least(12)),
    without_meaning("metadata.log.segment.min.bytes", Kind.INT, 8388608, _ONE_NODE, at_least(12)),
    without_meaning("metadata.log.segment.ms", Kind.LONG, 604800000, _ONE_NODE),
    without_meaning("metadata.max.retention.bytes", Kind.LONG, 104857600, _ONE_NODE),
    without_meaning("metadata.max.retention.ms", Kind.LONG, 604800000, _ONE_NODE),
    without_meaning("metadata.max.idle.interval.ms", Kind.INT, 500, _ONE_NODE, at_least(0)),
    without_meaning("unstable.api.versions.enable", Kind.BOOLEAN, False, "no API here is unstable"),
    without_meaning(
        "unstable.feature.versions.enable", Kind.BOOLEAN, False, "no feature here is unstable"
    ),
)  # fmt: skip

ZOOKEEPER = tuple(
    refused(name, _NO_ZOOKEEPER)
    for name in (
        "zookeeper.clientCnxnSocket",
        "zookeeper.connect",
        "zookeeper.connection.timeout.ms",
        "zookeeper.max.in.flight.requests",
        "zookeeper.metadata.migration.enable",
        "zookeeper.metadata.migration.min.batch.size",
        "zookeeper.session.timeout.ms",
        "zookeeper.set.acl",
        "zookeeper.ssl.cipher.suites",
        "zookeeper.ssl.client.enable",
        "zookeeper.ssl.crl.enable",
        "zookeeper.ssl.enabled.protocols",
        "zookeeper.ssl.endpoint.identification.algorithm",
        "zookeeper.ssl.keystore.location",
        "zookeeper.ssl.keystore.password",
        "zookeeper.ssl.keystore.type",
        "zookeeper.ssl.ocsp.enable",
        "zookeeper.ssl.protocol",
        "zookeeper.ssl.truststore.location",
        "zookeeper.ssl.truststore.password",
        "zookeeper.ssl.truststore.type",
    )
)

PROPERTIES = IDENTITY + REPLICATION + QUORUM + ZOOKEEPER
