"""Clients as processes of the operating system, which can be paused, killed and cut off."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.client.base import ClientSettings
from harness.cluster.base import Place
from harness.doubts import Doubt, DoubtKind
from harness.errors import EnvironmentFailure
from harness.plugins import resolved
from harness.run.clients import Clients, Left, Tried, Unsettled, asked, tried_by_all, unsettled
from harness.run.frames import Begin, Drain, Idle, LoadOrder, Probe, StopOrder, Wake
from harness.run.plan import Plan
from harness.run.tally import Tally
from harness.run.worker_process import RowFrame, WorkerProcess
from harness.run.workload import workload_of

_NS = 1_000_000_000
_READY_S = 60.0
_LAST_OPERATION_S = 30.0
"""How long the last operation of a load may take, beyond the client's own time-outs."""
_IN_VAIN_MAX = 5
"""So many ends in a row with nothing done: the next would end the same way."""


class WorkerClients:
    def __init__(
        self, place: Place, plan: Plan, settings: ClientSettings, tally: Tally, logs: Path
    ) -> None:
        self._place = place
        self._plan = plan
        self._settings = settings
        self._tally = tally
        self._logs = logs
        self._workload = workload_of(plan)
        self._workers: dict[int, WorkerProcess] = {}
        self._task: LoadOrder | Probe | Drain | None = None
        """What they are at, for those who take the place of others."""
        self._held: dict[int, asyncio.Event] = {}
        """Those that were killed on purpose, and nobody is to take the place of yet."""
        self._in_vain: Counter[int] = Counter()
        """Those that ended by themselves one after the other, none of which had done anything."""
        self._doubts: dict[int, Doubt] = {}
        self.deaths = 0
        self.is_over = False

    @property
    def doubts(self) -> Sequence[Doubt]:
        return list(self._doubts.values())

    async def open(self) -> None:
        self._logs.mkdir(parents=True, exist_ok=True)
        for number in range(self._plan.concurrency):
            self._workers[number] = self._start(number, process=number, ordinal=0)
        try:
            async with asyncio.timeout(_READY_S):
                answers = [worker.until("ready") for worker in list(self._workers.values())]
                await asyncio.gather(*answers)
        except TimeoutError:
            raise EnvironmentFailure(
                f"{self._plan.concurrency} clients were not ready within {_READY_S:g} s; "
                f"try a smaller --concurrency, or see {self._logs}"
            ) from None
        ended = [worker for worker in self._workers.values() if not worker.is_open]
        if ended:
            why = f"client {ended[0].number + 1} ended before it was ready: {ended[0].why_ended}"
            raise EnvironmentFailure(f"{why}; see {self._logs}")

    async def load(self, for_s: float) -> None:
        plan, now_ns = self._plan, time.monotonic_ns()
        interval_ns = int(plan.concurrency / plan.rate * _NS) if plan.rate else 0
        self._begin(LoadOrder(now_ns, now_ns + int(for_s * _NS), interval_ns))
        patience_s = for_s + self._settings.delivery_timeout_ms / 1000 + _LAST_OPERATION_S
        await self._each("loaded", patience_s)
        self._task = None

    async def probe(self, keys: Sequence[str], within_s: float) -> Mapping[str, Tried]:
        self._release()
        self._begin(Probe(keys, time.monotonic_ns(), int(within_s * _NS)))
        patience_s = 2 * within_s + self._settings.delivery_timeout_ms / 1000 + _LAST_OPERATION_S
        told = await self._each("probed", patience_s)
        self._task = None
        found = [
            {key: Tried(*each) for key, each in (told.get(number) or {}).items()}
            for number in self._workers
        ]
        return tried_by_all(found, keys)

    async def drain(self, ends: Mapping[str, int], within_s: float) -> Unsettled:
        self._release()
        self._begin(Drain(dict(ends), time.monotonic_ns() + int(within_s * _NS)))
        told = await self._each("drained", within_s + _LAST_OPERATION_S)
        self._task = None
        left = [
            self._nothing_done(worker) if told.get(number) is None else Left(*told[number])
            for number, worker in self._workers.items()
        ]
        return unsettled(left, ends)

    def _nothing_done(self, worker: WorkerProcess) -> Left:
        """By one that never said: whatever it would have asked has no answer."""
        questions = self._workload.closing(worker.number, worker.invocations)
        return Left({}, [asked(question) for question in questions])

    def _begin(self, task: LoadOrder | Probe | Drain) -> None:
        """All of them, and others for those that ended when there was nothing to do."""
        self._task = task
        for number, worker in self._workers.items():
            if worker.is_open:
                worker.order(task)
            else:
                self._workers[number] = self._heir(worker)

    async def _each(self, what: str, within_s: float) -> dict[int, Any]:
        """By worker what it says at its end, or None. One that never does is replaced."""
        found: dict[int, Any] = {}

        async def one(number: int) -> None:
            worker, answer = None, None
            while worker is not self._workers[number] and not self.is_over:
                worker = self._workers[number]
                answer = await worker.until(what)
                if number in self._held:
                    await self._held[number].wait()
            found[number] = answer

        done, late = await asyncio.wait(
            [asyncio.create_task(one(number)) for number in self._workers], timeout=within_s
        )
        for task in late:
            task.cancel()
        for task in done:
            task.result()
        return found

    def stop(self) -> None:
        for worker in self._workers.values():
            worker.order(StopOrder())
        # Nobody waits any more for those who would take the place of the killed.
        for held in self._held.values():
            held.set()

    @property
    def names(self) -> Sequence[str]:
        return [f"c{number + 1}" for number in self._workers]

    def process(self, client: str) -> str:
        return f"process {self._worker(client).pid}"

    async def kill(self, client: str) -> None:
        worker = self._worker(client)
        if worker.is_open:
            self._held.setdefault(worker.number, asyncio.Event())
            await worker.kill()

    async def start(self, client: str) -> None:
        worker = self._worker(client)
        held = self._held.pop(worker.number, None)
        if not worker.is_open and not self.is_over:
            self._workers[worker.number] = self._heir(worker)
        if held is not None:
            held.set()

    async def pause(self, client: str) -> None:
        await self._worker(client).pause()

    async def resume(self, client: str) -> None:
        await self._worker(client).resume()

    async def is_running(self, client: str) -> bool:
        return self._worker(client).is_running()

    async def is_paused(self, client: str) -> bool:
        return await self._worker(client).is_paused()

    async def idle(self, client: str, *, leaves: bool) -> None:
        self._worker(client).order(Idle(leaves))

    async def wake(self, client: str) -> None:
        self._worker(client).order(Wake())

    async def is_idle(self, client: str) -> bool:
        worker = self._worker(client)
        return worker.is_open and worker.is_idle

    def _worker(self, client: str) -> WorkerProcess:
        return self._workers[int(client.removeprefix("c")) - 1]

    def _release(self) -> None:
        while self._held:
            self._held.popitem()[1].set()

    async def close(self) -> None:
        self.is_over = True
        self._release()
        workers = list(self._workers.values())
        await asyncio.gather(*(worker.close() for worker in workers))
        for worker in workers:
            self._tally.abandon(
                time.monotonic_ns(), worker.process, "the run ended before the operation did"
            )

    def _start(self, number: int, *, process: int, ordinal: int) -> WorkerProcess:
        plan = self._plan
        begin = Begin(
            number=number,
            clients=plan.concurrency,
            seed=plan.seed,
            workload=plan.workload,
            client=plan.client,
            settings=self._settings,
            replication_factor=plan.replication_factor,
            topic_configs=plan.topic_config,
            key_dist=plan.key_dist,
            burst=plan.burst_max,
            batch_bytes_max=plan.batch_bytes_max,
            transactions=plan.transactions,
            transaction_timeout_ms=plan.transaction_timeout_ms,
            plugins=tuple(map(resolved, plan.plugin)),
            process=process,
            ordinal=ordinal,
        )
        log = self._logs / f"c{number + 1}.log"
        return WorkerProcess(
            self._place, begin, log, self._take, self._replace, self._tally.add_traffic
        )

    def _take(self, frame: RowFrame) -> None:
        self._tally.row(*frame[1:])

    def _replace(self, dead: WorkerProcess) -> None:
        """Replace a dead client by another process with unused operations."""
        self._tally.abandon(time.monotonic_ns(), dead.process, "the client's process ended")
        if dead.number in self._held:
            return
        self.deaths += 1
        in_vain = self._in_vain[dead.number] = (
            0 if dead.completed else self._in_vain[dead.number] + 1
        )
        self._doubt(dead, in_vain)
        if not self.is_over and self._task is not None and in_vain < _IN_VAIN_MAX:
            self._workers[dead.number] = self._heir(dead)

    def _doubt(self, dead: WorkerProcess, in_vain: int) -> None:
        """Record a doubt about a client that failed by itself; a kill by a nemesis gives none."""
        if in_vain >= _IN_VAIN_MAX:
            what = f"ended {in_vain} times in a row without an operation and is not restarted"
        elif dead.failure is not None:
            what = "failed"
        elif dead.is_to_stand_still:
            what = "ended while it was paused"
        else:
            return
        log = f"{self._logs.name}/c{dead.number + 1}.log"
        self._doubts[dead.number] = Doubt(
            DoubtKind.CLIENT_FAILED,
            f"client {dead.number + 1}",
            f"{what}: {dead.why_ended}; see {log}",
        )

    def _heir(self, dead: WorkerProcess) -> WorkerProcess:
        # Openings count as invocations, so this ordinal is beyond every used one.
        heir = self._start(
            dead.number,
            process=dead.process + self._plan.concurrency,
            ordinal=dead.invocations + 1,
        )
        heir.invocations = dead.invocations + 1
        if self._task is not None:
            heir.order(self._task)
        return heir


def _check(clients: WorkerClients) -> Clients:
    """Static check: `WorkerClients` implements `Clients`."""
    return clients
