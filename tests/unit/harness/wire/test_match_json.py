"""Faults go to JSON and come back; what is wrong in a file is told with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from broker.protocol.errors import ErrorCode
from harness.wire.match import (
    Delay,
    Drop,
    Duplicate,
    Matcher,
    MessageFault,
    MessageFaultError,
    ReplaceByError,
)
from harness.wire.match_json import fault_from_json, fault_to_json, faults_from_json, faults_to_json

FAULTS = [
    MessageFault("late", Matcher(api="EndTxn", transactional_id="tx-7", nth=3), Delay(2.5)),
    MessageFault("lost", Matcher(api="Produce", direction="reply", topic="t", partition=0), Drop()),
    MessageFault("twice", Matcher(source="n2", target="n1", client_id="c"), Duplicate(0.5), 4),
    MessageFault(
        "told wrongly",
        Matcher(group="g", node="n1"),
        ReplaceByError(ErrorCode.NOT_COORDINATOR),
        times=None,
    ),
    MessageFault("commit", Matcher(api="EndTxn", committed=False), Delay(2.5)),
    MessageFault("either", Matcher(api=("Heartbeat", "ConsumerGroupHeartbeat"), nth=2), Drop()),
]


def test_every_fault_survives_the_journey() -> None:
    written = json.dumps(faults_to_json(FAULTS))
    assert faults_from_json(json.loads(written)) == FAULTS


def test_the_form_is_what_a_person_would_write() -> None:
    assert fault_to_json(FAULTS[0]) == {
        "name": "late",
        "match": {"api": "EndTxn", "transactional_id": "tx-7", "nth": 3},
        "action": {"kind": "delay", "seconds": 2.5},
        "times": 1,
    }
    assert fault_to_json(FAULTS[3])["action"] == {"kind": "error", "code": "NOT_COORDINATOR"}


def test_match_and_times_may_be_left_out() -> None:
    assert fault_from_json({"name": "f", "action": {"kind": "drop"}}) == MessageFault(
        "f", Matcher(), Drop()
    )


def fault(**changes: Any) -> dict[str, Any]:
    return {"name": "f", "match": {}, "action": {"kind": "drop"}} | changes


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({}, r"message faults are no list; put them in \[ \]"),
        ([1], "message fault 1: 1 is no object"),
        ([fault(), {"action": {"kind": "drop"}}], "message fault 2: name is None"),
        ([fault(), fault()], "message fault 2: the name 'f' is taken"),
        ([fault(tiems=2)], "message fault 1: unknown field 'tiems'; known are name, match"),
        ([fault(times="2")], "message fault 1 'f': times is '2'; it takes a whole number"),
        ([fault(match={"api": "Prodcue"})], "'f', match: no api is called 'Prodcue'; did you mean"),
        ([fault(match={"api": True})], "'f', match: api is True"),
        ([fault(match={"topik": "t"})], "'f', match: unknown field 'topik'; known are api"),
        ([fault(match={"topic": 3})], "'f', match: topic is 3; it takes a string"),
        ([fault(match={"nth": "3"})], "'f', match: nth is '3'; it takes a whole number"),
        ([fault(match={"api": "EndTxn", "committed": 1})], "committed is 1; it takes true or fa"),
        ([fault(match={"nth": 0})], "'f', match: nth is 0; the first"),
        ([fault(action={"kind": "explode"})], "'f', action: no action is called 'explode'; try"),
        ([fault(action="drop")], "'f', action: no action is called 'drop'"),
        ([fault(action={"kind": "delay"})], "'f', action: seconds is None; it takes seconds"),
        ([fault(action={"kind": "delay", "seconds": -1})], "'f', action: a delay is -1.0 s"),
        ([fault(action={"kind": "drop", "seconds": 1})], "'f', action: unknown field 'seconds'"),
        (
            [fault(action={"kind": "error", "code": "NOT_CORDINATOR"})],
            "'f', action: Kafka has no error 'NOT_CORDINATOR'; did you mean NOT_COORDINATOR?",
        ),
        ([fault(action={"kind": "error", "code": 9999})], "Kafka has no error 9999"),
        (
            [fault(match={"direction": "reply"}, action={"kind": "duplicate", "after_s": 1})],
            "message fault 1 'f': a reply cannot be duplicated",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(data: Any, told: str) -> None:
    with pytest.raises(MessageFaultError, match=told):
        faults_from_json(data)


def test_an_error_may_be_given_by_its_number() -> None:
    read = fault_from_json(fault(action={"kind": "error", "code": 16}))
    assert read.action == ReplaceByError(ErrorCode.NOT_COORDINATOR)
