"""A schedule that no run can follow is refused with what is wrong with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.schedule.schedule import Schedule, ScheduleError

SLOW = {"kind": "slow_links", "name": "f", "at_ms": 1, "links": [["n1", "n2"]]}
KILL = {"kind": "kill", "name": "f", "at_ms": 1, "node": "n1"}
OVERRIDE = {"purpose": "tie", "name": "n1", "ordinal": 0, "value": 0.5}
DROP = {"name": "m", "match": {"api": "Fetch"}, "action": {"kind": "drop"}}
SHAPE = {"kind": "shape_links", "name": "f", "at_ms": 1, "links": [["n1", "n2"]]}


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"nodes": 0}, "nodes is 0; try 1"),
        ({"nodes": -1}, "nodes is -1; try 1"),
        ({"length_ms": 0}, "length_ms is 0"),
        ({"operations": {"n1": []}}, "'n1' is no name for a client"),
        ({"operations": {"n9": []}}, "'n9' is no name for a client"),
        ({"operations": {"judge": []}}, "'judge' is no name for a client"),
        ({"operations": {"c1": [{"at_ms": -1, "do": "send"}]}}, "operations of c1, 1: at_ms is -1"),
        ({"faults": [{**KILL, "at_ms": -1}]}, "fault 'f': at_ms is -1; it cannot be less than 0"),
        ({"faults": [{**KILL, "for_ms": -1}]}, "fault 'f': for_ms is -1"),
        ({"faults": [{**SLOW, "bytes_per_s": 0}]}, "fault 'f': bytes_per_s is 0; it must be more"),
        ({"faults": [{**SLOW, "bytes_per_s": -5}]}, "fault 'f': bytes_per_s is -5"),
        ({"faults": [{**SLOW, "factor": 0}]}, "fault 'f': factor is 0"),
        ({"faults": [{**SHAPE, "loss": 1.5}]}, "loss is 1.5; it is a share, so 1 is all of them"),
        (
            {"crash_points": [{"node": "n1", "operation": "delete", "nth": 1, "for_ms": -2}]},
            "crash point 1: for_ms is -2",
        ),
        ({"overrides": [{**OVERRIDE, "value": 1}]}, "override 1: value is 1; it lies in [0, 1)"),
        ({"overrides": [{**OVERRIDE, "value": -0.1}]}, "override 1: value is -0.1"),
        ({"overrides": [{**OVERRIDE, "ordinal": -1}]}, "override 1: ordinal is -1"),
        (
            {"message_faults": [{**DROP, "match": {"node": "n7"}}]},
            "message fault 'm': node is 'n7'; known are n1, n2, n3, judge",
        ),
        ({"message_faults": [{**DROP, "match": {"source": "c2"}}]}, "source is 'c2'"),
        ({"message_faults": [{**DROP, "match": {"target": ""}}]}, "target is ''"),
        ({"faults": [{"kind": []}]}, "fault 1: no fault is a []"),
    ],
)
def test_what_no_run_can_follow_is_refused(parts: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        Schedule.of_text(json.dumps({"version": 1, "seed": 1, "nodes": 3, **parts}))
    assert sentence in str(refused.value)


def test_the_judge_can_be_named_where_messages_are() -> None:
    document = {"version": 1, "seed": 1, "message_faults": [{**DROP, "match": {"node": "judge"}}]}
    Schedule.of_text(json.dumps(document))
