"""clock: wall clocks that jump, run at another rate, or flicker."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar, TypeAlias

from harness.cluster import Cluster
from harness.cluster.capabilities import Clocks, Node
from harness.cluster.errors import FaultMissedError
from harness.cluster.parts import NO_PARTS, Part, the
from harness.schedule.faults import ClockJump, ClockSkew, ClockStrobe, Fault
from nemesis.base import Ground, LapsedError, Moment, Scene
from nemesis.targets import check_target, resolve, why_no_target

_LEAST_MS, _MOST_MS = 100.0, 288_000.0
_RATES = (0.5, 0.9, 1.1, 2.0, 5.0)
_PERIODS_MS = (200.0, 500.0, 1000.0)
_LOOK_S = 1.0
_ERROR_S = 0.05
"""Two clocks are read one after the other, and the machine may be busy in between."""
_KINDS: TypeAlias = ClockJump | ClockSkew | ClockStrobe


@dataclass(frozen=True, slots=True)
class ClockFaults:
    """Makes the wall clocks of brokers jump, run fast or slow, or flicker between two times."""

    name: str = "clock"
    variant: str = ""
    target: str = ""
    kinds: ClassVar[tuple[type[Fault], ...]] = (ClockJump, ClockSkew, ClockStrobe)
    variants: ClassVar[tuple[str, ...]] = ("skew", "jump", "strobe")
    needs: ClassVar[frozenset[Part]] = NO_PARTS
    _strobes: dict[str, asyncio.Task[None]] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        check_target(self.target)

    def why_not(self, cluster: Cluster) -> str | None:
        return cluster.why_not("clock") if cluster.clock is None else None

    def why_never(self, ground: Ground) -> str | None:
        return why_no_target(self.target, ground)

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        variant = self.variant or dice.choice(self.variants)
        usual = ("one", "minority", "majority", "all", "leader", "controller")
        nodes = await resolve(scene, self.target, dice, among=usual)
        return tuple(_drawn(variant, node, moment, dice) for node in nodes)

    async def inject(self, scene: Scene, fault: Fault) -> str:
        assert isinstance(fault, _KINDS)
        clocks = the(scene.cluster.clock)
        if isinstance(fault, ClockSkew):
            async with scene.clocks:
                await clocks.skew(fault.node, fault.rate)
            # Measured without the lock, because it takes a second and concerns one node only.
            return await _gaining(clocks, fault.node, fault.rate)
        async with scene.clocks:
            return await self._move(clocks, fault)

    async def _move(self, clocks: Clocks, fault: ClockJump | ClockStrobe) -> str:
        before_s = await clocks.offset_s(fault.node)
        await clocks.jump(fault.node, fault.by_ms / 1000)
        proof = await _moved(clocks, fault.node, before_s, fault.by_ms / 1000)
        if isinstance(fault, ClockJump):
            return proof
        self._strobes[fault.name] = asyncio.create_task(_flicker(clocks, fault))
        return f"{proof} and moves back and forth every {fault.period_ms:g} ms"

    async def heal(self, scene: Scene, fault: Fault) -> None:
        """The place heals all clocks at once, so other clock faults are injected again."""
        assert isinstance(fault, _KINDS)
        failure = await self._end_strobe(fault)
        async with scene.clocks:
            await self._heal(scene, the(scene.cluster.clock), fault)
        if failure is not None:
            raise LapsedError(f"the strobe of the clock of {fault.node} ended early: {failure}")

    async def _heal(self, scene: Scene, clocks: Clocks, fault: _KINDS) -> None:
        await clocks.heal()
        try:
            for jump in scene.others(fault, ClockJump):
                await clocks.jump(jump.node, jump.by_ms / 1000)
            for skew in scene.others(fault, ClockSkew):
                await clocks.skew(skew.node, skew.rate)
        except FaultMissedError as missed:
            raise LapsedError(f"another clock fault did not stay in force: {missed}") from None
        others = [each for kind in self.kinds for each in scene.others(fault, kind)]
        if fault.node not in [getattr(each, "node", "") for each in others]:
            offset_s = await clocks.offset_s(fault.node)
            if abs(offset_s) > _ERROR_S:
                raise FaultMissedError(f"the clock of {fault.node} is still {offset_s:+g} s off")

    async def _end_strobe(self, fault: Fault) -> BaseException | None:
        task = self._strobes.pop(fault.name, None)
        if task is None:
            return None
        task.cancel()
        (ended,) = await asyncio.gather(task, return_exceptions=True)
        return None if isinstance(ended, asyncio.CancelledError) else ended


def _drawn(variant: str, node: Node, moment: Moment, dice: Random) -> Fault:
    name, at_ms, for_ms = f"{moment.name}/{node}", moment.at_ms, moment.for_ms
    by_ms = round(_LEAST_MS * (_MOST_MS / _LEAST_MS) ** dice.random(), 1) * dice.choice((-1, 1))
    match variant:
        case "skew":
            rate = dice.choice(_RATES)
            return ClockSkew(name=name, at_ms=at_ms, for_ms=for_ms, node=node, rate=rate)
        case "jump":
            return ClockJump(name=name, at_ms=at_ms, for_ms=for_ms, node=node, by_ms=by_ms)
        case _:
            return ClockStrobe(
                name=name,
                at_ms=at_ms,
                for_ms=for_ms,
                node=node,
                by_ms=by_ms,
                period_ms=dice.choice(_PERIODS_MS),
            )


async def _moved(clocks: Clocks, node: Node, before_s: float, by_s: float) -> str:
    moved_s = await clocks.offset_s(node) - before_s
    # Another fault may change the rate of the clock, so the tolerance is half of the jump.
    if abs(moved_s - by_s) > max(_ERROR_S, abs(by_s) / 2):
        raise FaultMissedError(f"the clock of {node} moved by {moved_s:g} s, not by {by_s:g} s")
    return f"the clock of {node} moved by {moved_s:+.3f} s"


async def _gaining(clocks: Clocks, node: Node, rate: float) -> str:
    """Measure the rate, at most twice: the healing of another clock fault resets this clock."""
    loop = asyncio.get_running_loop()
    for _ in range(2):
        begun_s, before_s = loop.time(), await clocks.offset_s(node)
        await asyncio.sleep(_LOOK_S)
        gained_s = await clocks.offset_s(node) - before_s
        taken_s = loop.time() - begun_s
        wanted_s = (rate - 1) * taken_s
        if abs(gained_s - wanted_s) <= max(_ERROR_S, abs(wanted_s) / 2):
            return f"the clock of {node} gained {gained_s:+.3f} s in {taken_s:.3f} s"
    raise FaultMissedError(
        f"the clock of {node} gained {gained_s:g} s in {taken_s:g} s, not {wanted_s:g} s"
    )


async def _flicker(clocks: Clocks, fault: ClockStrobe) -> None:
    by_s = fault.by_ms / 1000
    while True:
        by_s = -by_s
        await asyncio.sleep(fault.period_ms / 1000)
        await clocks.jump(fault.node, by_s)
