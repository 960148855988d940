"""Reads `listeners` and its companions: where to listen, and what to tell clients."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from broker.config.values import WrongValueError

_ENTRY = re.compile(r"^([A-Za-z0-9_.\-]+)://(\[[0-9a-fA-F:.%]+\]|[^\[\]:/]*):(\d{1,5})$")
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
ANY_HOST = "0.0.0.0"  # noqa: S104


class ListenerEntry(NamedTuple):
    """One entry of `listeners`. The host is as written: empty means all interfaces."""

    name: str
    host: str
    port: int

    @property
    def bind_host(self) -> str:
        return self.host or ANY_HOST

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def parse_listeners(entries: Sequence[str]) -> tuple[ListenerEntry, ...]:
    listeners = tuple(_parse_entry(entry) for entry in entries)
    if not listeners:
        raise WrongValueError("at least one NAME://host:port is needed")
    seen: set[str] = set()
    for listener in listeners:
        if listener.name in seen:
            raise WrongValueError(f"the name {listener.name} comes twice")
        seen.add(listener.name)
    return listeners


def check_ports(listeners: Sequence[ListenerEntry]) -> None:
    ports = [listener.port for listener in listeners if listener.port]
    for port in ports:
        if ports.count(port) > 1:
            raise WrongValueError(f"port {port} comes twice; each listener needs its own")


def check_advertised(listeners: Sequence[ListenerEntry], known: Sequence[ListenerEntry]) -> None:
    names = [listener.name for listener in known]
    for listener in listeners:
        if listener.name not in names:
            raise WrongValueError(f"{listener.name} is not in listeners ({', '.join(names)})")
        if listener.host in ("", ANY_HOST, "::"):
            raise WrongValueError(f"{listener} has no host that a client could connect to")


def parse_protocol_map(text: str) -> dict[str, str]:
    protocols: dict[str, str] = {}
    for entry in (part.strip() for part in text.split(",")):
        if not entry:
            continue
        name, _, protocol = entry.partition(":")
        if protocol not in _PROTOCOLS:
            raise WrongValueError(f"{entry!r} is not NAME:PROTOCOL with one of {_PROTOCOLS}")
        protocols[name.upper()] = protocol
    return protocols


def check_protocols(
    listeners: Sequence[ListenerEntry],
    protocols: Mapping[str, str],
    controller_names: Sequence[str],
) -> None:
    for listener in listeners:
        # Kafka takes an unmapped controller listener as PLAINTEXT.
        unmapped = "PLAINTEXT" if listener.name in controller_names else None
        protocol = protocols.get(listener.name, unmapped)
        if protocol is None:
            raise WrongValueError(
                f"{listener.name} stands for no security protocol; add {listener.name}:PLAINTEXT "
                "to listener.security.protocol.map"
            )
        if protocol != "PLAINTEXT":
            raise WrongValueError(f"{listener.name} wants {protocol}; only PLAINTEXT is served")


def _parse_entry(text: str) -> ListenerEntry:
    match = _ENTRY.match(text)
    if match is None:
        raise WrongValueError(f"{text!r} is not NAME://host:port")
    name, host, port = match.groups()
    if int(port) > 65535:
        raise WrongValueError(f"{text!r} has a port above 65535")
    return ListenerEntry(name.upper(), host.strip("[]"), int(port))


_PROPERTY_PREFIX = "listener.name."


def split_listener_property(name: str) -> tuple[str | None, str]:
    """The listener and the property in `listener.name.<listener>.<property>`.

    The listener is None for a property of the whole broker.
    """
    if not name.startswith(_PROPERTY_PREFIX):
        return None, name
    listener, _, property_name = name.removeprefix(_PROPERTY_PREFIX).partition(".")
    return listener, property_name
