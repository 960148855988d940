"""restart: stops brokers cleanly and starts them again, one after the other."""

from __future__ import annotations

import asyncio
from random import Random
from typing import ClassVar, NamedTuple

from harness.cluster.base import RunningProcess
from harness.cluster.capabilities import Node
from harness.cluster.errors import FaultMissedError
from harness.cluster.parts import the
from harness.errors import EnvironmentFailure
from harness.schedule.faults import Fault, RollingRestart, Stop
from nemesis.base import Moment, NothingToStrikeError, Scene
from nemesis.outage import OfProcesses, bring_back, running, stop
from nemesis.targets import resolve

_ENDLESS_MS = 1e12


class _Restarted(NamedTuple):
    proof: str
    is_back: bool


class Restarts(OfProcesses):
    """Stops brokers cleanly and starts them again, one after the other, as an upgrade does."""

    kinds: ClassVar[tuple[type[Fault], ...]] = (RollingRestart, Stop)

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        nodes = await running(scene, await resolve(scene, self.target or "all", dice))
        return (
            RollingRestart(
                name=moment.name,
                at_ms=moment.at_ms,
                for_ms=moment.for_ms,
                nodes=tuple(dice.sample(nodes, len(nodes))),
            ),
        )

    async def inject(self, scene: Scene, fault: Fault) -> str:
        """Restart as many nodes as the fault's time allows, and at least one."""
        assert isinstance(fault, RollingRestart | Stop)
        if isinstance(fault, Stop):
            await running(scene, [fault.node])
            return f"{fault.node} {await stop(scene, fault.node)}"
        loop = asyncio.get_running_loop()
        until_s = loop.time() + (fault.for_ms or _ENDLESS_MS) / 1000
        done: list[str] = []
        for node in fault.nodes:
            if done and loop.time() >= until_s:
                break
            restarted = await self._restart(scene, node, fault)
            if restarted is None:
                continue
            done.append(restarted.proof)
            if not restarted.is_back:
                # Restarting the next node could take the cluster down; healing starts this one.
                break
        if not done:
            raise NothingToStrikeError(f"already down: {', '.join(fault.nodes)}")
        return "; ".join(done)

    async def _restart(self, scene: Scene, node: Node, fault: Fault) -> _Restarted | None:
        """Restart one node; None if another fault has taken it down."""
        process, before = the(scene.cluster.process), scene.cluster.system.process(node)
        if not await process.is_running(node):
            return None
        manner = await stop(scene, node)
        try:
            await bring_back(scene, node, fault)
        except EnvironmentFailure:
            return _Restarted(f"{node} {manner} and is not back yet", is_back=False)
        after = scene.cluster.system.process(node)
        if before is after and not scene.is_held_down(node, but=fault):
            raise FaultMissedError(f"{node} still has its old process after a restart")
        scene.on_back(fault, node)
        proof = f"{node} {manner} and was started again as {_number(after)}"
        return _Restarted(proof, is_back=True)

    async def heal(self, scene: Scene, fault: Fault) -> None:
        assert isinstance(fault, RollingRestart | Stop)
        for node in fault.nodes if isinstance(fault, RollingRestart) else (fault.node,):
            await bring_back(scene, node, fault)


def _number(process: RunningProcess | None) -> str:
    return "an unknown process" if process is None else f"process {process.pid}"
