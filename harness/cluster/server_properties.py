"""server.properties of node k of N, by Kafka's names: one text for each node, from a few settings.

Every node plays both roles and sits in the quorum. Each has a listener for clients and brokers
(PLAINTEXT) and one for the quorum (CONTROLLER).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from types import MappingProxyType

SET_HERE = frozenset(
    (
        *("process.roles", "node.id", "broker.id", "broker.rack", "cluster.id"),
        *("controller.quorum.voters", "controller.quorum.bootstrap.servers"),
        *("controller.listener.names", "listeners", "advertised.listeners"),
        *("inter.broker.listener.name", "security.inter.broker.protocol"),
        *("listener.security.protocol.map", "early.start.listeners"),
        *("log.dirs", "log.dir", "metadata.log.dir", "cordoned.log.dirs"),
    )
)
"""Who a node is, how it is reached and where it stores, by all names that Kafka has for it.

A run looks for its nodes and their data where these say, so nobody else may set them.
"""
_REPLICAS_OF_INTERNAL_TOPICS = 3
_MIN_ISR_OF_INTERNAL_TOPICS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    node_id: int
    address: str
    client_port: int
    controller_port: int
    log_dirs: tuple[PurePosixPath, ...]
    client_port_behind: int | None = None
    """Where it listens for clients, if a proxy stands at `client_port`."""
    controller_port_behind: int | None = None

    @property
    def client_address(self) -> str:
        return f"{self.address}:{self.client_port}"

    @property
    def controller_address(self) -> str:
        return f"{self.address}:{self.controller_port}"

    @property
    def client_listener(self) -> str:
        return f"{self.address}:{self.client_port_behind or self.client_port}"

    @property
    def controller_listener(self) -> str:
        return f"{self.address}:{self.controller_port_behind or self.controller_port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """None leaves a property to the broker's own default."""

    broker_session_timeout_ms: int | None = None
    broker_heartbeat_interval_ms: int | None = None
    controller_quorum_fetch_timeout_ms: int | None = None
    controller_quorum_election_timeout_ms: int | None = None
    racks: tuple[str, ...] = ()
    """Dealt out to the nodes in turn."""
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Any other property; wins over everything else here."""

    def with_properties(self, more: Mapping[str, str]) -> Settings:
        return replace(self, properties={**self.properties, **more})


QUICK_FAILOVER = Settings(
    broker_session_timeout_ms=1500,
    broker_heartbeat_interval_ms=300,
    controller_quorum_fetch_timeout_ms=1000,
    controller_quorum_election_timeout_ms=500,
)


def server_properties(member: Member, members: Sequence[Member], settings: Settings) -> str:
    """`members` are all of the quorum, this one included."""
    found = properties_by_name(member, members, settings)
    return "".join(f"{name}={_written(name, value)}\n" for name, value in found.items())


def properties_by_name(
    member: Member, members: Sequence[Member], settings: Settings
) -> dict[str, str]:
    return {
        "process.roles": "broker,controller",
        "node.id": str(member.node_id),
        "controller.quorum.voters": ",".join(
            f"{one.node_id}@{one.controller_address}" for one in members
        ),
        "controller.listener.names": "CONTROLLER",
        "listeners": (
            f"PLAINTEXT://{member.client_listener},CONTROLLER://{member.controller_listener}"
        ),
        "advertised.listeners": f"PLAINTEXT://{member.client_address}",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": ",".join(map(str, member.log_dirs)),
        # A topic that appears because somebody asked for it would blur what a run means.
        "auto.create.topics.enable": "false",
        **_internal_topics(len(members)),
        **_typed(member, settings),
        **settings.properties,
    }


def _internal_topics(count: int) -> dict[str, str]:
    """Kafka's own defaults, as far as so many nodes can meet them."""
    replicas = str(min(_REPLICAS_OF_INTERNAL_TOPICS, count))
    return {
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": str(min(_MIN_ISR_OF_INTERNAL_TOPICS, count)),
    }


def _typed(member: Member, settings: Settings) -> dict[str, str]:
    racks = settings.racks
    timeouts = {
        "broker.session.timeout.ms": settings.broker_session_timeout_ms,
        "broker.heartbeat.interval.ms": settings.broker_heartbeat_interval_ms,
        "controller.quorum.fetch.timeout.ms": settings.controller_quorum_fetch_timeout_ms,
        "controller.quorum.election.timeout.ms": settings.controller_quorum_election_timeout_ms,
    }
    rack = {"broker.rack": racks[(member.node_id - 1) % len(racks)]} if racks else {}
    return rack | {name: str(value) for name, value in timeouts.items() if value is not None}


def _written(name: str, value: str) -> str:
    """A backslash would begin an escape, a line's end would end the value."""
    if "\n" in value or "\r" in value:
        raise ValueError(f"{name} has a value of several lines")
    return value.replace("\\", "\\\\")
