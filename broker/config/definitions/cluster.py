"""Properties of a node among others: its identity and its roles. Also ZooKeeper's, refused."""

from __future__ import annotations

from broker.config.property import (
    UNIQUE,
    Kind,
    at_least,
    list_of,
    refused,
    used,
    without_meaning,
)

_NO_ZOOKEEPER = "there is no ZooKeeper here, as in Kafka 4: metadata is kept by the broker itself"

IDENTITY = (
    used("node.id", Kind.INT, None, "This node's number in the cluster.", at_least(0)),
    used("broker.id", Kind.INT, -1, "The older name of node.id.", at_least(-1)),
    used("broker.rack", Kind.STRING, None, "Where this node stands; told to clients."),
    used(
        "process.roles",
        Kind.LIST,
        None,
        "The roles of this process. Not set: both.",
        list_of("broker", "controller"),
    ),
    used(
        "controller.listener.names",
        Kind.LIST,
        None,
        "Listeners meant for controllers only: clients are not served there.",
        UNIQUE,
    ),
    used(
        "inter.broker.listener.name",
        Kind.STRING,
        None,
        "The listener by which other brokers reach this one. Not set: the first for clients.",
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

PROPERTIES = IDENTITY + ZOOKEEPER
