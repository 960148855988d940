"""Places, systems and clusters: the nodes under test, and what may be done to them."""

from harness.cluster.base import (
    Completed,
    Host,
    NewTopic,
    PartitionState,
    Place,
    RunningProcess,
    System,
)
from harness.cluster.capabilities import CAPABILITIES, Capability, Link, Node, PacketFault
from harness.cluster.cluster import Cluster

__all__ = [
    "CAPABILITIES",
    "Capability",
    "Cluster",
    "Completed",
    "Host",
    "Link",
    "NewTopic",
    "Node",
    "PacketFault",
    "PartitionState",
    "Place",
    "RunningProcess",
    "System",
]
