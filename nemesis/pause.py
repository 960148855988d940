"""pause: suspends broker processes and resumes them."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from harness.cluster.errors import FaultMissedError
from harness.cluster.parts import the
from harness.schedule.faults import Fault, Pause
from nemesis.base import Moment, NothingToStrikeError, Scene
from nemesis.outage import ANYBODY, OfProcesses, each_by_itself


class Pauses(OfProcesses):
    """Suspends brokers (SIGSTOP) and resumes them (SIGCONT)."""

    kinds: ClassVar[tuple[type[Fault], ...]] = (Pause,)

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        return each_by_itself(Pause, await self._struck(scene, dice, ANYBODY), moment)

    async def inject(self, scene: Scene, fault: Fault) -> str:
        assert isinstance(fault, Pause)
        node, process = fault.node, the(scene.cluster.process)
        if not await process.is_running(node):
            raise NothingToStrikeError(f"{node} cannot be paused: it is down")
        try:
            await process.pause(node)
            if not await process.is_paused(node):
                raise FaultMissedError(f"{node} still runs after it was paused")
        except FaultMissedError:
            # Faults of other nemeses are injected side by side; a kill may come in between.
            if not scene.is_held_down(node, but=fault):
                raise
            raise NothingToStrikeError(
                f"{node} cannot be paused: another fault took it down meanwhile"
            ) from None
        return f"every thread of {node} is stopped"

    async def heal(self, scene: Scene, fault: Fault) -> None:
        assert isinstance(fault, Pause)
        node, process = fault.node, the(scene.cluster.process)
        if any(other.node == node for other in scene.others(fault, Pause)):
            return
        await process.resume(node)
        if await process.is_paused(node):
            raise FaultMissedError(f"{node} is still paused after it was resumed")
