"""How librdkafka is configured here, what its errors are called, and where its log goes."""

from __future__ import annotations

import logging

from confluent_kafka import KafkaError

from harness.client.base import ClientSettings
from harness.client.driver import DriverError
from harness.client.error_names import error_name
from harness.client.partitioners import CUSTOM, LIBRDKAFKA
from harness.errors import EnvironmentFailure

Config = dict[str, str | int | float | bool]

LOGGER = logging.getLogger("harness.client.librdkafka")
"""Whoever runs the client says where this goes. By itself it is silent, and never on a stream."""
LOGGER.addHandler(logging.NullHandler())

_CONNECT_MS_MIN = 1000
_IN_FLIGHT_MAX = 5
"""Kafka's own default. With idempotence librdkafka takes no more; without it a million."""
_BEYOND_OUR_PATIENCE = 10
"""The driver drops what has no report after `delivery.timeout.ms`, and continues with a new
producer. If librdkafka (2.16) gave up records by itself, an idempotent producer would raise its
epoch and send records of other partitions again that it had sent already without an answer. Under
a new epoch no broker knows them, so they are stored twice."""
_FETCH_BYTES = 64 << 10
"""Per partition; the broker still returns a first batch that is larger. librdkafka splits a fetch
into messages of about 400 bytes each at once, and records here have 30 bytes: at Kafka's default of
1 MB a consumer that reads four long logs held 140,000 of them, 60 MB, and its process 190 MB."""


def _config(settings: ClientSettings, client_id: str) -> Config:
    return {
        "bootstrap.servers": settings.bootstrap,
        "client.id": client_id,
        "socket.timeout.ms": settings.request_timeout_ms,
        "socket.connection.setup.timeout.ms": max(settings.request_timeout_ms, _CONNECT_MS_MIN),
        "topic.metadata.refresh.interval.ms": settings.metadata_max_age_ms,
        # As Kafka's own clients: librdkafka's 10 s would outlast many a fault.
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 1000,
    }


def producer_config(settings: ClientSettings, client_id: str) -> Config:
    config: Config = {
        **_config(settings, client_id),
        "acks": settings.acks,
        "enable.idempotence": settings.enable_idempotence,
        "message.timeout.ms": _BEYOND_OUR_PATIENCE * settings.delivery_timeout_ms,
        "request.timeout.ms": settings.request_timeout_ms,
        "linger.ms": settings.batching.linger_ms,
        "batch.size": settings.batching.batch_bytes,
        "compression.type": settings.batching.codec,
        "max.in.flight.requests.per.connection": _IN_FLIGHT_MAX,
    }
    partitioner = LIBRDKAFKA[settings.batching.partitioner]
    if partitioner != CUSTOM:
        config["partitioner"] = partitioner
    if settings.retries is not None:
        config["message.send.max.retries"] = settings.retries
    return {**config, **settings.producer_config}


def partitioner_name(settings: ClientSettings) -> str:
    """Ours is none of librdkafka's: the driver applies it, and names the partition."""
    config = producer_config(settings, "")
    return str(config.get("partitioner", CUSTOM))


def consumer_config(settings: ClientSettings, client_id: str) -> Config:
    return {
        **_config(settings, client_id),
        # Named, because librdkafka wants it; nothing is ever joined or committed.
        "group.id": client_id,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "allow.auto.create.topics": False,
        "auto.offset.reset": "earliest",
        "isolation.level": settings.isolation_level,
        "fetch.wait.max.ms": settings.poll_ms,
        "fetch.error.backoff.ms": 100,
        "queued.min.messages": 1000,
        "max.partition.fetch.bytes": _FETCH_BYTES,
        # By default it looks only once a second whether there is room for the next fetch.
        "fetch.queue.backoff.ms": 20,
        **settings.consumer_config,
    }


def admin_config(settings: ClientSettings, client_id: str) -> Config:
    return _config(settings, client_id)


def driver_error(error: KafkaError, *, harmless: bool = False) -> DriverError:
    return DriverError(error_name(error.code(), error.name()), error.str(), harmless=harmless)


def refused_config(client_id: str, error: Exception) -> EnvironmentFailure:
    said = error.args[0].str() if isinstance(error.args[0], KafkaError) else str(error)
    return EnvironmentFailure(f"client {client_id} cannot be made: {said}")
