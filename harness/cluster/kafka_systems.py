"""The reference broker and Apache Kafka, made for a run: settings for quick failover, and installed
on the hosts of places that do not share our files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from harness.cluster.base import Place, System
from harness.cluster.server_properties import QUICK_FAILOVER, Settings

RACKS = ("rack1", "rack2", "rack3")
_QUICK = {
    "replica.lag.time.max.ms": "3000",
    "replica.socket.timeout.ms": "3000",
    "log.cleaner.backoff.ms": "1000",
    "group.initial.rebalance.delay.ms": "500",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "1000",
    "offsets.topic.num.partitions": "10",
}
"""Kafka's own half a minute would let most faults pass before any ISR shrinks, and have a follower
whose reply was lost wait for it just as long; its cleaner would sleep through most of them. Members
of groups whose client died are noticed after 6 s, the shortest session that classic groups have."""


def broker_settings(config: Mapping[str, str]) -> Settings:
    """Short time-outs, so that a minute sees many elections; the user's own properties win."""
    return replace(QUICK_FAILOVER, racks=RACKS).with_properties({**_QUICK, **config})


def reference(place: Place, config: Mapping[str, str]) -> System:
    return _made("reference", place, config, start_within_s=60)


def apache_kafka(place: Place, config: Mapping[str, str]) -> System:
    return _made("kafka", place, config, start_within_s=180)


def _made(name: str, place: Place, config: Mapping[str, str], *, start_within_s: float) -> System:
    from harness.cluster.apache_kafka import ApacheKafka
    from harness.cluster.reference_broker import ReferenceBroker
    from harness.cluster.ssh.place import SshPlace

    kind = ApacheKafka if name == "kafka" else ReferenceBroker
    settings = broker_settings(config)
    if isinstance(place, SshPlace):
        from harness.cluster.installing import INSTALLED_BROKER, Installer

        installer = Installer(place, place.python)
        return kind(
            place,
            settings,
            command=INSTALLED_BROKER,
            installer=installer.install,
            start_within_s=start_within_s,
        )
    return kind(place, settings, start_within_s=start_within_s)
