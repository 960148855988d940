"""Operations of a schedule are looked at before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.schedule.schedule import Schedule, ScheduleError
from harness.sim.operation_forms import FORMS, check_operations
from harness.sim.run import draw_schedule, run_schedule

REFERENCE = Path(__file__).parents[4] / "docs/reference/schedule.md"


def schedule(*operations: dict[str, Any]) -> Schedule:
    document = {"version": 1, "seed": 1, "nodes": 3, "operations": {"c1": list(operations)}}
    return Schedule.of_text(json.dumps(document))


@pytest.mark.parametrize(
    ("operation", "sentence"),
    [
        ({"do": "fetch"}, "no client can 'fetch'; try one of send, poll, commit, move, reassign"),
        ({"do": "send", "value": "a"}, "operations of c1, 1: partition is missing"),
        ({"do": "send", "partition": 0, "value": 1}, "value: 1 does not fit; it takes a string"),
        ({"do": "send", "partition": -1, "value": "a"}, "partition is -1; they are counted from"),
        ({"do": "send", "partition": 0, "topic": "t", "value": "a"}, "unknown field 'topic'"),
        ({"do": "poll", "partition": 0, "node": 4}, "there is no node 4; known are 1 to 3"),
        ({"do": "poll", "partition": 0, "node": "n1"}, "it takes a whole number"),
        (
            {"do": "reassign", "partition": 0, "nodes": 1},
            "nodes: 1 does not fit; it takes numbers in",
        ),
        ({"do": "reassign", "partition": 0, "nodes": [0]}, "there is no node 0"),
        ({"do": "reassign", "partition": 0, "nodes": [1, 1]}, "name each node once"),
        ({"do": "move", "partition": 0, "replica": -1}, "replica is -1; try 0"),
        ({"do": "commit", "partition": 0, "offset": -1}, "offset is -1; they are counted from 0"),
        (
            {"do": "join", "group": "g", "strategy": "x"},
            "unknown strategy 'x'; choose one of range",
        ),
        ({"do": "stall", "for_ms": -1.0}, "for_ms is -1.0; try 1000"),
        ({"do": "move_coordinator", "replica": -1}, "replica is -1; try 0"),
    ],
)
def test_a_wrong_operation_is_refused_by_what_is_wrong(
    operation: dict[str, Any], sentence: str
) -> None:
    wrong = schedule({"at_ms": 1000, **operation})
    with pytest.raises(ScheduleError) as refused:
        run_schedule(wrong)
    assert sentence in str(refused.value)


def test_a_value_is_sent_once() -> None:
    send = {"at_ms": 1000, "do": "send", "partition": 0, "value": "a"}
    with pytest.raises(ScheduleError, match="operations of c1, 2: 'a' is sent before"):
        check_operations(schedule(send, send))


def test_what_is_drawn_is_right() -> None:
    drawn = draw_schedule(3, groups=True, transactions=True)
    check_operations(drawn)
    used = {each.do for operations in drawn.operations.values() for each in operations}
    assert used == set(FORMS)


def test_the_reference_shows_a_schedule_that_can_be_played() -> None:
    text = REFERENCE.read_text().split("```json")[1].split("```")[0]
    ended = run_schedule(Schedule.of_text(text))
    assert (ended.broken, ended.stopped, ended.problems) == (None, None, [])
    assert all(f"| `{word}` |" in REFERENCE.read_text() for word in FORMS)


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_file_with_little_in_it_can_be_played(nodes: int) -> None:
    ended = run_schedule(Schedule.of_text(f'{{"version": 1, "seed": 1, "nodes": {nodes}}}'))
    assert (ended.broken, ended.stopped, ended.problems) == (None, None, [])


def test_a_partition_beyond_the_usual_ones_is_there_and_read_back() -> None:
    sends = [
        {"at_ms": 4000 + number, "do": "send", "partition": number, "value": f"{number}"}
        for number in (0, 5)
    ]
    ended = run_schedule(schedule(*sends))
    assert (ended.broken, ended.stopped, ended.problems) == (None, None, [])
    assert ended.totals.acknowledged_writes == 2 + 6


def test_a_fault_after_the_last_send_is_no_reason_to_call_the_cluster_gone() -> None:
    text = schedule({"at_ms": 4000, "do": "send", "partition": 0, "value": "a"}).text()
    document = json.loads(text)
    kill = {"kind": "kill", "name": "f", "at_ms": 6000, "for_ms": 500, "node": "n1"}
    ended = run_schedule(Schedule.of_text(json.dumps({**document, "faults": [kill]})))
    assert ended.first_ack_s is not None
