"""Rows and their causes, their digest, and their way through a file."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.sim import trace as trace_module
from harness.sim.simulation import Simulation
from harness.sim.trace import ABSENT, Trace


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    with Simulation(1) as simulation:
        yield simulation


def test_a_row_keeps_what_it_was_told(simulation: Simulation) -> None:
    trace = simulation.trace
    first = trace.emit("append", "n1", topic="t", partition=2, offset=17, epoch=3, detail="x")
    second = trace.emit("send", "n2", "n2>n1:9092#1", "Produce", 5, cause=first)
    assert (first, second) == (1, 2)
    row = trace.row(1)
    assert (row.kind, row.node, row.topic, row.partition, row.offset, row.epoch, row.detail) == (
        "append", "n1", "t", 2, 17, 3, "x",
    )  # fmt: skip
    assert row.correlation_id == ABSENT
    assert [each.id for each in trace.causes(second)] == [2, 1]
    assert str(trace.row(2)) == (
        "2 <- 1 0.000000000 n2 send connection=n2>n1:9092#1 api=Produce correlation_id=5"
    )
    with pytest.raises(IndexError, match="numbered from 1 to 2"):
        trace.row(3)


def test_causes_travel_with_tasks_and_timers(simulation: Simulation) -> None:
    trace, loop = simulation.trace, simulation.loop

    async def child() -> None:
        trace.emit("child", "n1")
        await asyncio.sleep(1)
        trace.emit("woken by a timer", "n1")
        trace.emit("by the same timer", "n1")

    async def waiter(event: asyncio.Event) -> None:
        await event.wait()
        trace.emit("woken by an event", "n2")

    async def main() -> None:
        event = asyncio.Event()
        waiting = asyncio.create_task(waiter(event))
        await asyncio.sleep(0)
        loop.cause = trace.emit("deed", "n1")
        await asyncio.create_task(child())
        loop.cause = trace.emit("other deed", "n1")
        event.set()
        await waiting

    simulation.run(main(), deadline_s=5)
    rows = {row.kind: row for row in trace.rows()}
    told = {kind: trace.row(row.cause).kind for kind, row in rows.items() if row.cause}
    assert told == {
        "child": "deed",
        "timer": "deed",
        "woken by a timer": "timer",
        "by the same timer": "timer",
        "other deed": "timer",
        "woken by an event": "other deed",
    }


def filled(simulation: Simulation, count: int) -> Trace:
    for number in range(count):
        simulation.trace.emit("append", f"n{number % 3}", topic="t", offset=number)
    return simulation.trace


def test_packing_changes_nothing(simulation: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = list(filled(simulation, 100).rows())
    monkeypatch.setattr(trace_module, "_ROWS_TOGETHER", 7)
    with Simulation(1) as other:
        packed = filled(other, 100)
        assert list(packed.rows()) == plain
        assert [packed.row(number) for number in range(1, 101)] == plain
        assert packed.columns().count == 100


def test_the_digest_sees_every_column(simulation: Simulation) -> None:
    seen = set()
    for fields in (
        {},
        {"topic": "u"},
        {"offset": 1},
        {"epoch": 1},
        {"partition": 1},
        {"detail": "d"},
        {"cause": 9},
    ):
        with Simulation(1) as other:
            filled(other, 10).emit("last", "n1", **fields)
            seen.add(other.trace.digest())
            assert other.trace.digest() in seen
    assert len(seen) == 7


def test_nothing_is_written_when_the_run_is_over() -> None:
    with Simulation(1) as simulation:
        filled(simulation, 3)
    assert simulation.trace.emit("late", "n1") == 0
    assert len(simulation.trace) == 3


def test_the_file_has_the_same_rows(simulation: Simulation, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from harness.sim.trace_file import read_trace, write_trace

    trace = filled(simulation, 20_000)
    trace.emit("send", "n1", "c", "Fetch", 7, cause=5)
    write_trace(trace, tmp_path / "trace.arrow")
    table = read_trace(tmp_path / "trace.arrow")
    assert table.column_names[:5] == ["id", "cause", "time_ns", "node", "kind"]
    told = table.to_pylist()
    assert len(told) == 20_001
    assert told[0]["correlation_id"] is None
    assert told[0]["api"] is None
    assert (told[123]["id"], told[123]["offset"], told[123]["node"]) == (124, 123, "n0")
    assert (told[-1]["api"], told[-1]["correlation_id"], told[-1]["cause"]) == ("Fetch", 7, 5)
    assert told[-1]["topic"] is None
