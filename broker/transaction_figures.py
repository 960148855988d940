"""Figures of the transactions that a node coordinates, for /metrics.

The ends of transactions are counted when they are decided. Open transactions are counted when
/metrics is read, so that requests of producers cost nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from broker.coordination.shard import ShardState
from broker.coordination.step import Step
from broker.log.breather import Breather
from broker.observe.metrics import Metrics, TransactionEndings
from broker.transaction_events import cause_of, refusal_of_fenced
from broker.transactions import records
from broker.transactions.machine import TransactionMachine
from broker.transactions.state import TransactionState
from broker.transactions.transaction import Transaction

if TYPE_CHECKING:
    from broker.node import Node


class TransactionFigures(NamedTuple):
    ongoing: int
    prepared: int
    """Transactions that are decided, and whose markers some partition lacks."""
    oldest_s: float
    """Age of the oldest open transaction; 0 if there is none."""


async def look_at_transactions(node: Node) -> TransactionFigures:
    """Figures of the transactions that this node coordinates now."""
    ongoing = prepared = 0
    now_ms = node.world.clock.now_ms()
    oldest_ms = now_ms
    breather = Breather()
    for _, shard in list(node.transactions.shards):
        if shard.state is not ShardState.ACTIVE:
            continue
        for each in shard.machine.open_transactions():
            await breather.pause()
            if each.state is TransactionState.ONGOING:
                ongoing += 1
            else:
                prepared += 1
            oldest_ms = min(oldest_ms, each.start_ms)
    return TransactionFigures(ongoing, prepared, (now_ms - oldest_ms) / 1000)


def count_step(metrics: Metrics, machine: TransactionMachine, step: Step) -> None:
    """Count the ends that the step decides, and the producers that it refuses.

    `machine` has replayed the step.
    """
    responses = [each.response for each in step.replies]
    for record in step.records:
        after = machine.transactions.get(records.decode_key(record.key))
        if after is not None and after.state.is_prepared:
            _count_end(metrics.transaction_endings, after, cause_of(after, responses))
    for response in responses:
        if refusal_of_fenced(response) is not None:
            metrics.producers_fenced += 1


def _count_end(endings: TransactionEndings, after: Transaction, cause: str) -> None:
    if after.state is TransactionState.PREPARE_COMMIT:
        endings.commit += 1
    elif cause == "init":
        endings.new_producer += 1
    elif cause == "timeout":
        endings.timeout += 1
    else:
        endings.abort += 1
