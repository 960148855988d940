"""Clients by name. Their libraries are imported only when one of theirs is made."""

from __future__ import annotations

from harness.client.base import Client, ClientSettings
from harness.registry import REGISTRY, found, unknown


def make_client(name: str, settings: ClientSettings, client_id: str) -> Client:
    if name not in REGISTRY.clients:
        raise ValueError(unknown("client", name, REGISTRY.clients))
    client: Client = found(REGISTRY.clients[name].make)(settings, client_id)
    return client
