"""The cluster as a client is told of it: which nodes there are, and who can be reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from broker.metadata.image import PartitionInfo
from broker.metadata.partition_info import NO_LEADER

if TYPE_CHECKING:
    from broker.node import Node


class Reachable(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None


def brokers_for(node: Node, listener: str) -> list[Reachable]:
    """All that live, by the addresses of the listener that the client came by."""
    found = []
    for broker in node.metadata.image.brokers_sorted():
        for endpoint in () if broker.fenced else broker.endpoints:
            if endpoint.name == listener:
                found.append(Reachable(broker.broker_id, endpoint.host, endpoint.port, broker.rack))
    if not found:
        # On a full disk nobody could register, and readers are served all the same.
        address = node.address_for(listener)
        rack = node.config.broker_rack
        found.append(Reachable(node.node_id, address.host, address.port, rack))
    return found


def controllers_for(node: Node, listener: str) -> list[Reachable]:
    """The voters of the quorum; a node that is alone is its own."""
    voters = sorted(node.config.controller_quorum_voters, key=lambda voter: voter.node_id)
    if not voters:
        bound = node.controller_server.bound[listener]
        return [Reachable(node.node_id, bound.host, bound.port, None)]
    return [
        Reachable(voter.node_id, voter.address.host, voter.address.port, None) for voter in voters
    ]


def whom_to_ask_for_changes(node: Node, listed: Sequence[Reachable]) -> int:
    """This broker, which takes them to the active controller, and is alive as its answer shows.

    A client that is sent to the controller itself is lost with it: librdkafka asks nobody else
    who took over.
    """
    is_listed = any(each.node_id == node.node_id for each in listed)
    return node.node_id if is_listed else listed[0].node_id


def controller_for(node: Node) -> int:
    """The active controller where it is a broker, too; else any broker takes requests to it."""
    leader = node.quorum.leader_id
    return leader if leader is not None and _is_alive(node, leader) else node.node_id


def leader_of(node: Node, topic: str, index: int, info: PartitionInfo) -> int:
    """-1 when there is none that could answer."""
    if info.leader == node.node_id:
        partition = node.partitions.find(topic, index)
        is_online = partition is not None and partition.log.failure is None
        return info.leader if is_online else NO_LEADER
    return info.leader if _is_alive(node, info.leader) else NO_LEADER


def offline_replicas(node: Node, topic: str, index: int, info: PartitionInfo) -> list[int]:
    offline = [each for each in info.replicas if each != node.node_id and not _is_alive(node, each)]
    if node.node_id in info.replicas:
        partition = node.partitions.find(topic, index)
        if partition is None or partition.log.failure is not None:
            offline.append(node.node_id)
    return offline


def _is_alive(node: Node, broker_id: int) -> bool:
    broker = node.metadata.image.brokers.get(broker_id)
    return broker is not None and not broker.fenced
