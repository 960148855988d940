"""What the history of a run shows of its transactions, counted.

The counts are what clients saw, and lower bounds for what brokers did: a transaction that its
client left open is ended by the coordinator, and nobody sees when.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.history.op import NEMESIS
from harness.history.schema import INVOKE, OK
from reports.calls import Calls
from reports.lean_history import ops_in

_TRANSACTIONS_TOPIC = "__transaction_state"
_MS = 1_000_000
_BEGINS = ("txn", "transform")


@dataclass(slots=True)
class TransactionsSeen:
    committed: int = 0
    aborted: int = 0
    """Aborted by the client."""
    left: int = 0
    """Left open by the client, for the coordinator to abort."""
    unknown: int = 0
    timed_out: int = 0
    """Of those whose producer was fenced: they had taken longer than transaction.timeout.ms."""
    fenced: int = 0
    """Producers that learned that they were fenced, for whatever reason."""
    coordinator_moves: int = 0
    """Moves of a coordinator's partition that were proved."""
    protocols: tuple[int, ...] = ()
    """Protocols of transactions that producers spoke: 1 is the classic one, 2 is KIP-890's."""

    @property
    def sentence(self) -> str:
        said = f"{self.committed:,} committed, {self.aborted:,} aborted"
        more = (
            (self.left, "left open"),
            (self.unknown, "of unknown outcome"),
            (self.timed_out, "timed out"),
            (self.fenced, "fenced"),
        )
        return ", ".join((said, *(f"{count:,} {what}" for count, what in more if count)))


def transactions_seen(calls: Calls) -> TransactionsSeen | None:
    """None if no client had a transactional producer."""
    rows = calls.rows
    codes = {name: code for code, name in enumerate(rows.names)}
    wanted = np.isin(rows.f, [codes[f] for f in ("transaction", "init-transactions") if f in codes])
    if not np.any(wanted):
        return None
    wanted &= rows.type == OK
    begins = np.isin(rows.f, [codes[f] for f in _BEGINS if f in codes]) & (rows.type == INVOKE)
    begun = _Begun(rows.process[begins], rows.time_ns[begins])
    moved = _Moves()
    found, protocols, timeouts = TransactionsSeen(), set(), dict[str, int]()
    wanted |= rows.process == NEMESIS
    for op in ops_in(calls.history, np.flatnonzero(wanted).tolist()):
        if not isinstance(op.value, dict):
            continue
        if op.process == NEMESIS:
            moved.add(op.value)
            continue
        name, protocol = str(op.value.get("id")), op.value.get("protocol")
        if isinstance(protocol, int):
            protocols.add(protocol)
        if op.f == "init-transactions":
            timeouts[name] = int(op.value.get("timeout-ms") or 0)
        else:
            taken_ms = (op.time_ns - begun.before(op.process, op.time_ns)) // _MS
            _count(found, op.value, is_late=taken_ms >= timeouts.get(name, 1 << 62))
    found.protocols = tuple(sorted(protocols))
    found.coordinator_moves = moved.proved
    return found


def _count(found: TransactionsSeen, value: dict[str, Any], *, is_late: bool) -> None:
    end = value.get("end")
    found.committed += end == "committed"
    found.aborted += end == "aborted"
    found.left += end == "left"
    found.unknown += end == "unknown"
    if value.get("fenced"):
        found.fenced += 1
        found.timed_out += is_late


class _Begun:
    """When each process began a transaction last."""

    def __init__(self, processes: Any, times_ns: Any) -> None:
        self._times: dict[int, list[int]] = {}
        for process, time_ns in zip(processes.tolist(), times_ns.tolist(), strict=True):
            self._times.setdefault(process, []).append(time_ns)

    def before(self, process: int, time_ns: int) -> int:
        times = self._times.get(process, [])
        at = bisect_right(times, time_ns)
        return times[at - 1] if at else time_ns


class _Moves:
    """Moves of coordinators that the nemesis has proved."""

    def __init__(self) -> None:
        self._faults: set[str] = set()
        self.proved = 0

    def add(self, value: dict[str, Any]) -> None:
        if value.get("kind") == "move_leader" and value.get("topic") == _TRANSACTIONS_TOPIC:
            self._faults.add(str(value.get("name")))
        elif "proof" in value:
            self.proved += value.get("fault") in self._faults
