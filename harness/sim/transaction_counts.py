"""What became of the transactions of a run, counted as their clients saw it."""

from __future__ import annotations

from dataclasses import dataclass

from harness.client.base import Completion, Invocation

_TRANSACTIONS = ("txn", "transform")


@dataclass(slots=True)
class TransactionCounts:
    committed: int = 0
    aborted: int = 0
    """Aborted by request or after an error, or left to the coordinator."""
    unknown: int = 0
    fenced: int = 0
    """Transactions whose producer learned that its epoch is over: by another producer of its id, or
    because the transaction took longer than its time-out."""
    transformed: int = 0
    """Records that were consumed and produced in committed transactions."""

    def count(self, invocation: Invocation, completion: Completion) -> None:
        if invocation.f not in _TRANSACTIONS:
            return
        if completion.type == "ok":
            self.committed += 1
            if invocation.f == "transform":
                self.transformed += len(completion.value["in"])
        elif completion.type == "fail":
            self.aborted += 1
        else:
            self.unknown += 1
        for row in completion.beside:
            if row.f == "transaction":
                self.fenced += bool(row.value["fenced"])
