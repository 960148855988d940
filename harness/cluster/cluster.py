"""Cluster: the nodes of one system in one place, as a run and its nemeses see them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import Self

from harness.cluster.base import PartitionState, Place, System
from harness.cluster.capabilities import (
    Capability,
    Clocks,
    Disks,
    Network,
    Node,
    Processes,
    Wire,
)
from harness.cluster.node_processes import NodeProcesses


class Cluster:
    """`async with Cluster(system, count=3) as cluster:` and all three nodes serve.

    Leaving it ends the nodes without ado, because three that stop cleanly at once wait for each
    other. Who wants a clean stop asks for it, one by one. The files stay.
    """

    def __init__(self, system: System, *, count: int) -> None:
        if count < 1:
            raise ValueError(f"a cluster of {count} nodes")
        self.system = system
        self.place: Place = system.place
        self.network: Network | None = self.place.network
        self.disk: Disks | None = self.place.disk
        self.clock: Clocks | None = self.place.clock
        self.wire: Wire | None = self.place.wire
        self.process: Processes | None = None
        if self.place.why_not("process") is None:
            self.process = NodeProcesses(system)
        self._count = count

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(host.node for host in self.place.hosts)

    def why_not(self, capability: Capability) -> str | None:
        """Why the cluster lacks it, in a sentence; None if it is there."""
        return self.place.why_not(capability)

    async def __aenter__(self) -> Self:
        try:
            await self.place.up(self._count)
            await self._on_every_node(self.system.install)
            await self._on_every_node(self.system.configure)
            await self.start()
        except BaseException:
            await self.place.down()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.place.down()

    async def start(self) -> None:
        """Every node that does not run, all at once: one alone has no majority to wait for."""
        await self._on_every_node(self._start_if_down)

    async def _start_if_down(self, node: Node) -> None:
        process = self.system.process(node)
        if process is None or not await process.is_running():
            await self.system.start(node)

    async def _on_every_node(self, act: Callable[[Node], Coroutine[None, None, None]]) -> None:
        """The first failure is the one worth telling; the others were cancelled by it."""
        try:
            async with asyncio.TaskGroup() as group:
                for node in self.nodes:
                    group.create_task(act(node), name=f"{node} {act.__name__}")
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None

    def bootstrap(self, *nodes: Node) -> str:
        """Where clients begin; every node if none is named."""
        return self.system.bootstrap(nodes or self.nodes)

    async def partitions(self, topic: str, *asking: Node) -> Sequence[PartitionState]:
        """None at all for a system whose partitions have no leaders."""
        if self.system.leaders is None:
            return ()
        return await self.system.leaders.partitions(topic, asking or await self._awake())

    async def leader(self, topic: str, index: int, *asking: Node) -> Node | None:
        """None while there is none, or none that the cluster knows of."""
        for partition in await self.partitions(topic, *asking):
            if partition.index == index:
                return partition.leader
        raise ValueError(f"{topic} has no partition {index}")

    async def controller(self, *asking: Node) -> Node | None:
        """None, too, for a system without controllers."""
        if self.system.controllers is None:
            return None
        return await self.system.controllers.controller(asking or await self._awake())

    async def _awake(self) -> tuple[Node, ...]:
        """A paused node accepts connections and then keeps its silence, so it is not asked."""
        if self.process is None:
            return self.nodes
        awake = [
            node
            for node in self.nodes
            if await self.process.is_running(node) and not await self.process.is_paused(node)
        ]
        return tuple(awake) or self.nodes
