"""Clients by name. Their libraries are imported only when one of theirs is made."""

from __future__ import annotations

from harness.client.base import Client, ClientSettings
from harness.plugin_objects import require_members
from harness.registry import REGISTRY, found, unknown


def make_client(name: str, settings: ClientSettings, client_id: str) -> Client:
    if name not in REGISTRY.clients:
        raise ValueError(unknown("client", name, REGISTRY.clients))
    client: Client = found(REGISTRY.clients[name].make)(settings, client_id)
    _require_members(client, name)
    return client


def refuse_incomplete(name: str, settings: ClientSettings) -> None:
    """UsageFailure for a client that lacks a member, found out before a run as far as possible.

    A class is not made for that: it may want to reach its cluster. A function has to be called; if
    it fails without a cluster, the run will tell.
    """
    make = found(REGISTRY.clients[name].make)
    if isinstance(make, type):
        _require_members(make, name)
        return
    try:
        client = make(settings, "c1")
    except Exception:
        return
    _require_members(client, name)


def _require_members(client: Client | type[Client], name: str) -> None:
    require_members(client, Client, f"client {name}", declared_in="harness/client/base.py")
