"""The log says of each request in which version it was, who answered, and with which errors."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.native.request_log import Asked, RequestLog
from tests.nodes import running_node
from tests.unit.harness.native.client_worlds import HASTY, client_of

_NS = 1_000_000_000


class Written:
    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.now_ns = 0
        self.log = RequestLog(lambda line: self.lines.append(json.loads(line)), lambda: self.now_ns)


def test_errors_have_lines_of_their_own_and_the_rest_is_counted_each_second() -> None:
    written = Written()
    asked = Asked("node 1 at a:1", ApiKey.PRODUCE, 9, 2, 0.004)
    for at in range(3):
        written.now_ns = at * _NS // 4
        written.log.answered(asked._replace(in_flight=at), m.ProduceResponse())
    assert written.lines == []
    part = m.PartitionProduceResponse(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    refused = m.ProduceResponse(responses=[m.TopicProduceResponse(partition_responses=[part])])
    written.log.answered(asked, refused)
    written.log.unanswered(asked, "closed")
    same = {"ns": _NS // 2, "node": "node 1 at a:1", "api": "PRODUCE", "version": 9}
    assert written.lines == [
        {**same, "in_flight": 2, "took_ms": 4.0, "errors": ["NOT_LEADER_OR_FOLLOWER"]},
        {**same, "in_flight": 2, "took_ms": 4.0, "unanswered": "closed"},
    ]
    written.now_ns = 2 * _NS
    written.log.answered(asked, m.ProduceResponse())
    counts = {"count": 4, "in_flight_max": 2, "took_ms_max": 4.0}
    assert written.lines[2:] == [{**same, "ns": 2 * _NS, **counts}]


async def test_a_client_logs_its_requests_and_the_leaders_it_learns_of() -> None:
    written = Written()
    settings = replace(HASTY, requests=written.log)
    async with running_node() as node, client_of(node.advertised, settings=settings) as client:
        await client.admin.create_topic("t")
        await client.producer().send("t", 0, b"x")
    leaders = [each for each in written.lines if each.get("leader_of") == "t-0"]
    assert [(each["node"], each["epoch"]) for each in leaders] == [(1, 0)]
    counted = {each["api"]: each for each in written.lines if "count" in each}
    assert counted["PRODUCE"]["version"] == 13
    assert counted["PRODUCE"]["in_flight_max"] == 1
    assert counted["CREATE_TOPICS"]["count"] == 1
