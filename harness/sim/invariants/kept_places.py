"""W-PLACE: a broker that comes back with all it ever wrote stays eligible where it was.

Stops and kills lose nothing, so a new registration takes nobody out of the ISR and the ELR whose
machine never lost power and whose disks were never struck. Otherwise a partition may wait for ever
for a replica that is there. Where enough others are in sync nobody is eligible besides, and nothing
is asked; nor when several batches of metadata were applied at once, because the set may have been
emptied for good reason in between.
"""

from __future__ import annotations

from broker.inspect import Applied, PartitionInfo
from harness.sim.invariants.base import Cost, Key, Violation
from harness.sim.invariants.step import Step


class KeptPlaces:
    name = "W-PLACE"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0
        self._epochs: dict[int, int] = {}
        """By broker: that of its last registration."""
        self._before: dict[Key, PartitionInfo] = {}

    def check(self, step: Step) -> Violation | None:
        decided = step.scene.decided
        sentence = None
        if step.brokers and _is_one_batch(step):
            for broker_id in step.brokers:
                broker = decided.brokers.get(broker_id)
                epoch = self._epochs.get(broker_id)
                if broker is not None and epoch is not None and epoch != broker.broker_epoch:
                    sentence = sentence or self._registered(step, broker_id, broker.broker_epoch)
        for broker_id in step.brokers:
            if broker_id in decided.brokers:
                self._epochs[broker_id] = decided.brokers[broker_id].broker_epoch
        for key in step.decided:
            if key in decided.infos:
                self._before[key] = decided.infos[key]
        return None if sentence is None else step.broken(self.name, sentence)

    def _registered(self, step: Step, broker_id: int, epoch: int) -> str | None:
        decided = step.scene.decided
        for key, info in decided.infos.items():
            before = self._before.get(key)
            had_place = before is not None and broker_id in (*before.isr, *before.elr)
            if not had_place or broker_id not in info.replicas:
                continue
            if len(info.isr) >= decided.min_isr[key] or not step.scene.is_unharmed(broker_id):
                continue
            self.looks += 1
            if broker_id not in (*info.isr, *info.elr):
                return (
                    f"broker {broker_id} registers with epoch {epoch} and is not eligible for "
                    f"{decided.name(key)} any more, though its disks have lost nothing: the ISR is "
                    f"{list(info.isr)} and the ELR {list(info.elr)}"
                )
        return None


def _is_one_batch(step: Step) -> bool:
    applied = [each for each in step.of_kind("metadata") if isinstance(each.detail, Applied)]
    return len(applied) == 1 and getattr(applied[0].detail, "changes", None) is not None
