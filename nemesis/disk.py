"""disk: full, read-only, slow and failing disks, flipped bits and truncated logs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar

from harness.cluster import Cluster
from harness.cluster.capabilities import DiskFault, Node, StoredDamage
from harness.cluster.errors import FaultMissedError, NodeFailedError
from harness.cluster.parts import NO_PARTS, Part, offered, the, why_lacking
from harness.errors import EnvironmentFailure
from harness.schedule.faults import (
    BitFlip,
    DiskError,
    DiskFull,
    DiskReadOnly,
    DiskSlow,
    Fault,
    PowerLoss,
    TruncatedTail,
)
from nemesis import replicas
from nemesis.base import Ground, LapsedError, Moment, NothingToStrikeError, Scene, missed
from nemesis.budget import (
    DAMAGING,
    affordable,
    may_damage,
    must_be_spared,
    why_never_affordable,
)
from nemesis.outage import bring_back, running, stop, take_down, why_no_process
from nemesis.power import give_power
from nemesis.targets import check_target, resolve, why_no_target

_NEEDS: dict[str, tuple[DiskFault, ...]] = {
    "full": ("fill",),
    "read-only": ("read-only",),
    "slow": ("slow",),
    "eio": ("fail",),
    "bit-flip": ("bit-flip",),
    "truncated-tail": ("truncate",),
}
_FORMS: dict[str, type[Fault]] = {
    "full": DiskFull,
    "read-only": DiskReadOnly,
    "slow": DiskSlow,
    "eio": DiskError,
    "bit-flip": BitFlip,
    "truncated-tail": TruncatedTail,
}
_PARTS: dict[str, frozenset[Part]] = {
    "bit-flip": frozenset({"topics", "leaders", "reassignment", "stored"}),
    "truncated-tail": frozenset({"leaders", "stored"}),
}
"""Parts of a system needed to find, roll and repair its stored segments."""
_SLOW_MS = (50.0, 100.0, 250.0, 500.0)
_ROLL_MS = "500"
_ROLLED_WITHIN_S = 10.0
_FLIP_ATTEMPTS = 4


@dataclass(frozen=True, slots=True)
class DiskFaults:
    """Fills, slows and breaks disks, flips a stored bit, or cuts off the end of a log."""

    name: str = "disk"
    variant: str = ""
    target: str = ""
    kinds: ClassVar[tuple[type[Fault], ...]] = tuple(_FORMS.values())
    variants: ClassVar[tuple[str, ...]] = tuple(_FORMS)
    needs: ClassVar[frozenset[Part]] = NO_PARTS
    _flipped: dict[str, str] = field(default_factory=dict, compare=False)
    """By the fault's name, the log that has the flipped bit."""

    def __post_init__(self) -> None:
        check_target(self.target)

    def why_not(self, cluster: Cluster) -> str | None:
        if cluster.disk is None:
            return cluster.why_not("disk")
        if self.variant:
            return _why_not_form(cluster, self.variant)
        reasons = [_why_not_form(cluster, each) for each in self.variants]
        return None if None in reasons else reasons[0]

    def why_never(self, ground: Ground) -> str | None:
        if (reason := why_no_target(self.target, ground)) is not None:
            return reason
        needed = _PARTS.get(self.variant, NO_PARTS)
        if (reason := why_lacking(needed, ground.parts, ground.system)) is not None:
            return reason
        is_damaging = bool(self.variant) and _FORMS[self.variant] in DAMAGING
        return why_never_affordable(ground) if is_damaging else None

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        variant = self.variant or dice.choice(_possible(scene))
        usual = ("one", "leader", "controller")
        nodes = await running(scene, await resolve(scene, self.target, dice, among=usual))
        if _FORMS[variant] in DAMAGING:
            nodes = await affordable(scene, nodes, dice)
        return tuple(_drawn(variant, node, moment, dice) for node in nodes)

    async def inject(self, scene: Scene, fault: Fault) -> str:
        if isinstance(fault, DAMAGING):
            scene.damaged.add(_node(fault))
        match fault:
            case BitFlip():
                damage = await _flip(scene, fault)
                self._flipped[fault.name] = damage.log
                return damage.where
            case TruncatedTail():
                return await _truncate(scene, fault)
            case _:
                async with scene.disks:
                    return await self._break(scene, fault)

    async def _break(self, scene: Scene, fault: Fault) -> str:
        disk = the(scene.cluster.disk)
        match fault:
            case DiskFull(node=node):
                await disk.fill(node)
                return f"{node} has {await _free(scene, node)} bytes of disk left"
            case DiskReadOnly(node=node):
                await disk.make_read_only(node)
                return f"writes on {node} fail with EROFS"
            case DiskSlow(node=node, extra_ms=extra_ms):
                await disk.slow(node, extra_ms / 1000)
                return f"the disk of {node} is slower by {extra_ms:g} ms, as measured"
            case DiskError(node=node):
                await disk.fail(node)
                return f"the disk of {node} fails with EIO"
            case _:
                raise AssertionError(f"{fault!r} is not a disk fault")

    async def heal(self, scene: Scene, fault: Fault) -> None:
        node = _node(fault)
        match fault:
            case BitFlip():
                await bring_back(scene, node, fault)
                await _copy_anew(scene, node, self._flipped.get(fault.name, ""))
            case TruncatedTail():
                if the(scene.cluster.disk).why_not("power") is None:
                    await give_power(scene, node)
                await bring_back(scene, node, fault)
            case _:
                async with scene.disks:
                    lapsed = await self._heal_disk(scene, fault)
                await bring_back(scene, node, fault)
                if lapsed:
                    raise LapsedError(lapsed)

    async def _heal_disk(self, scene: Scene, fault: Fault) -> str:
        """Heal all disks at once, as the place does, and inject other disk faults again.

        Hosts that another fault keeps without power stay off. Returns the reason if another fault
        did not stay in force.
        """
        node, disk = _node(fault), the(scene.cluster.disk)
        dark = {other.node for other in scene.others(fault, PowerLoss)}
        if node in dark:
            # Conductor.heal_all tries again.
            raise NodeFailedError(f"the disk of {node} cannot be healed: the node has no power")
        if isinstance(fault, DiskError | DiskReadOnly):
            # Its open files may be on a file system that is gone; an operator would restart it.
            await the(scene.cluster.process).kill(node)
        async with scene.links:  # healing may bring a host back to the network
            await disk.heal(but=dark)
        if not await disk.free_bytes(node):
            raise FaultMissedError(f"the disk of {node} is still full")
        for kind in (DiskFull, DiskReadOnly, DiskSlow, DiskError):
            for other in scene.others(fault, kind):
                if _node(other) in dark:
                    continue
                try:
                    await self._break(scene, other)
                except FaultMissedError as why:
                    return f"{other.name} did not stay in force: {why}"
        return ""


