"""wire: drops, delays, duplicates or falsifies single protocol messages."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar

from harness.cluster import Cluster
from harness.cluster.errors import NotInTimeError
from harness.cluster.parts import NO_PARTS, Part, the
from harness.cluster.waiting import wait_until
from harness.registry import KAFKA
from harness.schedule.faults import Fault, TamperMessages
from nemesis.base import Ground, Moment, Scene, missed
from nemesis.wire_menu import VARIANTS, choices, patience_s

_HIT_WITHIN_S = 10.0
_TIMES_MAX = 3


@dataclass(frozen=True, slots=True)
class WireFaults:
    """Drops, delays, duplicates or falsifies single requests and replies, chosen by their API.

    If the workload has members of consumer groups or transactions, it chooses among the messages
    between them and their coordinators, and the records of transactions.
    """

    name: str = "wire"
    variant: str = ""
    target: str = ""
    kinds: ClassVar[tuple[type[Fault], ...]] = (TamperMessages,)
    variants: ClassVar[tuple[str, ...]] = VARIANTS
    needs: ClassVar[frozenset[Part]] = NO_PARTS

    def __post_init__(self) -> None:
        if self.target:
            raise ValueError("wire takes no target: it chooses messages, not nodes")

    def why_not(self, cluster: Cluster) -> str | None:
        return cluster.why_not("wire") if cluster.wire is None else None

    def why_never(self, ground: Ground) -> str | None:
        """Only by protocol: every workload produces and fetches, so a message always matches."""
        if ground.protocol == KAFKA:
            return None
        return f"it reads Kafka's protocol, and system {ground.system} speaks {ground.protocol}"

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        variant = self.variant or dice.choice(self.variants)
        ids = scene.transactional_ids
        menu = choices(variant, of_groups=bool(scene.members), of_transactions=bool(ids))
        match, action, nth_max = dice.choice(menu)
        if "transactional_id" in match:
            match = {**match, "transactional_id": dice.choice(ids)}
        nth = dice.randint(1, nth_max)
        return (
            TamperMessages(
                name=moment.name,
                at_ms=moment.at_ms,
                for_ms=moment.for_ms,
                match={**match, "nth": nth},
                action=action,
                times=dice.randint(1, _TIMES_MAX),
            ),
        )

    async def inject(self, scene: Scene, fault: Fault) -> str:
        """Waits until a message is hit, which is the proof."""
        from harness.wire.match_json import fault_from_json

        assert isinstance(fault, TamperMessages)
        wire = the(scene.cluster.wire)
        await wire.add(
            fault_from_json(
                {
                    "name": fault.name,
                    "match": dict(fault.match),
                    "action": dict(fault.action),
                    "times": fault.times,
                }
            )
        )

        async def is_hit() -> bool:
            return await wire.hits(fault.name) > 0

        within_s = (
            _HIT_WITHIN_S
            if fault.for_ms is None
            else max(fault.for_ms / 1000, patience_s(fault.match))
        )
        try:
            await wait_until(is_hit, within_s=within_s, what="a message matches", every_s=0.1)
        except NotInTimeError as late:
            raise missed(scene, fault, f"no message was hit ({_shown(fault)}): {late}") from None
        return f"messages hit: {await wire.hits(fault.name)} ({_shown(fault)})"

    async def heal(self, scene: Scene, fault: Fault) -> None:
        """The last wire fault heals all, because a removed fault cannot be added again by name."""
        wire = the(scene.cluster.wire)
        if answers := await wire.answers(fault.name):
            scene.on_answers(fault, answers)
        if not scene.others(fault, TamperMessages):
            await wire.heal()


def _shown(fault: TamperMessages) -> str:
    api = fault.match.get("api", "")
    kind = " or ".join(api) if isinstance(api, list) else str(api)
    direction = fault.match.get("direction", "")
    return f"{' '.join(filter(None, (kind, direction)))}, {fault.action.get('kind')}"
