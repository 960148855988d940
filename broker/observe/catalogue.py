"""The name, kind and meaning of every metric that is exported: Kafka's familiar names, then ours.

Kafka's are spelled as the usual rules of Prometheus' JMX exporter spell its MBeans.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class MetricKind(Enum):
    COUNTER = "counter"  # exported with the suffix _total
    GAUGE = "gauge"
    SUMMARY = "summary"  # quantiles, and the suffixes _count and _sum


class MetricInfo(NamedTuple):
    name: str
    kind: MetricKind
    labels: tuple[str, ...]
    about: str

    @property
    def exported_name(self) -> str:
        return self.name + "_total" if self.kind is MetricKind.COUNTER else self.name


_C, _G, _S = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.SUMMARY
_TOPIC = ("topic",)
_PARTITION = ("topic", "partition")
_GROUP_PARTITION = ("group", "topic", "partition")
_NONE: tuple[str, ...] = ()

# In the order of TopicMetrics' fields in `exporter.py`.
TOPICS = (
    MetricInfo("kafka_server_brokertopicmetrics_messagesin", _C, _TOPIC, "Records appended."),
    MetricInfo("kafka_server_brokertopicmetrics_bytesin", _C, _TOPIC, "Bytes appended."),
    MetricInfo("kafka_server_brokertopicmetrics_bytesout", _C, _TOPIC, "Bytes sent to readers."),
    MetricInfo(
        "kafka_server_brokertopicmetrics_bytesrejected",
        _C,
        _TOPIC,
        "Bytes of batches that were refused for their size.",
    ),
    MetricInfo(
        "kafka_server_brokertopicmetrics_totalproducerequests",
        _C,
        _TOPIC,
        "Produce requests, counted once for each partition in them.",
    ),
    MetricInfo(
        "kafka_server_brokertopicmetrics_failedproducerequests",
        _C,
        _TOPIC,
        "Of these, the ones answered with an error.",
    ),
    MetricInfo(
        "kafka_server_brokertopicmetrics_totalfetchrequests",
        _C,
        _TOPIC,
        "Fetches, counted once for each partition in them.",
    ),
    MetricInfo(
        "kafka_server_brokertopicmetrics_failedfetchrequests",
        _C,
        _TOPIC,
        "Of these, the ones answered with an error.",
    ),
)

LOGS = (
    MetricInfo("kafka_log_log_size", _G, _PARTITION, "Bytes of a partition's log."),
    MetricInfo("kafka_log_log_logstartoffset", _G, _PARTITION, "First offset that can be read."),
    MetricInfo("kafka_log_log_logendoffset", _G, _PARTITION, "Offset that comes next."),
    MetricInfo("kafka_log_log_numlogsegments", _G, _PARTITION, "Segments of a partition's log."),
    MetricInfo(
        "kafka_cluster_partition_laststableoffsetlag",
        _G,
        _PARTITION,
        "Records below the high watermark that readers of committed records have to wait for, "
        "because a transaction is open.",
    ),
)

REQUESTS = MetricInfo(
    "kafka_network_requestmetrics_requests", _C, ("request",), "Requests answered."
)
REQUEST_ERRORS = MetricInfo(
    "kafka_network_requestmetrics_errors",
    _C,
    ("request", "error"),
    "Error codes in answers, by request.",
)
REQUEST_TIME = MetricInfo(
    "kafka_network_requestmetrics_totaltimems",
    _S,
    ("request",),
    "Milliseconds from a request's arrival to its answer, since the start. Long polls included.",
)

REPLICAS = (
    MetricInfo("kafka_server_replicamanager_partitioncount", _G, _NONE, "Partitions held."),
    MetricInfo("kafka_server_replicamanager_leadercount", _G, _NONE, "Partitions led."),
    MetricInfo(
        "kafka_server_replicamanager_underreplicatedpartitions",
        _G,
        _NONE,
        "Partitions led whose in-sync replicas are fewer than their replicas.",
    ),
    MetricInfo(
        "kafka_server_replicamanager_underminisrpartitioncount",
        _G,
        _NONE,
        "Partitions led that have fewer in-sync replicas than min.insync.replicas.",
    ),
    MetricInfo(
        "kafka_server_replicamanager_offlinereplicacount",
        _G,
        _NONE,
        "Partitions that are offline because their disk failed or is full.",
    ),
    MetricInfo(
        "kafka_server_replicamanager_partitionswithlatetransactionscount",
        _G,
        _NONE,
        "Partitions led whose oldest open transaction had no record for transaction.max.timeout.ms "
        "and 5 minutes.",
    ),
    MetricInfo(
        "kafka_log_logmanager_offlinelogdirectorycount", _G, _NONE, "Log directories offline."
    ),
    MetricInfo(
        "kafka_controller_kafkacontroller_activecontrollercount",
        _G,
        _NONE,
        "1 on the node that decides for the cluster.",
    ),
    MetricInfo(
        "kafka_controller_kafkacontroller_offlinepartitionscount",
        _G,
        _NONE,
        "Partitions of the cluster without a leader.",
    ),
    MetricInfo("kafka_controller_kafkacontroller_globaltopiccount", _G, _NONE, "Topics."),
    MetricInfo(
        "kafka_controller_kafkacontroller_globalpartitioncount", _G, _NONE, "Partitions of topics."
    ),
)

GROUP_OFFSET = MetricInfo(
    "reference_group_committed_offset",
    _G,
    _GROUP_PARTITION,
    "Offset that a group has committed, exported by the group's coordinator.",
)
GROUP_LAG = MetricInfo(
    "reference_group_records_lag",
    _G,
    _GROUP_PARTITION,
    "Records between a group's committed offset and the high watermark, exported by the group's "
    "coordinator. Absent while the partition's leader does not answer.",
)
GROUP_OFFSETS_LEFT_OUT = MetricInfo(
    "reference_group_offsets_left_out",
    _G,
    _NONE,
    "Committed offsets that are not exported, because a node exports 10,000 at most.",
)

TRANSACTIONS_OPEN = MetricInfo(
    "reference_transactions_open",
    _G,
    ("state",),
    "Transactions that this node coordinates: `ongoing`, or `prepared`, which are decided and wait "
    "for their markers.",
)
OLDEST_TRANSACTION = MetricInfo(
    "reference_transaction_oldest_open_seconds",
    _G,
    _NONE,
    "Age of the oldest of them; 0 if there is none.",
)
TRANSACTIONS_ENDED = MetricInfo(
    "reference_transactions_ended",
    _C,
    ("how",),
    "Transactions that this node has decided: `commit` and `abort` by their producer, `timeout` "
    "and `new_producer` by the coordinator, which aborts them.",
)
PRODUCERS_FENCED = MetricInfo(
    "reference_transaction_producers_fenced",
    _C,
    _NONE,
    "Requests that this node refused as coordinator, because another producer has replaced their "
    "own or its epoch is over.",
)

CONNECTIONS = MetricInfo(
    "kafka_server_socket_server_metrics_connection_count", _G, _NONE, "Open client connections."
)
CONNECTIONS_REFUSED = MetricInfo(
    "reference_connections_refused",
    _C,
    _NONE,
    "Connections closed at once because a limit was reached.",
)
REQUEST_MEMORY = MetricInfo(
    "reference_request_memory_bytes",
    _G,
    _NONE,
    "Bytes held by requests that are incomplete or wait their turn.",
)
REQUEST_MEMORY_LIMIT = MetricInfo(
    "reference_request_memory_limit_bytes", _G, _NONE, "At so many bytes reading stops."
)
REQUEST_MEMORY_RATIO = MetricInfo(
    "reference_request_queue_saturation_ratio",
    _G,
    _NONE,
    "Held bytes by their limit; at 1 the broker reads no more until it has answered.",
)
LOOP_LAG = MetricInfo(
    "reference_loop_lag_seconds",
    _S,
    _NONE,
    "How late the event loop runs what is due, since the start.",
)
LOOP_LAG_MAX = MetricInfo("reference_loop_lag_seconds_max", _G, _NONE, "The worst of them.")
RESIDENT_BYTES = MetricInfo(
    "process_resident_memory_bytes", _G, _NONE, "Memory that the process holds (RSS)."
)
CPU_SECONDS = MetricInfo(
    "process_cpu_seconds", _C, _NONE, "Processor time used, in user and system mode."
)
OPEN_FILES = MetricInfo("process_open_fds", _G, _NONE, "Open files and sockets.")

CATALOGUE = (
    *TOPICS,
    *LOGS,
    REQUESTS,
    REQUEST_ERRORS,
    REQUEST_TIME,
    *REPLICAS,
    GROUP_OFFSET,
    GROUP_LAG,
    GROUP_OFFSETS_LEFT_OUT,
    TRANSACTIONS_OPEN,
    OLDEST_TRANSACTION,
    TRANSACTIONS_ENDED,
    PRODUCERS_FENCED,
    CONNECTIONS,
    CONNECTIONS_REFUSED,
    REQUEST_MEMORY,
    REQUEST_MEMORY_LIMIT,
    REQUEST_MEMORY_RATIO,
    LOOP_LAG,
    LOOP_LAG_MAX,
    RESIDENT_BYTES,
    CPU_SECONDS,
    OPEN_FILES,
)
