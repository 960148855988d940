"""The systems, clients, workloads and nemeses of this project, registered as a plugin's are.

Checkers are not listed here: the package checkers finds its own by their declarations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from harness.cluster.parts import Part
    from harness.registry import Registry

_KAFKA_PARTS: Final[tuple[Part, ...]] = (
    "topics",
    "leaders",
    "elections",
    "reassignment",
    "controllers",
    "retention",
    "stored",
    "state",
)


def register_ours(registry: Registry) -> None:
    _systems(registry)
    registry.client("confluent", "harness.client.confluent:ConfluentClient")
    registry.client(
        "aiokafka",
        "harness.client.aiokafka_client:AiokafkaClient",
        # It sends offsets without the member's generation (KIP-447), so a member that was replaced
        # may commit them: inputs would be processed twice, and the broker is not to blame.
        lacks=("transform",),
    )
    registry.client("native", "harness.native.on_sockets:NativeClient", chooses_versions=True)
    registry.client(
        "instant",
        "harness.client.instant:instant_client",
        protocol="none",
        operations=(
            *("send", "poll", "txn", "put", "get", "assign", "end-offsets", "crash"),
            *("create", "alter", "describe", "delete"),
        ),
    )
    registry.workload("queue", "workloads.queue:Queue")
    registry.workload("append", "workloads.append:Append")
    registry.workload("register", "workloads.register:Register")
    registry.workload("admin", "workloads.admin:Admin")
    registry.workload("latest", "workloads.latest:Latest")
    registry.workload("group", "workloads.group:Group")
    registry.workload("txn", "workloads.txn:Txn")
    registry.workload("exactly-once", "workloads.exactly_once:ExactlyOnce")
    registry.workload("bank", "workloads.bank:Bank")
    registry.workload("shop", "workloads.shop:Shop")
    registry.workload("keyed", "workloads.keyed:Keyed")
    registry.nemesis("partition", "nemesis.partition:PartitionFaults")
    registry.nemesis("kill", "nemesis.kill:Kills")
    registry.nemesis("pause", "nemesis.pause:Pauses")
    registry.nemesis("restart", "nemesis.restart:Restarts")
    registry.nemesis("move", "nemesis.move:Moves")
    registry.nemesis("packet", "nemesis.packet:Packets")
    registry.nemesis("clock", "nemesis.clock:ClockFaults")
    registry.nemesis("power", "nemesis.power:PowerLosses")
    registry.nemesis("disk", "nemesis.disk:DiskFaults")
    registry.nemesis("wire", "nemesis.wire:WireFaults")
    registry.nemesis("compact", "nemesis.compact:Compaction")
    registry.nemesis("retention", "nemesis.retention:RetentionFaults")
    registry.nemesis("membership", "nemesis.membership:MembershipFaults")
    registry.nemesis("client", "nemesis.client:ClientFaults")
    registry.nemesis("churn", "nemesis.churn:Churn")


def _systems(registry: Registry) -> None:
    registry.system(
        "reference",
        "harness.cluster.kafka_systems:reference",
        about="the broker of this project",
        parts=_KAFKA_PARTS,
    )
    registry.system(
        "kafka",
        "harness.cluster.kafka_systems:apache_kafka",
        about="Apache Kafka",
        parts=_KAFKA_PARTS,
        readiness="harness.cluster.kafka_jars:readiness",
    )
    registry.system(
        "running",
        "harness.cluster.running:running_cluster",
        about="a cluster that speaks Kafka's protocol and runs already, for --on running",
        parts=(part for part in _KAFKA_PARTS if part != "stored"),
    )
