"""Properties of listeners, sockets, connections and request queues."""

from __future__ import annotations

from broker.config.property import (
    INT_MAX,
    UNIQUE,
    Kind,
    Update,
    at_least,
    refused,
    used,
    without_meaning,
)

_ONE_LOOP = "one event loop serves all connections, so there is no thread pool to size"

PROPERTIES = (
    used(
        "listeners",
        Kind.LIST,
        ("PLAINTEXT://:9092",),
        "Where the broker listens, as NAME://host:port entries. An empty host takes all "
        "interfaces; port 0 takes a free port.",
        UNIQUE,
    ),
    used(
        "advertised.listeners",
        Kind.LIST,
        None,
        "What clients are told to connect to, as NAME://host:port entries. Not set: listeners.",
        UNIQUE,
    ),
    used(
        "listener.security.protocol.map",
        Kind.STRING,
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "Which security protocol a listener name stands for, as NAME:PROTOCOL entries. Only "
        "PLAINTEXT is served.",
    ),
    used(
        "socket.send.buffer.bytes",
        Kind.INT,
        -1,
        "SO_SNDBUF of accepted connections. -1 leaves it to the operating system, which lets it "
        "grow with the load; Kafka's default is 102400.",
        at_least(-1),
    ),
    used(
        "socket.receive.buffer.bytes",
        Kind.INT,
        -1,
        "SO_RCVBUF of accepted connections. -1 leaves it to the operating system, which lets it "
        "grow with the load; Kafka's default is 102400.",
        at_least(-1),
    ),
    used(
        "socket.request.max.bytes",
        Kind.INT,
        104857600,
        "The largest request frame; a larger one closes its connection. One without records may "
        "have 8 MiB, and 100,000 elements.",
        at_least(1),
    ),
    used(
        "socket.listen.backlog.size",
        Kind.INT,
        4096,
        "How many connections may wait to be accepted. Kafka's 50 makes a crowd wait a second "
        "each for a lost SYN; the system's own limit still applies.",
        at_least(1),
    ),
    used(
        "max.connections",
        Kind.INT,
        INT_MAX,
        "How many connections may be open at once; one that comes by the listener of the brokers "
        "takes the place of the client that was silent longest, others are closed when they "
        "arrive. As listener.name.<listener>.max.connections it is the limit of one listener.",
        at_least(0),
        Update.CLUSTER_WIDE,
    ),
    used(
        "max.connections.per.ip",
        Kind.INT,
        INT_MAX,
        "How many connections one address may hold.",
        at_least(0),
        Update.CLUSTER_WIDE,
    ),
    used(
        "max.connections.per.ip.overrides",
        Kind.STRING,
        "",
        "Exceptions to max.connections.per.ip, as host:count entries.",
        update=Update.CLUSTER_WIDE,
    ),
    used(
        "connections.max.idle.ms",
        Kind.LONG,
        600000,
        "A connection without a request for this long is closed. A negative value means never.",
    ),
    used(
        "log.record.validation.enable",
        Kind.BOOLEAN,
        True,
        "Whether the records inside a produced batch are decompressed and read before it is "
        "stored, as Kafka always does. False trusts producers: only headers and CRCs are checked, "
        "and a batch that consumers cannot read is stored. Topics that are compacted or have a "
        "codec of their own read the records all the same. Kafka does not know this property.",
    ),
    used(
        "queued.max.request.bytes",
        Kind.LONG,
        -1,
        "Bytes of requests held in memory at which the broker stops reading from sockets. "
        "-1 means 268435456, because a broker without a limit dies of a flood.",
        at_least(-1),
    ),
    used(
        "fetch.max.bytes",
        Kind.INT,
        57671680,
        "The most bytes of records in one fetch response.",
        at_least(1024),
    ),
    used(
        "max.incremental.fetch.session.cache.slots",
        Kind.INT,
        1000,
        "How many incremental fetch sessions are remembered.",
        at_least(0),
    ),
    used(
        "max.request.partition.size.limit",
        Kind.INT,
        2000,
        "The most partitions in one DescribeTopicPartitions answer.",
        at_least(1),
    ),
    without_meaning(
        "queued.max.requests",
        Kind.INT,
        500,
        "requests are limited by the memory they hold: queued.max.request.bytes",
        at_least(1),
    ),
    used(
        "request.timeout.ms",
        Kind.INT,
        30000,
        "How long a transaction's end waits for the replicas of its partitions.",
        at_least(0),
    ),
    without_meaning(
        "num.network.threads",
        Kind.INT,
        3,
        _ONE_LOOP,
        at_least(1),
        Update.CLUSTER_WIDE,
    ),
    without_meaning("num.io.threads", Kind.INT, 8, _ONE_LOOP, at_least(1), Update.CLUSTER_WIDE),
    without_meaning(
        "background.threads", Kind.INT, 10, _ONE_LOOP, at_least(1), Update.CLUSTER_WIDE
    ),
    without_meaning(
        "max.connection.creation.rate",
        Kind.INT,
        INT_MAX,
        "connections are limited in number, not in rate",
        at_least(0),
        Update.CLUSTER_WIDE,
    ),
    without_meaning(
        "connection.failed.authentication.delay.ms",
        Kind.INT,
        100,
        "there is no authentication to fail",
        at_least(0),
    ),
    without_meaning(
        "socket.connection.setup.timeout.ms",
        Kind.LONG,
        10000,
        "this node opens no connections to others",
        at_least(0),
    ),
    without_meaning(
        "socket.connection.setup.timeout.max.ms",
        Kind.LONG,
        30000,
        "this node opens no connections to others",
        at_least(0),
    ),
    without_meaning(
        "fetch.purgatory.purge.interval.requests",
        Kind.INT,
        1000,
        "a waiting fetch is dropped when it is answered, there is nothing to purge",
    ),
    without_meaning(
        "producer.purgatory.purge.interval.requests",
        Kind.INT,
        1000,
        "a waiting produce is dropped when it is answered, there is nothing to purge",
    ),
    without_meaning(
        "delete.records.purgatory.purge.interval.requests",
        Kind.INT,
        1,
        "a waiting request is dropped when it is answered, there is nothing to purge",
    ),
    refused("host.name", "Kafka removed it in 3.0; use listeners"),
    refused("port", "Kafka removed it in 3.0; use listeners"),
    refused("advertised.host.name", "Kafka removed it in 3.0; use advertised.listeners"),
    refused("advertised.port", "Kafka removed it in 3.0; use advertised.listeners"),
    refused("control.plane.listener.name", "Kafka removed it in 4.0; there is no ZooKeeper mode"),
    used(
        "reference.metrics.listener",
        Kind.STRING,
        None,
        "Ours, not Kafka's: host:port at which GET /metrics answers Prometheus. Not set: no "
        "metrics are served.",
    ),
)
