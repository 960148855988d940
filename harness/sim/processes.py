"""A process on a simulated host that is no broker: a client, as a rule."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from harness.sim.lives import Life
from harness.sim.loop import SimulationError
from harness.sim.simulation import Simulation

_Result = TypeVar("_Result")


class SimProcess:
    """Begins its first life at once. What is started in it connects from its host."""

    def __init__(self, simulation: Simulation, host: str) -> None:
        self.host = host
        self._simulation = simulation
        simulation.network.host(host)
        self.life: Life | None = None
        self.begin()

    def begin(self) -> None:
        """A new life, after a kill."""
        if self.life is None:
            self.life = self._simulation.loop.begin_life(self.host)
            self._simulation.trace.emit("start", self.host, epoch=self.life.number)

    def start(self, work: Coroutine[Any, Any, _Result]) -> asyncio.Task[_Result]:
        """Whoever awaits the task waits for ever if the process is killed."""
        if self.life is None:
            work.close()
            raise SimulationError(f"{self.host} is down; begin a new life first")
        return self._simulation.loop.create_task(work, context=self.life.context())

    def kill(self) -> None:
        life, self.life = self.life, None
        if life is not None:
            row = self._simulation.trace.emit("crash", self.host, detail="kill")
            self._simulation.loop.crash(life)
            self._simulation.network.process_ended(life, row)

    def pause(self) -> None:
        if self.life is not None and not self.life.is_paused:
            self._simulation.trace.emit("pause", self.host)
            self._simulation.loop.pause(self.life)

    def resume(self) -> None:
        if self.life is not None and self.life.is_paused:
            self._simulation.trace.emit("resume", self.host)
            self._simulation.loop.resume(self.life)
