"""The steps of a run. Read this second, after ARCHITECTURE.md.

1. plan      what was asked for, and everything drawn from the seed
2. up        hosts, brokers, topics, clients
3. run       clients at work, faults injected, both written down
4. calm      heal, make sure of it, move the leaders, write once more, read everything back
5. gather    the nodes' logs
6. check     every checker that the workload names
7. tell      one sentence, one results.json, one command to have it again
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.client.base import ClientSettings
from harness.decisions import Decisions
from harness.doubts import Doubt, DoubtKind
from harness.errors import UsageFailure
from harness.history.errors import HistoryError
from harness.history.history import finish
from harness.history.recorder import Recorder
from harness.run.aftermath import aftermath, struck_by
from harness.run.calm import (
    cancelled,
    doubts_about_reading,
    doubts_about_replicas,
    existing,
    rotate_leaders,
    why_not_rotated,
)
from harness.run.clients import Clients
from harness.run.cluster_watch import ClusterLog, watched
from harness.run.environment import environment
from harness.run.feasible import ground_of
from harness.run.figures import figures_of
from harness.run.gathering import gather
from harness.run.history_topic import HistoryTopic, note_unpublished, publishing, tell_end
from harness.run.interrupts import INTERRUPTS
from harness.run.judging import anomaly_so_far, judge, judge_crash
from harness.run.last_resort import heal_by_force
from harness.run.outcome import Outcome
from harness.run.plan import Plan
from harness.run.probing import WRITE_WITHIN_S, with_writes
from harness.run.stage import Stage, play, racks_of
from harness.run.tally import Publish, Tally
from harness.run.watchdog import stacks_on_request
from harness.run.watching import Snapshot, Watcher
from harness.run.workload import memberships, transactional_ids, workload_of
from harness.schedule.schedule import Schedule
from harness.store.results import Figures
from harness.store.store import Store, running_out_of_room
from nemesis import ALL, parse, unavailable
from nemesis.base import Scene
from nemesis.conductor import Conductor
from nemesis.plan import draw

_KNOWN_BEFORE_UP = ("local", "sim")
"""Places that can say what may be broken there before they have hosts; others look at these."""
_TICK_S = 1.0
_DRAIN_S = 60.0
_LOOK_EVERY_S = 5.0


def execute(plan: Plan, store: Store, watcher: Watcher) -> Outcome:
    """The whole run, from the plan to the verdict."""
    directory = store.new_run(plan.name, datetime.now(UTC))
    with running_out_of_room(directory), publishing(plan, directory) as topic:
        outcome = _execute(plan, store, directory, watcher, topic)
        tell_end(topic, outcome)
    return outcome


def _execute(
    plan: Plan, store: Store, directory: Path, watcher: Watcher, topic: HistoryTopic | None
) -> Outcome:
    (directory / "plan.json").write_text(plan.text())
    (directory / "command.txt").write_text(plan.command() + "\n")
    (directory / "env.json").write_text(json.dumps(environment(plan.plugin), indent=2) + "\n")
    runs: list[_Run] = []

    def begun(stage: Stage) -> Coroutine[Any, Any, Witnessed]:
        runs.append(_Run(plan, directory, stage, watcher, None if topic is None else topic.row))
        return runs[0].go()

    try:
        with (
            INTERRUPTS.healed_by(lambda: heal_by_force(plan, directory)),
            stacks_on_request(directory) as log,
            watcher,
        ):
            played = play(plan, directory, begun, log)
            watcher.step("checking")
            with suppress(HistoryError):  # nothing was recorded yet: the verdict will say so
                finish(directory / "history")
            witnessed = played.result or Witnessed(doubts=[Doubt(DoubtKind.BROKEN_OFF)])
            note_unpublished(topic, witnessed.figures)
            outcome = judge(
                directory, plan, witnessed.doubts, witnessed.figures, more=played.verdicts
            )
    except Exception as crash:
        witnessed = runs[0].so_far() if runs else Witnessed()
        judge_crash(directory, plan, witnessed.doubts, witnessed.figures, crash)
        raise
    finally:
        # Whatever is worth keeping of the hosts has been gathered.
        shutil.rmtree(directory / "hosts", ignore_errors=True)
        store.end_run(directory)
    return outcome


@dataclass(slots=True)
class Witnessed:
    """What the run itself knows beside its history."""

    doubts: list[Doubt] = field(default_factory=list)
    figures: Figures = field(default_factory=Figures)


class _Run:
    def __init__(
        self, plan: Plan, directory: Path, stage: Stage, watcher: Watcher, publish: Publish | None
    ) -> None:
        self._plan = plan
        self._publish = publish
        self._directory = directory
        self._stage = stage
        self._cluster = stage.cluster
        self._watcher = watcher
        self._witnessed = Witnessed()
        self._log: ClusterLog | None = None
        self._tally: Tally | None = None
        self._conducted: Conductor | None = None
        self._workload = workload_of(plan)
        self._topics = tuple(topic.name for topic in self._workload.topics)

    async def go(self) -> Witnessed:
        plan, watcher, stage = self._plan, self._watcher, self._stage
        if plan.on in _KNOWN_BEFORE_UP:
            self._refuse(unavailable(parse(plan.nemesis), self._cluster))
        watcher.step(f"up: {plan.nodes} hosts ({plan.on}), {plan.system} broker")
        async with self._cluster as cluster:
            if cluster.system.topics is not None:
                for topic in self._workload.topics:
                    await cluster.system.topics.create_topic(topic)
            recorder = Recorder(self._directory / "history")
            begun_ns = self._note_beginning()
            tally = self._tally = Tally(recorder, begun_ns, self._publish)
            conductor = self._conducted = self._conductor(tally)
            settings = client_settings(plan, cluster.bootstrap())
            clients = stage.clients(settings, tally)
            conductor.scene.clients = clients

            def salvage() -> None:
                tally.close()
                self._save_schedule(conductor)

            stage.salvage = salvage
            try:
                library = "the simulator's own" if plan.on == "sim" else plan.client
                watcher.step(f"clients: {plan.concurrency} ({library}), {plan.workload}")
                await clients.open()
                async with self._watched(begun_ns):
                    await self._load(clients, conductor, tally)
                    await self._calm(clients, conductor, tally)
            finally:
                try:
                    await _each_of(conductor.heal_all(), clients.close())
                finally:
                    stage.salvage()
                    await gather(self._cluster, self._topics, self._directory)
        self._witnessed.figures["client_deaths"] = clients.deaths
        self._witnessed.doubts += clients.doubts
        return self.so_far()

    def so_far(self) -> Witnessed:
        """Also of a run that crashes: what it knows by then."""
        doubts, figures = list(self._witnessed.doubts), self._witnessed.figures.copy()
        if self._tally is not None and self._conducted is not None:
            figures |= figures_of(self._tally, self._conducted, self._workload)
            doubts += self._conducted.doubts
        return Witnessed(doubts, figures)

    def _note_beginning(self) -> int:
        """Both clocks at time 0 of the history, so that logs and traces can be laid beside it."""
        begun_ns = self._stage.now_ns()
        clocks = {"wall": datetime.now(UTC).isoformat(), "stage_ns": begun_ns}
        (self._directory / "began.json").write_text(json.dumps(clocks) + "\n")
        return begun_ns

    @asynccontextmanager
    async def _watched(self, begun_ns: int) -> AsyncIterator[None]:
        """Who leads and who is in sync is written down, unless the stage's own trace tells it."""
        if self._stage.has_trace:
            yield
            return
        async with watched(
            self._cluster,
            self._topics,
            self._directory,
            lambda: self._stage.now_ns() - begun_ns,
            has_clock_faults="clock" in self._plan.faults,
        ) as self._log:
            yield

    def _conductor(self, tally: Tally) -> Conductor:
        plan, members = self._plan, memberships(self._plan)
        scene = Scene(
            cluster=self._cluster,
            topics=self._topics,
            members=tuple(members),
            groups=tuple(sorted({each.group for each in members.values()})),
            transactional_ids=transactional_ids(plan),
            replication_factor=plan.replication_factor,
            min_insync_replicas=plan.min_insync_replicas,
            topic_configs={topic.name: topic.configs for topic in self._workload.topics},
            racks=racks_of(plan),
            read_to=lambda: tally.seen,
            unsafe_faults=plan.unsafe_faults,
        )

        def note(f: str, value: Any) -> None:
            tally.note(self._stage.now_ns(), f, value)

        # A stored schedule has its faults already, whatever its plan would draw today.
        ground = None if plan.schedule else ground_of(plan)
        conductor = Conductor(scene, parse(plan.nemesis), Decisions(plan.seed), note, ground)
        missing = conductor.unavailable
        self._refuse(missing)
        for name, reason in missing.items():
            self._watcher.step(f"nemesis {name} is left out: {reason}")
        return conductor

    def _refuse(self, missing: Mapping[str, str]) -> None:
        """Raise UsageFailure for a nemesis that was given by name and is unavailable here."""
        if missing and self._plan.nemesis != ALL:
            name, reason = next(iter(missing.items()))
            raise UsageFailure(f"nemesis {name} is unavailable with --on {self._plan.on}: {reason}")

    async def _load(self, clients: Clients, conductor: Conductor, tally: Tally) -> None:
        plan = self._plan
        self._watcher.step(f"load: {plan.time_limit_s:g} s, nemesis {plan.nemesis}")
        async with self._ticking(conductor, tally, plan.time_limit_s):
            load = asyncio.create_task(clients.load(plan.time_limit_s))
            faults = asyncio.create_task(self._strike(conductor))
            looking = asyncio.create_task(self._look(clients, faults))
            try:
                await load
                await asyncio.wait([faults])
                if not faults.cancelled():
                    faults.result()
            finally:
                clients.stop()
                await cancelled([load, faults, looking])

    async def _look(self, clients: Clients, faults: asyncio.Task[None]) -> None:
        """With --stop-on-anomaly: now and then, whether the history has seen enough."""
        while self._plan.stop_on_anomaly:
            await asyncio.sleep(_LOOK_EVERY_S)
            found = await self._stage.think(lambda: anomaly_so_far(self._directory, self._plan))
            if found is not None:
                self._watcher.step(f"stopping: {found}")
                faults.cancel()
                clients.stop()
                return

    async def _strike(self, conductor: Conductor) -> None:
        plan = self._plan
        if plan.schedule is not None:
            await conductor.play(Schedule.load(Path(plan.schedule)).faults)
            return
        moments = draw(
            Decisions(plan.seed),
            conductor.available,
            length_ms=plan.length_ms,
            interval_ms=plan.nemesis_interval_s * 1000,
            is_any=conductor.is_all,
        )
        await conductor.strike(moments)

    async def _calm(self, clients: Clients, conductor: Conductor, tally: Tally) -> None:
        self._watcher.step("calm: heal, rotate leaders, read everything back")
        doubts = self._witnessed.doubts
        await conductor.heal_all()
        healed_ns = self._stage.now_ns()
        doubts += await doubts_about_replicas(self._cluster, self._topics)
        figures = self._witnessed.figures
        figures["calm"] = await aftermath(
            self._cluster,
            self._topics,
            is_healed=conductor.is_healed,
            struck=struck_by(conductor.faults),
            min_isr=self._plan.min_insync_replicas,
            waited_s=(self._stage.now_ns() - healed_ns) / 1e9,
        )
        not_rotated = why_not_rotated(self._cluster)
        if not_rotated is not None:
            figures["calm"]["not_rotated"] = not_rotated
            self._watcher.step(not_rotated)
        doubts += await rotate_leaders(self._cluster, self._topics)
        drained = [
            key
            for client in range(self._plan.concurrency)
            for key in self._workload.drained_keys(client)
        ]
        keys = dict.fromkeys(await existing(self._cluster, self._workload.topics, drained), 0)
        if self._plan.acks != "0":  # nobody ever acknowledges those
            async with self._ticking(conductor, tally, WRITE_WITHIN_S):
                figures["calm"] = await with_writes(
                    self._cluster,
                    clients,
                    figures["calm"],
                    list(keys),
                    self._topics,
                    min_isr=self._plan.min_insync_replicas,
                    before=tally.counts.sent,
                )
        async with self._ticking(conductor, tally, _DRAIN_S):
            left = await clients.drain({**keys, **tally.ends()}, _DRAIN_S)
        doubts += doubts_about_reading(left, _DRAIN_S)

    @asynccontextmanager
    async def _ticking(
        self, conductor: Conductor, tally: Tally, of_s: float
    ) -> AsyncIterator[None]:
        """The history reaches the disk and the counts the screen, about once a second."""
        begun_ns = self._stage.now_ns()

        async def tick() -> None:
            before = tally.counts.completed
            while True:
                await asyncio.sleep(_TICK_S)
                tally.flush()
                counts = tally.counts
                self._watcher.tick(
                    Snapshot(
                        elapsed_s=(self._stage.now_ns() - begun_ns) / 1e9,
                        of_s=of_s,
                        nodes=conductor.marks(),
                        ok=counts.ok,
                        fail=counts.fail,
                        info=counts.info,
                        per_s=(counts.completed - before) / _TICK_S,
                        p99_ms=tally.recent_p99_ms(),
                        unread=tally.unread,
                        faults=conductor.in_force(),
                        faults_done=len(conductor.faults),
                        elections=None if self._log is None else self._log.elections,
                    )
                )
                before = counts.completed

        ticking = asyncio.create_task(tick())
        try:
            yield
        finally:
            await cancelled([ticking])
        if not ticking.cancelled():
            ticking.result()  # a history that cannot be written ends the run

    def _save_schedule(self, conductor: Conductor) -> None:
        Schedule(
            seed=self._plan.seed,
            nodes=self._plan.nodes,
            length_ms=self._plan.length_ms,
            properties=self._plan.broker_config,
            faults=tuple(conductor.faults),
        ).save(self._directory / "schedule.json")


async def _each_of(*deeds: Any) -> None:
    """All of them, whatever becomes of the others; the first failure is told."""
    for found in await asyncio.gather(*deeds, return_exceptions=True):
        if isinstance(found, BaseException):
            raise found


def client_settings(plan: Plan, bootstrap: str) -> ClientSettings:
    return ClientSettings(
        bootstrap=bootstrap,
        seed=plan.seed,
        protocol_versions=plan.protocol_versions,
        acks=plan.acks,
        enable_idempotence=plan.enable_idempotence,
        retries=plan.retries,
        isolation_level=plan.isolation_level,
        producer_config=plan.producer_config,
        consumer_config=plan.consumer_config,
    )
