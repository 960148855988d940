"""Clients as processes of simulated hosts, each on one of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from harness.client.base import Client, ClientSettings
from harness.history.op import BACKGROUND, OpType
from harness.run.clients import Clients, Tried, Unsettled, tried_by_all, unsettled
from harness.run.life import Life
from harness.run.plan import Plan
from harness.run.tally import Tally
from harness.run.workload import workload_of
from harness.sim.processes import SimProcess
from harness.sim.sim_client import SimClient
from harness.sim.simulation import Simulation

_NS = 1_000_000_000

_Result = TypeVar("_Result")


class SimLifeClock:
    def __init__(self, simulation: Simulation) -> None:
        self._loop = simulation.loop

    def now_ns(self) -> int:
        return self._loop.now_ns

    async def sleep_until_ns(self, moment_ns: int) -> None:
        await asyncio.sleep(max(0, moment_ns - self._loop.now_ns) / _NS)


class _Seat:
    """One client: its host, and the life that is lived there now."""

    def __init__(
        self, number: int, host: SimProcess, tally: Tally, make_life: Callable[[_Seat], Life]
    ) -> None:
        self.host = host
        self.process = number
        """Of its last invocation."""
        self.invocations = 0
        self.ordinal = 0
        self._tally = tally
        self._make_life = make_life
        self.life = make_life(self)
        self.is_new = False
        """Took the place of another, and has not opened its client yet."""
        self.change = asyncio.Event()
        """Set by every end and every beginning of a process, and by the wish to stop."""

    @property
    def is_running(self) -> bool:
        return self.host.life is not None

    def emit(
        self,
        time_ns: int,
        process: int,
        type_: OpType,
        f: str,
        value: Any,
        error: str | None,
        node: str | None,
        timestamps: list[Any] | None,
    ) -> None:
        if type_ == "invoke" and process < BACKGROUND:
            self.process = process
            self.invocations += 1
        self._tally.row(time_ns, process, type_, f, value, error, node, timestamps)

    def kill(self, now_ns: int) -> None:
        self.host.kill()
        if not self.is_running:
            self._tally.abandon(now_ns, self.process, "the client's process ended")
            self.change.set()

    def begin(self, clients: int) -> None:
        """As another process, with operations nobody has done yet."""
        self.host.begin()
        self.process += clients
        # Openings count as invocations as well, so this is beyond every ordinal that was used.
        self.invocations += 1
        self.ordinal = self.invocations
        self.life = self._make_life(self)
        self.is_new = True
        self.change.set()


class SimClients:
    deaths = 0
    doubts = ()

    def __init__(
        self, plan: Plan, simulation: Simulation, settings: ClientSettings, tally: Tally
    ) -> None:
        self._plan = plan
        self._clock = SimLifeClock(simulation)
        self._is_stopped = False
        self.is_over = False
        workload = workload_of(plan)

        def made(number: int) -> _Seat:
            host = SimProcess(simulation, f"c{number + 1}")
            of_this_one = replace(settings, batching=workload.batching(number))

            def client_of(process: int) -> Client:
                return SimClient(simulation, host.host, of_this_one, f"{host.host}-{process}")

            def life_of(seat: _Seat) -> Life:
                return Life(
                    number,
                    plan.concurrency,
                    workload,
                    client_of,
                    self._clock,
                    seat.emit,
                    process=seat.process,
                    ordinal=seat.ordinal,
                    on_traffic=lambda counted: tally.add_traffic(number, counted),
                )

            return _Seat(number, host, tally, life_of)

        self._seats = {f"c{number + 1}": made(number) for number in range(plan.concurrency)}

    async def open(self) -> None:
        await self._each(_only_open)

    async def load(self, for_s: float) -> None:
        plan, now_ns = self._plan, self._clock.now_ns()
        # Endless speed has no meaning where time does not pass by itself.
        interval_ns = int(plan.concurrency / (plan.rate or 1000.0) * _NS)
        end_ns = now_ns + int(for_s * _NS)
        await self._each(lambda life: life.load(now_ns, end_ns, interval_ns))

    async def probe(self, keys: Sequence[str], within_s: float) -> Mapping[str, Tried]:
        begin_ns, within_ns = self._clock.now_ns(), int(within_s * _NS)
        await self._start_all()
        found = await self._each(lambda life: life.probe(keys, begin_ns, within_ns))
        return tried_by_all([each for each in found if each is not None], keys)

    async def drain(self, ends: Mapping[str, int], within_s: float) -> Unsettled:
        deadline_ns = self._clock.now_ns() + int(within_s * _NS)
        await self._start_all()
        left = await self._each(lambda life: life.drain(ends, deadline_ns))
        return unsettled([each for each in left if each is not None], ends)

    def stop(self) -> None:
        self._is_stopped = True
        for seat in self._seats.values():
            seat.life.stop()
            seat.change.set()

    async def close(self) -> None:
        self.is_over = True
        for seat in self._seats.values():
            seat.host.kill()

    @property
    def names(self) -> Sequence[str]:
        return list(self._seats)

    def process(self, client: str) -> str:
        return f"process {self._seats[client].process}"

    async def kill(self, client: str) -> None:
        self._seats[client].kill(self._clock.now_ns())

    async def start(self, client: str) -> None:
        seat = self._seats[client]
        if not seat.is_running and not self.is_over:
            seat.begin(self._plan.concurrency)

    async def _start_all(self) -> None:
        for name in self._seats:
            await self.start(name)

    async def pause(self, client: str) -> None:
        self._seats[client].host.pause()

    async def resume(self, client: str) -> None:
        self._seats[client].host.resume()

    async def idle(self, client: str, *, leaves: bool) -> None:
        self._seats[client].life.idle(leaves=leaves)

    async def wake(self, client: str) -> None:
        self._seats[client].life.wake()

    async def is_idle(self, client: str) -> bool:
        seat = self._seats[client]
        return seat.is_running and seat.life.is_idle

    async def is_running(self, client: str) -> bool:
        return self._seats[client].is_running

    async def is_paused(self, client: str) -> bool:
        life = self._seats[client].host.life
        return life is not None and life.is_paused

    async def _each(
        self, act: Callable[[Life], Coroutine[Any, Any, _Result]]
    ) -> list[_Result | None]:
        self._is_stopped = False
        return await asyncio.gather(*(self._one(seat, act) for seat in self._seats.values()))

    async def _one(
        self, seat: _Seat, act: Callable[[Life], Coroutine[Any, Any, _Result]]
    ) -> _Result | None:
        """Of the last process that did it; None where the last one was killed at it."""
        while True:
            life = seat.life
            task = seat.host.start(_opened(life, act) if seat.is_new else act(life))
            seat.is_new = False
            task.add_done_callback(lambda _: seat.change.set())
            while seat.is_running and seat.life is life and not task.done():
                seat.change.clear()
                await seat.change.wait()
            if task.done():
                return task.result()
            while not seat.is_running and not self._is_stopped:
                seat.change.clear()
                await seat.change.wait()
            if not seat.is_running:
                return None


async def _only_open(life: Life) -> None:
    await life.open()


async def _opened(life: Life, act: Callable[[Life], Coroutine[Any, Any, _Result]]) -> _Result:
    await life.open()
    return await act(life)


def _check(clients: SimClients) -> Clients:
    """Has mypy hold it to what a run expects."""
    return clients
