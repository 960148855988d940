"""A request can be followed in the log by the names that Kafka gives its parts."""

import logging

import pytest

from tests.nodes import create_topic, produce, running_node, wire
from tests.unit.broker.log.builders import batch


async def test_each_request_is_one_line_with_its_partition(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "broker.request")
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t", partitions=2)
        await produce(client, batch(b"x"), index=1)
    line = vars(caplog.records[-1])
    assert {name: line[name] for name in ("apiKey", "clientId", "correlationId")} == {
        "apiKey": 0,
        "clientId": "wire",
        "correlationId": 2,
    }
    assert (line["topic"], line["partition"], line["epoch"]) == ("t", 1, 0)
    assert line["latencyMs"] >= 0


async def test_nothing_is_written_when_nobody_asked(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "broker.request")
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t")
    assert [record for record in caplog.records if record.name == "broker.request"] == []
