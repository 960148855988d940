"""What the workloads bank and shop have in common: clients make deals, and read the books."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.client.base import Invocation
from harness.client.entries import AMOUNTS, entry_value, plain_value
from harness.decisions import Decisions
from workloads.base import Load
from workloads.logs import LOG_CHECKERS, POLL, Logs
from workloads.producers import Producers
from workloads.transactional_logs import TransactionalLogs
from workloads.txn import TRANSACTION_CHECKERS

_POLLS = 0.4
_ABORTS = _POLLS + 0.06
_DRAWS = 8
_PAUSES = 0.1
_READS = _PAUSES + 0.2
_PAUSE_MS = 300


class Ledger(TransactionalLogs):
    """Deals of several entries. Every client reads all partitions from the beginning on."""

    def __init__(self, load: Load, name: str, topics: Sequence[str], partitions: int) -> None:
        super().__init__(Logs(load, topics, partitions=partitions), Producers(load, name))
        decisions = Decisions(load.seed)
        self._dice = [decisions.of("deal", f"c{n}") for n in range(load.clients)]

    def opening(self, client: int, process: int) -> Sequence[Invocation]:
        return (*self._producers.opening(client), Invocation("assign", list(self._logs.keys)))

    def operation(self, client: int, ordinal: int) -> Invocation:
        draw = self._logs.kinds[client].at(ordinal)
        if draw < _POLLS:
            return POLL
        draws = [self._dice[client].at(ordinal * _DRAWS + at) for at in range(_DRAWS)]
        amount = AMOUNTS[int(draws[0] * len(AMOUNTS))]
        keys = self.parties(draws[1:4])
        micro_ops: list[list[Any]] = [
            ["send", key, entry_value(client, ordinal, part, len(keys), amount)]
            for part, key in enumerate(keys)
        ]
        if draws[4] < _PAUSES:
            # Before the last entry: a consumer that reads meanwhile must see no entry of the deal.
            micro_ops.insert(-1, ["pause", 1 + int(draws[5] * _PAUSE_MS)])
        elif draws[4] < _READS:
            micro_ops.append(["poll"])
        if draw < _ABORTS and self._producers.ids:
            micro_ops.append(["abort"])
        return Invocation("txn", micro_ops)

    def parties(self, draws: Sequence[float]) -> list[str]:
        """Partitions that the entries of a deal go to, one for each."""
        raise NotImplementedError

    def write(self, client: int, ordinal: int, key: str) -> Invocation:
        return Invocation("send", [["send", key, plain_value(client, ordinal)]])

    def drained_keys(self, client: int) -> Sequence[str]:
        """All of them: only a process that has read all partitions can compare their entries."""
        return self._logs.keys

    def closing(self, client: int, ordinal: int) -> Sequence[Invocation]:
        return ()


LEDGER_CHECKERS = (*LOG_CHECKERS, *TRANSACTION_CHECKERS)
