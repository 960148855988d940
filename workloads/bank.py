"""Transfers between accounts, each a transaction of two entries in two partitions."""

from __future__ import annotations

from collections.abc import Sequence

from harness.cluster.parts import NO_PARTS
from workloads.base import Load
from workloads.ledger import LEDGER_CHECKERS, Ledger

_ACCOUNTS = 5


class Bank(Ledger):
    """Moves money between accounts, each a partition; a transfer is a transaction of two entries,
    and every reader of the accounts finds the same total."""

    name = "bank"
    consistency = "transfers are atomic: what consumers have read of all accounts adds up"
    is_polled = True
    needs = NO_PARTS
    checkers: tuple[str, ...] = (*LEDGER_CHECKERS, "bank-total")

    def __init__(self, load: Load) -> None:
        super().__init__(load, self.name, ("bank",), _ACCOUNTS)

    def parties(self, draws: Sequence[float]) -> list[str]:
        """Two different accounts: who pays, and who is paid."""
        keys = self._logs.keys
        payer = int(draws[0] * len(keys))
        payee = (payer + 1 + int(draws[1] * (len(keys) - 1))) % len(keys)
        return [keys[payer], keys[payee]]
