"""Brokers inside the simulator: made, started, killed, and what may befall their machines.

The one module that knows more of the broker than its seams.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from broker.config.broker import BrokerConfig
from broker.config.errors import ConfigError
from broker.disk.memory import MemoryDisk
from broker.log.identity import Identity, text_of_id, write_identity
from broker.metadata.ids import new_id
from broker.network.interface import Address
from broker.node import Node
from broker.observe.events import event_sink
from broker.world import World
from harness.schedule.crash_points import CrashPoint
from harness.sim.clock import SimClock
from harness.sim.disk_faults import DiskFaults
from harness.sim.disks import DiskPoints
from harness.sim.lives import Life
from harness.sim.node_errors import KILLED, PropertiesError
from harness.sim.node_errors import NodeDownError as NodeDownError
from harness.sim.node_properties import CONTROLLER_PORT as CONTROLLER_PORT
from harness.sim.node_properties import PORT as PORT
from harness.sim.node_properties import Properties, membership, own_properties
from harness.sim.simulation import Simulation
from harness.sim.trace_sink import Onlooker, TraceSink

STOP_PATIENCE_S = 30.0
"""So long a node that cannot go on may take to stop, as under a service manager."""


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
        restart_after_exit_s: float | None,
    ) -> None:
        self.node_id = node_id
        self.name = f"n{node_id}"
        self.address = Address(self.name, PORT)
        self.config = _config(node_id, self.name, properties)
        self.clock = SimClock(simulation.loop)
        self.disks = {path: MemoryDisk() for path in self.config.log_dirs}
        self.disk_faults = DiskFaults(self.disks)
        self.damaged_logs: set[str] = set()
        """By their directory: what they hold is not what the node wrote."""
        self.life: Life | None = None
        self.node: Node | None = None
        """The broker itself, once it has started."""
        self.process: Node | None = None
        """The same, from its first moment on; only to be looked at."""
        self._simulation = simulation
        self._restart_after_exit_s = restart_after_exit_s
        self._points = DiskPoints(
            simulation.loop, simulation.trace, self.name, crash_points=crash_points, crash=crash
        )
        self._sink = TraceSink(simulation.trace, self.name)
        self._started: asyncio.Future[Node] | None = None
        self._when_ended: list[asyncio.Future[NodeDownError]] = []
        self._outages = 0
        self._power_losses = 0
        self._pauses = 0
        simulation.network.host(self.name)

    @property
    def is_running(self) -> bool:
        """Paused counts as running: the process is there."""
        return self.life is not None

    @property
    def is_struck_down(self) -> bool:
        """By a kill or a power loss, and not by itself."""
        return self._outages > 0

    @property
    def is_unharmed(self) -> bool:
        """Whether its disks have kept, and will keep, all that was ever written to them."""
        return not (self._power_losses or self.disk_faults.struck or self.damaged_logs)

    @property
    def unmet_crash_points(self) -> tuple[CrashPoint, ...]:
        return self._points.unmet

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
        self._outages = 0
        life = self.life = loop.begin_life(self.name)
        loop.cause = simulation.trace.emit("start", self.name, epoch=life.number)
        context = life.context()
        context.run(event_sink.set, self._sink)
        world = World(
            disks=self.disks,
            network=simulation.network.of(self.name),
            clock=self.clock,
            random=simulation.decisions.random("random", life.name),
            boot_id=f"{self.name}/{self._power_losses}",
        )
        self._started = loop.create_future()
        self._started.add_done_callback(_take_notice)
        task = loop.create_task(self._live(world), context=context)
        assert not task.done()

    async def _live(self, world: World) -> None:
        """In the process: from its start to the end that it comes to by itself."""
        assert self._started is not None
        trace = self._simulation.trace
        try:
            self.node = node = await Node.start(self.config, world, on_made=self._made)
            await node.ready()
            trace.emit("ready", self.name, epoch=self._lives)
            self._started.set_result(node)
            problem = await node.failed
        except Exception as error:
            problem = error
        else:
            # It was about to end anyway: what goes wrong on the way out is not why.
            with suppress(Exception):
                async with asyncio.timeout(STOP_PATIENCE_S):
                    await node.stop()
        row = trace.emit("exit", self.name, detail=repr(problem))
        if self._sink.onlooker is not None:
            self._sink.onlooker.life_failed(self.name, row, problem)
        assert self.life is not None
        self._simulation.network.process_ended(self.life, row)
        self._end(NodeDownError(f"{self.name} ended by itself: {problem!r}"))
        if self._restart_after_exit_s is not None:
            loop = self._simulation.loop
            after_ns = int(self._restart_after_exit_s * 1e9)
            loop.call_kernel(loop.now_ns + after_ns, SimNode._start_unless_struck_down, self)

    def _start_unless_struck_down(self) -> None:
        if self._outages == 0:
            self.start()

    def _made(self, node: Node) -> None:
        self.process = node
        if self._sink.onlooker is not None:
            self._sink.onlooker.life_began(self.name)

    def watch(self, onlooker: Onlooker) -> None:
        """From now on it hears all that the node tells."""
        self._sink.onlooker = onlooker

    @property
    def _lives(self) -> int:
        return 0 if self.life is None else self.life.number

    async def started(self) -> Node:
        """NodeDownError when it dies first, or cannot start."""
        if self._started is None:
            raise NodeDownError(f"{self.name} was never started")
        return await asyncio.shield(self._started)

    def when_ended(self) -> asyncio.Future[NodeDownError]:
        """Done when its present life is over, and says how. Not to be cancelled: shield it."""
        ended: asyncio.Future[NodeDownError] = self._simulation.loop.create_future()
        self._when_ended.append(ended)
        return ended

    async def stop(self) -> None:
        """The clean way, as far as the node comes with it before it is killed."""
        node, life = self.node, self.life
        if node is None or life is None:
            return
        ended = self.when_ended()

        async def stopping() -> None:
            await node.stop()
            row = self._simulation.trace.emit("stop", self.name)
            self._simulation.network.process_ended(life, row)
            self._end(NodeDownError(f"{self.name} was stopped", 0))

        context = life.context()
        context.run(event_sink.set, self._sink)
        task = self._simulation.loop.create_task(stopping(), context=context)
        assert not task.done()
        await asyncio.shield(ended)

    def begin_stop(self) -> bool:
        """As `stop` by a service manager: too slow, it is killed. To be ended like an outage."""
        life = self.life
        if self.node is None or life is None:
            return False
        self._outages += 1

        async def stopped() -> None:
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_PATIENCE_S):
                    await self.stop()
            if self.life is life and self.kill():
                self._outages -= 1  # it is still the same outage
            self._start_unless_struck_down()

        task = self._simulation.loop.create_task(stopped())
        assert not task.done()
        return True

    def kill(self) -> bool:
        """SIGKILL: what it wrote is still in the page cache, and its peers see resets.

        False when there is nothing to kill, as for the other faults.
        """
        if self.life is None:
            return False
        row = self._simulation.trace.emit("crash", self.name, detail="kill")
        self._simulation.network.process_ended(self.life, row)
        for disk in self.disks.values():
            disk.process_crash()
        self._outages += 1
        self._end(NodeDownError(f"{self.name} was killed", KILLED))
        return True

    def power_loss(self, *, torn: bool = True) -> bool:
        """What was not synced is lost, or with `torn` some of it; peers see silence."""
        network = self._simulation.network
        if not network.host(self.name).is_up:
            return False
        self._power_losses += 1
        dice = self._simulation.decisions.random("power_loss", f"{self.name}/{self._power_losses}")
        lost = [disk.power_loss(dice if torn else None) for disk in self.disks.values()]
        trace = self._simulation.trace
        row = trace.emit(
            "crash", self.name, offset=sum(sum(each.values()) for each in lost), detail="power loss"
        )
        for each in lost:
            for path, count in each.items():
                trace.emit("lost", self.name, offset=count, detail=path, cause=row)
        network.power_lost(self.name, row)
        self._outages += 1
        self._end(NodeDownError(f"{self.name} lost its power", KILLED))
        return True

    def end_outage(self) -> None:
        """Undoes one kill or power loss: after the last of them the node starts."""
        self._outages = max(0, self._outages - 1)
        self._start_unless_struck_down()

    def _end(self, reason: NodeDownError) -> None:
        life, self.life, self.node, self.process = self.life, None, None, None
        self._pauses = 0
        if self._sink.onlooker is not None:
            self._sink.onlooker.life_ended(self.name)
        if life is not None:
            self._simulation.loop.crash(life)
        if self._started is not None and not self._started.done():
            self._started.set_exception(reason)
        ended, self._when_ended = self._when_ended, []
        for each in ended:
            each.set_result(reason)

    def pause(self) -> bool:
        """As often as it is paused it must be resumed."""
        if self.life is None:
            return False
        self._simulation.trace.emit("pause", self.name)
        self._pauses += 1
        self._simulation.loop.pause(self.life)
        return True

    def resume(self, life: Life | None = None) -> None:
        """With `life`, only if the node still lives that one."""
        if self._pauses and self.life is not None and life in (None, self.life):
            self._pauses -= 1
            if self._pauses == 0:
                self._simulation.trace.emit("resume", self.name)
                self._simulation.loop.resume(self.life)


def _config(node_id: int, name: str, properties: Properties) -> BrokerConfig:
    """Raises PropertiesError."""
    try:
        return BrokerConfig.of({**own_properties(node_id, name), **properties})
    except ConfigError as error:
        raise PropertiesError(str(error)) from None


def _take_notice(done: asyncio.Future[Any]) -> None:
    """Nobody may be waiting for a node that dies while it starts."""
    if not done.cancelled():
        done.exception()


class SimCluster:
    """Nodes n1 to nN, each both broker and controller of one cluster.

    With `is_one` false each is a cluster of its own. `properties` are for all, or a function of the
    node's id.
    """

    def __init__(
        self,
        simulation: Simulation,
        count: int,
        properties: Properties | Callable[[int], Properties] | None = None,
        *,
        is_one: bool = True,
        crash_points: Iterable[CrashPoint] = (),
        restart_after_exit_s: float | None = None,
    ) -> None:
        """With `restart_after_exit_s` somebody looks after processes that end by themselves."""
        self.simulation = simulation
        self.cluster_id = text_of_id(new_id(simulation.decisions.random("cluster_id", "")))
        given = properties if properties is not None else {}
        points = tuple(crash_points)
        self._restarts_nodes = restart_after_exit_s is not None
        self.nodes: dict[str, SimNode] = {}
        for node_id in range(1, count + 1):
            of_cluster = membership(node_id, count) if is_one and count > 1 else {}
            node = SimNode(
                simulation,
                node_id,
                {**of_cluster, **(given(node_id) if callable(given) else given)},
                crash_points=points,
                crash=self._crash,
                restart_after_exit_s=restart_after_exit_s,
            )
            self.nodes[node.name] = node

    def __getitem__(self, name: str) -> SimNode:
        return self.nodes[name]

    async def start(self) -> None:
        """Formats and starts all, and waits until each is ready, or is to come back later."""
        for node in self.nodes.values():
            await node.format(self.cluster_id)
        for node in self.nodes.values():
            node.start()
        for node in self.nodes.values():
            try:
                await node.started()
            except NodeDownError:
                if not (node.is_struck_down or self._restarts_nodes):
                    raise

    def topic_name(self, topic_id: bytes) -> str | None:
        """As any of the running nodes knows it."""
        for each in self.nodes.values():
            if each.node is not None and each.node.config.is_broker:
                name = each.node.metadata.image.names_by_id.get(topic_id)
                if name is not None:
                    return name
        return None

    def follows(self, node_id: int, topic: str, index: int) -> bool:
        """Whether the node has a replica of the partition, and does not lead it."""
        node = self.nodes[f"n{node_id}"].node
        partition = None if node is None else node.partitions.find(topic, index)
        return partition is not None and partition.leader is None

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
            node.power_loss(torn=point.torn)
        if point.for_ms is not None:
            loop = self.simulation.loop
            loop.call_kernel(loop.now_ns + int(point.for_ms * 1e6), SimNode.end_outage, node)
