"""Carries out what coordinators have decided: markers to all partitions, then the last record.

A decision is carried out when it is committed, not before: a failover could take it back, and
another coordinator decide otherwise (W-TXN). A shard that has just loaded its partition is looked
at as well, so that the decisions of the coordinator before are carried out, too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from broker.coordination.keyed_shards import reply_of
from broker.coordination.shard import Shard, ShardState
from broker.coordination.step import Step
from broker.protocol.errors import ErrorCode, KafkaError
from broker.transaction_markers import Leaders, Outgoing, TransactionMarkers
from broker.transactions.machine import TransactionMachine
from broker.transactions.transaction import Transaction

_log = logging.getLogger(__name__)

_RETRY_S = 0.1

_Shard = Shard[TransactionMachine]
_Key = tuple[_Shard, str, int, int, int]


class TransactionEnds:
    def __init__(
        self, leaders: Leaders, spawn: Callable[[Coroutine[Any, Any, None]], None]
    ) -> None:
        self._markers = TransactionMarkers(leaders, spawn)
        self._spawn = spawn
        self._looking: dict[_Shard, None] = {}
        self._sending: dict[_Key, None] = {}
        """Prepared transactions whose markers are sent, or whose end is being written."""

    def step_taken(self, shard: _Shard, step: Step) -> None:
        """One that writes may have prepared a transaction; one that neither writes nor replies may
        be the first after a load, which finds them prepared."""
        if shard in self._looking or (step.replies and not step.records):
            return
        if shard.machine.has_prepared:
            self._looking[shard] = None
            self._spawn(self._look(shard))

    def shards_changed(self) -> None:
        """Forgets the transactions of shards that are closed."""
        self._sending = {
            key: None for key in self._sending if key[0].state is not ShardState.CLOSED
        }

    def close(self) -> None:
        self._markers.close()

    async def _look(self, shard: _Shard) -> None:
        """Sends the markers of what is prepared and committed."""
        while shard.state is not ShardState.CLOSED:
            # Before the question: what is decided after it needs a look of its own.
            self._looking.pop(shard, None)
            try:
                prepared: list[Transaction] = await reply_of(
                    shard.ask(lambda machine, ticket, _: machine.prepared(ticket))
                )
            except KafkaError as problem:
                _log.info("%d: no markers are sent yet: %s", shard.partition.index, problem)
                if shard in self._looking:
                    return
                self._looking[shard] = None
                await asyncio.sleep(_RETRY_S)
                continue
            for each in prepared:
                self._send(shard, each)
            return
        self._looking.pop(shard, None)

    def _send(self, shard: _Shard, transaction: Transaction) -> None:
        key = _key_of(shard, transaction)
        if key in self._sending:
            return
        self._sending[key] = None

        def done() -> None:
            self._spawn(self._complete(shard, transaction))

        self._markers.send(
            Outgoing(
                transaction,
                shard.partition.index,
                shard.leader_epoch,
                lambda: shard.state is ShardState.CLOSED,
                done,
                dict(transaction.partitions),
            )
        )

    async def _complete(self, shard: _Shard, transaction: Transaction) -> None:
        """Until it is written, or another coordinator has to do it."""
        code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        while code and shard.state is not ShardState.CLOSED:
            try:
                code = await reply_of(
                    shard.ask(
                        lambda machine, ticket, now: machine.complete(ticket, transaction, now)
                    )
                )
            except KafkaError as problem:
                code = problem.code
            if code:
                await asyncio.sleep(_RETRY_S)
        self._sending.pop(_key_of(shard, transaction), None)


def _key_of(shard: _Shard, transaction: Transaction) -> _Key:
    """With the time of the decision: transactions of the classic version share an identity."""
    return shard, transaction.transactional_id, *transaction.identity, transaction.updated_ms
