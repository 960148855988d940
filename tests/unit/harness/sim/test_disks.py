"""Crash points meet the operation that they name, also after operations that came to nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest

from broker.disk.memory import MemoryDisk
from harness.schedule.crash_points import CrashPoint
from harness.sim.disks import DiskPoints
from harness.sim.simulation import Simulation


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    with Simulation(1) as simulation:
        yield simulation


class Machine:
    """One disk with crash points. Whoever meets one never goes on."""

    def __init__(self, simulation: Simulation, *points: CrashPoint) -> None:
        self.simulation = simulation
        self.disk = MemoryDisk()
        self.crashes: list[CrashPoint] = []
        self.points = DiskPoints(
            simulation.loop,
            simulation.trace,
            "n1",
            crash_points=points,
            crash=self._crash,
        )
        self.disk.before, self.disk.after = self.points.before, self.points.after

    def _crash(self, point: CrashPoint) -> None:
        self.crashes.append(point)
        self.disk.process_crash()

    async def sync(self, path: str) -> None:
        file = await self.disk.open(path)
        file.append([b"x"])
        await file.fdatasync()

    def numbers(self) -> list[tuple[str, int]]:
        return [
            (row.kind, row.offset)
            for row in self.simulation.trace.rows()
            if row.kind in ("fsync", "replace")
        ]


async def never_comes_back(work: Coroutine[Any, Any, None]) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(work, 1.0)


def point(operation: str, nth: int, when: str = "before") -> CrashPoint:
    return CrashPoint(node="n1", operation=operation, nth=nth, when=when, how="kill")  # type: ignore[arg-type]


def test_numbers_go_on_after_an_operation_that_a_crash_cut_short(simulation: Simulation) -> None:
    machine = Machine(simulation, point("fdatasync", 2), point("fdatasync", 4, "after"))

    async def main() -> None:
        await machine.disk.create("a")
        await machine.sync("a")
        await never_comes_back(machine.sync("a"))
        await machine.sync("a")
        await never_comes_back(machine.sync("a"))
        await machine.sync("a")

    simulation.run(main(), deadline_s=100)
    assert [each.nth for each in machine.crashes] == [2, 4]
    # The second never took effect.
    assert machine.numbers() == [("fsync", 1), ("fsync", 3), ("fsync", 4), ("fsync", 5)]


def test_a_replacement_syncs_what_it_wrote_and_can_crash_right_after_that(
    simulation: Simulation,
) -> None:
    machine = Machine(simulation, point("fdatasync", 2, "after"))

    async def main() -> None:
        await machine.disk.replace("a", b"old")
        await never_comes_back(machine.disk.replace("a", b"new"))
        machine.disk.before = machine.disk.after = None
        machine.disk.power_loss()
        assert await machine.disk.read("a") == b"old"

    simulation.run(main(), deadline_s=100)
    assert machine.numbers() == [("fsync", 1), ("replace", 1), ("fsync", 2)]
    assert machine.points.unmet == ()


def test_a_point_that_nothing_met_is_told(simulation: Simulation) -> None:
    met, unmet = point("fdatasync", 1), point("fdatasync", 9, "after")
    machine = Machine(simulation, met, unmet)

    async def main() -> None:
        await machine.disk.create("a")
        await never_comes_back(machine.sync("a"))

    simulation.run(main(), deadline_s=100)
    assert machine.points.unmet == (unmet,)