def _possible(scene: Scene) -> list[str]:
    """Variants that can strike in this run."""
    parts = offered(scene.cluster.system)
    found = [
        each
        for each in _FORMS
        if _why_not_form(scene.cluster, each) is None and _PARTS.get(each, NO_PARTS) <= parts
    ]
    if not may_damage(scene):
        found = [each for each in found if _FORMS[each] not in DAMAGING]
    if not found:
        raise NothingToStrikeError(
            "every disk fault available here damages replicas, and no replica may be lost"
        )
    return found


def _why_not_form(cluster: Cluster, variant: str) -> str | None:
    disk = the(cluster.disk)
    reasons = [reason for need in _NEEDS[variant] if (reason := disk.why_not(need)) is not None]
    return reasons[0] if reasons else why_no_process(cluster)


def _drawn(variant: str, node: Node, moment: Moment, dice: Random) -> Fault:
    name, at_ms, for_ms = f"{moment.name}/{node}", moment.at_ms, moment.for_ms
    match variant:
        case "full":
            return DiskFull(name=name, at_ms=at_ms, for_ms=for_ms, node=node)
        case "read-only":
            return DiskReadOnly(name=name, at_ms=at_ms, for_ms=for_ms, node=node)
        case "slow":
            extra_ms = dice.choice(_SLOW_MS)
            return DiskSlow(name=name, at_ms=at_ms, for_ms=for_ms, node=node, extra_ms=extra_ms)
        case "eio":
            return DiskError(name=name, at_ms=at_ms, for_ms=for_ms, node=node)
        case "bit-flip":
            return BitFlip(name=name, at_ms=at_ms, for_ms=for_ms, node=node, draw=dice.random())
        case _:
            draw = dice.random()
            return TruncatedTail(name=name, at_ms=at_ms, for_ms=for_ms, node=node, draw=draw)


