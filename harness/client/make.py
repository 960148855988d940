"""Clients by name. Their libraries are imported only when one of theirs is made."""

from __future__ import annotations

from harness.client.base import Client, ClientSettings

CLIENTS = ("confluent", "aiokafka", "instant")


def make_client(name: str, settings: ClientSettings, client_id: str) -> Client:
    match name:
        case "confluent":
            from harness.client.confluent import ConfluentClient

            return ConfluentClient(settings, client_id)
        case "aiokafka":
            from harness.client.aiokafka_client import AiokafkaClient

            return AiokafkaClient(settings, client_id)
        case "instant":
            from harness.client.instant import InstantClient

            return InstantClient()
        case _:
            raise ValueError(f"there is no client {name!r}, only {', '.join(CLIENTS)}")
