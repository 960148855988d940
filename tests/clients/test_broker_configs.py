"""Our table of broker properties, row by row beside Apache Kafka's own definitions."""

from __future__ import annotations

import subprocess
from typing import NamedTuple

import pytest

from bench.apache_kafka import java_command
from broker.config.definitions import BROKER_PROPERTIES
from broker.config.property import Meaning
from broker.config.values import value_text
from tests.clients.java_speaker import HOME, SHORT_LIVED

pytestmark = [pytest.mark.clients, pytest.mark.java, pytest.mark.slow]


class Row(NamedTuple):
    kind: str
    update: str
    default: str | None


# Where this broker differs on purpose; why is said beside each property in the table.
OTHER_DEFAULTS = {
    "auto.create.topics.enable",
    "controller.quorum.fetch.max.bytes",
    "controller.quorum.fetch.snapshot.max.bytes",
    "socket.listen.backlog.size",
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
}
READ_ONLY_HERE = {"listeners", "listener.security.protocol.map"}  # listeners stay while it runs
REFUSED_HERE = {"authorizer.class.name"}


def rows_of_kafka() -> dict[str, Row]:
    """Without the ones that Kafka calls internal and hides from DescribeConfigs."""
    done = subprocess.run(
        java_command(str(HOME / "BrokerConfigs.java"), [], SHORT_LIVED),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    rows = {}
    for line in done.stdout.splitlines():
        name, kind, update, is_internal, default = line.split("\t")
        if is_internal == "false":
            rows[name] = Row(kind, update, default[1:] if default[0] == "=" else None)
    return rows


def test_every_property_has_kafkas_type_default_and_update_mode() -> None:
    kafka = rows_of_kafka()
    assert len(kafka) > 300
    ours = {
        known.name: Row(known.kind.name, known.update.value, value_text(known.default))
        for known in BROKER_PROPERTIES.values()
        if known.meaning is not Meaning.REFUSED
    }
    assert {name for name in kafka if name not in ours} == REFUSED_HERE
    differing = {
        name: (row, ours[name]) for name, row in kafka.items() if name in ours and ours[name] != row
    }
    assert set(differing) == OTHER_DEFAULTS | READ_ONLY_HERE
    for name in OTHER_DEFAULTS:
        assert ours[name]._replace(default=kafka[name].default) == kafka[name]
    for name in READ_ONLY_HERE:
        assert ours[name]._replace(update="per-broker") == kafka[name]
