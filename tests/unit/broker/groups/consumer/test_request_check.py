"""Requests that are wrong by themselves, and what Apache Kafka 4.3.1 was recorded to answer."""

from __future__ import annotations

from typing import Any

import pytest

from broker.protocol.errors import ErrorCode
from tests.unit.broker.groups.consumer.desk import Desk

JOIN: dict[str, Any] = {
    "owned": {},
    "rebalance_timeout_ms": 60_000,
    "subscribed_topic_names": ["t"],
}
INVALID = ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("fields", "code", "message"),
    [
        ({"group": ""}, INVALID, "GroupId can't be empty."),
        ({"member_id": ""}, INVALID, "MemberId can't be empty."),
        ({"member_id": "", "epoch": 1, "version": 0}, INVALID, "MemberId can't be empty."),
        ({"member_id": "", "epoch": -1, "version": 0}, INVALID, "MemberId can't be empty."),
        ({"instance_id": ""}, INVALID, "InstanceId can't be empty."),
        ({"rack_id": ""}, INVALID, "RackId can't be empty."),
        ({"rebalance_timeout_ms": -1}, INVALID, "RebalanceTimeoutMs must be provided"),
        ({"owned": None}, INVALID, "TopicPartitions must be empty"),
        ({"owned": {"t": [0]}}, INVALID, "TopicPartitions must be empty"),
        ({"subscribed_topic_names": None}, INVALID, "Either SubscribedTopicNames or"),
        ({"epoch": -3}, INVALID, "MemberEpoch is invalid."),
        ({"epoch": -2}, INVALID, "InstanceId can't be null."),
        ({"server_assignor": "sticky"}, ErrorCode.UNSUPPORTED_ASSIGNOR, "uniform, range"),
        ({"server_assignor": ""}, ErrorCode.UNSUPPORTED_ASSIGNOR, "uniform, range"),
    ],
)
def test_a_wrong_request_is_answered_as_by_kafka(
    fields: dict[str, Any], code: ErrorCode, message: str
) -> None:
    desk = Desk(t=1)
    response = desk.beat(**{"member_id": "m", "epoch": 0, **JOIN, **fields})
    assert (response.error_code, response.member_epoch, response.member_id) == (code, 0, None)
    assert response.heartbeat_interval_ms == 0
    assert message in (response.error_message or "")
    assert desk.log == []


def test_version_0_gets_its_member_id_from_the_broker() -> None:
    response = Desk(t=1).beat("", 0, version=0, **JOIN)
    assert (response.error_code, response.member_id) == (ErrorCode.NONE, "id1")


def test_a_rebalance_timeout_of_zero_is_allowed() -> None:
    response = Desk(t=1).beat("m", 0, **(JOIN | {"rebalance_timeout_ms": 0}))
    assert response.error_code == ErrorCode.NONE
