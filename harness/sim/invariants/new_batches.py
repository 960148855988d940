"""The batches of a replica's log that an invariant has not seen yet.

A replica may be looked at several times between two questions of one invariant, so what the last
look found new is not enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from broker.inspect import SeenBatch
from harness.sim.invariants.base import Key
from harness.sim.invariants.replica import Replica


class Unseen(NamedTuple):
    batches: Sequence[SeenBatch]
    is_anew: bool
    """It is the whole log: for the first time, or because the log was cut."""


class NewBatches:
    def __init__(self) -> None:
        self._seen: dict[tuple[str, Key], tuple[Replica, int, SeenBatch | None]] = {}

    def of(self, replica: Replica) -> Unseen:
        place, batches = (replica.node, replica.key), replica.log.batches
        known, count, last = self._seen.get(place, (None, 0, None))
        has_grown = known is replica and 0 < count <= len(batches) and batches[count - 1] == last
        self._seen[place] = (replica, len(batches), batches[-1] if batches else None)
        return Unseen(batches[count:] if has_grown else batches, not has_grown)
