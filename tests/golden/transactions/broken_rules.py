"""Historical bugs of transaction coordinators, each as one function in place of another."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from broker.coordination.step import Now, Step
from broker.protocol.errors import ErrorCode
from broker.transaction_ends import TransactionEnds
from broker.transaction_markers import Outgoing, TransactionMarkers
from broker.transactions import ending, initialising, machine
from broker.transactions.machine import TransactionMachine
from broker.transactions.state import TransactionState
from broker.transactions.transaction import (
    CLASSIC,
    NO_PRODUCER_ID,
    TopicPartition,
    Transaction,
)


@dataclass(frozen=True)
class BrokenRule:
    owner: Any
    name: str
    instead: Any
    story: str


_prepared = Transaction.prepared
_loaded = TransactionMachine.loaded


def without_a_new_epoch(self: Transaction, **how: Any) -> Transaction:
    return replace(_prepared(self, **how), producer_epoch=self.producer_epoch)


def aborted_without_a_new_epoch(before: Transaction, now_ms: int) -> Transaction:
    return before.prepared(
        commit=False, version=CLASSIC, next_producer_id=NO_PRODUCER_ID, now_ms=now_ms
    )


def all_is_well(
    before: object, producer_id: int, epoch: int, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    return dict.fromkeys(partitions, ErrorCode.NONE)


def open_ones_are_forgotten(self: TransactionMachine, now: Now) -> Step:
    for each in list(self._ongoing):
        self.transactions[each] = replace(self.transactions[each], partitions={})
    return _loaded(self, now)


def away_is_done(
    self: TransactionMarkers, outgoing: Outgoing, partitions: Iterable[TopicPartition]
) -> None:
    for each in partitions:
        outgoing.waiting.pop(each)
    if not outgoing.waiting:
        outgoing.done()


async def without_waiting(self: TransactionEnds, shard: Any) -> None:
    self._looking.pop(shard, None)
    for each in list(shard.machine._prepared):
        self._send(shard, shard.machine.transactions[each])


def nothing_is_redriven(self: TransactionEnds, shard: Any, step: Step) -> None:
    if step.records and shard.machine.has_prepared and shard not in self._looking:
        self._looking[shard] = None
        self._spawn(self._look(shard))


def invalid_state(before: Transaction, *, commit: bool) -> ErrorCode:
    return (
        ErrorCode.NONE if ending._ended_by(before, commit=commit) else ErrorCode.INVALID_TXN_STATE
    )


def epoch_of_the_one_before(
    self: Transaction, producer_id: int, epoch: int, timeout_ms: int, now_ms: int
) -> Transaction:
    return self._to(TransactionState.EMPTY, now_ms, producer_epoch=max(0, self.producer_epoch))


BROKEN = {
    "T01: all transactions share an epoch": BrokenRule(
        Transaction, "prepared", without_a_new_epoch, "t01_a_late_end_of_version_2_ends_nothing"
    ),
    "T02: verification says yes": BrokenRule(
        machine, "verify_partitions", all_is_well, "t02_a_late_record_finds_no_transaction"
    ),
    "T03: a timeout leaves the epoch": BrokenRule(
        machine, "fenced", aborted_without_a_new_epoch, "t03_a_timeout_ends_the_epoch"
    ),
    "T03: a commit meets an abort": BrokenRule(
        ending, "_repeated", invalid_state, "t03_a_timeout_ends_the_epoch"
    ),
    "T04: open transactions are in memory": BrokenRule(
        TransactionMachine,
        "loaded",
        open_ones_are_forgotten,
        "t04_an_open_transaction_survives_a_failover",
    ),
    "T05: a partition without leader is done": BrokenRule(
        TransactionMarkers, "_route_later", away_is_done, "t05_every_partition_gets_its_marker"
    ),
    "T05: markers before the decision is committed": BrokenRule(
        TransactionEnds,
        "_look",
        without_waiting,
        "t05_markers_are_sent_again_after_a_failover",
    ),
    "T05: a new coordinator sends nothing": BrokenRule(
        TransactionEnds,
        "step_taken",
        nothing_is_redriven,
        "t05_markers_are_sent_again_after_a_failover",
    ),
    "T06: the zombie keeps its epoch": BrokenRule(
        initialising, "fenced", aborted_without_a_new_epoch, "t06_a_zombie_is_fenced"
    ),
    "T06: the second process gets the same epoch": BrokenRule(
        Transaction, "initialised", epoch_of_the_one_before, "t06_a_zombie_is_fenced"
    ),
}
