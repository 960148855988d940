"""clock: shifts the wall clocks of simulated nodes, and makes them run fast or slow."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from harness.cluster.capabilities import Clocks, Node
from harness.cluster.errors import FaultMissedError
from harness.sim.nodes import SimNode
from harness.sim.simulation import Simulation

_LOOK_S = 0.1
_ERROR_S = 2e-6
"""Clocks count milliseconds in floating point, since 1970."""


class PlaceClocks:
    def __init__(self, simulation: Simulation, nodes: Mapping[Node, SimNode]) -> None:
        """`nodes` may be filled later."""
        self._simulation = simulation
        self._nodes = nodes

    async def jump(self, node: Node, by_s: float) -> None:
        self._tell("fault", node, f"clock jumps by {by_s:g} s")
        before_s = await self.offset_s(node)
        self._nodes[node].clock.jump(by_s * 1000)
        moved_s = await self.offset_s(node) - before_s
        if abs(moved_s - by_s) > _ERROR_S:
            raise FaultMissedError(f"the clock of {node} moved by {moved_s:g} s, not by {by_s:g} s")

    async def skew(self, node: Node, rate: float) -> None:
        if rate <= 0:
            raise ValueError(f"a clock cannot run at rate {rate:g}")
        self._tell("fault", node, f"clock runs at {rate:g}")
        self._nodes[node].clock.run_at(rate)
        before_s = await self.offset_s(node)
        await asyncio.sleep(_LOOK_S)
        gained_s = await self.offset_s(node) - before_s
        if abs(gained_s - (rate - 1) * _LOOK_S) > _ERROR_S:
            raise FaultMissedError(f"the clock of {node} gained {gained_s:g} s in {_LOOK_S:g} s")

    async def offset_s(self, node: Node) -> float:
        return self._nodes[node].clock.offset_ms / 1000

    async def heal(self) -> None:
        for name, node in self._nodes.items():
            self._tell("heal", name, "clock")
            node.clock.run_at(1.0)
            node.clock.jump(-node.clock.offset_ms)

    def _tell(self, kind: str, node: Node, detail: str) -> None:
        self._simulation.trace.emit(kind, node, detail=detail)


def _check(clocks: PlaceClocks) -> Clocks:
    """Has mypy hold it to what nemeses expect."""
    return clocks
