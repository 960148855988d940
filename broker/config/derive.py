"""Works out the settings that several properties decide together, and what contradicts what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from posixpath import normpath
from typing import cast

from broker.config.listeners import (
    ANY_HOST,
    ListenerEntry,
    check_advertised,
    check_ports,
    check_protocols,
    parse_listeners,
    parse_protocol_map,
)
from broker.config.property import Value
from broker.config.values import WrongValueError
from broker.config.voters import Voter, check_roles, parse_voters
from broker.network.interface import Address

Fail = Callable[[str, str], None]
Warn = Callable[[str], None]


def derive(values: Mapping[str, Value], fail: Fail, warn: Warn) -> dict[str, object]:
    """Fields of BrokerConfig by name. `fail` is told the property at fault and what is wrong."""
    derived: dict[str, object] = {}
    derived["node_id"] = _node_id(values, fail)
    derived["process_roles"] = _list(values, "process.roles")
    derived.update(_directories(values, fail))
    derived.update(_listeners(values, fail, warn))
    derived["reference_metrics_listener"] = _metrics_listener(values, fail)
    derived["max_connections_per_ip_overrides"] = _overrides(values, fail)
    derived.update(_quorum(values, derived, fail))
    if not derived["controller_quorum_voters"]:
        _warn_of_being_alone(values, warn)
    return derived


def _warn_of_being_alone(values: Mapping[str, Value], warn: Warn) -> None:
    if cast("int", values["default.replication.factor"]) > 1:
        warn(
            "default.replication.factor above 1 needs more nodes: creating a topic that does not "
            "say its replication factor will be refused"
        )
    if cast("int", values["min.insync.replicas"]) > 1:
        warn(
            "min.insync.replicas above 1 needs more nodes: a topic cannot have more replicas in "
            "sync than it has replicas, so acks=all waits for one"
        )


def _list(values: Mapping[str, Value], name: str) -> tuple[str, ...]:
    return cast("tuple[str, ...]", values[name] or ())


def _node_id(values: Mapping[str, Value], fail: Fail) -> int:
    node_id, broker_id = cast("int | None", values["node.id"]), cast("int", values["broker.id"])
    if node_id is not None and broker_id >= 0 and node_id != broker_id:
        fail("broker.id", f"is {broker_id}, but node.id is {node_id}; leave broker.id out")
    chosen = broker_id if node_id is None else node_id
    if chosen < 0:
        fail("node.id", "is missing; give each node its own number, from 0")
    return chosen


def _directories(values: Mapping[str, Value], fail: Fail) -> dict[str, object]:
    name = "log.dir" if values["log.dirs"] is None else "log.dirs"
    directories = _list(values, name)
    if not directories or not all(directories):
        fail(name, "names no directory; give at least one")
        return {"log_dirs": ("",), "metadata_log_dir": "", "cordoned_log_dirs": ()}
    seen: dict[str, str] = {}
    for directory in directories:
        other = seen.get(normpath(directory))
        if other is not None:
            fail(name, f"{other} and {directory} are one directory; name it once")
        seen[normpath(directory)] = directory
    metadata = values["metadata.log.dir"] or directories[0]
    if metadata not in directories:
        fail("metadata.log.dir", f"{metadata!r} is not one of {name} ({', '.join(directories)})")
    cordoned = _list(values, "cordoned.log.dirs")
    if cordoned == ("*",):
        cordoned = directories
    for each in cordoned:
        if each not in directories:
            fail("cordoned.log.dirs", f"{each!r} is not one of {name} ({', '.join(directories)})")
    return {
        "log_dirs": directories,
        "metadata_log_dir": metadata,
        "cordoned_log_dirs": cordoned,
    }


def _listeners(values: Mapping[str, Value], fail: Fail, warn: Warn) -> dict[str, object]:
    controller_names = tuple(each.upper() for each in _list(values, "controller.listener.names"))
    at_fault = "listeners"
    try:
        listeners = parse_listeners(_list(values, "listeners"))
        check_ports(listeners)
        at_fault = "listener.security.protocol.map"
        protocols = parse_protocol_map(cast("str", values["listener.security.protocol.map"]))
        at_fault = "listeners"
        check_protocols(listeners, protocols, controller_names)
        is_broker = "broker" in (_list(values, "process.roles") or ("broker",))
        if is_broker and all(entry.name in controller_names for entry in listeners):
            raise WrongValueError("all are in controller.listener.names, so no client is served")
        at_fault = "advertised.listeners"
        if values["advertised.listeners"] is not None:
            advertised = parse_listeners(_list(values, "advertised.listeners"))
            check_advertised(advertised, listeners)
        else:
            advertised = _as_advertised(listeners, controller_names, warn)
    except WrongValueError as error:
        fail(at_fault, str(error))
        return {}
    return {
        "listeners": listeners,
        "advertised_listeners": advertised,
        "controller_listener_names": controller_names,
    }


def _as_advertised(
    listeners: tuple[ListenerEntry, ...], controller_names: tuple[str, ...], warn: Warn
) -> tuple[ListenerEntry, ...]:
    advertised = []
    for entry in listeners:
        if entry.name in controller_names:
            continue
        if entry.host in (ANY_HOST, "::"):
            raise WrongValueError(
                f"is missing: {entry} listens everywhere, so say which address clients should use"
            )
        if not entry.host:
            warn(
                f"listener {entry} has no host and advertised.listeners is not set: clients are "
                "told localhost, so only clients on this machine can connect"
            )
            entry = entry._replace(host="localhost")
        advertised.append(entry)
    return tuple(advertised)


def _quorum(
    values: Mapping[str, Value], derived: Mapping[str, object], fail: Fail
) -> dict[str, object]:
    """The voters, and the listener by which brokers reach each other."""
    at_fault, name = "controller.quorum.voters", ""
    voters: tuple[Voter, ...] = ()
    try:
        voters = parse_voters(_list(values, at_fault))
        if "listeners" in derived:
            check_roles(
                voters,
                node_id=cast("int", derived["node_id"]),
                roles=_list(values, "process.roles") or ("broker", "controller"),
                listeners=cast("tuple[ListenerEntry, ...]", derived["listeners"]),
                controller_names=cast("tuple[str, ...]", derived["controller_listener_names"]),
            )
            at_fault = "inter.broker.listener.name"
            name = _inter_broker_listener(values, derived)
    except WrongValueError as error:
        fail(at_fault, str(error))
    return {"controller_quorum_voters": voters, "inter_broker_listener_name": name}


def _inter_broker_listener(values: Mapping[str, Value], derived: Mapping[str, object]) -> str:
    controller_names = cast("tuple[str, ...]", derived["controller_listener_names"])
    listeners = cast("tuple[ListenerEntry, ...]", derived["listeners"])
    offered = [entry.name for entry in listeners if entry.name not in controller_names]
    wanted = cast("str | None", values["inter.broker.listener.name"])
    if wanted is None:
        return offered[0] if offered else ""
    if offered and wanted.upper() not in offered:
        raise WrongValueError(f"{wanted} is none of the listeners for clients ({offered})")
    return wanted.upper()


def _metrics_listener(values: Mapping[str, Value], fail: Fail) -> Address | None:
    text = cast("str | None", values["reference.metrics.listener"])
    if not text:
        return None
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port[:6]) <= 65535):
        fail("reference.metrics.listener", f"{text!r} is not host:port")
        return None
    return Address(host.strip("[]") or ANY_HOST, int(port))


def _overrides(values: Mapping[str, Value], fail: Fail) -> dict[str, int]:
    limits: dict[str, int] = {}
    text = cast("str", values["max.connections.per.ip.overrides"])
    for entry in text.split(",") if text else ():
        host, _, count = entry.strip().rpartition(":")
        if not host or not (count.isascii() and count.isdigit()):
            fail("max.connections.per.ip.overrides", f"{entry!r} is not host:count")
            continue
        limits[host.strip("[]")] = int(count[:9])
    return limits
