"""Transactional producers of a workload: their ids, their time-outs, how they begin.

Each client has one transactional id for the whole run. Its processes come one after the other and
take the id over, which fences what is left of the process before.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.client.base import Invocation
from harness.decisions import Decisions
from workloads.base import Load

_TIMEOUTS_MS = (3_000, 6_000, 12_000)
"""transaction.timeout.ms: shorter than most faults, about as long, and longer."""
_LOOKED_FOR_MS = 13_000
"""Brokers look every 10 s for transactions whose time is up, and then markers are to be written."""


class Producers:
    def __init__(self, load: Load, name: str) -> None:
        self._name = name
        self._clients = load.clients
        self._is_used = load.transactions
        dice = Decisions(load.seed)
        drawn = [
            _TIMEOUTS_MS[int(dice.of("timeout", f"c{n}").at(0) * len(_TIMEOUTS_MS))]
            for n in range(load.clients)
        ]
        asked = load.transaction_timeout_ms
        self._timeouts_ms = drawn if asked is None else [asked] * load.clients

    @property
    def ids(self) -> Sequence[str]:
        return [self.id_of(client) for client in range(self._clients)] if self._is_used else ()

    @property
    def expiry_ms(self) -> int:
        return max(self._timeouts_ms) + _LOOKED_FOR_MS

    def id_of(self, client: int) -> str:
        return f"{self._name}-c{client + 1}"

    def timeout_ms(self, client: int) -> int:
        return self._timeouts_ms[client]

    def opening(self, client: int) -> tuple[Invocation, ...]:
        """Nothing without transactions: then `txn` is one send after the other."""
        return (self._named("init-transactions", client),) if self._is_used else ()

    def fence(self, client: int) -> Invocation:
        """Takes the id of this client away from it."""
        return self._named("fence", client)

    def _named(self, f: str, client: int) -> Invocation:
        value = {"id": self.id_of(client), "timeout-ms": self._timeouts_ms[client]}
        return Invocation(f, value)
