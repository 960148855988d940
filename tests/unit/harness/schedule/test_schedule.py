"""A schedule goes through its file unchanged, and a wrong one is refused with a useful sentence."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broker.protocol.errors import ErrorCode
from harness.decisions import Override
from harness.schedule import schedule
from harness.schedule.crash_points import CrashPoint
from harness.schedule.faults import (
    CLIENTS,
    FAULTS,
    BitFlip,
    BrokerLeaves,
    ClockJump,
    ClockSkew,
    ClockStrobe,
    CompactNow,
    Cut,
    DeleteRecords,
    DiskError,
    DiskFull,
    DiskReadOnly,
    DiskSlow,
    IdleClient,
    Kill,
    KillClient,
    MoveLeader,
    Pause,
    PauseClient,
    PowerLoss,
    RollingRestart,
    ShapeLinks,
    SlowLinks,
    Stop,
    TamperMessages,
    TruncatedTail,
    both_ways,
    kind_of,
)
from harness.schedule.schedule import Operation, Schedule, ScheduleError
from harness.wire.match import Delay, Drop, Matcher, MessageFault, ReplaceByError

FULL = Schedule(
    seed=7,
    nodes=3,
    length_ms=20_000.0,
    properties={"broker.session.timeout.ms": "1500"},
    operations={
        "c1": (
            Operation(at_ms=10.5, do="send", arguments={"topic": "t", "partition": 0, "value": 1}),
            Operation(at_ms=20.0, do="poll"),
        ),
        "c2": (),
    },
    faults=(
        Kill(name="f1", at_ms=1000.0, for_ms=500.0, node="n1"),
        PowerLoss(name="f2", at_ms=1000.0, node="n2", torn=False),
        Pause(name="f3", at_ms=2000.0, for_ms=1.5, node="n3"),
        Stop(name="f3s", at_ms=2000.0, for_ms=1.5, node="n3"),
        Cut(name="f4", at_ms=3000.0, for_ms=1.0, links=both_ways(("n1", "n2"), ("c1", "n3"))),
        SlowLinks(name="f5", at_ms=1.0, links=(("n1", "n2"),), factor=10.0, bytes_per_s=1e5),
        ClockJump(name="f6", at_ms=1.0, node="n1", by_ms=-5000.0),
        ClockSkew(name="f7", at_ms=1.0, node="n1", rate=1.01),
        DiskFull(name="f8", at_ms=1.0, node="n1", spare_bytes=100),
        DiskSlow(name="f9", at_ms=1.0, node="n1", extra_ms=20.0, operation="fdatasync"),
        DiskError(name="f10", at_ms=1.0, node="n1", error="ENOSPC", path="*.log"),
        ShapeLinks(name="f11", at_ms=1.0, links=((CLIENTS, "n2"),), loss=0.2, jitter_ms=5.0),
        ClockStrobe(name="f12", at_ms=1.0, node="n1", by_ms=500.0, period_ms=20.0),
        DiskReadOnly(name="f13", at_ms=1.0, node="n1"),
        BitFlip(name="f14", at_ms=1.0, node="n1", draw=0.25),
        TruncatedTail(name="f15", at_ms=1.0, node="n1", draw=0.75),
        RollingRestart(name="f16", at_ms=1.0, nodes=("n1", "n3")),
        MoveLeader(name="f17", at_ms=1.0, topic="t", partition=2, replicas=("n2", "n1")),
        BrokerLeaves(
            name="f18", at_ms=1.0, node="n1", before=(("t-0", "n1 n2"),), after=(("t-0", "n2"),)
        ),
        CompactNow(name="f19", at_ms=1.0, topic="t"),
        DeleteRecords(name="f20", at_ms=1.0, topic="t", before={"0": 12}),
        TamperMessages(
            name="f21", at_ms=1.0, match={"api": "Produce", "nth": 3}, action={"kind": "drop"}
        ),
        KillClient(name="f22", at_ms=1.0, for_ms=500.0, client="c1"),
        PauseClient(name="f23", at_ms=1.0, for_ms=500.0, client="c2"),
        IdleClient(name="f24", at_ms=1.0, for_ms=500.0, client="c3", leaves=True),
    ),
    message_faults=(
        MessageFault("late", Matcher(api="Fetch", node="n1", nth=3), Delay(2.5)),
        MessageFault("lost", Matcher(api="Produce", direction="reply"), Drop(), 2),
        MessageFault(
            "wrong", Matcher(api="Produce"), ReplaceByError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        ),
    ),
    crash_points=(CrashPoint(node="n2", operation="replace", nth=4, when="after", for_ms=10.0),),
    overrides=(Override("request_delay", "n1>n2:9092#1", 17, 0.99),),
)


def test_a_schedule_goes_through_its_file_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "schedule.json"
    FULL.save(path)
    assert Schedule.load(path) == FULL
    assert {kind_of(fault) for fault in FULL.faults} == set(FAULTS)


def test_an_empty_schedule_is_a_seed() -> None:
    assert Schedule.of_text('{"version": 1, "seed": 5}') == Schedule(seed=5)
    assert Schedule.of_text(Schedule(seed=5).text()) == Schedule(seed=5)


def test_taking_out_an_entry_takes_out_a_line() -> None:
    shorter = replace(FULL, faults=FULL.faults[1:])
    full, less = (schedule.text().splitlines() for schedule in (FULL, shorter))
    assert [line for line in full if line not in less] == [
        '    {"kind": "kill", "name": "f1", "at_ms": 1000.0, "for_ms": 500.0, "node": "n1"},'
    ]


def changed(**parts: Any) -> str:
    return json.dumps({**json.loads(FULL.text()), **parts})


KILL = {"kind": "kill", "name": "f1", "at_ms": 1, "node": "n1"}
RESTART = {"kind": "rolling_restart", "name": "f1", "at_ms": 1}
TAMPER = {"kind": "tamper_messages", "name": "f1", "at_ms": 1, "action": {}}
POINT = {"node": "n1", "operation": "fdatasync", "nth": 1}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "line 1, column 2: no JSON"),
        ("[]", "the schedule: [] is no object; put it in { }"),
        (changed(version=2), "version is 2; this program reads version 1"),
        (changed(seed="x"), 'seed: "x" does not fit; it takes a whole number'),
        (changed(sead=1), "the schedule: unknown field 'sead'; did you mean seed?"),
        ('{"version": 1}', "seed is missing"),
        (changed(properties={"a": 1}), "properties, a: 1 is no string; put it in quotes"),
        (changed(faults={}), "faults: {} is no list; put its entries in [ ]"),
        (changed(faults=[{"kind": "kil"}]), "fault 1: no fault is a 'kil'; try one of kill, "),
        (changed(faults=[{**KILL, "nod": 1}]), "unknown field 'nod'; did you mean node?"),
        (changed(faults=[{**KILL, "at_ms": True}]), "fault 1: at_ms: true does not fit"),
        (changed(faults=[{**KILL, "node": "n9"}]), "fault 'f1': there is no 'n9'; known are n1"),
        (changed(faults=[KILL, KILL]), "fault 'f1': the name is taken; give each fault its own"),
        (
            changed(faults=[{"kind": "kill", "name": "f", "node": "n1"}]),
            "fault 1: at_ms is missing",
        ),
        (
            changed(faults=[{"kind": "cut", "name": "f", "at_ms": 1, "links": [["n1"]]}]),
            'fault 1: links: [["n1"]] does not fit; it takes pairs such as [["n1", "n2"]]',
        ),
        (
            changed(faults=[{**KILL, "kind": "disk_error", "error": "EOOPS"}]),
            "fault 'f1': no error is called 'EOOPS'; try EIO or ENOSPC",
        ),
        (
            changed(faults=[{**RESTART, "nodes": ["n1", "n7"]}]),
            "fault 'f1': there is no 'n7'; known are n1",
        ),
        (
            changed(faults=[{**RESTART, "nodes": "n1"}]),
            'fault 1: nodes: "n1" does not fit; it takes names such as ["n1", "n2"]',
        ),
        (
            changed(faults=[{**TAMPER, "match": 7}]),
            "fault 1: match: 7 is no object; put it in { }",
        ),
        (changed(crash_points=[{**POINT, "nth": 0}]), "crash point 1: nth is 0; the first is"),
        (
            changed(crash_points=[{**POINT, "operation": "list"}]),
            "crash point 1: nothing crashes at 'list'; try one of fdatasync",
        ),
        (
            changed(crash_points=[{**POINT, "when": "during"}]),
            'crash point 1: when: "during" is no choice; try one of before, after',
        ),
        (changed(overrides=[{"purpose": "x"}]), "override 1: name is missing"),
        (changed(operations=[]), "operations: [] is no object"),
        (changed(operations={"c1": [{"do": "send"}]}), "operations of c1, 1: at_ms is missing"),
        (changed(message_faults=[{"name": "x"}]), "message fault 1"),
    ],
)
def test_a_wrong_schedule_is_refused_with_what_where_and_what_to_try(
    text: str, sentence: str
) -> None:
    with pytest.raises(ScheduleError) as refused:
        Schedule.of_text(text)
    assert sentence in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScheduleError, match=r"missing\.json: No such file"):
        Schedule.load(tmp_path / "missing.json")


def test_a_file_without_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "FILE_BYTES_MAX", 1000)
    with pytest.raises(ScheduleError, match="/dev/zero: no schedule has more than 1,000"):
        Schedule.load(Path("/dev/zero"))
