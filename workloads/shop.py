"""Orders of a shop: an item, a payment and a note of the order in three topics, all or none."""

from __future__ import annotations

from collections.abc import Sequence

from harness.cluster.parts import NO_PARTS
from workloads.base import Load
from workloads.ledger import LEDGER_CHECKERS, Ledger

_TOPICS = ("payments", "orders", "inventory")
"""In the order in which they are written to: what is cut off is the item that was sold."""
_PARTITIONS = 2


class Shop(Ledger):
    """Sells items: each order takes an item from the inventory, a payment and a note of the order,
    in three topics and one transaction. With --no-transactions the shop oversells."""

    name = "shop"
    consistency = "orders are atomic: an item, its payment and its order are there, or none of them"
    is_polled = True
    needs = NO_PARTS
    checkers: tuple[str, ...] = (*LEDGER_CHECKERS, "oversold")

    def __init__(self, load: Load) -> None:
        super().__init__(load, self.name, _TOPICS, _PARTITIONS)

    def parties(self, draws: Sequence[float]) -> list[str]:
        return [
            f"{topic}-{int(draw * _PARTITIONS)}" for topic, draw in zip(_TOPICS, draws, strict=True)
        ]
