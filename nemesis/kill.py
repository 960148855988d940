"""kill: ends broker processes without a clean stop, and starts them again."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from harness.schedule.faults import Fault, Kill
from nemesis.base import Moment, Scene
from nemesis.outage import ANYBODY, OfProcesses, bring_back, each_by_itself, take_down


class Kills(OfProcesses):
    """Kills brokers (SIGKILL) and starts them again; what they wrote stays in the page cache."""

    kinds: ClassVar[tuple[type[Fault], ...]] = (Kill,)

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        return each_by_itself(Kill, await self._struck(scene, dice, ANYBODY), moment)

    async def inject(self, scene: Scene, fault: Fault) -> str:
        assert isinstance(fault, Kill)
        return await take_down(scene, fault.node)

    async def heal(self, scene: Scene, fault: Fault) -> None:
        assert isinstance(fault, Kill)
        await bring_back(scene, fault.node, fault)