def _node(fault: Fault) -> Node:
    node: Node = getattr(fault, "node")  # noqa: B009 - every fault of a disk has one
    return node


async def _free(scene: Scene, node: Node) -> int:
    free = await the(scene.cluster.disk).free_bytes(node)
    if free:
        raise FaultMissedError(f"{node} still has {free} bytes of disk free")
    return free


async def _flip(scene: Scene, fault: BitFlip) -> StoredDamage:
    """Flip a bit in a closed segment; roll one first if there is none.

    Compaction may delete the segment before the node is down; then another one is tried.
    """
    for attempts_left in reversed(range(_FLIP_ATTEMPTS)):
        if not await _has_closed_segments(scene, fault.node):
            break
        await take_down(scene, fault.node)
        damage: StoredDamage | None = None
        try:
            damage = await _damaged(scene, fault, the(scene.cluster.disk).flip_bit)
        except FaultMissedError:
            if not attempts_left:
                raise
        await _try_to_start(scene, fault.node, fault)
        if damage is not None:
            return damage
    raise NothingToStrikeError(f"{fault.node} has no closed segment to flip a bit in")


async def _truncate(scene: Scene, fault: TruncatedTail) -> str:
    """Cut the end off a log while the node is down, after a clean stop.

    If the place can cut the power, it does: a broker may trust every byte if its host never went
    off. The power goes after a clean stop, because otherwise the power loss would take the tail.
    """
    node, disk = fault.node, the(scene.cluster.disk)
    # A broker is trusted after a clean stop, so it must not be the only complete replica.
    await must_be_spared(scene, node)
    await stop(scene, node)
    if disk.why_not("power") is None:
        async with scene.links:
            await disk.lose_power(node)
            await disk.restore_power(node)
    damage = await _damaged(scene, fault, disk.truncate_tail)
    await _try_to_start(scene, node, fault)
    return damage.where


async def _damaged(
    scene: Scene,
    fault: BitFlip | TruncatedTail,
    deed: Callable[[Node, float], Awaitable[StoredDamage]],
) -> StoredDamage:
    try:
        return await deed(fault.node, fault.draw)
    except FaultMissedError as nothing:
        # Another fault may have moved its replicas to other nodes.
        raise missed(scene, fault, str(nothing)) from None


async def _try_to_start(scene: Scene, node: Node, fault: Fault) -> None:
    """Start the node; without a majority it is not ready, and healing starts it."""
    try:
        await bring_back(scene, node, fault)
    except EnvironmentFailure:
        return


async def _has_closed_segments(scene: Scene, node: Node) -> bool:
    """Whether the node has closed segments; rolls them if not, which needs another write."""

    async def is_there() -> bool:
        for topic in scene.topics:
            segments = await the(scene.cluster.system.stored).segments(topic, node)
            if any(len(sizes) > 1 and sizes[0] for sizes in segments.values()):
                return True
        return False

    if await is_there():
        return True
    for topic in scene.topics:
        await the(scene.cluster.system.topics).alter_topic(topic, {"segment.ms": _ROLL_MS})
    try:
        loop = asyncio.get_running_loop()
        until_s = loop.time() + _ROLLED_WITHIN_S
        while loop.time() < until_s:
            if await is_there():
                return True
            await asyncio.sleep(0.5)
        return False
    finally:
        for topic in scene.topics:
            said = scene.topic_configs.get(topic, {}).get("segment.ms")
            await the(scene.cluster.system.topics).alter_topic(topic, {"segment.ms": said})


async def _copy_anew(scene: Scene, node: Node, log: str) -> None:
    """Copy the log from another replica, because no broker notices a bit that flips at rest.

    Copies all logs of the node if `log` is empty.
    """
    held = await replicas.held_by(scene, node)
    if log:
        held = tuple(each for each in held if each[0] == log)
    fewer = tuple(
        (key, " ".join(each for each in said.split() if each != node)) for key, said in held
    )
    if any(not said for _, said in fewer):
        return  # no other replica exists to copy from
    await replicas.move(scene, fewer)
    await replicas.move(scene, held)
