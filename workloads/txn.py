"""Transactions of several sends and polls, some aborted, some too slow, some of fenced clients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.client.base import Invocation
from harness.client.payload import value_of
from harness.cluster.parts import NO_PARTS
from harness.decisions import Decisions
from workloads.base import Load
from workloads.logs import LOG_CHECKERS, POLL, Logs
from workloads.producers import Producers
from workloads.transactional_logs import TransactionalLogs

TRANSACTION_CHECKERS = (
    "precommitted-read",
    "torn-transaction",
    "G1c",
    "hanging-transaction",
)
_TOPICS = ("txn1", "txn2")
_PARTITIONS = 3
_ASSIGNS = 0.03
_FENCES = _ASSIGNS + 0.01
_POLLS = _FENCES + 0.25
_SENDS_MAX = 4
_DRAWS = 16
"""Numbers that one transaction draws at the most."""
_POLLS_INSIDE = 0.3
_PAUSES = 0.1
_OVERSLEEPS = 0.02
"""Share of the transactions that pause for longer than their time-out."""
_ABORTS = 0.15
_PAUSE_MS = 800
_TOO_LONG_MS = 1_500


class Txn(TransactionalLogs):
    """Transactions of sends to several partitions and polls; some are aborted, delayed, slower than
    their time-out, or of a producer that another client fences."""

    name = "txn"
    consistency = (
        "transactions: atomic, read committed without cycles (PL-2); each partition: linearizable "
        "appends"
    )
    is_polled = True
    needs = NO_PARTS
    checkers = (*LOG_CHECKERS, *TRANSACTION_CHECKERS)

    def __init__(self, load: Load) -> None:
        logs = Logs(load, _TOPICS, partitions=_PARTITIONS)
        super().__init__(logs, Producers(load, self.name))
        self._clients = load.clients
        decisions = Decisions(load.seed)
        self._dice = [decisions.of("txn", f"c{n}") for n in range(load.clients)]

    def opening(self, client: int, process: int) -> Sequence[Invocation]:
        return (*self._producers.opening(client), *self._logs.opening(client, process))

    def operation(self, client: int, ordinal: int) -> Invocation:
        draw = self._logs.kinds[client].at(ordinal)
        if draw < _ASSIGNS:
            return self._logs.assign(client, ordinal)
        if draw < _FENCES and self._producers.ids and self._clients > 1:
            return self._producers.fence((client + 1) % self._clients)
        return POLL if draw < _POLLS else self._transaction(client, ordinal)

    def _transaction(self, client: int, ordinal: int) -> Invocation:
        draws = [self._dice[client].at(ordinal * _DRAWS + at) for at in range(_DRAWS)]
        micro_ops: list[list[Any]] = []
        for at in range(1 + int(draws[0] * _SENDS_MAX)):
            if draws[1 + at] < _POLLS_INSIDE:
                micro_ops.append(["poll"])
            key = self._logs.keys[int(draws[6 + at] * len(self._logs.keys))]
            micro_ops.append(["send", key, value_of(client, ordinal * _SENDS_MAX + at)])
        if self._producers.ids:
            micro_ops += self._ending(client, draws[11], draws[12], draws[13])
        return Invocation("txn", micro_ops)

    def _ending(self, client: int, pauses: float, length: float, aborts: float) -> list[list[Any]]:
        found: list[list[Any]] = []
        if pauses < _OVERSLEEPS:
            found.append(["pause", self._producers.timeout_ms(client) + _TOO_LONG_MS])
        elif pauses < _PAUSES:
            found.append(["pause", 1 + int(length * _PAUSE_MS)])
        return [*found, ["abort"]] if aborts < _ABORTS else found

    def write(self, client: int, ordinal: int, key: str) -> Invocation:
        return Invocation("send", [["send", key, value_of(client, ordinal * _SENDS_MAX)]])

    def drained_keys(self, client: int) -> Sequence[str]:
        return self._logs.drained_keys(client)

    def closing(self, client: int, ordinal: int) -> Sequence[Invocation]:
        return ()
