"""Brokers inside the simulator: made, started, killed, and what may befall their machines.

The one module that knows more of the broker than its seams.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Iterable, Mapping
from contextvars import Context
from typing import Any

from broker.config.broker import BrokerConfig
from broker.disk.memory import MemoryDisk
from broker.log.identity import Identity, text_of_id, write_identity
from broker.metadata.ids import new_id
from broker.network.interface import Address
from broker.node import Node
from broker.observe.events import event_sink
from broker.world import World
from harness.sim.clock import SimClock
from harness.sim.disks import CrashPoint, DiskPoints
from harness.sim.lives import Life
from harness.sim.loop import SimulationError
from harness.sim.simulation import Simulation
from harness.sim.trace_sink import TraceSink

PORT = 9092
LOG_DIR = "data"

Properties = Mapping[str, str]


class NodeDownError(SimulationError):
    """The node died, or could not start."""


class SimNode:
    """One machine with a broker on it. Its disks and its clock outlive the process."""

    def __init__(
        self,
        simulation: Simulation,
        node_id: int,
        properties: Properties,
        *,
        crash_points: Iterable[CrashPoint],
        crash: Callable[[CrashPoint], None],
    ) -> None:
        self.node_id = node_id
        self.name = f"n{node_id}"
        self.address = Address(self.name, PORT)
        self.config = BrokerConfig.of(
            {
                "node.id": str(node_id),
                "listeners": f"PLAINTEXT://{self.name}:{PORT}",
                "log.dirs": LOG_DIR,
                **properties,
            }
        )
        self.clock = SimClock(simulation.loop)
        self.disks = {path: MemoryDisk() for path in self.config.log_dirs}
        self.life: Life | None = None
        self.node: Node | None = None
        """The broker itself, once it has started."""
        self._simulation = simulation
        self._points = DiskPoints(
            simulation.loop, simulation.trace, self.name, crash_points=crash_points, crash=crash
        )
        self._sink = TraceSink(simulation.trace, self.name)
        self._started: asyncio.Future[Node] | None = None
        simulation.network.host(self.name)

    @property
    def is_running(self) -> bool:
        """Paused counts as running: the process is there."""
        return self.life is not None

    async def format(self, cluster_id: str) -> None:
        """Before the first start; takes no time."""
        random = self._simulation.decisions.random("directory_id", self.name)
        for disk in self.disks.values():
            await write_identity(
                disk,
                Identity(
                    cluster_id=cluster_id,
                    node_id=self.node_id,
                    directory_id=text_of_id(new_id(random)),
                ),
            )
            disk.before, disk.after = self._points.before, self._points.after

    # The process

    def start(self) -> None:
        """Begins a life; `started` tells when the broker is ready."""
        if self.life is not None:
            return
        simulation = self._simulation
        loop = simulation.loop
        simulation.network.power_back(self.name, 0)
        life = self.life = loop.begin_life(self.name)
        loop.cause = simulation.trace.emit("start", self.name, epoch=life.number)
        context = life.context()
        context.run(event_sink.set, self._sink)
        world = World(
            disks=self.disks,
            network=simulation.network.of(self.name),
            clock=self.clock,
            random=simulation.decisions.random("random", life.name),
        )
        self._started = loop.create_future()
        self._started.add_done_callback(_take_notice)
        task = loop.create_task(Node.start(self.config, world), context=context)
        task.add_done_callback(lambda done: self._start_ended(life, done))

    def _start_ended(self, life: Life, done: asyncio.Task[Node]) -> None:
        assert self._started is not None
        if done.cancelled() or (problem := done.exception()) is not None:
            reason = "cancelled" if done.cancelled() else repr(problem)
            self._simulation.trace.emit("exit", self.name, detail=reason)
            self._end(NodeDownError(f"{self.name} did not start: {reason}"))
        elif self.life is life:
            self.node = done.result()
            self._simulation.trace.emit("ready", self.name, epoch=life.number)
            self._started.set_result(self.node)

    async def started(self) -> Node:
        """NodeDownError when it dies first, or cannot start."""
        if self._started is None:
            raise NodeDownError(f"{self.name} was never started")
        return await asyncio.shield(self._started)

    async def stop(self) -> None:
        """The clean way."""
        if self.node is not None and self.life is not None:
            context = self.life.context()
            context.run(event_sink.set, self._sink)
            stopping = self._simulation.loop.create_task(self.node.stop(), context=context)
            await stopping
            row = self._simulation.trace.emit("stop", self.name)
            self._simulation.network.process_ended(self.life, row)
            self._end(NodeDownError(f"{self.name} was stopped"))

    def kill(self) -> None:
        """SIGKILL: what it wrote is still in the page cache, and its peers see resets."""
        if self.life is not None:
            row = self._simulation.trace.emit("crash", self.name, detail="kill")
            self._simulation.network.process_ended(self.life, row)
            for disk in self.disks.values():
                disk.process_crash()
            self._end(NodeDownError(f"{self.name} was killed"))

    def power_loss(self, *, torn: bool = True) -> None:
        """What was not synced is lost, or with `torn` some of it; peers see silence."""
        network = self._simulation.network
        if not network.host(self.name).is_up:
            return
        dice = self._simulation.decisions.random("power_loss", f"{self.name}/{self._lives}")
        lost = sum(disk.power_loss(dice if torn else None) for disk in self.disks.values())
        row = self._simulation.trace.emit(
            "crash", self.name, offset=lost, detail="power loss, bytes lost as offset"
        )
        network.power_lost(self.name, row)
        self._end(NodeDownError(f"{self.name} lost its power"))

    @property
    def _lives(self) -> int:
        return 0 if self.life is None else self.life.number

    def _end(self, reason: NodeDownError) -> None:
        life, self.life, self.node = self.life, None, None
        if life is not None:
            self._simulation.loop.crash(life)
        if self._started is not None and not self._started.done():
            self._started.set_exception(reason)

    def pause(self) -> None:
        if self.life is not None and not self.life.is_paused:
            self._simulation.trace.emit("pause", self.name)
            self._simulation.loop.pause(self.life)

    def resume(self) -> None:
        if self.life is not None and self.life.is_paused:
            self._simulation.trace.emit("resume", self.name)
            self._simulation.loop.resume(self.life)

    def context(self) -> Context:
        """For code that is to run as a part of this node's process."""
        if self.life is None:
            raise NodeDownError(f"{self.name} is down")
        return self.life.context()

    # The machine

    def jump_clock(self, by_ms: float) -> None:
        self._simulation.trace.emit("fault", self.name, detail=f"clock jumps by {by_ms} ms")
        self.clock.jump(by_ms)

    def skew_clock(self, rate: float) -> None:
        self._simulation.trace.emit("fault", self.name, detail=f"clock runs at {rate}")
        self.clock.run_at(rate)

    def fill_disk(self, spare_bytes: int = 0) -> None:
        self._simulation.trace.emit("fault", self.name, detail=f"disk full but {spare_bytes} bytes")
        for disk in self.disks.values():
            disk.capacity_bytes = disk._used_bytes() + spare_bytes

    def fail_disk(self, operation: str = "*", path: str = "*", error: int = errno.EIO) -> None:
        self._simulation.trace.emit(
            "fault", self.name, detail=f"disk fails {operation} {path} by {errno.errorcode[error]}"
        )
        for disk in self.disks.values():
            disk.fail(operation, path, error=error)

    def slow_disk(self, seconds: float, operation: str = "*", path: str = "*") -> None:
        self._simulation.trace.emit(
            "fault", self.name, detail=f"disk slows {operation} {path} by {seconds} s"
        )
        for disk in self.disks.values():
            disk.slow(operation, path, seconds=seconds)

    def heal_disk(self) -> None:
        self._simulation.trace.emit("heal", self.name, detail="disk")
        for disk in self.disks.values():
            disk.heal()
            disk.capacity_bytes = None


