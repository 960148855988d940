"""Three whole nodes in the simulator, and who of them is who in the quorum."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from broker.disk.memory import MemoryDisk
from broker.node import Node
from harness.sim.nodes import SimCluster
from harness.sim.simulation import Simulation

DEADLINE_S = 600.0

_Result = TypeVar("_Result")


class ThreeNodes:
    def __init__(self, cluster: SimCluster) -> None:
        self.cluster = cluster

    def node(self, name: str) -> Node:
        node = self.cluster[name].node
        assert node is not None
        return node

    def disk(self, name: str) -> MemoryDisk:
        [disk] = self.cluster[name].disks.values()
        return disk

    @property
    def active(self) -> list[str]:
        up = [each for each in self.cluster.nodes.values() if each.node is not None]
        return [each.name for each in up if self.node(each.name).controller.is_active]

    async def one_active(self, but: str = "") -> str:
        """The name of the active controller, when there is one, and it is another than this."""
        await until(lambda: any(each != but for each in self.active))
        return next(each for each in self.active if each != but)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - whatever is waited for knows no event
        await asyncio.sleep(0.01)


def among_three(
    story: Callable[[ThreeNodes], Coroutine[Any, Any, _Result]],
    properties: Mapping[str, str] | None = None,
) -> _Result:
    with Simulation(1) as simulation:
        cluster = SimCluster(simulation, 3, properties)

        async def main() -> _Result:
            await cluster.start()
            return await story(ThreeNodes(cluster))

        return simulation.run(main(), deadline_s=DEADLINE_S)
