"""A run in which nobody read, or nothing was moved, says so."""

from __future__ import annotations

import json

import pytest

from broker.protocol.errors import ErrorCode
from harness.native.admin import Admin
from harness.schedule.schedule import Schedule
from harness.sim.nodes import SimCluster
from harness.sim.record import Record, Seen
from harness.sim.run import run_schedule
from harness.sim.simulation import Simulation
from harness.sim.totals import Totals


def totals(record: Record) -> Totals:
    with Simulation(1) as simulation:
        return Totals.of(record, simulation.trace, messages_cut=1, message_faults=1)


def test_who_reads_nothing_and_moves_nothing_has_zeros() -> None:
    idle = totals(Record(polls=9, failed_polls=9, moves=3, failed_moves=3))
    assert {"records_read", "records_read_from_followers", "moves"} <= set(idle.zeros())
    seen = [Seen(0, 0, "a", "r1", 1.0), Seen(0, 1, "b", "r1", 1.0)]
    busy = totals(Record(seen=seen, follower_reads=1, moves=3, failed_moves=1))
    assert (busy.records_read, busy.records_read_from_followers, busy.moves) == (2, 1, 2)


def schedule(*operations: dict[str, object]) -> Schedule:
    document = {"version": 1, "seed": 1, "nodes": 3, "operations": {"c1": list(operations)}}
    return Schedule.of_text(json.dumps(document))


SEND = {"at_ms": 4000, "do": "send", "partition": 0, "value": "a"}


def test_the_same_record_is_read_from_its_leader_and_from_its_followers() -> None:
    polls: list[dict[str, object]] = [
        {"at_ms": 6000, "do": "poll", "partition": 0, "node": node} for node in (1, 2, 3)
    ]
    ended = run_schedule(schedule(SEND, *polls))
    assert ended.totals.records_read == 3
    assert ended.totals.records_read_from_followers == 2


MOVES: list[dict[str, object]] = [
    {"at_ms": 5000, "do": "move", "partition": 0},
    {"at_ms": 6000, "do": "reassign", "partition": 0, "nodes": [3, 2, 1]},
]


def test_a_move_that_is_done_is_counted() -> None:
    assert run_schedule(schedule(SEND, *MOVES)).totals.moves == 2


@pytest.mark.parametrize("call", ["alter_partition_reassignments", "elect_leaders"])
def test_a_move_that_is_refused_is_not(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_: object) -> dict[tuple[str, int], ErrorCode]:
        return {("t", 0): ErrorCode.INVALID_REPLICA_ASSIGNMENT}

    monkeypatch.setattr(Admin, call, refused)
    expected = 0 if call == "alter_partition_reassignments" else 1
    assert run_schedule(schedule(SEND, *MOVES)).totals.moves == expected


def test_a_partition_with_one_replica_cannot_be_moved() -> None:
    document = json.loads(schedule(SEND, MOVES[0]).text())
    alone = Schedule.of_text(json.dumps({**document, "nodes": 1}))
    ended = run_schedule(alone)
    assert (ended.stopped, ended.totals.moves) == (None, 0)


def test_a_power_loss_is_one_whatever_it_cost() -> None:
    with Simulation(1) as simulation:
        emit = simulation.trace.emit
        emit("crash", "n1", detail="kill")
        emit("crash", "n1", offset=0, detail="power loss")
        emit("crash", "n2", offset=30, detail="power loss")
        emit("lost", "n2", offset=10, detail="t-0/00000000000000000000.log")
        emit("lost", "n2", offset=15, detail="__cluster_metadata-0/00000000000000000000.log")
        emit("lost", "n2", offset=5, detail="recovery-point-offset-checkpoint")
        counted = Totals.of(Record(), simulation.trace, messages_cut=0, message_faults=0)
    assert (counted.kills, counted.power_losses, counted.power_losses_that_lost_bytes) == (1, 2, 1)
    assert counted.record_bytes_lost == 10


def test_a_node_whose_files_grow_by_a_power_loss_has_lost_its_power() -> None:
    """A cut that was not synced is undone."""
    with Simulation(1) as simulation:
        node = SimCluster(simulation, 1)["n1"]
        [disk] = node.disks.values()

        async def main() -> None:
            file = await disk.create("a")
            file.append([b"abcdef"])
            await file.fdatasync()
            file.truncate(2)

        simulation.run(main(), deadline_s=10)
        assert node.power_loss(torn=False)
        counted = Totals.of(Record(), simulation.trace, messages_cut=0, message_faults=0)
        assert (counted.kills, counted.power_losses) == (0, 1)
