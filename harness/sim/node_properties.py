"""The properties that make a simulated broker a member of its cluster, beside those it is given."""

from __future__ import annotations

from collections.abc import Mapping

PORT = 9092
CONTROLLER_PORT = 9093
LOG_DIR = "data"

Properties = Mapping[str, str]


def own_properties(node_id: int, name: str) -> dict[str, str]:
    return {
        "node.id": str(node_id),
        "listeners": f"PLAINTEXT://{name}:{PORT}",
        "log.dirs": LOG_DIR,
    }


def membership(node_id: int, count: int) -> dict[str, str]:
    """Each node is both broker and controller."""
    voters = (f"{each}@n{each}:{CONTROLLER_PORT}" for each in range(1, count + 1))
    return {
        "process.roles": "broker,controller",
        "controller.quorum.voters": ",".join(voters),
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://n{node_id}:{PORT},CONTROLLER://n{node_id}:{CONTROLLER_PORT}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
    }