def _take_notice(done: asyncio.Future[Any]) -> None:
    """Nobody may be waiting for a node that dies while it starts."""
    if not done.cancelled():
        done.exception()


class SimCluster:
    """Nodes n1 to nN. `properties` are for all of them, or a function of the node's id."""

    def __init__(
        self,
        simulation: Simulation,
        count: int,
        properties: Properties | Callable[[int], Properties] | None = None,
        *,
        crash_points: Iterable[CrashPoint] = (),
    ) -> None:
        self.simulation = simulation
        given = properties if properties is not None else {}
        points = tuple(crash_points)
        self.nodes: dict[str, SimNode] = {}
        for node_id in range(1, count + 1):
            node = SimNode(
                simulation,
                node_id,
                given(node_id) if callable(given) else given,
                crash_points=points,
                crash=self._crash,
            )
            self.nodes[node.name] = node

    def __getitem__(self, name: str) -> SimNode:
        return self.nodes[name]

    async def start(self) -> None:
        """Formats and starts all, and waits until each is ready."""
        cluster_id = text_of_id(new_id(self.simulation.decisions.random("cluster_id", "")))
        for node in self.nodes.values():
            await node.format(cluster_id)
        for node in self.nodes.values():
            node.start()
        for node in self.nodes.values():
            await node.started()

    def _crash(self, point: CrashPoint) -> None:
        """Called in the very task that met the point; it never goes on."""
        node = self.nodes[point.node]
        self.simulation.trace.emit(
            "fault",
            node.name,
            detail=f"{point.how} {point.when} {point.operation} {point.nth}",
        )
        if point.how == "kill":
            node.kill()
        else:
            node.power_loss()
        if point.for_ms is not None:
            loop = self.simulation.loop
            loop.call_kernel(loop.now_ns + int(point.for_ms * 1e6), lambda node: node.start(), node)
