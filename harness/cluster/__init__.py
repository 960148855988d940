"""Places, systems and clusters: the nodes under test, and what may be done to them."""

from harness.cluster.base import (
    CAPABILITIES,
    Capability,
    Completed,
    Host,
    Node,
    PartitionState,
    Place,
    RunningProcess,
    System,
)
from harness.cluster.cluster import Cluster

__all__ = [
    "CAPABILITIES",
    "Capability",
    "Cluster",
    "Completed",
    "Host",
    "Node",
    "PartitionState",
    "Place",
    "RunningProcess",
    "System",
]
